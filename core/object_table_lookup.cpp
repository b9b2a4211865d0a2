// Looking for many objects at once.
#include <algorithm>
#include <array>

#include "core/bring_near.hpp"
#include "core/object_table.hpp"

namespace kvc::core {

void object_table::find_all(std::uint32_t owner, std::span<const std::string_view> keys, std::span<std::uint32_t> found) const {
  // A look-up waits for memory three times: the table's line, the record, its key. With a group in flight each wait is paid for once per
  // group. 128 keys among five million objects: 61 us one by one, 7.9 in groups of 16, 5.9 of 32, 5.4 of 128.
  constexpr std::size_t group = 32;
  std::array<std::uint64_t, group> hashes{};
  std::array<std::uint32_t, group> candidates{};
  for (std::size_t begin = 0; begin < keys.size(); begin += group) {
    const std::size_t some = std::min(group, keys.size() - begin);
    for (std::size_t i = 0; i < some; ++i) {
      hashes[i] = digest(owner, keys[begin + i]);
      by_key_.prefetch(hashes[i]);
    }
    for (std::size_t i = 0; i < some; ++i) {
      candidates[i] = no_record;
      (void)by_key_.find(hashes[i], [&](std::uint32_t object) {
        candidates[i] = object;
        return true;
      });
      if (candidates[i] != no_record) records_.prefetch(candidates[i]);
    }
    for (std::size_t i = 0; i < some; ++i) {
      if (candidates[i] != no_record) bring_near(records_[candidates[i]].text);
    }
    for (std::size_t i = 0; i < some; ++i) {
      std::uint32_t& result = found[begin + i];
      result = no_record;
      if (candidates[i] == no_record) continue;
      (void)by_key_.find(hashes[i], [&](std::uint32_t object) {
        const record& one = records_[object];
        if (one.owner != owner || std::string_view(one.text, one.length) != keys[begin + i]) return false;
        result = object;
        return true;
      });
    }
  }
}

}  // namespace kvc::core
