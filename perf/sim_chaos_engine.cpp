#include "perf/sim_chaos_engine.hpp"

#include <algorithm>
#include <utility>

namespace kvc::sim {
namespace {

constexpr std::uint32_t most_copies = 3;

bool is_vllm(const form_traits& form) {
  return form.type == "vLLM";
}

}  // namespace

chaos_engine::chaos_engine(const chaos_text& text, chaos_profile profile, std::uint64_t seed)
    : text_(&text), profile_(std::move(profile)), random_(seed) {
  restart();
}

void chaos_engine::restart() {
  secret_ = random_.next();  // a new process names its blocks anew, unless the standard names them
  ranks_.clear();
  for (const std::uint32_t rank : profile_.ranks) {
    ranks_.emplace(rank, chaos_cache(text_->blocks().size(), profile_.counts_copies));
  }
}

std::uint64_t chaos_engine::name_of(std::uint32_t block) const noexcept {
  const std::uint64_t standard = text_->blocks()[block].standard_name;
  return profile_.has_standard_names ? standard : mix(standard ^ secret_);
}

core::event_scope chaos_engine::scope_of(const telling& to, std::size_t place) const {
  core::event_scope scope;
  if (to.form->has_media) scope.medium = profile_.media[place];
  if (to.form->type == "Mooncake") scope.tenant = profile_.tenant;  // or the envelope would name the default one
  return scope;
}

/// An object is one block; what is told of several at once names none.
template <class Event>
void chaos_engine::name_object(const telling& to, Event& told) {
  if (to.form->type == "Mooncake" && told.hashes.size() == 1) told.scope.object_key = "object-" + std::to_string(told.hashes.front().get());
}

std::vector<std::uint32_t> chaos_engine::held(const chaos_cache& cache, chaos_cache::place_mask where) const {
  std::vector<std::uint32_t> found;
  for (std::uint32_t i = 0; i < text_->blocks().size(); ++i) {
    if (cache.holds(i, where)) found.push_back(i);
  }
  return found;
}

void chaos_engine::store(const telling& to) {
  const auto& prompts = text_->prompts();
  const chaos_text::path& prompt = prompts[random_.below(static_cast<std::uint32_t>(prompts.size()))];
  const auto length = static_cast<std::uint32_t>(prompt.size());
  std::uint32_t first = random_.below(length);
  // An engine stores behind what it holds. Connectors do not always: a child may come before its parent, or after it has gone.
  if (random_.below(8) != 0) {
    while (first > 0 && !to.cache->holds(prompt[first - 1])) --first;
  }
  const std::uint32_t most = to.form->type == "Mooncake" ? 1 : 4;  // a store tells of its objects one by one
  const std::uint32_t last = std::min(length, first + random_.between(1, most));
  const std::size_t place = to.form->has_media && random_.below(4) == 0 ? 1 : 0;

  core::stored_event told;
  told.scope = scope_of(to, place);
  told.scope.block_size = chaos_text::block_size;
  std::uint32_t end = first;
  for (; end < last && to.cache->copies(prompt[end], place) < most_copies; ++end) {
    told.hashes.emplace_back(name_of(prompt[end]));
    to.cache->store(prompt[end], place, to.number);
  }
  if (end == first) return;
  if (first > 0) told.parent = core::engine_hash{name_of(prompt[first - 1])};
  told.tokens = text_->tokens(prompt, first, end);
  told.has_tokens = true;
  name_object(to, told);
  to.out->story += " store";
  for (std::uint32_t i = first; i < end; ++i) to.out->story += " " + std::to_string(prompt[i]);
  to.out->story += "@" + std::to_string(place);
  to.out->batch.events.emplace_back(std::move(told));
}

void chaos_engine::copy(const telling& to) {
  // A copy on the other medium, known by its name alone: it means something only while the block is known.
  std::vector<std::uint32_t> candidates = held(*to.cache, 1);
  std::erase_if(candidates, [&](std::uint32_t block) { return to.cache->copies(block, 1) >= most_copies; });
  if (candidates.empty() || !to.form->has_media) return;
  const std::uint32_t block = candidates[random_.below(static_cast<std::uint32_t>(candidates.size()))];
  core::stored_event told;
  told.scope = scope_of(to, 1);
  if (!is_vllm(*to.form)) told.scope.block_size = chaos_text::block_size;  // vLLM's offloading writes 0
  told.hashes.emplace_back(name_of(block));
  name_object(to, told);
  to.cache->store(block, 1, to.number);
  to.out->story += " copy " + std::to_string(block) + "@1";
  to.out->batch.events.emplace_back(std::move(told));
}

void chaos_engine::remove(const telling& to) {
  const std::size_t place = to.form->has_media && random_.below(3) == 0 ? 1 : 0;
  const std::vector<std::uint32_t> candidates = held(*to.cache, 1U << place);
  if (candidates.empty()) return;
  // The master means every medium, whichever it names.
  const bool means_all = to.form->form == net::event_form::mooncake_master;
  const chaos_cache::place_mask where = means_all ? chaos_cache::everywhere : 1U << place;
  core::removed_event told;
  told.scope = scope_of(to, place);
  const std::size_t wanted = to.form->type == "Mooncake" ? 1 : random_.between(1, 3);
  const std::uint32_t begin = random_.below(static_cast<std::uint32_t>(candidates.size()));
  to.out->story += " remove";
  for (std::size_t i = begin; i < candidates.size() && told.hashes.size() < wanted; ++i) {
    told.hashes.emplace_back(name_of(candidates[i]));
    to.cache->remove(candidates[i], where, to.number);
    to.out->story += " " + std::to_string(candidates[i]);
  }
  name_object(to, told);
  to.out->story += "@" + (means_all ? std::string("all") : std::to_string(place));
  to.out->batch.events.emplace_back(std::move(told));
}

void chaos_engine::clear(const telling& to) {
  if (!to.form->can_clear) return;
  core::cleared_event told;
  chaos_cache::place_mask where = profile_.is_pool || profile_.type == "standard" ? chaos_cache::everywhere : 1U;
  const std::size_t place = random_.below(2);
  told.scope = scope_of(to, place);
  if (to.form->tells_medium_of_clear) {
    where = 1U << place;
  } else {
    told.scope.medium.reset();
  }
  to.cache->clear(where, to.number);
  to.out->story += " clear@" + std::to_string(where);
  to.out->batch.events.emplace_back(std::move(told));
}

void chaos_engine::speak_of_object(const telling& to) {
  // Objects say nothing about blocks.
  using change = core::object_event::change;
  core::object_event told;
  told.scope = scope_of(to, 0);
  told.what = std::array{change::stored, change::updated, change::removed}[random_.below(3)];
  if (told.what != change::removed) told.replicas.push_back({core::medium_id::cpu, "192.0.2.10:6000"});
  to.out->story += " object";
  to.out->batch.events.emplace_back(std::move(told));
}

chaos_engine::made chaos_engine::nothing() {
  made out;
  out.how.form = profile_.forms.front();
  out.how.first_event_id = event_ids_;
  out.story = "empty";
  return out;
}

chaos_engine::made chaos_engine::next(std::uint64_t number) {
  made out;
  const auto draw = [this](const auto& list) { return list[random_.below(static_cast<std::uint32_t>(list.size()))]; };
  const std::uint32_t rank = draw(profile_.ranks);
  const form_traits* form = &traits_of(draw(profile_.forms));
  // What speaks for another rank than the registered one needs a form in which to say so.
  while (rank != profile_.ranks.front() && !form->has_rank) form = &traits_of(draw(profile_.forms));
  out.how.form = form->form;
  out.how.binary_hashes = is_vllm(*form) && random_.below(3) == 0;
  out.how.first_event_id = event_ids_;
  if (form->has_rank) out.batch.rank = core::dp_rank{rank};
  out.story = std::string(form->name) + " rank " + std::to_string(rank) + (out.how.binary_hashes ? " binary" : "") + ":";

  const telling to{form, &ranks_.at(rank), number, &out};
  const std::uint32_t events = random_.below(5);
  for (std::uint32_t i = 0; i < events; ++i) {
    const std::uint32_t what = random_.below(100);
    if (form->form == net::event_form::mooncake_array) {
      what < 4 ? clear(to) : speak_of_object(to);
    } else if (what < 50) {
      form->has_tokens ? store(to) : copy(to);
    } else if (what < 65) {
      form->has_copies_without_tokens ? copy(to) : store(to);
    } else if (what < 96) {
      remove(to);
    } else {
      clear(to);
    }
  }
  event_ids_ += out.batch.events.size();
  return out;
}

}  // namespace kvc::sim
