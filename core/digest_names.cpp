#include "core/digest_names.hpp"

#include <algorithm>
#include <utility>

#include "core/block_hasher.hpp"

namespace kvc::core {

engine_hash digest_names::name_of(std::span<const std::byte> digest) {
  constexpr std::size_t folded_bytes = 8;
  std::uint64_t fold = 0;
  for (const std::byte byte : digest.last(std::min(digest.size(), folded_bytes))) fold = fold << 8 | std::to_integer<std::uint64_t>(byte);
  if (digest.size() <= folded_bytes) return engine_hash{fold};
  const std::uint64_t fingerprint = core::digest(digest);
  if (const auto found = young_.find(fold); found != young_.end()) return engine_hash{found->second == fingerprint ? fold : fingerprint};
  std::uint64_t owner = fingerprint;
  if (const auto found = old_.find(fold); found != old_.end()) owner = found->second;  // used again: it moves to the young ones
  if (young_.size() >= generation_size) {
    old_ = std::move(young_);
    young_.clear();
  }
  young_.emplace(fold, owner);
  return engine_hash{owner == fingerprint ? fold : fingerprint};
}

}  // namespace kvc::core
