#include "core/block_names.hpp"

#include "core/mixed_bits.hpp"

namespace kvc::core {

std::uint64_t block_names::key_of(std::uint16_t home, seq_hash block, std::uint32_t before) noexcept {
  return block.get() ^ ((std::uint64_t{before} << 32 | home) * golden);
}

void block_names::add(std::uint16_t home, seq_hash block, std::uint32_t node) {
  for (std::uint32_t i = 0; i < most_names; ++i) {
    const std::uint64_t key = key_of(home, block, i);
    const std::uint32_t* const known = nodes_.find(key);
    if (known == nullptr) return nodes_.add(key, node);
    if (*known == node) return;
  }
}

void block_names::remove(std::uint16_t home, seq_hash block, std::uint32_t node) {
  std::uint32_t mine = most_names;
  std::uint32_t count = 0;
  for (; count < most_names; ++count) {
    const std::uint32_t* const known = nodes_.find(key_of(home, block, count));
    if (known == nullptr) break;
    if (*known == node) mine = count;
  }
  if (mine >= count) return;
  // The last one takes its place, so that there is no hole at which a search would end.
  const std::uint64_t last = key_of(home, block, count - 1);
  const std::uint32_t moved = *nodes_.find(last);
  nodes_.erase(last);
  if (mine == count - 1) return;
  const std::uint64_t place = key_of(home, block, mine);
  nodes_.erase(place);
  nodes_.add(place, moved);
}

}  // namespace kvc::core
