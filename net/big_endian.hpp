// Whole numbers as the network writes them, highest byte first, wherever they lie.
#pragma once

#include <bit>
#include <concepts>
#include <cstring>

namespace kvc::net {

/// The number whose bytes begin at `at`, all of which are readable. One load and one instruction; compilers make a loop of as many steps as
/// bytes of what is written byte by byte. Pure.
template <std::unsigned_integral Word>
[[nodiscard]] Word big_endian_at(const unsigned char* at) noexcept {
  Word word = 0;
  std::memcpy(&word, at, sizeof(word));
  if constexpr (std::endian::native == std::endian::big || sizeof(Word) == 1) return word;
  if constexpr (sizeof(Word) == 2) return __builtin_bswap16(word);
  if constexpr (sizeof(Word) == 4) return __builtin_bswap32(word);
  if constexpr (sizeof(Word) == 8) return __builtin_bswap64(word);
}

}  // namespace kvc::net
