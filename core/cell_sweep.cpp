#include "core/cell_sweep.hpp"

#include <algorithm>
#include <array>
#include <bit>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "core/vector_width.hpp"

// Vector loads of cells that a lane may be writing are no atomic loads in the language's sense, though each aligned element is read whole
// on every CPU this is compiled for. The thread sanitizer cannot know that, so under it the plain atomic code runs.
#if defined(__SANITIZE_THREAD__)
#define KVC_SWEEP_PLAINLY 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define KVC_SWEEP_PLAINLY 1
#endif
#endif

namespace kvc::core {

void sweep_cells_scalar(const dense_cell* cells, std::size_t count, std::uint32_t length, std::uint64_t* full,
                        std::uint64_t* partial) noexcept {
  for (std::size_t word = 0; word < count / 64; ++word) {
    std::uint64_t is_full = 0;
    std::uint64_t is_partial = 0;
    for (std::size_t i = 0; i < 64; ++i) {
      const std::uint32_t cutoff = cell_word(cells[word * 64 + i].load(std::memory_order_acquire)).cutoff();
      is_full |= std::uint64_t{cutoff >= length} << i;
      is_partial |= std::uint64_t{cutoff != 0 && cutoff < length} << i;
    }
    full[word] = is_full;
    partial[word] = is_partial;
  }
}

namespace {

using sweep_function = void (*)(const dense_cell*, std::size_t, std::uint32_t, std::uint64_t*, std::uint64_t*) noexcept;

#if defined(__x86_64__) && !defined(KVC_SWEEP_PLAINLY)

__attribute__((target("avx512f,avx512bw"))) void sweep_avx512(const dense_cell* cells, std::size_t count, std::uint32_t length,
                                                              std::uint64_t* full, std::uint64_t* partial) noexcept {
  const __m512i mask = _mm512_set1_epi16(cell_word::cutoff_mask);
  const __m512i least = _mm512_set1_epi16(static_cast<short>(length));
  for (std::size_t word = 0; word < count / 64; ++word) {
    const __m512i low = _mm512_and_si512(_mm512_loadu_si512(cells + word * 64), mask);
    const __m512i high = _mm512_and_si512(_mm512_loadu_si512(cells + word * 64 + 32), mask);
    const std::uint64_t is_full = std::uint64_t{_mm512_cmpge_epu16_mask(low, least)} | std::uint64_t{_mm512_cmpge_epu16_mask(high, least)}
                                                                                           << 32U;
    const std::uint64_t is_held = std::uint64_t{_mm512_test_epi16_mask(low, low)} | std::uint64_t{_mm512_test_epi16_mask(high, high)}
                                                                                        << 32U;
    full[word] = is_full;
    partial[word] = is_held & ~is_full;
  }
}

/// One bit per 16-bit lane of two vectors whose lanes are all ones or none.
__attribute__((target("avx2"))) std::uint32_t bits_of(__m256i low, __m256i high) noexcept {
  // Packing works within halves of a register, so the quarters have to be put in order.
  const __m256i packed = _mm256_permute4x64_epi64(_mm256_packs_epi16(low, high), 0b11'01'10'00);
  return static_cast<std::uint32_t>(_mm256_movemask_epi8(packed));
}

/// The same of four.
__attribute__((target("avx2"))) std::uint64_t bits_of(__m256i first, __m256i second, __m256i third, __m256i fourth) noexcept {
  return std::uint64_t{bits_of(first, second)} | std::uint64_t{bits_of(third, fourth)} << 32U;
}

__attribute__((target("avx2"))) void sweep_avx2(const dense_cell* cells, std::size_t count, std::uint32_t length, std::uint64_t* full,
                                                std::uint64_t* partial) noexcept {
  const __m256i mask = _mm256_set1_epi16(cell_word::cutoff_mask);
  const __m256i below = _mm256_set1_epi16(static_cast<short>(length - 1));
  const __m256i none = _mm256_setzero_si256();
  for (std::size_t word = 0; word < count / 64; ++word) {
    const auto* const from = reinterpret_cast<const __m256i*>(cells + word * 64);
    const __m256i first = _mm256_and_si256(_mm256_loadu_si256(from), mask);
    const __m256i second = _mm256_and_si256(_mm256_loadu_si256(from + 1), mask);
    const __m256i third = _mm256_and_si256(_mm256_loadu_si256(from + 2), mask);
    const __m256i fourth = _mm256_and_si256(_mm256_loadu_si256(from + 3), mask);
    const __m256i first_full = _mm256_cmpgt_epi16(first, below);
    const __m256i second_full = _mm256_cmpgt_epi16(second, below);
    const __m256i third_full = _mm256_cmpgt_epi16(third, below);
    const __m256i fourth_full = _mm256_cmpgt_epi16(fourth, below);
    full[word] = bits_of(first_full, second_full, third_full, fourth_full);
    // Of a shared prompt mostly all or nothing is held: then nothing is partial, which one look at all of them tells.
    const __m256i first_held = _mm256_cmpgt_epi16(first, none);
    const __m256i second_held = _mm256_cmpgt_epi16(second, none);
    const __m256i third_held = _mm256_cmpgt_epi16(third, none);
    const __m256i fourth_held = _mm256_cmpgt_epi16(fourth, none);
    const __m256i any =
        _mm256_or_si256(_mm256_or_si256(_mm256_xor_si256(first_held, first_full), _mm256_xor_si256(second_held, second_full)),
                        _mm256_or_si256(_mm256_xor_si256(third_held, third_full), _mm256_xor_si256(fourth_held, fourth_full)));
    partial[word] = _mm256_testz_si256(any, any) != 0 ? 0 : bits_of(first_held, second_held, third_held, fourth_held) & ~full[word];
  }
}

sweep_function best_sweep() noexcept {
  if (wide_vectors_pay()) return sweep_avx512;
  if (__builtin_cpu_supports("avx2")) return sweep_avx2;
  return sweep_cells_scalar;
}

#elif defined(__aarch64__) && !defined(KVC_SWEEP_PLAINLY)

/// One bit per 16-bit lane of eight.
std::uint64_t bits_of(uint16x8_t lanes) noexcept {
  const uint16_t weights[8] = {1, 2, 4, 8, 16, 32, 64, 128};
  return vaddvq_u16(vandq_u16(lanes, vld1q_u16(weights)));
}

void sweep_neon(const dense_cell* cells, std::size_t count, std::uint32_t length, std::uint64_t* full, std::uint64_t* partial) noexcept {
  const uint16x8_t mask = vdupq_n_u16(cell_word::cutoff_mask);
  const uint16x8_t least = vdupq_n_u16(static_cast<std::uint16_t>(length));
  for (std::size_t word = 0; word < count / 64; ++word) {
    std::uint64_t is_full = 0;
    std::uint64_t is_held = 0;
    for (unsigned part = 0; part < 8; ++part) {
      const uint16x8_t cutoffs = vandq_u16(vld1q_u16(reinterpret_cast<const std::uint16_t*>(cells + word * 64 + part * 8U)), mask);
      is_full |= bits_of(vcgeq_u16(cutoffs, least)) << (part * 8U);
      is_held |= bits_of(vtstq_u16(cutoffs, cutoffs)) << (part * 8U);
    }
    full[word] = is_full;
    partial[word] = is_held & ~is_full;
  }
}

sweep_function best_sweep() noexcept {
  return sweep_neon;
}

#else

sweep_function best_sweep() noexcept {
  return sweep_cells_scalar;
}

#endif

const sweep_function best = best_sweep();

}  // namespace

void sweep_cells(const dense_cell* cells, std::size_t count, std::uint32_t length, std::uint64_t* full, std::uint64_t* partial) noexcept {
  best(cells, count, length, full, partial);
}

reaching_slots find_reaching(const run& in, std::uint32_t length, std::uint32_t enough) noexcept {
  constexpr std::uint32_t at_once = 512;
  reaching_slots found;
  const auto look_at = [&](const sparse_cell* cells, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count && found.count < enough; ++i) {
      const std::uint32_t value = cells[i].load(std::memory_order_acquire);
      if (cell_word(static_cast<std::uint16_t>(value & ((1U << cell_word::width) - 1))).cutoff() < length) continue;
      ++found.count;
      found.last = value >> cell_word::width;
    }
  };
  look_at(in.cells.data(), run::inline_cells);
  const cell_chunk* chunk = in.more.load(std::memory_order_acquire);
  for (; chunk != nullptr && found.count < enough; chunk = chunk->next.load(std::memory_order_acquire)) {
    if (!chunk->is_dense) look_at(chunk->sparse(), chunk->count);
    for (std::uint32_t from = 0; chunk->is_dense && from < chunk->count && found.count < enough; from += at_once) {
      std::array<std::uint64_t, at_once / 64> full{};
      std::array<std::uint64_t, at_once / 64> partial;
      sweep_cells(chunk->dense() + from, std::min(at_once, chunk->count - from), length, full.data(), partial.data());
      for (std::uint32_t word = 0; word < full.size(); ++word) {
        if (full[word] == 0) continue;
        found.count += static_cast<std::uint32_t>(std::popcount(full[word]));
        found.last = chunk->first_slot + from + word * 64 + static_cast<std::uint32_t>(std::countr_zero(full[word]));
      }
    }
  }
  found.count = std::min(found.count, enough);
  return found;
}

}  // namespace kvc::core
