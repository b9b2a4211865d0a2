#include "net/exist_lookup.hpp"

#include <algorithm>

#include "core/utf8.hpp"

namespace kvc::net {
namespace {

using core::exist_result;
using core::prefetch_need;

/// How often one lane hands over keys whose knowledge is old, or those that nobody knows, and how many: a storm of probes must not become
/// one of notes.
constexpr std::chrono::milliseconds between_touches{20};
constexpr std::size_t most_old = 1'024;
/// How often a probe that waits for what others bring has their store asked.
constexpr std::chrono::milliseconds between_questions{500};

/// How good it is to know that of a key; `can_start`: of a backend whose store can be asked to promote it.
int worth(const core::exist_decision& of, bool can_start) noexcept {
  if (!of.exists) return 0;
  switch (of.need) {
    case prefetch_need::none: return 1;
    case prefetch_need::start: return can_start ? 3 : 2;
    case prefetch_need::join: return 4;
  }
  return 0;
}
constexpr int worth_of_memory = 5;

}  // namespace

void exist_lookup::look(std::uint32_t backend, const exist_request& request) {
  const bool can_be_asked = objects_.can_be_asked(backend);
  const bool can_start = promotions_.has_target(backend);
  const bool may_touch = is_time_to_touch_ && can_be_asked;
  const std::uint32_t now = objects_.now();
  const std::uint32_t age = truth_.age();
  found_.resize(request.keys.size());
  objects_.read(backend, [&](const core::object_table& table) {
    const std::uint32_t owner = table.find_owner(objects_.name(backend), request.tenant);
    if (owner == core::no_record) {
      std::ranges::fill(found_, core::no_record);
      return;
    }
    table.find_all(owner, request.keys, found_);
    for (std::size_t i = 0; i < found_.size(); ++i) {
      if (found_[i] == core::no_record) continue;
      const core::replica_set replicas = table.replicas(found_[i]);
      const core::exist_decision decision = core::decide_exist(replicas, request.prefetch);
      // In memory is better than anything, also than a promotion elsewhere.
      const bool is_in_memory = replicas.has(core::replica_kind::memory, core::replica_state::complete);
      const int mine = is_in_memory ? worth_of_memory : worth(decision, can_start);
      if (mine > best_[i].worth) best_[i] = {decision, is_in_memory ? in_memory_mark : backend, mine};
      if (!may_touch || old_.size() == most_old) continue;
      const std::uint32_t known = table.known_at(found_[i]);
      if (known == 0 || known + age <= now) old_.emplace_back(request.keys[i]);
    }
  });
  if (!old_.empty()) {
    has_touched_ = true;
    truth_.touch(backend, request.tenant, std::move(old_));
    old_.clear();
  }
  if (is_time_to_seek_ && can_be_asked) seek(backend, request);
}

/// What is not known here may be there all the same: its store was silent about it, or has no events.
void exist_lookup::seek(std::uint32_t backend, const exist_request& request) {
  // Each time from where it ended, so that what is nowhere does not stand before the rest of the same probe for ever.
  const std::size_t keys = found_.size();
  for (std::size_t i = 0; i < keys && old_.size() < most_old; ++i) {
    const std::size_t at = seek_from_++ % keys;
    if (found_[at] == core::no_record && core::is_object_key(request.keys[at], longest_key_)) old_.emplace_back(request.keys[at]);
  }
  if (old_.empty()) return;
  has_sought_ = true;
  truth_.seek(backend, request.tenant, std::move(old_));
  old_.clear();
}

void exist_lookup::run(const exist_request& request, exist_answer& answer, const std::shared_ptr<promotion_wait>& wait) {
  const std::size_t keys = request.keys.size();
  best_.assign(keys, best{});
  answer.results.assign(keys, exist_result::missing);
  answer.words.assign(request.prefetch ? keys : 0, prefetch_word::none);
  const auto moment = std::chrono::steady_clock::now();
  is_time_to_touch_ = moment - last_touch_ >= between_touches;
  is_time_to_seek_ = moment - last_seek_ >= between_touches;
  has_touched_ = false;
  has_sought_ = false;
  bool is_known = request.backend.empty();
  bool is_reachable = true;
  if (request.backend.empty()) {
    for (std::uint32_t each = 0; each < objects_.backends(); ++each) {
      look(each, request);
      is_reachable = is_reachable && truth_.is_reachable(each);
    }
  } else if (const auto backend = objects_.find(request.backend)) {
    look(*backend, request);
    // What was found answers for itself. Only who asks for more has to know whether anybody would have told of it.
    is_known = std::ranges::all_of(best_, [](const best& each) { return each.decision.exists; }) || objects_.is_in_use(request.backend);
    is_reachable = truth_.is_reachable(*backend);
  }
  if (has_touched_) last_touch_ = moment;
  if (has_sought_) last_seek_ = moment;
  const bool may_be_missing = is_known && is_reachable;
  for (std::size_t i = 0; i < keys; ++i) {
    if (best_[i].decision.exists) {
      answer.results[i] = exist_result::exists;
    } else if (!core::is_object_key(request.keys[i], longest_key_)) {
      answer.results[i] = exist_result::invalid_key;  // in no table, so only what was not found has to be looked at
    } else {
      answer.results[i] = may_be_missing ? exist_result::missing : exist_result::unavailable;
    }
  }
  if (request.prefetch) promote(request, answer, wait);
}

void exist_lookup::promote(const exist_request& request, exist_answer& answer, const std::shared_ptr<promotion_wait>& wait) {
  std::vector<std::string_view> keys;
  std::vector<std::size_t> places;
  std::vector<prefetch_word> words;
  std::vector<std::uint32_t> backends;
  coming_.clear();
  std::size_t joined = 0;
  for (std::size_t i = 0; i < best_.size(); ++i) {
    const core::exist_decision& decision = best_[i].decision;
    if (decision.need == prefetch_need::join) {
      answer.words[i] = prefetch_word::joined;
      ++joined;
      if (wait) coming_.push_back({i, best_[i].backend});
    }
    if (decision.need == prefetch_need::start && std::ranges::find(backends, best_[i].backend) == backends.end()) {
      backends.push_back(best_[i].backend);
    }
  }
  if (joined != 0) promotions_.note_joined(joined);
  for (const std::uint32_t backend : backends) {
    keys.clear();
    places.clear();
    for (std::size_t i = 0; i < best_.size(); ++i) {
      if (best_[i].decision.need != prefetch_need::start || best_[i].backend != backend) continue;
      keys.push_back(request.keys[i]);
      places.push_back(i);
    }
    words.assign(keys.size(), prefetch_word::none);
    promotions_.ask({.backend = backend, .tenant = request.tenant, .preferred = request.preferred}, keys, words, wait);
    for (std::size_t i = 0; i < places.size(); ++i) answer.words[places[i]] = words[i];
  }
}

bool exist_lookup::is_coming(const exist_request& request, exist_answer& answer) {
  std::erase_if(coming_, [&](const awaited& each) {
    return objects_.read(each.backend, [&](const core::object_table& table) {
      const std::uint32_t owner = table.find_owner(objects_.name(each.backend), request.tenant);
      const std::uint32_t object = owner == core::no_record ? core::no_record : table.find(owner, request.keys[each.place]);
      const core::replica_set replicas = object == core::no_record ? core::replica_set() : table.replicas(object);
      if (replicas.has(core::replica_kind::memory, core::replica_state::complete)) return true;
      if (replicas.has(core::replica_kind::memory, core::replica_state::in_flight)) return false;
      answer.words[each.place] = prefetch_word::failed;
      return true;
    });
  });
  const auto moment = std::chrono::steady_clock::now();
  if (coming_.empty() || moment - asked_again_ < between_questions) return !coming_.empty();
  asked_again_ = moment;
  for (std::size_t at = 0; at < coming_.size();) {
    const std::uint32_t backend = coming_[at].backend;
    for (; at < coming_.size() && coming_[at].backend == backend; ++at) {
      if (old_.size() < most_old) old_.emplace_back(request.keys[coming_[at].place]);
    }
    if (objects_.can_be_asked(backend)) truth_.touch(backend, request.tenant, std::move(old_));
    old_.clear();
  }
  return true;
}

void exist_lookup::note_failed(const exist_request& request, promotion_wait& wait, exist_answer& answer) const {
  std::vector<std::uint64_t> failed;
  {
    const std::lock_guard holding(wait.lock);
    failed = wait.failed;
  }
  if (failed.empty()) return;
  std::ranges::sort(failed);
  for (std::size_t i = 0; i < answer.words.size(); ++i) {
    const bool was_coming = answer.words[i] == prefetch_word::started || answer.words[i] == prefetch_word::joined;
    if (!was_coming) continue;
    const std::uint64_t object = promotion_service::fingerprint(best_[i].backend, request.tenant, request.keys[i]);
    if (std::ranges::binary_search(failed, object)) answer.words[i] = prefetch_word::failed;
  }
}

}  // namespace kvc::net
