// Tokens to complete blocks to local hashes to sequence hashes. The only file that knows the hash function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/ids.hpp"

namespace kvc::core {

/// The seed the field uses (RFC 1527's author, "as used by Dynamo"; kv-events.md section 6.5).
inline constexpr std::uint64_t default_hash_seed = 1337;

/// All that decides the hashes of blocks without extra keys but their tokens.
struct hash_recipe {
  std::uint32_t block_size = 0;  ///< tokens; whoever hashes by it needs one at least
  std::uint64_t seed = 0;

  friend bool operator==(const hash_recipe&, const hash_recipe&) = default;
};

/// Hash of one complete block: XXH3-64 over the tokens as little-endian u32, then the canonical MessagePack bytes of its extra keys if it
/// has any (seed document 000, "Hashing standard"; spec indexer-api, "Hashing"). `tokens` must be exactly one block. Pure.
[[nodiscard]] local_hash hash_block(std::span<const std::uint32_t> tokens, std::uint64_t seed, std::string_view extra_keys = {});

/// The rolling hash one block further: XXH3-64(previous u64 LE || local u64 LE). Pure.
[[nodiscard]] seq_hash roll(seq_hash previous, local_hash local, std::uint64_t seed);

/// The rolling hash of a first block is its local hash.
[[nodiscard]] constexpr seq_hash first_in_sequence(local_hash local) {
  return seq_hash{local.get()};
}

/// Appends the local hash of every complete block of `tokens`; a tail shorter than `block_size` is ignored. `extra_keys` is empty or has
/// one (possibly empty) entry per block; missing entries count as empty. `block_size` is at least 1. Pure.
void hash_blocks(std::span<const std::uint32_t> tokens, std::uint32_t block_size, std::uint64_t seed, std::vector<local_hash>& out,
                 std::span<const std::string> extra_keys = {});

/// The local hashes of blocks that have no extra keys. `tokens` are those of as many blocks as there is room for in `out`. Pure.
void hash_blocks(std::span<const std::uint32_t> tokens, const hash_recipe& by, std::span<local_hash> out);

/// Appends the sequence hashes of a prompt whose blocks have these local hashes.
void roll_from_root(std::span<const local_hash> locals, std::uint64_t seed, std::vector<seq_hash>& out);

/// A well-mixed 64-bit digest of any bytes: XXH3-64. Outsiders can find bytes that have one digest, or digests of one bucket, unless `seed`
/// is a secret; see text_spread.hpp. Pure; any lane.
[[nodiscard]] std::uint64_t digest(std::span<const std::byte> bytes, std::uint64_t seed = 0);

}  // namespace kvc::core
