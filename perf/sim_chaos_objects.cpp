// What happens to the objects of a chaos store, one block each, and how Mooncake's generations tell of it.
#include <array>
#include <cstdio>
#include <utility>

#include "net/event_encode_parts.hpp"
#include "perf/sim_chaos_engine.hpp"

namespace kvc::sim {
namespace {

using change = core::object_event::change;
using place_mask = chaos_cache::place_mask;

std::string hexadecimal(std::uint64_t number) {
  std::array<char, 17> digits{};
  std::snprintf(digits.data(), digits.size(), "%016llx", static_cast<unsigned long long>(number));
  return digits.data();
}

std::string digest_text(core::engine_hash name) {
  std::string text;
  for (const char each : net::digest_of_name(name)) text += hexadecimal(static_cast<unsigned char>(each)).substr(14);
  return text;
}

}  // namespace

std::string chaos_engine::key_of(std::uint32_t block) const {
  const std::uint64_t name = name_of(block);
  switch (profile_.keys) {
    case key_style::decimal: return std::to_string(name);
    case key_style::hexadecimal: return "0x" + hexadecimal(name);
    case key_style::digest: return digest_text(core::engine_hash{name});
    case key_style::opaque: break;
  }
  return "object-" + std::to_string(name);
}

void chaos_engine::happen_to_object(const telling& to) {
  const std::uint32_t what = random_.below(100);
  if (what < 55) return store_object(to);
  if (what < 70) return move_object(to);
  if (what < 95 || !to.form->can_clear) return remove_object(to);
  clear(to);
}

/// Where an object is, all of it, which is how the oldest generation tells of any change. Nowhere: it is gone.
void chaos_engine::tell_replicas(const telling& to, core::object_event told, place_mask where) {
  for (std::size_t place = 0; place < chaos_cache::places; ++place) {
    if ((where >> place & 1U) == 0) continue;
    const bool is_local = place == 1 && random_.below(2) == 0;
    const auto on_disk = is_local ? core::replica_kind::local_disk : core::replica_kind::disk;
    told.replicas.push_back({profile_.media[place], "192.0.2.10:6000", place == 0 ? core::replica_kind::memory : on_disk});
  }
  if ((where & 2U) != 0) coverage_.add(chaos_trait::second_medium);
  to.out->story += "@" + std::to_string(where);
  to.out->batch.events.emplace_back(std::move(told));
}

void chaos_engine::store_object(const telling& to) {
  const auto& prompts = text_->prompts();
  const path& prompt = prompts[random_.below(static_cast<std::uint32_t>(prompts.size()))];
  const std::uint32_t at = draw_first(to, prompt);
  const std::uint32_t block = prompt[at];
  const core::engine_hash name{name_of(block)};
  to.out->story += " object " + std::to_string(block);
  core::object_event object;
  object.scope = scope_of(to, 0);
  object.scope.object_key = key_of(block);
  object.scope.block_size = chaos_text::block_size;
  if (to.form->form == net::event_form::mooncake_array) {
    const place_mask where = random_.between(1, chaos_cache::everywhere);
    object.name = name;
    if (at > 0) object.parent = core::engine_hash{name_of(prompt[at - 1])};
    const bool has_tokens = !names_explain_themselves() || random_.below(3) != 0;
    if (has_tokens) object.tokens = text_->tokens(prompt, at, at + 1);
    if (!has_tokens && profile_.names_from) coverage_.add(chaos_trait::explained_object);
    to.cache->move(block, where, to.number);
    return tell_replicas(to, std::move(object), where);
  }
  const std::size_t place = random_.below(4) == 0 ? 1 : 0;
  to.cache->store(block, place, to.number);
  to.out->story += "@" + std::to_string(place);
  if (place == 1) coverage_.add(chaos_trait::second_medium);
  if (profile_.names_from) coverage_.add(chaos_trait::explained_object);
  object.scope.medium = profile_.media[place];
  if (profile_.keys != key_style::opaque && random_.below(3) == 0) {
    coverage_.add(chaos_trait::keyed_object);
    to.out->batch.events.emplace_back(std::move(object));
    return;
  }
  core::stored_event told;
  told.scope = std::move(object.scope);
  told.hashes.push_back(name);
  to.out->batch.events.emplace_back(std::move(told));
}

/// To other media, in the one generation that tells where all of an object is; what the others say of it is stores and removals.
void chaos_engine::move_object(const telling& to) {
  const std::vector<std::uint32_t> candidates = held(*to.cache, chaos_cache::everywhere);
  if (to.form->form != net::event_form::mooncake_array || candidates.empty()) return store_object(to);
  const std::uint32_t block = candidates[random_.below(static_cast<std::uint32_t>(candidates.size()))];
  core::object_event told;
  told.what = change::updated;
  told.scope.object_key = key_of(block);
  const place_mask where = random_.between(1, chaos_cache::everywhere);
  to.cache->move(block, where, to.number);
  to.out->story += " move " + std::to_string(block);
  tell_replicas(to, std::move(told), where);
}

void chaos_engine::remove_object(const telling& to) {
  const net::event_form form = to.form->form;
  const std::size_t place = random_.below(3) == 0 ? 1 : 0;
  // The branch means one medium; the master every one, whichever it names; the array says that the list of all of them is empty.
  const place_mask where = form == net::event_form::mooncake_branch ? 1U << place : chaos_cache::everywhere;
  const std::vector<std::uint32_t> candidates = held(*to.cache, where);
  if (candidates.empty()) return;
  const std::uint32_t block = candidates[random_.below(static_cast<std::uint32_t>(candidates.size()))];
  to.cache->remove(block, where, to.number);
  to.out->story += " remove " + std::to_string(block) + "@" + std::to_string(where);
  core::event_scope scope = scope_of(to, place);
  scope.object_key = key_of(block);
  const bool is_keyed = profile_.keys != key_style::opaque && random_.below(3) == 0;
  if (form == net::event_form::mooncake_array || is_keyed) {
    core::object_event told;
    told.scope = std::move(scope);
    told.what = change::removed;
    to.out->batch.events.emplace_back(std::move(told));
    return;
  }
  core::removed_event told;
  told.scope = std::move(scope);
  told.hashes.emplace_back(name_of(block));
  to.out->batch.events.emplace_back(std::move(told));
}

/// In the stream of an engine objects say nothing about blocks.
void chaos_engine::speak_of_object(const telling& to) {
  core::object_event told;
  told.scope = scope_of(to, 0);
  told.scope.object_key = key_of(random_.below(static_cast<std::uint32_t>(text_->blocks().size())));
  told.what = std::array{change::stored, change::updated, change::removed}[random_.below(3)];
  if (told.what != change::removed) told.replicas.push_back({core::medium_id::cpu, "192.0.2.10:6000"});
  to.out->story += " object";
  to.out->batch.events.emplace_back(std::move(told));
}

}  // namespace kvc::sim
