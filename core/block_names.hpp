// From blocks to the names that a pool knows them by: the other way round than its nodes lead.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/gradual_map.hpp"
#include "core/ids.hpp"

namespace kvc::core {

/// One of several blocks that were asked about, and a name of it.
struct named_block {
  std::uint32_t index = 0;  ///< which of them
  engine_hash name{};
};

/// Which nodes of a pool_joiner mean a block: nearly always one, several where connectors of different engines write into one store.
///
/// A block is written down once for each of its nodes, under a key made of its home, its hash and how many came before, so that no list has
/// to be kept. Bound: `most_names` of one block; further ones are not found. Keys may meet by chance or by malice: whoever looks verifies
/// what is found. Pure; one owner.
class block_names {
 public:
  static constexpr std::uint32_t most_names = 8;

  /// Nothing happens when it is there already, or when there is no room.
  void add(std::uint16_t home, seq_hash block, std::uint32_t node);
  /// Nothing happens when it is not there.
  void remove(std::uint16_t home, seq_hash block, std::uint32_t node);

  /// Calls `visit(node)` for each node of the block.
  template <class Visit>
  void each(std::uint16_t home, seq_hash block, Visit visit) const {
    for (std::uint32_t i = 0; i < most_names; ++i) {
      const std::uint32_t* const node = nodes_.find(key_of(home, block, i));
      if (node == nullptr) return;
      visit(*node);
    }
  }

  [[nodiscard]] std::size_t size() const noexcept { return nodes_.size(); }

 private:
  [[nodiscard]] static std::uint64_t key_of(std::uint16_t home, seq_hash block, std::uint32_t before) noexcept;

  gradual_map nodes_{arena_kind::objects};
};

}  // namespace kvc::core
