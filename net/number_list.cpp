#include "net/number_list.hpp"

#include <bit>

#include "core/wide_registers.hpp"
#include "net/plain_numbers.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#if defined(__GNUC__) && !defined(__clang__)
// g++ 12 takes the undefined register that its own intrinsics pass along for a mistake (GCC bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#endif

namespace kvc::net {

numbers_read read_short_numbers_portable(const char* at, const char* end, list_style style, std::span<std::uint64_t> room) noexcept {
  std::size_t count = 0;
  const char* rest = at;
  if constexpr (std::endian::native == std::endian::little) {
    for (; count < room.size() && end - at > 8; ++count) {
      std::uint64_t word = 0;
      const int digits = leading_digits(at, word);
      if (digits == 0 || at[digits] != ',' || (*at == '0' && digits > 1)) break;
      room[count] = value_of(word << (64 - 8 * digits));  // as if zeros stood before it
      at += digits + 1;
      rest = at;
      if (style == list_style::dense) continue;
      if (*at != ' ') return {count + 1, rest};
      ++at;
    }
  }
  return {count, rest};
}

namespace {

using read_function = numbers_read (*)(const char*, const char*, list_style, std::span<std::uint64_t>) noexcept;

#if defined(__x86_64__)

constexpr std::size_t step_bytes = 64;
constexpr std::size_t most_in_step = step_bytes / 2;  ///< numbers of one digit
constexpr std::size_t most_digits = 8;

/// For byte i of the 64 that eight numbers become, each in eight bytes: which number it belongs to, and how far from the number's end it
/// is.
struct byte_tables {
  alignas(step_bytes) std::uint8_t number[step_bytes];
  alignas(step_bytes) std::int8_t place[step_bytes];
  alignas(step_bytes) std::uint8_t position[step_bytes];
};
constexpr byte_tables make_tables() {
  byte_tables made{};
  for (std::size_t i = 0; i < step_bytes; ++i) {
    made.number[i] = static_cast<std::uint8_t>(i / most_digits);
    made.place[i] = static_cast<std::int8_t>(static_cast<int>(i % most_digits) - static_cast<int>(most_digits));
    made.position[i] = static_cast<std::uint8_t>(i);
  }
  return made;
}
constexpr byte_tables tables = make_tables();

/// Steps of 64 bytes from the first on, wherever numbers begin and end, so that no step waits for what the one before has found; of a
/// number that began in the step before, the digits are still at hand.
__attribute__((target("avx512f,avx512bw,avx512vbmi,avx512vbmi2,bmi,lzcnt,popcnt"))) numbers_read read_short_numbers_vbmi(
    const char* at, const char* end, list_style style, std::span<std::uint64_t> room) noexcept {
  const __m512i number_of = _mm512_load_si512(tables.number);
  const __m512i place_of = _mm512_load_si512(tables.place);
  const __m512i positions = _mm512_load_si512(tables.position);
  const __m512i one_before = _mm512_sub_epi8(positions, _mm512_set1_epi8(1));
  const __m512i second_half = _mm512_set1_epi8(static_cast<char>(step_bytes));  // where this step lies behind the one before
  const __m512i one = _mm512_set1_epi8(1);
  const bool has_blanks = style == list_style::blank_behind_comma;
  const char gap = has_blanks ? 2 : 1;  // from the end of a number to the beginning of the next
  const __m512i gaps = _mm512_set1_epi8(gap);
  __m512i digits_before = _mm512_setzero_si512();
  const char* step = at;
  const char* rest = at;
  auto last_end = static_cast<char>(-gap);  // of the number before, seen from this step
  std::uint64_t blank_first = 0;            // 1: the step before ended with a comma
  std::size_t count = 0;
  bool is_plain = true;
  while (is_plain && end - step >= static_cast<std::ptrdiff_t>(step_bytes) && room.size() - count >= most_in_step) {
    // 1. Where numbers end: at commas, as long as nothing but digits and commas has been seen.
    const __m512i text = _mm512_loadu_si512(step);
    const __m512i digits = _mm512_sub_epi8(text, _mm512_set1_epi8('0'));
    const std::uint64_t commas = _mm512_cmpeq_epi8_mask(text, _mm512_set1_epi8(','));
    std::uint64_t known = commas | _mm512_cmplt_epu8_mask(digits, _mm512_set1_epi8(10));
    if (has_blanks) {
      const std::uint64_t wanted = commas << 1 | blank_first;
      const std::uint64_t blanks = _mm512_cmpeq_epi8_mask(text, _mm512_set1_epi8(' '));
      known = (known | (blanks & wanted)) & ~(wanted & ~blanks);
      blank_first = commas >> (step_bytes - 1);
    }
    is_plain = known == ~std::uint64_t{0};
    const std::uint64_t ends = is_plain ? commas : commas & ((std::uint64_t{1} << std::countr_one(known)) - 1);
    if (ends == 0) break;
    const auto numbers = static_cast<std::size_t>(std::popcount(ends));
    if (numbers > most_in_step) break;  // some have no digits; nor would there be room for them, nor bits in a mask for 64
    // 2. Their ends, beginnings and lengths, a byte each.
    const __m512i ends_at = _mm512_maskz_compress_epi8(ends, positions);
    const __m512i ends_before = _mm512_mask_set1_epi8(_mm512_permutexvar_epi8(one_before, ends_at), 1, last_end);
    const __m512i begins_at = _mm512_add_epi8(ends_before, gaps);
    const __m512i lengths = _mm512_sub_epi8(ends_at, begins_at);
    const __m512i first_digits = _mm512_permutex2var_epi8(digits_before, _mm512_add_epi8(begins_at, second_half), digits);
    const __mmask64 odd = _mm512_cmpge_epu8_mask(_mm512_sub_epi8(lengths, one), _mm512_set1_epi8(most_digits)) |  // none, or too many
                          (_mm512_testn_epi8_mask(first_digits, first_digits) & _mm512_cmpgt_epu8_mask(lengths, one));
    if ((odd & ((std::uint64_t{1} << numbers) - 1)) != 0) break;
    for (std::size_t done = 0; done < numbers; done += most_digits) {
      // 3. The digits of eight numbers moved to the ends of eight bytes each, zeros before them.
      const __m512i which = _mm512_add_epi8(number_of, _mm512_set1_epi8(static_cast<char>(done)));
      const __m512i places = _mm512_add_epi8(_mm512_permutexvar_epi8(which, ends_at), place_of);
      const __mmask64 is_digit =
          _mm512_cmpge_epi8_mask(_mm512_add_epi8(place_of, _mm512_permutexvar_epi8(which, lengths)), _mm512_setzero_si512());
      const __m512i moved = _mm512_maskz_permutex2var_epi8(is_digit, digits_before, _mm512_add_epi8(places, second_half), digits);
      // 4. Digits to pairs, pairs to fours, fours to numbers.
      const __m512i pairs = _mm512_maddubs_epi16(moved, _mm512_set1_epi16(0x010A));
      const __m512i fours = _mm512_madd_epi16(pairs, _mm512_set1_epi32(0x0001'0064));
      const __m512i values = _mm512_add_epi64(_mm512_mul_epu32(fours, _mm512_set1_epi64(10'000)), _mm512_srli_epi64(fours, 32));
      _mm512_storeu_si512(room.data() + count + done, values);
    }
    count += numbers;
    const int newest_end = 63 - std::countl_zero(ends);
    rest = step + newest_end + 1;
    last_end = static_cast<char>(newest_end - static_cast<int>(step_bytes));
    digits_before = digits;
    step += step_bytes;
  }
  if (room.size() - count < most_in_step) return {count, rest};
  // The end is near, or something odd.
  if (has_blanks && count > 0) {
    if (end == rest || *rest != ' ') return {count, rest};
  }
  const char* const next = rest + (has_blanks && count > 0 ? 1 : 0);
  core::leave_wide_registers();
  const numbers_read others = read_short_numbers_portable(next, end, style, room.subspan(count));
  return {count + others.count, others.count == 0 ? rest : others.rest};
}

read_function best_reader() noexcept {
  __builtin_cpu_init();
  const bool has_all = __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vbmi") &&
                       __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("bmi2");
  return has_all ? read_short_numbers_vbmi : read_short_numbers_portable;
}

#else

read_function best_reader() noexcept {
  return read_short_numbers_portable;
}

#endif

const read_function reader = best_reader();

}  // namespace

numbers_read read_short_numbers(const char* at, const char* end, list_style style, std::span<std::uint64_t> room) noexcept {
  return reader(at, end, style, room);
}

}  // namespace kvc::net
