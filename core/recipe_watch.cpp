#include "core/recipe_watch.hpp"

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <utility>

namespace kvc::core {
namespace {

// Below these, chance may explain what is seen: a separator or a padding block that two prompts have in common.
constexpr std::uint32_t least_roots = 4;
constexpr std::uint32_t least_inner = 16;
constexpr std::uint64_t least_contradictions = 4;

/// Puts a value into the smallest `most` of a sorted list; false when it is there already or too large.
template <class Value, class Key>
bool keep_smallest(std::vector<Value>& list, const Value& value, std::size_t most, Key key) {
  const auto at = std::ranges::lower_bound(list, key(value), {}, key);
  if (at != list.end() && key(*at) == key(value)) return false;
  if (list.size() == most && at == list.end()) return false;
  list.insert(at, value);
  if (list.size() > most) list.pop_back();
  return true;
}

/// Who has a content, as far as it matters for one of them.
struct holders {
  std::uint32_t first = 0;
  bool are_several = false;
};

}  // namespace

std::string_view to_string(recipe_verdict verdict) noexcept {
  switch (verdict) {
    case recipe_verdict::unknown: return "unknown";
    case recipe_verdict::agrees: return "agrees";
    case recipe_verdict::names_differ: return "names_differ";
    case recipe_verdict::chains_differ: return "chains_differ";
    case recipe_verdict::contradicts_tokens: return "contradicts_tokens";
  }
  return "unknown";
}

void recipe_notes::note(std::span<const local_hash> locals, std::span<const engine_hash> names, bool is_root) {
  std::size_t next = 0;
  if (is_root && !locals.empty()) {
    if (locals[0].get() <= largest_root_) note_root(locals[0], names[0]);
    next = 1;
  }
  for (; next < locals.size(); ++next) {
    if (locals[next].get() >= largest_inner_) continue;
    const std::lock_guard lock(changing_);
    (void)keep_smallest(sample_.inner, locals[next], kept_inner, std::identity{});
    if (sample_.inner.size() == kept_inner) largest_inner_ = sample_.inner.back().get();
  }
}

void recipe_notes::note_root(local_hash content, engine_hash name) {
  const auto known = std::ranges::lower_bound(sample_.roots, content, {}, &recipe_sample::root::content);
  if (known != sample_.roots.end() && known->content == content) return note_check(known->name == name);
  const std::lock_guard lock(changing_);
  // One name for two contents; two names for one content are seen above.
  if (std::ranges::find(sample_.roots, name, &recipe_sample::root::name) != sample_.roots.end()) {
    ++sample_.checked;
    ++sample_.contradicted;
  }
  (void)keep_smallest(sample_.roots, {content, name}, kept_roots, [](const recipe_sample::root& each) { return each.content; });
  if (sample_.roots.size() == kept_roots) largest_root_ = sample_.roots.back().content.get();
}

void recipe_notes::note_check(bool is_right) {
  const std::lock_guard lock(changing_);
  ++sample_.checked;
  if (!is_right) ++sample_.contradicted;
}

void recipe_notes::reset() {
  const std::lock_guard lock(changing_);
  sample_ = {};
  is_found_old_ = true;
  largest_root_ = ~std::uint64_t{0};
  largest_inner_ = ~std::uint64_t{0};
}

recipe_sample recipe_notes::sample() const {
  const std::lock_guard lock(changing_);
  return sample_;
}

bool recipe_notes::update(const finding& now, bool is_part) {
  const std::lock_guard lock(changing_);
  const bool has_missed = is_part && now.verdict == recipe_verdict::names_differ && found_.verdict == recipe_verdict::agrees;
  const bool says_less = now.verdict == recipe_verdict::unknown || has_missed;
  if (says_less && found_.verdict != recipe_verdict::unknown && !is_found_old_) return false;
  is_found_old_ = false;
  return std::exchange(found_, now).verdict != now.verdict;
}

recipe_notes::finding recipe_notes::found() const {
  const std::lock_guard lock(changing_);
  return found_;
}

std::vector<recipe_window> recipe_windows(std::size_t members, std::size_t at_once, std::size_t round) {
  if (members <= at_once) return {{0, members}};
  const std::size_t begin = round * (at_once / 2 - 1) % members;
  std::vector<recipe_window> windows;
  for (std::size_t from = 0; from < members; from += at_once) {
    windows.push_back({(begin + std::min(from, members - at_once)) % members, at_once});
  }
  return windows;
}

std::vector<recipe_notes::finding> compare_recipes(std::span<const recipe_member> members) {
  std::unordered_map<local_hash, std::vector<std::pair<std::uint32_t, engine_hash>>> roots;
  std::unordered_map<local_hash, holders> inner;
  for (std::uint32_t i = 0; i < members.size(); ++i) {
    for (const auto& each : members[i].sample.roots) roots[each.content].emplace_back(i, each.name);
    for (const local_hash each : members[i].sample.inner) {
      const auto [at, is_new] = inner.emplace(each, holders{i, false});
      if (!is_new) at->second.are_several = true;
    }
  }
  std::vector<recipe_notes::finding> found(members.size());
  std::vector<std::uint32_t> comparable(members.size());  // shared roots at members of the same type
  for (const auto& [content, who] : roots) {
    for (const auto& [self, name] : who) {
      bool is_shared = false;
      bool is_comparable = false;
      bool agrees = false;
      for (const auto& [other, their_name] : who) {
        if (other == self) continue;
        is_shared = true;
        if (members[other].type != members[self].type) continue;
        is_comparable = true;
        agrees = agrees || their_name == name;
      }
      found[self].shared_roots += is_shared ? 1U : 0U;
      found[self].agreeing_roots += agrees ? 1U : 0U;
      comparable[self] += is_comparable ? 1U : 0U;
    }
  }
  for (std::size_t i = 0; i < members.size(); ++i) {
    const recipe_sample& sample = members[i].sample;
    recipe_notes::finding& mine = found[i];
    for (const local_hash each : sample.inner) mine.shared_inner += inner.at(each).are_several ? 1U : 0U;
    mine.contradicted = sample.contradicted;
    if (sample.contradicted >= least_contradictions && sample.contradicted * 2 > sample.checked) {
      mine.verdict = recipe_verdict::contradicts_tokens;
    } else if (mine.shared_roots == 0 && !sample.roots.empty() && mine.shared_inner >= least_inner) {
      mine.verdict = recipe_verdict::chains_differ;
    } else if (mine.agreeing_roots != 0) {
      mine.verdict = recipe_verdict::agrees;
    } else if (comparable[i] >= least_roots) {
      mine.verdict = recipe_verdict::names_differ;
    }
  }
  return found;
}

}  // namespace kvc::core
