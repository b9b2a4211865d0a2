#include "core/block_hasher.hpp"

#define XXH_INLINE_ALL  // one step of the rolling hash is a dozen instructions, less than a call
#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstring>

#include <xxhash.h>

#include "core/long_digest.hpp"

namespace kvc::core {
namespace {

/// Blocks without extra keys, one behind the other, of a size that the compiler knows: of 16 tokens each takes 52 instructions then, since
/// nothing is asked about the length, and what the secret and the seed make together is made once for all; 113 otherwise (`hash_block`).
template <std::uint32_t block_size>
[[gnu::flatten]] void hash_plain(std::span<const std::uint32_t> tokens, std::uint64_t seed, std::span<local_hash> out) {
  const std::uint32_t* at = tokens.data();
  for (local_hash& each : out) {
    each = local_hash{XXH3_64bits_withSeed(at, block_size * sizeof(std::uint32_t), seed)};
    at += block_size;
  }
}

using plain_hasher = void (*)(std::span<const std::uint32_t>, std::uint64_t, std::span<local_hash>);

/// For the usual sizes; null for another. From 64 tokens on the library goes the way for long inputs, in which the length is no part.
plain_hasher plain_hasher_for(std::uint32_t block_size) {
  if (block_size == 16) return hash_plain<16>;
  if (block_size == 32) return hash_plain<32>;
  return nullptr;
}

}  // namespace

static_assert(std::endian::native == std::endian::little, "tokens and hashes are hashed in their little-endian form as they lie in memory");

local_hash hash_block(std::span<const std::uint32_t> tokens, std::uint64_t seed, std::string_view extra_keys) {
  if (extra_keys.empty()) return local_hash{XXH3_64bits_withSeed(tokens.data(), tokens.size_bytes(), seed)};
  std::string bytes(tokens.size_bytes() + extra_keys.size(), '\0');
  if (!tokens.empty()) std::memcpy(bytes.data(), tokens.data(), tokens.size_bytes());
  std::ranges::copy(extra_keys, bytes.begin() + static_cast<std::ptrdiff_t>(tokens.size_bytes()));
  return local_hash{XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed)};
}

seq_hash roll(seq_hash previous, local_hash local, std::uint64_t seed) {
  const std::array<std::uint64_t, 2> pair{previous.get(), local.get()};
  return seq_hash{XXH3_64bits_withSeed(pair.data(), sizeof(pair), seed)};
}

void hash_blocks(std::span<const std::uint32_t> tokens, const hash_recipe& by, std::span<local_hash> out) {
  assert(tokens.size() == out.size() * by.block_size);
  if (const plain_hasher plain = plain_hasher_for(by.block_size)) return plain(tokens, by.seed, out);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = hash_block(tokens.subspan(i * by.block_size, by.block_size), by.seed);
}

void hash_blocks(std::span<const std::uint32_t> tokens, std::uint32_t block_size, std::uint64_t seed, std::vector<local_hash>& out,
                 std::span<const std::string> extra_keys) {
  const std::size_t blocks = tokens.size() / block_size;
  if (extra_keys.empty()) {
    out.resize(out.size() + blocks);
    return hash_blocks(tokens.first(blocks * block_size), {block_size, seed}, std::span(out).last(blocks));
  }
  out.reserve(out.size() + blocks);
  for (std::size_t i = 0; i < blocks; ++i) {
    const std::string_view extra = i < extra_keys.size() ? std::string_view(extra_keys[i]) : std::string_view();
    out.push_back(hash_block(tokens.subspan(i * block_size, block_size), seed, extra));
  }
}

void roll_from_root(std::span<const local_hash> locals, std::uint64_t seed, std::vector<seq_hash>& out) {
  out.reserve(out.size() + locals.size());
  seq_hash previous{};
  for (std::size_t i = 0; i < locals.size(); ++i) {
    previous = i == 0 ? first_in_sequence(locals[0]) : roll(previous, locals[i], seed);
    out.push_back(previous);
  }
}

std::uint64_t digest(std::span<const std::byte> bytes, std::uint64_t seed) {
  constexpr std::size_t longest_short = 240;  // bytes; XXH3 itself goes another way from there on
  return bytes.size() > longest_short ? long_digest(bytes, seed) : XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

}  // namespace kvc::core
