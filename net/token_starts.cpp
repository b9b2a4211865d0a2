#include "net/token_starts.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "net/payload_reach.hpp"

namespace kvc::net {

#if defined(__x86_64__)

namespace {

#define KVC_STARTS __attribute__((target("avx2,bmi,bmi2,popcnt")))
#define KVC_STARTS_INLINE KVC_STARTS __attribute__((always_inline)) inline

constexpr unsigned short_format = 0xcd;  ///< then two bytes, big-endian
constexpr unsigned long_format = 0xce;   ///< then four
constexpr std::size_t short_length = 3;  ///< bytes, the format included
constexpr std::size_t long_length = 5;

constexpr std::size_t window = 64;        ///< bytes of which the starts are found at once: as many as a word has bits
constexpr std::size_t most_windows = 64;  ///< before the numbers in them are taken
constexpr std::size_t most_in_window = (window + short_length - 1) / short_length;

constexpr std::size_t in_group = 3;  ///< numbers taken by one shuffle, which have 15 bytes at most
constexpr std::size_t groups = 1U << in_group;
constexpr std::size_t vector_bytes = 16;
constexpr std::size_t groups_in_word = 16;  ///< whose kinds are looked at as one word, and stand in six whole bytes
constexpr std::size_t word_bytes = groups_in_word * in_group / 8;

constexpr std::size_t fewest = 64;          ///< numbers: a shorter list is read otherwise
constexpr std::size_t read_otherwise = 24;  ///< numbers, where the windows end or one has another kind: those of it, mostly

/// Whether number `number` of a group is short.
constexpr bool is_short(std::size_t group, std::size_t number) {
  return (group >> number & 1U) != 0;
}

/// For each group: from which of sixteen bytes those of its numbers come, lowest first.
constexpr auto group_shuffles() {
  std::array<unsigned char, groups * vector_bytes> all{};
  all.fill(0xff);
  for (std::size_t group = 0; group < groups; ++group) {
    std::size_t begin = 0;
    for (std::size_t number = 0; number < in_group; ++number) {
      const std::size_t length = is_short(group, number) ? short_length : long_length;
      for (std::size_t i = 0; i + 1 < length; ++i) {
        all[group * vector_bytes + number * sizeof(std::uint32_t) + i] = static_cast<unsigned char>(begin + length - 1 - i);
      }
      begin += length;
    }
  }
  return all;
}

/// How many bytes the numbers of each group have; at the same distance as the shuffles, so that one number leads to both.
constexpr auto group_lengths() {
  std::array<std::uint8_t, groups * vector_bytes> all{};
  for (std::size_t group = 0; group < groups; ++group) {
    std::size_t length = 0;
    for (std::size_t number = 0; number < in_group; ++number) length += is_short(group, number) ? short_length : long_length;
    all[group * vector_bytes] = static_cast<std::uint8_t>(length);
  }
  return all;
}

alignas(vector_bytes) constexpr auto shuffles = group_shuffles();
constexpr auto lengths = group_lengths();

/// What some windows hold, as far as it is numbers of the two kinds.
struct found_kinds {
  std::array<unsigned char, most_windows * most_in_window / 8 + sizeof(std::uint64_t)> bits;  ///< of each number, whether it is short
  std::size_t count = 0;                                                                      ///< numbers
};

/// Bit i of the answer: byte i of the window is `format`.
KVC_STARTS_INLINE std::uint64_t bytes_that_are(unsigned format, __m256i lower, __m256i upper) noexcept {
  const __m256i wanted = _mm256_set1_epi8(static_cast<char>(format));
  const auto low = static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(lower, wanted)));
  const auto high = static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(upper, wanted)));
  return low | std::uint64_t{high} << 32;
}

/// Windows from `at` on, `windows` at most, until `wanted` numbers are found or one holds anything else than numbers of the two kinds.
///
/// Where a number begins depends on all before it. But nearly every byte that could be a format is one, and of the others nearly none
/// stands where a number before it, or what looks like one, would end. So: all bytes that could be formats, less those that nothing leads
/// to, twice. Whether what is left is right is then certain: it is if it holds the window's first start, and behind each of its members
/// the next one, and nothing else. For then whatever it holds is reached from the first start, and it holds all that is.
KVC_STARTS_INLINE void find_kinds(const unsigned char* at, std::size_t windows, std::size_t wanted, found_kinds& found) noexcept {
  std::uint64_t first = 1;      // where the first number of the window begins, as a bit
  std::uint64_t unwritten = 0;  // bits of the byte that is not full yet, and those behind
  for (std::size_t i = 0; i < windows && found.count < wanted; ++i) {
    const auto* const bytes = reinterpret_cast<const __m256i*>(at + i * window);
    bring_on_way(at + i * window);
    const __m256i lower = _mm256_loadu_si256(bytes);
    const __m256i upper = _mm256_loadu_si256(bytes + 1);
    const std::uint64_t shorts = bytes_that_are(short_format, lower, upper);
    const std::uint64_t longs = bytes_that_are(long_format, lower, upper);
    const std::uint64_t either = shorts | longs;
    std::uint64_t starts = either & (first | shorts << short_length | longs << long_length);
    starts = either & (first | (starts & shorts) << short_length | (starts & longs) << long_length);
    const std::uint64_t short_starts = starts & shorts;
    const std::uint64_t long_starts = starts & longs;
    if ((first | short_starts << short_length | long_starts << long_length) != starts) return;
    first = short_starts >> (window - short_length) | long_starts >> (window - long_length);
    unwritten |= _pext_u64(shorts, starts) << (found.count % 8);
    const std::size_t before = found.count / 8;
    std::memcpy(found.bits.data() + before, &unwritten, sizeof(unwritten));
    found.count += static_cast<std::size_t>(__builtin_popcountll(starts));
    unwritten >>= 8 * (found.count / 8 - before);
  }
}

