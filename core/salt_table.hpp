// What is known about each cache salt that has tracked keys: sums, and the two ends of its order of use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/slab.hpp"

namespace kvc::core {

/// One tenant's tracked keys. Numbers of keys are those of `key_store`.
struct salt_state {
  std::string name;
  std::uint64_t serial = 0;  ///< rises with each salt that begins to be tracked
  std::size_t written = 0;   ///< `escaped_size` of the name
  std::uint64_t keys = 0;
  std::uint64_t bytes = 0;
  std::uint64_t keys_in_flight = 0;  ///< sent for deletion and not heard of since
  std::uint64_t bytes_in_flight = 0;
  std::uint32_t oldest = no_record;       ///< least recently used key
  std::uint32_t newest = no_record;       ///< most recently used one
  std::uint32_t last_seeded = no_record;  ///< newest of the keys a resync has put before all others
  std::uint32_t cursor = no_record;       ///< where a walk from old to new goes on; moved on when that key moves or goes
};

/// Salts by number, by name and by the order in which they began to be tracked. A salt is here exactly while it has keys; one that went and
/// came back is the last again.
/// Pure; one lane.
class salt_table {
 public:
  /// `no_record` when the salt has no keys.
  [[nodiscard]] std::uint32_t find(std::string_view name) const;
  /// The number of the salt, which the caller gives a key now, or else lets go by `leave_if_empty`. What it throws changes nothing.
  [[nodiscard]] std::uint32_t join(std::string_view name);
  /// The salt has lost a key; with the last one it goes.
  void leave_if_empty(std::uint32_t id) noexcept;

  [[nodiscard]] salt_state& operator[](std::uint32_t id) noexcept { return salts_[id]; }
  [[nodiscard]] const salt_state& operator[](std::uint32_t id) const noexcept { return salts_[id]; }

  /// In order of their names' bytes, which is the order of code points: "" first. Names are valid as long as their salt.
  [[nodiscard]] const std::map<std::string_view, std::uint32_t, std::less<>>& by_name() const noexcept { return by_name_; }
  /// Serial to number, in order of first tracking.
  [[nodiscard]] const std::map<std::uint64_t, std::uint32_t>& by_age() const noexcept { return by_age_; }

  [[nodiscard]] std::size_t size() const noexcept { return by_age_.size(); }
  [[nodiscard]] std::size_t bytes() const noexcept;

 private:
  std::deque<salt_state> salts_;
  std::vector<std::uint32_t> free_;
  std::map<std::string_view, std::uint32_t, std::less<>> by_name_;  ///< views of the names in `salts_`
  std::map<std::uint64_t, std::uint32_t> by_age_;
  std::uint64_t next_serial_ = 1;
  std::size_t text_bytes_ = 0;
  std::uint32_t last_joined_ = no_record;  ///< events of one salt come in a row
};

}  // namespace kvc::core
