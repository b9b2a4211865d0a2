#include "core/hash_compare.hpp"

#include <bit>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "core/vector_width.hpp"

namespace kvc::core {

std::size_t common_prefix_scalar(const std::uint64_t* left, const std::uint64_t* right, std::size_t count) noexcept {
  std::size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    const std::uint64_t differ =
        (left[i] ^ right[i]) | (left[i + 1] ^ right[i + 1]) | (left[i + 2] ^ right[i + 2]) | (left[i + 3] ^ right[i + 3]);
    if (differ != 0) break;
  }
  while (i < count && left[i] == right[i]) ++i;
  return i;
}

namespace {

using compare_function = std::size_t (*)(const std::uint64_t*, const std::uint64_t*, std::size_t) noexcept;

#if defined(__x86_64__)

/// A bit for each of four hashes that are the same.
__attribute__((target("avx2"))) unsigned equal_avx2(__m256i same) noexcept {
  return static_cast<unsigned>(_mm256_movemask_pd(_mm256_castsi256_pd(same)));
}

__attribute__((target("avx2"))) __m256i same_avx2(const std::uint64_t* left, const std::uint64_t* right) noexcept {
  return _mm256_cmpeq_epi64(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(left)),
                            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(right)));
}

/// The same of the first `count` of four, at most all; of the others, which are not read, a bit each.
__attribute__((target("avx2"))) unsigned equal_of(const std::uint64_t* left, const std::uint64_t* right, std::size_t count) noexcept {
  const __m256i lanes = _mm256_setr_epi64x(0, 1, 2, 3);
  const __m256i wanted = _mm256_cmpgt_epi64(_mm256_set1_epi64x(static_cast<long long>(count)), lanes);
  const auto some = [&wanted](const std::uint64_t* from) __attribute__((target("avx2"))) {
    return _mm256_maskload_epi64(reinterpret_cast<const long long*>(from), wanted);
  };
  return equal_avx2(_mm256_cmpeq_epi64(some(left), some(right)));
}

__attribute__((target("avx2"))) std::size_t common_prefix_avx2(const std::uint64_t* left, const std::uint64_t* right,
                                                               std::size_t count) noexcept {
  std::size_t i = 0;
  for (; i + 16 <= count; i += 16) {
    const __m256i first = same_avx2(left + i, right + i);
    const __m256i second = same_avx2(left + i + 4, right + i + 4);
    const __m256i third = same_avx2(left + i + 8, right + i + 8);
    const __m256i fourth = same_avx2(left + i + 12, right + i + 12);
    const __m256i all = _mm256_and_si256(_mm256_and_si256(first, second), _mm256_and_si256(third, fourth));
    if (equal_avx2(all) != 0xF) {
      // Where among sixteen they part is anybody's guess: told without a jump.
      const unsigned equal = equal_avx2(first) | equal_avx2(second) << 4U | equal_avx2(third) << 8U | equal_avx2(fourth) << 12U;
      return i + static_cast<std::size_t>(std::countr_one(equal));
    }
  }
  for (; i < count; i += 4) {
    const unsigned equal = equal_of(left + i, right + i, count - i);
    if (equal != 0xF) return i + static_cast<std::size_t>(std::countr_one(equal));
  }
  return count;
}

__attribute__((target("avx512f"))) std::size_t common_prefix_avx512(const std::uint64_t* left, const std::uint64_t* right,
                                                                    std::size_t count) noexcept {
  std::size_t i = 0;
  for (; i + 16 <= count; i += 16) {
    const __m512i a = _mm512_loadu_si512(left + i);
    const __m512i b = _mm512_loadu_si512(right + i);
    const __m512i c = _mm512_loadu_si512(left + i + 8);
    const __m512i d = _mm512_loadu_si512(right + i + 8);
    const unsigned low = _mm512_cmpneq_epi64_mask(a, b);
    const unsigned high = _mm512_cmpneq_epi64_mask(c, d);
    if ((low | high) != 0) return i + static_cast<std::size_t>(std::countr_zero(low | (high << 8U)));
  }
  for (; i < count; i += 8) {
    const std::size_t left_over = count - i;
    const auto mask = left_over >= 8 ? __mmask8{0xFF} : static_cast<__mmask8>((1U << left_over) - 1);
    const __m512i a = _mm512_maskz_loadu_epi64(mask, left + i);
    const __m512i b = _mm512_maskz_loadu_epi64(mask, right + i);
    const unsigned differ = _mm512_mask_cmpneq_epi64_mask(mask, a, b);
    if (differ != 0) return i + static_cast<std::size_t>(std::countr_zero(differ));
  }
  return count;
}

compare_function best_compare() noexcept {
  if (wide_vectors_pay()) return common_prefix_avx512;
  if (__builtin_cpu_supports("avx2")) return common_prefix_avx2;
  return common_prefix_scalar;
}

#elif defined(__aarch64__)

std::size_t common_prefix_neon(const std::uint64_t* left, const std::uint64_t* right, std::size_t count) noexcept {
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const uint64x2_t first =
        vandq_u64(vceqq_u64(vld1q_u64(left + i), vld1q_u64(right + i)), vceqq_u64(vld1q_u64(left + i + 2), vld1q_u64(right + i + 2)));
    const uint64x2_t second = vandq_u64(vceqq_u64(vld1q_u64(left + i + 4), vld1q_u64(right + i + 4)),
                                        vceqq_u64(vld1q_u64(left + i + 6), vld1q_u64(right + i + 6)));
    if (vminvq_u32(vreinterpretq_u32_u64(vandq_u64(first, second))) == 0) break;
  }
  return i + common_prefix_scalar(left + i, right + i, count - i);
}

compare_function best_compare() noexcept {
  return common_prefix_neon;
}

#else

compare_function best_compare() noexcept {
  return common_prefix_scalar;
}

#endif

const compare_function compare = best_compare();

}  // namespace

std::size_t common_prefix(const std::uint64_t* left, const std::uint64_t* right, std::size_t count) noexcept {
  if (count == 0 || left[0] != right[0]) return 0;  // most divergences are at the first block of a stretch
  return compare(left, right, count);
}

}  // namespace kvc::core
