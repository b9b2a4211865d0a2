// A naive model of a store's pool among others, with names that engines explain, tokens that objects tell, and parts on several media.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/medium.hpp"

namespace kvc::test::pools {

using namespace kvc::core;

/// Media on which the model's objects may be.
inline constexpr std::array<medium_id, 2> told_media{medium_id::cpu, medium_id::disk};

/// A block: its adapter, and the letters of its prompt up to it.
using pool_block = std::pair<std::string, std::string>;
/// A name, and the adapter under which it is watched.
using pool_name = std::pair<std::string, std::uint64_t>;

/// What engines have told of watched names, while anybody watches them.
struct told_board {
  /// A name, and the adapter whose engines explain it; none: anybody does.
  using watched = std::pair<std::uint64_t, std::optional<std::string>>;
  /// Watchers of a name, and what it means: several things where it is doubtful.
  std::map<watched, std::pair<unsigned, std::set<pool_block>>> names;
  std::set<watched> asked;  ///< what engines have stored before is still to be asked for

  void tell(std::uint64_t name, const pool_block& means) {
    for (const std::optional<std::string>& whose : {std::optional<std::string>{}, std::optional(means.first)}) {
      if (const auto told = names.find({name, whose}); told != names.end()) told->second.second.insert(means);
    }
  }
};

/// One pool, as the specification has it. Names that tokens place are watched when these no longer do; what has been told stays while there
/// is anything of the name. Precondition of all that ask: what was to be asked for has been answered.
struct pool_model {
  struct node {
    std::optional<std::string> letters;  // by tokens
    std::optional<std::uint64_t> parent;
    bool is_watched = false;
    bool may_be_sequence = false;
  };
  struct object {
    pool_name of;
    bool has_parts = false;
    media_mask on = 0;
  };
  std::uint32_t shards = 0;
  bool names_adapters = false;  // also where there is none; else what it says nothing of is anybody's
  std::map<pool_name, node> nodes;
  std::map<std::string, object> objects;
  std::map<std::string, std::set<unsigned>> parts;  // by adapter: of the layout that has parts
  told_board* board = nullptr;

  enum class state : std::uint8_t { waiting, placed, elsewhere };
  struct where {
    state is = state::waiting;
    pool_block at;                    // the last block
    std::vector<std::string> blocks;  // all it stands for, by letters
  };

