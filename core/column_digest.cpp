#include "core/column_digest.hpp"

#include <array>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "core/mixed_bits.hpp"
#include "core/spread.hpp"

namespace kvc::core {
namespace {

constexpr std::uint64_t modulus = 0x1B;  ///< x^64 is x^4 + x^3 + x + 1

struct alignas(64) digest_keys {
  std::array<std::uint64_t, blocks_per_digest> each{};
  digest_keys() noexcept {
    // SplitMix64 (Steele, Lea and Flood, 2014), from a place that nothing else spread by the secret begins at.
    std::uint64_t state = spread(0x636F'6C75'6D6E'7321U);
    for (std::uint64_t& key : each) {
      state += golden;
      key = mixed_bits(state);
    }
  }
};

const std::uint64_t* keys() noexcept {
  static const digest_keys drawn;
  return drawn.each.data();
}

std::uint64_t multiplied(std::uint64_t left, std::uint64_t right) noexcept {
  std::uint64_t product = 0;
  for (; right != 0; right >>= 1) {
    if ((right & 1) != 0) product ^= left;
    left = left << 1 ^ (left >> 63 != 0 ? modulus : 0);
  }
  return product;
}

std::uint64_t digest_scalar(const std::uint64_t* locals, const std::uint64_t* key) noexcept {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < blocks_per_digest; i += 2) sum ^= multiplied(locals[i] ^ key[i], locals[i + 1] ^ key[i + 1]);
  return sum;
}

#if defined(__x86_64__)

/// The four products of the pairs in a vector.
__attribute__((target("avx512f,vpclmulqdq,pclmul"), always_inline)) inline __m512i products(const std::uint64_t* locals,
                                                                                            const std::uint64_t* key) noexcept {
  const __m512i sum = _mm512_xor_si512(_mm512_loadu_si512(locals), _mm512_load_si512(key));
  return _mm512_clmulepi64_epi128(sum, sum, 0x10);
}

__attribute__((target("avx512f,vpclmulqdq,pclmul"), always_inline)) inline std::uint64_t digest_avx512(const std::uint64_t* locals,
                                                                                                       const std::uint64_t* key) noexcept {
  // Four sums, so that the additions do not wait for each other; written out, as GCC 12 keeps an array of them in memory.
  __m512i first = _mm512_setzero_si512();
  __m512i second = first;
  __m512i third = first;
  __m512i fourth = first;
  for (std::size_t i = 0; i < blocks_per_digest; i += 32) {
    first = _mm512_xor_si512(first, products(locals + i, key + i));
    second = _mm512_xor_si512(second, products(locals + i + 8, key + i + 8));
    third = _mm512_xor_si512(third, products(locals + i + 16, key + i + 16));
    fourth = _mm512_xor_si512(fourth, products(locals + i + 24, key + i + 24));
  }
  const __m512i whole = _mm512_xor_si512(_mm512_xor_si512(first, second), _mm512_xor_si512(third, fourth));
  // With a mask, as GCC 12 warns of what the plain form leaves open.
  const __m256i half = _mm256_xor_si256(_mm512_maskz_extracti64x4_epi64(0xF, whole, 0), _mm512_maskz_extracti64x4_epi64(0xF, whole, 1));
  const __m128i sum = _mm_xor_si128(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
  // What stands above 64 bits, times the modulus, twice: once leaves at most four bits above.
  const __m128i by = _mm_set_epi64x(0, static_cast<long long>(modulus));
  const __m128i once = _mm_clmulepi64_si128(sum, by, 0x01);
  const __m128i twice = _mm_clmulepi64_si128(once, by, 0x01);
  return static_cast<std::uint64_t>(_mm_cvtsi128_si64(_mm_xor_si128(_mm_xor_si128(sum, once), twice)));
}

__attribute__((target("avx512f,vpclmulqdq,pclmul"))) std::uint64_t one_avx512(const std::uint64_t* locals) noexcept {
  return digest_avx512(locals, keys());
}

__attribute__((target("avx512f,vpclmulqdq,pclmul"))) std::size_t common_avx512(const std::uint64_t* digests, const std::uint64_t* hashes,
                                                                               std::size_t count) noexcept {
  const std::uint64_t* const key = keys();
  for (std::size_t i = 0; i < count; ++i) {
    if (digest_avx512(hashes + i * blocks_per_digest, key) != digests[i]) return i;
  }
  return count;
}

bool has_wide_products() noexcept {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("vpclmulqdq") && __builtin_cpu_supports("pclmul");
}

#else

bool has_wide_products() noexcept {
  return false;
}

#endif

const bool is_wide = has_wide_products();

}  // namespace

bool digests_pay() noexcept {
  return is_wide;
}

std::uint64_t column_digest_scalar(const std::uint64_t* locals) noexcept {
  return digest_scalar(locals, keys());
}

std::uint64_t column_digest(const std::uint64_t* locals) noexcept {
#if defined(__x86_64__)
  if (is_wide) return one_avx512(locals);
#endif
  return digest_scalar(locals, keys());
}

std::size_t common_digests(const std::uint64_t* digests, const std::uint64_t* hashes, std::size_t count) noexcept {
#if defined(__x86_64__)
  if (is_wide) return common_avx512(digests, hashes, count);
#endif
  std::size_t same = 0;
  while (same < count && column_digest_scalar(hashes + same * blocks_per_digest) == digests[same]) ++same;
  return same;
}

}  // namespace kvc::core
