#include "core/column_digest.hpp"

#include <array>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "core/bring_near.hpp"
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

/// How many products this CPU takes at once, if it is worth it to have it do so.
enum class width : std::uint8_t { none, pairs, whole_vectors, whole_vectors_asked_for };

#if defined(__x86_64__)

/// A sum of products in the field: what stands above 64 bits, times the modulus, twice, since once leaves at most four bits above.
__attribute__((target("pclmul"), always_inline)) inline std::uint64_t reduced(__m128i sum) noexcept {
  const __m128i by = _mm_set_epi64x(0, static_cast<long long>(modulus));
  const __m128i once = _mm_clmulepi64_si128(sum, by, 0x01);
  const __m128i twice = _mm_clmulepi64_si128(once, by, 0x01);
  return static_cast<std::uint64_t>(_mm_cvtsi128_si64(_mm_xor_si128(_mm_xor_si128(sum, once), twice)));
}

/// The four products of the pairs in a vector.
__attribute__((target("avx512f,vpclmulqdq,pclmul"), always_inline)) inline __m512i products(const std::uint64_t* locals,
                                                                                            __m512i key) noexcept {
  const __m512i sum = _mm512_xor_si512(_mm512_loadu_si512(locals), key);
  return _mm512_clmulepi64_epi128(sum, sum, 0x10);
}

/// The digest that the four sums of products of a vector add up to.
__attribute__((target("avx512f,vpclmulqdq,pclmul"), always_inline)) inline std::uint64_t reduced(__m512i sums) noexcept {
  // With a mask, as GCC 12 warns of what the plain form leaves open.
  const __m256i half = _mm256_xor_si256(_mm512_maskz_extracti64x4_epi64(0xF, sums, 0), _mm512_maskz_extracti64x4_epi64(0xF, sums, 1));
  return reduced(_mm_xor_si128(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1)));
}

__attribute__((target("avx512f,vpclmulqdq,pclmul"), always_inline)) inline std::uint64_t digest_avx512(const std::uint64_t* locals,
                                                                                                       const std::uint64_t* key) noexcept {
  // Four sums, so that the additions do not wait for each other; written out, as GCC 12 keeps an array of them in memory.
  __m512i first = _mm512_setzero_si512();
  __m512i second = first;
  __m512i third = first;
  __m512i fourth = first;
  for (std::size_t i = 0; i < blocks_per_digest; i += 32) {
    first = _mm512_xor_si512(first, products(locals + i, _mm512_load_si512(key + i)));
    second = _mm512_xor_si512(second, products(locals + i + 8, _mm512_load_si512(key + i + 8)));
    third = _mm512_xor_si512(third, products(locals + i + 16, _mm512_load_si512(key + i + 16)));
    fourth = _mm512_xor_si512(fourth, products(locals + i + 24, _mm512_load_si512(key + i + 24)));
  }
  return reduced(_mm512_xor_si512(_mm512_xor_si512(first, second), _mm512_xor_si512(third, fourth)));
}

__attribute__((target("avx512f,vpclmulqdq,pclmul"))) std::uint64_t one_avx512(const std::uint64_t* locals) noexcept {
  return digest_avx512(locals, keys());
}

__attribute__((target("avx512f,vpclmulqdq,pclmul"))) std::size_t common_avx512(std::span<const std::uint64_t> digests,
                                                                               const std::uint64_t* hashes) noexcept {
  const std::uint64_t* const key = keys();
  for (std::size_t i = 0; i < digests.size(); ++i) {
    if (digest_avx512(hashes + i * blocks_per_digest, key) != digests[i]) return i;
  }
  return digests.size();
}

constexpr std::size_t together = 4;  ///< stretches that are digested at once, so that each key is read once for all of them

/// The digests of `together` stretches; asks for those at `ahead` meanwhile.
__attribute__((target("avx512f,vpclmulqdq,pclmul"), always_inline)) inline std::array<std::uint64_t, together> digest_together(
    const std::uint64_t* locals, const std::uint64_t* ahead, const std::uint64_t* key) noexcept {
  constexpr std::size_t second_at = blocks_per_digest;
  constexpr std::size_t third_at = 2 * second_at;
  constexpr std::size_t fourth_at = 3 * second_at;
  __m512i first = _mm512_setzero_si512();
  __m512i second = first;
  __m512i third = first;
  __m512i fourth = first;
  for (std::size_t i = 0; i < blocks_per_digest; i += 8) {
    const __m512i same = _mm512_load_si512(key + i);
    bring_near(ahead + i);
    bring_near(ahead + second_at + i);
    bring_near(ahead + third_at + i);
    bring_near(ahead + fourth_at + i);
    first = _mm512_xor_si512(first, products(locals + i, same));
    second = _mm512_xor_si512(second, products(locals + second_at + i, same));
    third = _mm512_xor_si512(third, products(locals + third_at + i, same));
    fourth = _mm512_xor_si512(fourth, products(locals + fourth_at + i, same));
  }
  return {reduced(first), reduced(second), reduced(third), reduced(fourth)};
}

