// Digests to names: the fold that makes binary and integer hashes of one block meet, and keeps two digests apart when it makes them alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <boost/unordered/unordered_flat_map.hpp>

#include "core/ids.hpp"
#include "core/spread.hpp"

namespace kvc::core {

/// The names that one stream's digests stand for.
///
/// A digest's name is its last 8 bytes, big-endian, which is the integer engines publish for the same block. Two digests that end alike
/// would then be one block; so the first one keeps the fold, and any other digest with that end is named by a hash of all its bytes
/// (kv-events.md section 10, cases 2 and 3). The whole digest is remembered as a 64-bit fingerprint, for the newest 131,072 to 262,144
/// folds; one that has been forgotten is as if it had never been seen.
/// Lane: one owner.
class digest_names {
 public:
  static constexpr std::size_t generation_size = 131'072;

  /// `digest` of any length but none. Up to 8 bytes are a number, with nothing to tell apart.
  [[nodiscard]] engine_hash name_of(std::span<const std::byte> digest);

 private:
  using fingerprints = boost::unordered_flat_map<std::uint64_t, std::uint64_t, number_spread>;  ///< fold -> of the digest that has it

  // Two generations: when the young one is full the old one is forgotten as a whole, so no order has to be kept.
  fingerprints young_;
  fingerprints old_;
};

}  // namespace kvc::core
