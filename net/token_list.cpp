#include "net/token_list.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace kvc::net {
namespace {

constexpr unsigned char largest_single = 0x7f;  ///< a byte up to here is the number itself
constexpr unsigned char first_format = 0xcc;    ///< then 1, 2, 4 bytes, big-endian
constexpr unsigned char last_format = 0xce;
constexpr std::size_t readable = 9;  ///< bytes that are read in one go, of which at most 5 belong to the number

/// One number with all its bytes there or not: the last ones of a payload.
const unsigned char* read_one(const unsigned char* at, const unsigned char* end, std::uint32_t& out) noexcept {
  if (at == end) return nullptr;
  const unsigned char format = *at++;
  if (format <= largest_single) {
    out = format;
    return at;
  }
  if (format < first_format || format > last_format) return nullptr;
  const std::ptrdiff_t width = std::ptrdiff_t{1} << (format - first_format);
  if (end - at < width) return nullptr;
  std::uint32_t value = 0;
  for (std::ptrdiff_t i = 0; i < width; ++i) value = value << 8 | at[i];
  out = value;
  return at + width;
}

std::uint64_t big_endian(const unsigned char* at) noexcept {
  std::uint64_t word = 0;
  std::memcpy(&word, at, sizeof(word));
  return std::endian::native == std::endian::big ? word : __builtin_bswap64(word);
}

}  // namespace

const unsigned char* read_u32_list_scalar(const unsigned char* at, const unsigned char* end, std::uint32_t* out,
                                          std::size_t count) noexcept {
  while (count > 0) {
    // As many as fit for certain without asking for each.
    const std::size_t sure = std::min(count, static_cast<std::size_t>(end - at) / readable);
    if (sure == 0) {
      at = read_one(at, end, *out++);
      if (at == nullptr) return nullptr;
      --count;
      continue;
    }
    for (const std::uint32_t* const last = out + sure; out != last; ++out) {
      const unsigned char format = *at;
      std::uint64_t value = format;
      if (format > largest_single) {
        if (format < first_format || format > last_format) return nullptr;
        // Token ids are of two widths in no order, which no processor guesses right: the width is computed, not asked for.
        const unsigned width = 1U << (format & 3U);
        value = big_endian(at + 1) >> (64 - 8 * width);
        at += width;
      }
      ++at;
      *out = static_cast<std::uint32_t>(value);
    }
    count -= sure;
  }
  return at;
}

namespace {

using list_function = const unsigned char* (*)(const unsigned char*, const unsigned char*, std::uint32_t*, std::size_t) noexcept;

#if defined(__x86_64__)

#define KVC_VBMI __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi")))

constexpr std::size_t window = 64;
constexpr std::size_t step = 12;  ///< numbers per window, which has room for that many of the longest

/// Twelve numbers at a time. Where a number begins depends on the widths of all before it, and following them one by one is what takes the
/// time. Here every byte of a window is asked where the next number would begin if one began there; that map applied to itself gives two
/// steps, then four, then eight, and from these come the beginnings of all twelve, and where the next window begins after four look-ups
/// instead of twelve.
KVC_VBMI const unsigned char* read_u32_list_vbmi(const unsigned char* at, const unsigned char* end, std::uint32_t* out,
                                                 std::size_t count) noexcept {
  const __m512i every = _mm512_set_epi64(0x3f3e3d3c3b3a3938, 0x3736353433323130, 0x2f2e2d2c2b2a2928, 0x2726252423222120, 0x1f1e1d1c1b1a1918,
                                         0x1716151413121110, 0x0f0e0d0c0b0a0908, 0x0706050403020100);
  // Bytes of a number with its format, by the lower half of the format; none where there is no such format.
  const __m512i lengths_of = _mm512_set4_epi32(0x0005'0302, 0, 0, 0);
  const __m512i formats = _mm512_set1_epi8(static_cast<char>(0xc0));
  const __m512i above = _mm512_set1_epi8(0x70);
  const __m512i one = _mm512_set1_epi8(1);
  const __m512i back = _mm512_set1_epi32(0x04030201);  // from the end of a number to its bytes, lowest first
  constexpr __mmask16 lanes = (1U << step) - 1;
  while (count >= step && static_cast<std::size_t>(end - at) >= window) {
    const __m512i bytes = _mm512_loadu_si512(at);
    // A format of these sixteen becomes 0x70 to 0x7f, of which a look-up sees the lower half; the rest 0x80 and more, for which it gives 0.
    const __m512i format = _mm512_adds_epu8(_mm512_sub_epi8(bytes, formats), above);
    const __m512i single = _mm512_andnot_si512(_mm512_srli_epi16(bytes, 7), one);
    const __m512i length = _mm512_or_si512(_mm512_shuffle_epi8(lengths_of, format), single);
    const __m512i by1 = _mm512_add_epi8(every, length);  // beyond the window for bytes that twelve numbers never reach
    const __m512i by2 = _mm512_permutexvar_epi8(by1, by1);
    const __m512i by4 = _mm512_permutexvar_epi8(by2, by2);
    const __m512i by8 = _mm512_permutexvar_epi8(by4, by4);
    const __m512i by12 = _mm512_permutexvar_epi8(by8, by4);
    // Where number i begins, in all four bytes of lane i: the steps that the bits of i stand for.
    __m512i begin = _mm512_setzero_si512();
    begin = _mm512_mask_permutexvar_epi8(begin, 0xf0f0'f0f0'f0f0'f0f0, begin, by1);
    begin = _mm512_mask_permutexvar_epi8(begin, 0xff00'ff00'ff00'ff00, begin, by2);
    begin = _mm512_mask_permutexvar_epi8(begin, 0xffff'0000'ffff'0000, begin, by4);
    begin = _mm512_mask_permutexvar_epi8(begin, 0xffff'ffff'0000'0000, begin, by8);
    const __m512i behind = _mm512_permutexvar_epi8(begin, by1);
    // What is no such number has no length, so that it is its own next one.
    if (_mm512_mask_cmpeq_epi32_mask(lanes, behind, begin) != 0) return nullptr;
    const __m512i from = _mm512_sub_epi8(behind, back);
    const __mmask64 is_of_number = _mm512_cmpgt_epi8_mask(from, begin) | 0x1111'1111'1111'1111;  // the format is not, unless it is all
    _mm512_mask_storeu_epi32(out, lanes, _mm512_maskz_permutexvar_epi8(is_of_number, from, bytes));
    at += static_cast<unsigned>(_mm_cvtsi128_si32(_mm512_castsi512_si128(by12))) & 0xffU;
    out += step;
    count -= step;
  }
  return read_u32_list_scalar(at, end, out, count);
}

list_function best_list() noexcept {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512bw") ? read_u32_list_vbmi : read_u32_list_scalar;
}

#else

list_function best_list() noexcept {
  return read_u32_list_scalar;
}

#endif

const list_function read_list = best_list();

}  // namespace

const unsigned char* read_u32_list(const unsigned char* at, const unsigned char* end, std::uint32_t* out, std::size_t count) noexcept {
  return read_list(at, end, out, count);
}

}  // namespace kvc::net
