#include "net/event_pattern.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "core/wide_registers.hpp"
#include "net/payload_reach.hpp"
#include "net/same_bytes.hpp"

namespace kvc::net {
namespace {

[[maybe_unused, nodiscard]] bool is_valid(const event_pattern& like) noexcept {
  return like.length >= event_pattern::fewest_bytes && like.length <= event_pattern::most_bytes &&
         like.gap + event_pattern::gap_bytes <= like.length;
}

/// Which bytes count, of an event whose gap begins at the middle: any other's is a part of it. Written down, not made for each pattern: a
/// load of sixteen bytes waits for all stores before it where they come from several.
constexpr auto all_but_gap = [] {
  std::array<unsigned char, 2 * event_pattern::most_bytes + event_pattern::gap_bytes> counts{};
  counts.fill(0xff);
  std::fill_n(counts.begin() + event_pattern::most_bytes, event_pattern::gap_bytes, std::uint8_t{0});
  return counts;
}();

/// Sixteen bytes at a time, the last of which overlap those before them.
std::size_t count_alike_plain(const event_pattern& like, const unsigned char* at, std::size_t most) noexcept {
  assert(is_valid(like));
  struct piece {
    sixteen_bytes bytes;
    sixteen_bytes counts;  ///< which of their bits are to be the same
  };
  std::array<piece, event_pattern::most_bytes / sizeof(sixteen_bytes)> pieces;
  const std::size_t last_at = like.length - sizeof(sixteen_bytes);
  const std::size_t last = (like.length - 1) / sizeof(sixteen_bytes);
  const auto place_of = [&](std::size_t piece) { return piece == last ? last_at : piece * sizeof(sixteen_bytes); };
  const unsigned char* const counts = all_but_gap.data() + (event_pattern::most_bytes - like.gap);
  for (std::size_t i = 0; i <= last; ++i) {
    std::memcpy(&pieces[i].bytes, like.event + place_of(i), sizeof(sixteen_bytes));
    std::memcpy(&pieces[i].counts, counts + place_of(i), sizeof(sixteen_bytes));
  }
  const auto differs = [&](std::size_t piece) {
    sixteen_bytes here;
    std::memcpy(&here, at + place_of(piece), sizeof here);
    return (here ^ pieces[piece].bytes) & pieces[piece].counts;
  };
  std::size_t alike = 0;
  for (; alike < most; ++alike, at += like.length) {
    bring_on_way(at);
    sixteen_bytes differ = differs(last);
    for (std::size_t i = 0; i < last; ++i) differ |= differs(i);
    if (!is_zero(differ)) break;
  }
  return alike;
}

#if defined(__x86_64__)

#define KVC_AVX512BW __attribute__((target("avx512f,avx512bw")))

constexpr std::size_t vector_bytes = 64;
static_assert(event_pattern::most_bytes == 2 * vector_bytes);

[[nodiscard]] constexpr std::uint64_t first_bits(std::size_t count) noexcept {
  return count >= vector_bytes ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}

/// Bits of the bytes from `begin` on, of a vector of the event, that count.
[[nodiscard]] constexpr std::uint64_t counted(const event_pattern& like, std::size_t begin) noexcept {
  const auto up_to = [begin](std::size_t end) { return first_bits(end < begin ? 0 : end - begin); };
  return up_to(like.length) & ~(up_to(like.gap + event_pattern::gap_bytes) & ~up_to(like.gap));
}

/// An event at a time, in two vectors. Bytes that do not count are not loaded, so that nothing is read beyond the last event.
KVC_AVX512BW std::size_t count_alike_wide(const event_pattern& like, const unsigned char* at, std::size_t most) noexcept {
  assert(is_valid(like));
  const __mmask64 of_first = counted(like, 0);
  const __mmask64 of_second = counted(like, vector_bytes);
  const __m512i first = _mm512_maskz_loadu_epi8(of_first, like.event);
  std::size_t alike = 0;
  if (of_second == 0) {
    while (alike < most && _mm512_mask_cmpneq_epi8_mask(of_first, _mm512_maskz_loadu_epi8(of_first, at), first) == 0) {
      bring_on_way(at);
      at += like.length;
      ++alike;
    }
  } else {
    const __m512i second = _mm512_maskz_loadu_epi8(of_second, like.event + vector_bytes);
    for (; alike < most; ++alike, at += like.length) {
      bring_on_way(at);
      const __mmask64 differ = _mm512_mask_cmpneq_epi8_mask(of_first, _mm512_maskz_loadu_epi8(of_first, at), first);
      const __mmask64 differ_too = _mm512_mask_cmpneq_epi8_mask(of_second, _mm512_maskz_loadu_epi8(of_second, at + vector_bytes), second);
      if ((differ | differ_too) != 0) break;
    }
  }
  core::leave_wide_registers();
  return alike;
}

#endif

/// Those that this CPU can run, the fastest first.
struct usable_counters {
  std::array<alike_counter, 2> each{};
  std::size_t count = 0;

  usable_counters() noexcept {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512bw")) each[count++] = count_alike_wide;
#endif
    each[count++] = count_alike_plain;
  }
};

const usable_counters usable;
const alike_counter count_them = usable.each.front();

}  // namespace

std::span<const alike_counter> alike_counters() noexcept {
  return std::span(usable.each).first(usable.count);
}

std::size_t count_alike(const event_pattern& like, const unsigned char* at, std::size_t most) noexcept {
  return count_them(like, at, most);
}

}  // namespace kvc::net
