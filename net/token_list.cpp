#include "net/token_list.hpp"

#include <algorithm>
#include <array>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "core/wide_registers.hpp"
#include "net/big_endian.hpp"
#include "net/payload_reach.hpp"
#include "net/token_starts.hpp"

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
        value = big_endian_at<std::uint64_t>(at + 1) >> (64 - 8 * width);
        at += width;
      }
      ++at;
      *out = static_cast<std::uint32_t>(value);
    }
    count -= sure;
  }
  return at;
}

#if defined(__x86_64__)

namespace {

#define KVC_VBMI __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi,popcnt")))

constexpr std::size_t window = 64;
constexpr std::size_t longest_number = 5;  ///< bytes, its format included
constexpr std::size_t in_window = 16;      ///< numbers of a window that are taken at once: lanes of a register
/// Bytes from one window to the next: first what that many numbers of two bytes take, with their formats; less behind each window that
/// had more numbers, as usual text has, in which many are of a single byte. A number that begins in them ends within the window.
constexpr std::size_t first_stride = in_window * 3;
constexpr std::size_t least_stride = in_window * 2;
constexpr std::size_t stride_less = 8;
static_assert(first_stride + longest_number <= window);

/// Where number `which` ends that a window's lanes tell the ends of.
KVC_VBMI std::size_t end_of_number(__m512i ends, std::size_t which) noexcept {
  const __m512i end = _mm512_permutexvar_epi32(_mm512_set1_epi32(static_cast<int>(which)), ends);
  return static_cast<std::size_t>(_mm_cvtsi128_si32(_mm512_castsi512_si128(end)) & 0xff);
}

/// All numbers of a window at once. Where a number begins depends on the widths of all before it, and following them one by one is what
/// takes the time. Here every byte of a window is asked where the next number would begin if one began there, and that map applied to
/// itself gives two steps, then four, eight and sixteen. Windows stand at places that are known beforehand; a byte from `stride` on is
/// its own next one, so that sixteen steps lead from wherever the window is entered to where the next one is. So nothing waits for the
/// window before but one look-up in eight bytes, and the work of several goes on at once.
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
  __m512i ends = _mm512_set1_epi8(first_stride);
  __mmask64 first_bytes = (std::uint64_t{1} << first_stride) - 1;
  std::size_t stride = first_stride;
  std::size_t entry = 0;  // bytes from `at` on to the first number that is not taken
  const unsigned char* done = count == 0 ? at : nullptr;
  while (count > 0) {
    const auto left = static_cast<std::size_t>(end - at);
    bring_on_way(at);
    // A byte behind the end counts as a number of its own, which is not believed.
    const __m512i bytes = left >= window ? _mm512_loadu_si512(at) : _mm512_maskz_loadu_epi8((std::uint64_t{1} << left) - 1, at);
    // A format of these sixteen becomes 0x70 to 0x7f, of which a look-up sees the lower half; the rest 0x80 and more, for which it gives 0.
    const __m512i format = _mm512_adds_epu8(_mm512_sub_epi8(bytes, formats), above);
    const __m512i single = _mm512_andnot_si512(_mm512_srli_epi16(bytes, 7), one);
    const __m512i length = _mm512_or_si512(_mm512_shuffle_epi8(lengths_of, format), single);
    const __m512i by1 = _mm512_mask_add_epi8(every, first_bytes, every, length);
    const __m512i by2 = _mm512_permutexvar_epi8(by1, by1);
    const __m512i by4 = _mm512_permutexvar_epi8(by2, by2);
    const __m512i by8 = _mm512_permutexvar_epi8(by4, by4);
    const auto exits = static_cast<std::uint64_t>(_mm_cvtsi128_si64(_mm512_castsi512_si128(_mm512_permutexvar_epi8(by8, by8))));
    // Where number i begins, in all four bytes of lane i: the steps that the bits of i stand for.
    __m512i begin = _mm512_set1_epi8(static_cast<char>(entry));
    begin = _mm512_mask_permutexvar_epi8(begin, 0xf0f0'f0f0'f0f0'f0f0, begin, by1);
    begin = _mm512_mask_permutexvar_epi8(begin, 0xff00'ff00'ff00'ff00, begin, by2);
    begin = _mm512_mask_permutexvar_epi8(begin, 0xffff'0000'ffff'0000, begin, by4);
    begin = _mm512_mask_permutexvar_epi8(begin, 0xffff'ffff'0000'0000, begin, by8);
    const __m512i behind = _mm512_permutexvar_epi8(begin, by1);
    const __m512i from = _mm512_sub_epi8(behind, back);
    const __mmask64 is_of_number = _mm512_cmpgt_epi8_mask(from, begin) | 0x1111'1111'1111'1111;  // the format is not, unless it is all
    const __m512i numbers = _mm512_maskz_permutexvar_epi8(is_of_number, from, bytes);
    const __mmask16 begun = _mm512_cmplt_epi32_mask(begin, ends);
    if (count <= in_window) {
      const auto last = static_cast<__mmask16>((1U << count) - 1);
      if ((begun & last) == last) {
        const std::size_t taken = end_of_number(behind, count - 1);
        // What is no such number has no length, so that it is its own next one.
        if (_mm512_mask_cmpeq_epi32_mask(last, behind, begin) != 0 || taken > left) break;
        _mm512_mask_storeu_epi32(out, last, numbers);
        done = at + taken;
        break;
      }
      _mm512_mask_storeu_epi32(out, begun, numbers);
    } else {
      _mm512_storeu_si512(out, numbers);  // what is beyond the window is written over
    }
    const auto taken = static_cast<std::size_t>(_mm_popcnt_u32(begun));
    out += taken;
    count -= taken;
    const std::size_t next = exits >> (8 * entry) & 0xffU;
    if (next >= left) break;  // the bytes end before the numbers do
    if (next >= stride) [[likely]] {
      at += stride;
      entry = next - stride;
    } else {
      // More numbers than are taken at once, or one that is none.
      if (_mm512_mask_cmpeq_epi32_mask(begun, behind, begin) != 0) break;
      at += next;
      entry = 0;
      stride = std::max(stride - stride_less, least_stride);
      first_bytes = (std::uint64_t{1} << stride) - 1;
      ends = _mm512_set1_epi8(static_cast<char>(stride));
    }
  }
  core::leave_wide_registers();
  return done;
}

#define KVC_AVX2 __attribute__((target("avx2")))
#define KVC_AVX2_INLINE KVC_AVX2 __attribute__((always_inline)) inline  // called, the pieces of a step take as long again as the step

constexpr std::size_t vector_bytes = 32;
constexpr std::size_t pairs_in_step = vector_bytes / (2 * longest_number);
constexpr std::size_t most_steps = 32;  ///< from one place whose position is known to the next
constexpr std::array<unsigned, 4> lengths{1, 2, 3, longest_number};

/// For two numbers of these lengths, by the numbers of both in `lengths`: from which of sixteen bytes the bytes of the two come, lowest
/// first; above 0x7f from none.
constexpr auto pair_shuffles() {
  constexpr unsigned kinds = 16;
  std::array<unsigned char, kinds * sizeof(__m128i)> all{};
  all.fill(0xff);
  for (unsigned which = 0; which < kinds; ++which) {
    unsigned char* const shuffle = all.data() + which * sizeof(__m128i);
    unsigned begin = 0;
    for (unsigned number = 0; number < 2; ++number) {
      const unsigned length = lengths[which >> (2 * number) & 3U];
      const unsigned bytes = std::max(length, 2U) - 1;
      for (unsigned i = 0; i < bytes; ++i) shuffle[number * 4 + i] = static_cast<unsigned char>(begin + length - 1 - i);
      begin += length;
    }
  }
  return all;
}

alignas(16) constexpr auto shuffles = pair_shuffles();

/// A length and its number in `lengths`, as the first of two or the second.
constexpr int as_first(unsigned which) {
  return static_cast<int>(lengths[which] | which << 4);
}
constexpr int as_second(unsigned which) {
  return static_cast<int>(lengths[which] | which << 6);
}

struct measured {
  __m256i first;
  __m256i second;
};

KVC_AVX2_INLINE measured measure(const unsigned char* at) noexcept {
  const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
  // As in the other one: the lower half of a format is looked up, and what is none gives 0.
  constexpr int firsts = as_first(1) | as_first(2) << 8 | as_first(3) << 16;
  constexpr int seconds = as_second(1) | as_second(2) << 8 | as_second(3) << 16;
  const __m256i format = _mm256_adds_epu8(_mm256_sub_epi8(bytes, _mm256_set1_epi8(static_cast<char>(0xc0))), _mm256_set1_epi8(0x70));
  const __m256i single = _mm256_and_si256(_mm256_cmpgt_epi8(bytes, _mm256_set1_epi8(-1)), _mm256_set1_epi8(as_first(0)));
  return {_mm256_or_si256(_mm256_shuffle_epi8(_mm256_setr_epi32(0, 0, 0, firsts, 0, 0, 0, firsts), format), single),
          _mm256_or_si256(_mm256_shuffle_epi8(_mm256_setr_epi32(0, 0, 0, seconds, 0, 0, 0, seconds), format), single)};
}

/// The second numbers behind first ones of one length; `middle`: the second half of those here and the first of the next. The length is a
/// parameter, since an instruction has it within, and without optimisation g++ takes no element of an array for a constant there.
template <unsigned which, int length = lengths[which]>
KVC_AVX2_INLINE __m256i behind(const measured& here, __m256i middle) noexcept {
  return _mm256_and_si256(_mm256_cmpeq_epi8(here.first, _mm256_set1_epi8(as_first(which))),
                          _mm256_alignr_epi8(middle, here.second, length));
}

/// For each of 32 bytes, of which 32 more have been measured: how many bytes the two numbers have that begin there, and, in the upper half,
/// which of `shuffles` takes them. 0: they are not two numbers.
KVC_AVX2_INLINE __m256i pairs_of(const measured& here, const measured& next) noexcept {
  const __m256i middle = _mm256_permute2x128_si256(here.second, next.second, 0x21);
  const __m256i second = _mm256_or_si256(_mm256_or_si256(behind<0>(here, middle), behind<1>(here, middle)),
                                         _mm256_or_si256(behind<2>(here, middle), behind<3>(here, middle)));
  const __m256i is_none = _mm256_cmpeq_epi8(second, _mm256_setzero_si256());
  return _mm256_andnot_si256(is_none, _mm256_add_epi8(here.first, second));
}

/// Of each byte of some steps, what `pairs_of` tells, apart: so that from one pair to the next it takes a look-up and a sum.
struct pair_table {
  alignas(vector_bytes) std::array<std::uint8_t, (most_steps + 1) * vector_bytes> length;
  alignas(vector_bytes) std::array<std::uint8_t, (most_steps + 1) * vector_bytes> shuffle;  ///< its place in `shuffles`, in bytes

  KVC_AVX2_INLINE void keep(std::size_t at, __m256i pairs) noexcept {
    const __m256i lower = _mm256_set1_epi8(0x0f);
    _mm256_store_si256(reinterpret_cast<__m256i*>(length.data() + at), _mm256_and_si256(pairs, lower));
    _mm256_store_si256(reinterpret_cast<__m256i*>(shuffle.data() + at), _mm256_andnot_si256(lower, pairs));
  }
};

/// Two numbers at a time. As above, how long each number is decides where the next begins, and waiting for one length after the other is
/// what takes the time; here all pairs that may stand somewhere are measured first, none of which waits for another, so that half the waits
/// are left, each as short as a look-up, and one shuffle takes the bytes of two. A step measures 32 bytes and takes six numbers, which
/// have no more: what is measured grows ahead of what is taken, a quarter too much of usual token ids, but nothing is asked in between, and
/// a step is measured while another is taken. (Where it was measured as far as was needed, for 32 numbers at a time, the loop ended one
/// way or the other by chance, and the processor guessed wrong: 27 ns for 16 numbers, 20 so, medians in turn.)
KVC_AVX2 const unsigned char* read_u32_list_avx2(const unsigned char* at, const unsigned char* end, std::uint32_t* out,
                                                 std::size_t count) noexcept {
  pair_table pairs;
  constexpr std::size_t in_step = 2 * pairs_in_step;
  constexpr std::size_t looked_at = 3 * vector_bytes;  // by one step
  while (count >= in_step && static_cast<std::size_t>(end - at) >= looked_at) {
    const std::size_t sure = (static_cast<std::size_t>(end - at) - looked_at) / vector_bytes + 1;
    const std::size_t steps = std::min({count / in_step, sure, most_steps});
    count -= steps * in_step;
    measured here = measure(at);
    measured next = measure(at + vector_bytes);
    pairs.keep(0, pairs_of(here, next));
    std::size_t from = 0;
    std::size_t length = 0;
    for (std::size_t taken = 0; taken < steps; ++taken) {
      here = next;
      bring_on_way(at + taken * vector_bytes);
      next = measure(at + (taken + 2) * vector_bytes);
      pairs.keep((taken + 1) * vector_bytes, pairs_of(here, next));
#pragma GCC unroll 3
      for (std::size_t pair = 0; pair < pairs_in_step; ++pair) {
        length = pairs.length[from];
        const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at + from));
        const auto* const shuffle = reinterpret_cast<const __m128i*>(shuffles.data() + pairs.shuffle[from]);
        _mm_storel_epi64(reinterpret_cast<__m128i*>(out), _mm_shuffle_epi8(bytes, _mm_load_si128(shuffle)));
        out += 2;
        from += length;
      }
    }
    // What are not two numbers have no length, so that whoever comes to them comes no further.
    if (length == 0) return nullptr;
    at += from;
  }
  core::leave_wide_registers();
  return read_u32_list_scalar(at, end, out, count);
}

const unsigned char* read_u32_list_starts(const unsigned char* at, const unsigned char* end, std::uint32_t* out,
                                          std::size_t count) noexcept {
  return read_u32_list_by_starts(at, end, out, count, read_u32_list_avx2);
}

/// Those that this CPU can run, the fastest first.
struct usable_readers {
  std::array<u32_list_reader, 4> each{};
  std::size_t count = 0;

  usable_readers() noexcept {
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512bw")) each[count++] = read_u32_list_vbmi;
    if (has_u32_list_by_starts()) each[count++] = read_u32_list_starts;
    if (__builtin_cpu_supports("avx2")) each[count++] = read_u32_list_avx2;
    each[count++] = read_u32_list_scalar;
  }
};

std::span<const u32_list_reader> choose() noexcept {
  static const usable_readers usable;
  return std::span(usable.each).first(usable.count);
}

}  // namespace

#else

namespace {

std::span<const u32_list_reader> choose() noexcept {
  static constexpr std::array<u32_list_reader, 1> all{read_u32_list_scalar};
  return all;
}

}  // namespace

#endif

namespace {

const std::span<const u32_list_reader> readers = choose();
const u32_list_reader read_list = readers.front();

}  // namespace

std::span<const u32_list_reader> u32_list_readers() noexcept {
  return readers;
}

const unsigned char* read_u32_list(const unsigned char* at, const unsigned char* end, std::uint32_t* out, std::size_t count) noexcept {
  return read_list(at, end, out, count);
}

}  // namespace kvc::net