__attribute__((target("avx512f,vpclmulqdq,pclmul"))) std::size_t common_together(std::span<const std::uint64_t> digests,
                                                                                 std::span<const std::uint64_t> hashes) noexcept {
  constexpr std::size_t blocks = together * blocks_per_digest;
  constexpr std::size_t page = 4'096 / sizeof(std::uint64_t);
  constexpr std::size_t page_ahead = 8 * page;
  const std::uint64_t* const key = keys();
  std::size_t same = 0;
  for (; same + together <= digests.size(); same += together) {
    const auto here = hashes.subspan(same * blocks_per_digest);
    // On small pages an address has to be looked up for each, which is waited for unless it begins long before.
    for (std::size_t at = page_ahead; at < page_ahead + blocks && at < here.size(); at += page) bring_near(here.data() + at);
    const auto found = digest_together(here.data(), here.data() + (here.size() < 2 * blocks ? 0 : blocks), key);
    for (std::size_t i = 0; i < together; ++i) {
      if (found[i] != digests[same + i]) return same + i;
    }
  }
  return same + common_avx512(digests.subspan(same), hashes.data() + same * blocks_per_digest);
}

/// The product of one pair.
__attribute__((target("avx2,pclmul"), always_inline)) inline __m128i product(const std::uint64_t* locals,
                                                                             const std::uint64_t* key) noexcept {
  const __m128i sum =
      _mm_xor_si128(_mm_loadu_si128(reinterpret_cast<const __m128i*>(locals)), _mm_load_si128(reinterpret_cast<const __m128i*>(key)));
  return _mm_clmulepi64_si128(sum, sum, 0x10);
}

/// Asks for the stretch at `next` meanwhile, which a CPU of this kind does not do by itself fast enough, and never beyond a page of 4 KiB.
__attribute__((target("avx2,pclmul"), always_inline)) inline std::uint64_t digest_avx2(const std::uint64_t* locals,
                                                                                       const std::uint64_t* next,
                                                                                       const std::uint64_t* key) noexcept {
  __m128i first = _mm_setzero_si128();
  __m128i second = first;
  __m128i third = first;
  __m128i fourth = first;
  for (std::size_t i = 0; i < blocks_per_digest; i += 8) {
    bring_near(next + i);
    first = _mm_xor_si128(first, product(locals + i, key + i));
    second = _mm_xor_si128(second, product(locals + i + 2, key + i + 2));
    third = _mm_xor_si128(third, product(locals + i + 4, key + i + 4));
    fourth = _mm_xor_si128(fourth, product(locals + i + 6, key + i + 6));
  }
  return reduced(_mm_xor_si128(_mm_xor_si128(first, second), _mm_xor_si128(third, fourth)));
}

__attribute__((target("avx2,pclmul"))) std::uint64_t one_avx2(const std::uint64_t* locals) noexcept {
  return digest_avx2(locals, locals, keys());
}

__attribute__((target("avx2,pclmul"))) std::size_t common_avx2(std::span<const std::uint64_t> digests,
                                                               const std::uint64_t* hashes) noexcept {
  const std::uint64_t* const key = keys();
  for (std::size_t i = 0; i < digests.size(); ++i) {
    const std::uint64_t* const here = hashes + i * blocks_per_digest;
    if (digest_avx2(here, i + 1 < digests.size() ? here + blocks_per_digest : here, key) != digests[i]) return i;
  }
  return digests.size();
}

width width_of_products() noexcept {
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("pclmul")) return width::none;
  // Intel's ask for what comes next late, and never beyond a page of 4 KiB; AMD's have been found slower where somebody else does.
  const bool is_intel = __builtin_cpu_is("intel") != 0;
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("vpclmulqdq")) {
    return is_intel ? width::whole_vectors_asked_for : width::whole_vectors;
  }
  // One product at every clock, which AMD's CPUs without the wide ones do not have.
  return __builtin_cpu_supports("avx2") && is_intel ? width::pairs : width::none;
}

#else

width width_of_products() noexcept {
  return width::none;
}

#endif

const width products_are = width_of_products();

}  // namespace

bool digests_pay() noexcept {
  return products_are != width::none;
}

std::uint64_t column_digest_scalar(const std::uint64_t* locals) noexcept {
  return digest_scalar(locals, keys());
}

std::uint64_t column_digest(const std::uint64_t* locals) noexcept {
#if defined(__x86_64__)
  if (products_are == width::whole_vectors || products_are == width::whole_vectors_asked_for) return one_avx512(locals);
  if (products_are == width::pairs) return one_avx2(locals);
#endif
  return digest_scalar(locals, keys());
}

std::size_t common_digests(std::span<const std::uint64_t> digests, std::span<const std::uint64_t> hashes) noexcept {
#if defined(__x86_64__)
  if (products_are == width::whole_vectors_asked_for) return common_together(digests, hashes);
  if (products_are == width::whole_vectors) return common_avx512(digests, hashes.data());
  if (products_are == width::pairs) return common_avx2(digests, hashes.data());
#endif
  std::size_t same = 0;
  while (same < digests.size() && column_digest_scalar(hashes.data() + same * blocks_per_digest) == digests[same]) ++same;
  return same;
}

}  // namespace kvc::core