  [[nodiscard]] bool is_home_told(const pool_name& key) const { return names_adapters || !key.first.empty(); }
  [[nodiscard]] told_board::watched watched(const pool_name& key) const {
    return {key.second, is_home_told(key) ? std::optional(key.first) : std::nullopt};
  }
  [[nodiscard]] where by_engines(const pool_name& key) const {
    const auto told = board->names.find(watched(key));
    const bool is_told = nodes.at(key).is_watched && told != board->names.end() && !told->second.second.empty();
    if (is_told && told->second.second.size() > 1) return {};
    if (is_told) return {state::placed, *told->second.second.begin(), {told->second.second.begin()->second}};
    return {nodes.at(key).may_be_sequence ? state::elsewhere : state::waiting, {key.first, ""}, {}};
  }
  [[nodiscard]] bool is_by_tokens(const pool_name& key) const {
    const node& which = nodes.at(key);
    if (!which.letters || !which.parent) return which.letters.has_value();
    const where before = place_of({key.first, *which.parent});
    return before.is != state::waiting && (!is_home_told(key) || before.at.first == key.first);
  }
  [[nodiscard]] where place_of(const pool_name& key) const {
    const node& which = nodes.at(key);
    if (!is_by_tokens(key)) return by_engines(key);
    where found{state::placed, {key.first, ""}, {}};
    if (which.parent) {
      const where before = place_of({key.first, *which.parent});
      if (before.is == state::elsewhere) return before;
      found.at = before.at;
    }
    for (const char letter : *which.letters) {
      found.at.second += letter;
      found.blocks.push_back(found.at.second);
    }
    return found;
  }
  [[nodiscard]] bool is_behind(const pool_name& key, const pool_name& other) const {
    for (std::optional<pool_name> at = key; at;) {
      if (*at == other) return true;
      const auto& parent = nodes.at(*at).parent;
      at = parent ? std::optional<pool_name>({key.first, *parent}) : std::nullopt;
    }
    return false;
  }
  void take_tokens(const pool_name& key, const std::string& letters, const std::optional<std::uint64_t>& parent) {
    if (parent == key.second) return;
    if (parent && nodes.contains({key.first, *parent}) && is_behind({key.first, *parent}, key)) return;
    if (parent) nodes.try_emplace({key.first, *parent});
    nodes[key].letters = letters;
    nodes[key].parent = parent;
    if (parent) (void)watch({key.first, *parent});
  }
  /// What nobody needs goes.
  void prune() {
    for (bool is_more = true; is_more;) {
      is_more = false;
      for (auto each = nodes.begin(); each != nodes.end();) {
        const pool_name key = each->first;
        const bool is_needed = std::ranges::any_of(objects, [&](const auto& one) { return one.second.of == key; }) ||
                               std::ranges::any_of(nodes, [&](const auto& other) {
                                 return other.first.first == key.first && other.second.parent == key.second;
                               });
        if (!is_needed && each->second.is_watched) unwatch(key);
        is_more = is_more || !is_needed;
        each = is_needed ? std::next(each) : nodes.erase(each);
      }
    }
  }
  /// What no tokens place is watched from now on, as long as it is there.
  bool watch(const pool_name& key) {
    node& which = nodes.at(key);
    if (which.is_watched || is_by_tokens(key)) return false;
    which.is_watched = true;
    auto& [watchers, meanings] = board->names[watched(key)];
    ++watchers;
    if (meanings.empty()) board->asked.insert(watched(key));
    return true;
  }
  /// Those that stand behind what has lost its place, from the front to the back.
  void follow() {
    const auto may_be_placed = [&](const pool_name& key) { return nodes.at(key).is_watched || is_by_tokens(key); };
    for (bool is_more = true; is_more;) {
      is_more = false;
      for (const auto& [key, each] : nodes) {
        if (!each.letters || !each.parent || may_be_placed({key.first, *each.parent})) is_more = watch(key) || is_more;
      }
    }
  }
  void unwatch(const pool_name& key) {
    const auto at = board->names.find(watched(key));
    if (--at->second.first == 0) board->names.erase(at);
  }
  void forget() {
    for (const auto& [key, each] : nodes) {
      if (each.is_watched) unwatch(key);
    }
    nodes.clear();
    objects.clear();
    parts.clear();
  }
  /// The blocks that are there on these media, or spread over several.
  [[nodiscard]] std::set<pool_block> blocks_on(media_mask media, bool with_mixed) const {
    std::set<pool_block> there;
    for (const auto& [key, each] : nodes) {
      const where found = place_of(key);
      if (found.is != state::placed) continue;
      for (const bool has_parts : {false, true}) {
        const auto seen = parts.find(key.first);
        const std::size_t needed = shards != 0 ? shards : has_parts && seen != parts.end() ? seen->second.size() : 1;
        std::size_t any = 0;
        std::map<medium_id, std::size_t> on;
        for (const auto& [text, one] : objects) {
          if (one.of != key || one.has_parts != has_parts) continue;
          ++any;
          for (const medium_id medium : told_media) on[medium] += (one.on & mask_of(medium)) != 0 ? 1U : 0U;
        }
        if (any < needed || any == 0) continue;
        const bool is_somewhere = std::ranges::any_of(on, [&](const auto& count) { return count.second >= needed; });
        const bool is_meant =
            std::ranges::any_of(on, [&](const auto& count) { return count.second >= needed && (media & mask_of(count.first)) != 0; });
        if (!is_meant && (is_somewhere || !with_mixed)) continue;
        for (const std::string& letters : found.blocks) there.emplace(found.at.first, letters);
      }
    }
    return there;
  }
};

/// Blocks of a prompt that are there, up to the first that is not.
inline unsigned depth_of(const std::set<pool_block>& there, const pool_block& prompt) {
  unsigned depth = 0;
  while (depth < prompt.second.size() && there.contains({prompt.first, prompt.second.substr(0, depth + 1)})) ++depth;
  return depth;
}

}  // namespace kvc::test::pools
