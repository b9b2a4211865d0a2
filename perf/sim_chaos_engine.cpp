#include "perf/sim_chaos_engine.hpp"

#include <algorithm>
#include <utility>

namespace kvc::sim {
namespace {

constexpr std::uint32_t most_copies = 3;
constexpr std::uint64_t second_mark = 0x5EC0'0D5E;  ///< engines name a block after its adapter and salt as well

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
  if (profile_.names_from) secret_ = *profile_.names_from;
  ranks_.clear();
  second_ranks_.clear();
  chunks_.clear();
  for (const std::uint32_t rank : profile_.ranks) {
    ranks_.emplace(rank, chaos_cache(text_->blocks().size(), profile_.counts_copies));
    second_ranks_.emplace(rank, chaos_cache(text_->blocks().size(), profile_.counts_copies));
  }
}

std::uint64_t chaos_engine::name_of(std::uint32_t block) const noexcept {
  const std::uint64_t standard = text_->blocks()[block].standard_name;
  return profile_.has_standard_names ? standard : mix(standard ^ secret_);
}

core::engine_hash chaos_engine::name_in(const telling& to, std::uint32_t block) const noexcept {
  const std::uint64_t name = name_of(block);
  return core::engine_hash{to.is_second && !profile_.has_standard_names ? mix(name ^ second_mark) : name};
}

/// Whether there is a second partition and stores of this form can name it.
bool chaos_engine::can_tell_second(const form_traits& form) const noexcept {
  const chaos_partition& second = profile_.second;
  return !second.is_everybodys() && (second.lora.empty() || form.tells_adapter) && (second.salt.empty() || form.tells_salt);
}

core::event_scope chaos_engine::scope_of(const telling& to, std::size_t place) const {
  core::event_scope scope;
  if (to.form->has_media) scope.medium = profile_.media[place];
  if (to.form->type == "Mooncake") scope.tenant = profile_.tenant;  // or the envelope would name the default one
  if (to.is_second && !profile_.second.lora.empty()) scope.lora = profile_.second.lora;
  if (to.is_second && !profile_.second.salt.empty()) scope.salt = profile_.second.salt;
  // Equal blocks have equal names by the standard, whosever they are: then those of no adapter have to be called so.
  const bool has_names_twice = profile_.has_standard_names && !profile_.second.lora.empty();
  if (!to.is_second && (has_names_twice || profile_.names_adapter)) scope.lora = "";
  return scope;
}

/// An object is one block; what is told of several at once names none. In the stream of an engine, to which keys mean nothing.
template <class Event>
void chaos_engine::name_object(const telling& to, Event& told) {
  if (to.form->type == "Mooncake" && told.hashes.size() == 1) told.scope.object_key = "object-" + std::to_string(told.hashes.front().get());
}

std::vector<std::uint32_t> chaos_engine::held(const chaos_cache& cache, chaos_cache::place_mask where) const {
  std::vector<std::uint32_t> found;
  for (std::uint32_t i = 0; i < text_->blocks().size(); ++i) {
    if (cache.owns(i, where)) found.push_back(i);
  }
  return found;
}

/// Where in a prompt the next block is stored. An engine stores behind what it holds. Connectors do not always: a child may come before its
/// parent, or after it has gone.
std::uint32_t chaos_engine::draw_first(const telling& to, const path& prompt) {
  std::uint32_t first = random_.below(static_cast<std::uint32_t>(prompt.size()));
  // (With chunks beside it the prefix might be there all the same, and what stands behind an unknown name nowhere. And of two partitions'
  // blocks of one name only one can wait for its parent.)
  const bool shares_names = to.is_second && profile_.has_standard_names;
  if (random_.below(8) == 0 && profile_.chunk_tokens == 0 && !shares_names) return first;
  while (first > 0 && !to.cache->owns(prompt[first - 1])) --first;
  return first;
}

void chaos_engine::store(const telling& to) {
  const auto& prompts = text_->prompts();
  const path& prompt = prompts[random_.below(static_cast<std::uint32_t>(prompts.size()))];
  const std::uint32_t first = draw_first(to, prompt);
  const std::uint32_t last = std::min(static_cast<std::uint32_t>(prompt.size()), first + random_.between(1, 4));
  tell_stored(to, prompt, first, last, to.form->has_media && random_.below(4) == 0 ? 1 : 0);
}

void chaos_engine::tell_stored(const telling& to, const path& prompt, std::uint32_t first, std::uint32_t last, std::size_t place) {
  core::stored_event told;
  told.scope = scope_of(to, place);
  told.scope.block_size = chaos_text::block_size;
  std::uint32_t end = first;
  for (; end < last && to.cache->copies(prompt[end], place) < most_copies; ++end) {
    told.hashes.push_back(name_in(to, prompt[end]));
    to.cache->store(prompt[end], place, to.number);
  }
  if (end == first) return;
  if (to.is_second) coverage_.add(profile_.second.lora.empty() ? chaos_trait::salt : chaos_trait::adapter);
  if (place == 1) coverage_.add(chaos_trait::second_medium);
  if (first > 0) told.parent = name_in(to, prompt[first - 1]);
  told.tokens = text_->tokens(prompt, first, end);
  told.has_tokens = true;
  to.out->story += to.is_second ? " store-second" : " store";
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
  // The placeholders of vLLM's offloading say nothing of adapters.
  if (is_vllm(*to.form)) told.scope.lora.reset();
  told.hashes.push_back(name_in(to, block));
  name_object(to, told);
  to.cache->store(block, 1, to.number);
  coverage_.add(chaos_trait::second_medium);
  to.out->story += (to.is_second ? " copy-second " : " copy ") + std::to_string(block) + "@1";
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
  to.out->story += to.is_second ? " remove-second" : " remove";
  for (std::size_t i = begin; i < candidates.size() && told.hashes.size() < wanted; ++i) {
    told.hashes.push_back(name_in(to, candidates[i]));
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
  told.scope.lora.reset();  // everybody's and the second partition's
  told.scope.salt.reset();
  if (to.form->tells_medium_of_clear) {
    where = 1U << place;
  } else {
    told.scope.medium.reset();
  }
  ranks_.at(to.rank).clear(where, to.number);
  second_ranks_.at(to.rank).clear(where, to.number);
  if ((where & 2U) != 0) chunks_.erase(to.rank);
  coverage_.add(chaos_trait::clear);
  to.out->story += " clear@" + std::to_string(where);
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

  const telling to{form, &ranks_.at(rank), rank, false, number, &out};
  if (profile_.is_teacher) {
    teach(to);
  } else {
    const std::uint32_t events = random_.below(5);
    const bool is_store = profile_.is_pool && form->type == "Mooncake";
    for (std::uint32_t i = 0; i < events; ++i) is_store ? happen_to_object(to) : happen(to);
  }
  for (const core::event& each : out.batch.events) coverage_.add(form->form, each);
  event_ids_ += out.batch.events.size();
  return out;
}

void chaos_engine::happen(const telling& whose) {
  const bool can_tell_chunks = is_vllm(*whose.form) && whose.form->has_media;
  if (profile_.chunk_tokens != 0 && can_tell_chunks && random_.below(5) == 0) return store_chunk(whose);
  telling to = whose;
  if (can_tell_second(*to.form) && random_.below(3) == 0) {
    to.cache = &second_ranks_.at(to.rank);
    to.is_second = true;
  }
  if (profile_.has_windows && to.form->tells_kinds_of_groups && random_.below(4) == 0) return speak_of_window(to);
  const std::uint32_t what = random_.below(100);
  if (to.form->form == net::event_form::mooncake_array) {
    what < 4 ? clear(to) : speak_of_object(to);
  } else if (what < 50) {
    to.form->has_tokens ? store(to) : copy(to);
  } else if (what < 65) {
    to.form->has_copies_without_tokens ? copy(to) : store(to);
  } else if (what < 96) {
    remove(to);
  } else {
    clear(to);
  }
}

/// All prompts first, each as far as it is not there yet; nothing of it ever goes.
void chaos_engine::teach(const telling& to) {
  const auto& prompts = text_->prompts();
  if (lessons_ == prompts.size()) return to.form->has_copies_without_tokens && random_.below(2) == 0 ? copy(to) : store(to);
  const path& prompt = prompts[lessons_++];
  std::uint32_t first = 0;
  while (first < prompt.size() && to.cache->owns(prompt[first])) ++first;
  tell_stored(to, prompt, first, static_cast<std::uint32_t>(prompt.size()), 0);
}

}  // namespace kvc::sim
