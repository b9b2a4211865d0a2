#include "core/block_hasher.hpp"

#define XXH_INLINE_ALL  // one step of the rolling hash is a dozen instructions, less than a call
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include <xxhash.h>

#include "core/long_digest.hpp"

namespace kvc::core {

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

void hash_blocks(std::span<const std::uint32_t> tokens, std::uint32_t block_size, std::uint64_t seed, std::vector<local_hash>& out,
                 std::span<const std::string> extra_keys) {
  const std::size_t blocks = tokens.size() / block_size;
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

std::uint64_t digest(std::span<const std::byte> bytes) {
  constexpr std::size_t longest_short = 240;  // bytes; XXH3 itself goes another way from there on
  return bytes.size() > longest_short ? long_digest(bytes) : XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace kvc::core
