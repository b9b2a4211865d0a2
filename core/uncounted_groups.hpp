// Blocks of KV-cache groups that cannot answer for a prefix: how many a worker holds of them, and nothing more.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>

#include "core/event.hpp"
#include "core/ids.hpp"
#include "core/medium.hpp"
#include "core/spread.hpp"

namespace kvc::core {

/// The groups of one worker that are tracked and never counted as prefix (sliding windows, mamba and the like: kv-events.md section 10,
/// case 15).
///
/// A store is judged by its own kind, and a missing kind is a full one: what names no group may be about any of them, as what connectors
/// say of other tiers is. Only a store that names its group and no kind is of the kind told of that group before. A removal tells no kind:
/// it means what was stored under its group, name and medium, so the names are what is remembered. Bounded: 64 groups and 262,144 names;
/// what is beyond is not tracked. Nearly no worker has such groups, so what counts them is made when the first is stored. Lane: one owner.
class uncounted_groups {
 public:
  static constexpr std::size_t max_groups = 64;  ///< engines have a handful; a stream that invents more is not believed
  static constexpr std::size_t max_names = 262'144;

  /// `copy_counting`: a removal takes one copy away; false: it takes the name away.
  explicit uncounted_groups(bool copy_counting) : copy_counting_(copy_counting) {}

  /// Whether a store of this scope is about such a group; that it is one is remembered.
  [[nodiscard]] bool covers(const event_scope& scope);
  /// Whether a store was about this group and said that it is such a one.
  [[nodiscard]] bool knows(std::uint32_t group) const noexcept {
    return !groups_.empty() && groups_.contains(group);  // nearly no worker has any
  }

  void store(std::span<const engine_hash> names, std::uint32_t group, medium_id medium);
  /// Takes names away from these media. The names that were on none of them; valid until the next call, and as long as `names`.
  [[nodiscard]] std::span<const engine_hash> remove(std::span<const engine_hash> names, std::uint32_t group, media_mask which);
  void clear(media_mask which);
  /// Everything, and which groups they were: the next generation of the publisher may number them in another way.
  void forget();

  /// Names held, per group and medium.
  [[nodiscard]] std::size_t blocks() const noexcept { return blocks_; }

 private:
  using copies = boost::unordered_flat_map<std::uint64_t, std::uint32_t, number_spread>;
  struct tracked {
    std::array<copies, max_media> on;
    std::vector<engine_hash> others;  ///< of the last removal: the names that are none of these
  };

  [[nodiscard]] static std::uint64_t key(engine_hash name, std::uint32_t group) noexcept;
  /// False: the name is not there.
  [[nodiscard]] bool remove_one(std::uint64_t key, copies& held);

  bool copy_counting_;
  boost::unordered_flat_set<std::uint32_t> groups_;
  std::unique_ptr<tracked> tracked_;  ///< null: none was ever stored
  std::size_t blocks_ = 0;
};

}  // namespace kvc::core
