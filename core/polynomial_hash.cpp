#include "core/polynomial_hash.hpp"

#include <array>

#if defined(__x86_64__)
#include <immintrin.h>
#if defined(__GNUC__) && !defined(__clang__)
// g++ 12 takes the undefined register that its own intrinsics pass along for a mistake (GCC bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#endif

namespace kvc::core {
namespace {

using hash_function = std::uint64_t (*)(std::span<const std::uint64_t>) noexcept;

std::uint64_t hash_portable(std::span<const std::uint64_t> tokens) noexcept {
  return polynomial_hash(tokens);
}

#if defined(__x86_64__)

constexpr std::size_t lanes_of_vector = 8;
constexpr std::size_t step = 4 * lanes_of_vector;

/// What each of the polynomials in B^32 is worth at the end.
constexpr std::array<std::uint64_t, step> make_weights() {
  std::array<std::uint64_t, step> weights{};
  for (std::size_t i = 0; i < step; ++i) weights[i] = base_power(step - 1 - i);
  return weights;
}
alignas(64) constexpr std::array<std::uint64_t, step> weights = make_weights();

/// Thirty-two interleaved polynomials in B^32, eight to a register.
__attribute__((target("avx512f,avx512dq"))) std::uint64_t hash_avx512(std::span<const std::uint64_t> tokens) noexcept {
  const __m512i base = _mm512_set1_epi64(static_cast<long long>(base_power(step)));
  __m512i a = _mm512_setzero_si512();
  __m512i b = a;
  __m512i c = a;
  __m512i d = a;
  const std::uint64_t* at = tokens.data();
  std::size_t i = 0;
  for (; i + step <= tokens.size(); i += step, at += step) {
    a = _mm512_add_epi64(_mm512_mullo_epi64(a, base), _mm512_loadu_si512(at));
    b = _mm512_add_epi64(_mm512_mullo_epi64(b, base), _mm512_loadu_si512(at + lanes_of_vector));
    c = _mm512_add_epi64(_mm512_mullo_epi64(c, base), _mm512_loadu_si512(at + 2 * lanes_of_vector));
    d = _mm512_add_epi64(_mm512_mullo_epi64(d, base), _mm512_loadu_si512(at + 3 * lanes_of_vector));
  }
  const std::uint64_t* const worth = weights.data();
  const __m512i first =
      _mm512_add_epi64(_mm512_mullo_epi64(a, _mm512_load_si512(worth)), _mm512_mullo_epi64(b, _mm512_load_si512(worth + lanes_of_vector)));
  const __m512i second = _mm512_add_epi64(_mm512_mullo_epi64(c, _mm512_load_si512(worth + 2 * lanes_of_vector)),
                                          _mm512_mullo_epi64(d, _mm512_load_si512(worth + 3 * lanes_of_vector)));
  alignas(64) std::array<std::uint64_t, lanes_of_vector> sums;
  _mm512_store_si512(sums.data(), _mm512_add_epi64(first, second));
  std::uint64_t hash = 0;
  for (const std::uint64_t each : sums) hash += each;
  for (; i < tokens.size(); ++i) hash = hash * polynomial_base + *at++;
  return hash;
}

hash_function best() noexcept {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") ? hash_avx512 : hash_portable;
}

#else

hash_function best() noexcept {
  return hash_portable;
}

#endif

const hash_function chosen = best();

}  // namespace

std::uint64_t polynomial_hash_of_chunk(std::span<const std::uint64_t> tokens) noexcept {
  return chosen(tokens);
}

}  // namespace kvc::core