/// Takes the numbers of the group at `at`; `group` is it, times sixteen. Writes four numbers, of which the last is to be written over.
/// Answers how many bytes they have.
KVC_STARTS_INLINE std::size_t take_group(const unsigned char* at, std::size_t group, std::uint32_t* out) noexcept {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
  const __m128i shuffle = _mm_load_si128(reinterpret_cast<const __m128i*>(shuffles.data() + group));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm_shuffle_epi8(bytes, shuffle));
  return lengths[group];
}

/// The groups of the `word`-th word, the first of them times sixteen.
KVC_STARTS_INLINE std::uint64_t groups_at(const found_kinds& found, std::size_t word) noexcept {
  std::uint64_t all = 0;
  std::memcpy(&all, found.bits.data() + word * word_bytes, sizeof(all));
  return all << 4;
}

constexpr std::size_t group_mask = (groups - 1) * vector_bytes;

/// Takes `count` groups; answers how many bytes they have.
KVC_STARTS_INLINE std::size_t take_groups(const unsigned char* at, const found_kinds& found, std::size_t count,
                                          std::uint32_t* out) noexcept {
  std::size_t taken = 0;
  const std::size_t words = count / groups_in_word;
  for (std::size_t word = 0; word < words; ++word) {
    std::uint64_t next = groups_at(found, word);
#pragma GCC unroll 16
    for (std::size_t i = 0; i < groups_in_word; ++i) {
      taken += take_group(at + taken, next & group_mask, out + i * in_group);
      next >>= in_group;
    }
    out += groups_in_word * in_group;
  }
  std::uint64_t next = groups_at(found, words);
  for (std::size_t i = 0; i < count % groups_in_word; ++i) {
    taken += take_group(at + taken, next & group_mask, out + i * in_group);
    next >>= in_group;
  }
  return taken;
}

}  // namespace

bool has_u32_list_by_starts() noexcept {
  __builtin_cpu_init();
  // The `pext` of these AMD CPUs is a program within the CPU, which takes the longer the more bits it is asked for (A. Fog, instruction
  // tables). Of other makers that have it it is not known.
  const bool is_slow = __builtin_cpu_is("bdver4") || __builtin_cpu_is("znver1") || __builtin_cpu_is("znver2");
  const bool is_fast = __builtin_cpu_is("intel") || (__builtin_cpu_is("amd") && !is_slow);
  return is_fast && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
         __builtin_cpu_supports("popcnt");
}

KVC_STARTS const unsigned char* read_u32_list_by_starts(const unsigned char* at, const unsigned char* end, std::uint32_t* out,
                                                        std::size_t count, u32_list_reader otherwise) noexcept {
  while (count >= fewest && static_cast<std::size_t>(end - at) >= window + vector_bytes) {
    const std::size_t sure = (static_cast<std::size_t>(end - at) - vector_bytes) / window;
    found_kinds found;
    find_kinds(at, std::min(sure, most_windows), count, found);
    // One of another kind so soon: there are likely to be many.
    if (found.count == 0) break;
    // The last of all is left to somebody else, since a group writes one number too many.
    const std::size_t whole = (std::min(found.count, count) - 1) / in_group;
    at += take_groups(at, found, whole, out);
    out += whole * in_group;
    count -= whole * in_group;
    const std::size_t next = std::min(count, read_otherwise);
    at = otherwise(at, end, out, next);
    if (at == nullptr) return nullptr;
    out += next;
    count -= next;
  }
  return count == 0 ? at : otherwise(at, end, out, count);
}

#else

bool has_u32_list_by_starts() noexcept {
  return false;
}

const unsigned char* read_u32_list_by_starts(const unsigned char* at, const unsigned char* end, std::uint32_t* out, std::size_t count,
                                             u32_list_reader otherwise) noexcept {
  return otherwise(at, end, out, count);
}

#endif

}  // namespace kvc::net
