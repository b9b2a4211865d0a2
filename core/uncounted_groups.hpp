// Blocks of KV-cache groups that cannot answer for a prefix: how many a worker holds of them, and nothing more.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

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
/// A store tells what kind of group it is about, a removal names the group only, so what stores said is remembered. Bounded: 64 groups and
/// 262,144 names; what is beyond is not tracked. Nearly no worker has such groups, so what counts them is made when the first is stored.
/// Lane: one owner.
class uncounted_groups {
 public:
  static constexpr std::size_t max_groups = 64;  ///< engines have a handful; a stream that invents more is not believed
  static constexpr std::size_t max_names = 262'144;

  /// `copy_counting`: a removal takes one copy away; false: it takes the name away.
  explicit uncounted_groups(bool copy_counting) : copy_counting_(copy_counting) {}

  /// Whether an event of this scope is about such a group.
  [[nodiscard]] bool covers(const event_scope& scope);

  void store(std::span<const engine_hash> names, std::uint32_t group, medium_id medium);
  void remove(std::span<const engine_hash> names, std::uint32_t group, medium_id medium);
  void clear(media_mask which);
  /// Everything, and which groups they were: the next generation of the publisher may number them in another way.
  void forget();

  /// Names held, per group and medium.
  [[nodiscard]] std::size_t blocks() const noexcept { return blocks_; }

 private:
  [[nodiscard]] static std::uint64_t key(engine_hash name, std::uint32_t group) noexcept;

  bool copy_counting_;
  boost::unordered_flat_set<std::uint32_t> groups_;
  using copies = boost::unordered_flat_map<std::uint64_t, std::uint32_t, number_spread>;
  std::unique_ptr<std::array<copies, max_media>> copies_;  ///< null: none was ever stored
  std::size_t blocks_ = 0;
};

}  // namespace kvc::core
