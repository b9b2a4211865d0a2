#include "net/event_hash.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/block_hasher.hpp"
#include "core/mixed_bits.hpp"

namespace kvc::net {
namespace {

using kind = tape_value::kind;

constexpr std::size_t few_names = 128;       ///< whose numbers are of one byte, so that their table lies in some lines of the first cache
constexpr std::size_t some_names = 1024;     ///< the same of two bytes: 16 KiB at most
constexpr std::size_t places_of_few = 8;     ///< per name: it hardly ever finds another one in its place, which is a jump mispredicted
constexpr std::size_t places_of_many = 2;    ///< the same for longer lists, whose numbers lie in the scratch list, a word each
constexpr std::size_t integer_digits = 16;   ///< hexadecimal digits of a 64-bit number
constexpr std::size_t longest_digest = 128;  ///< hexadecimal digits; SHA-512

template <class Integer>
std::optional<Integer> number_of(std::string_view digits, int base) {
  Integer number = 0;
  const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), number, base);
  if (failure != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return number;
}

bool has_repeats_sorted(const std::vector<core::engine_hash>& names, std::vector<core::engine_hash>& scratch) {
  scratch = names;
  std::ranges::sort(scratch);
  return std::ranges::adjacent_find(scratch) != scratch.end();
}

std::size_t number_in(std::uint16_t place) {
  return place;
}
std::size_t number_in(core::engine_hash place) {
  return place.get();
}

/// By an open table of numbers of names, 1 and up, all 0 at first. Names are somebody else's numbers, so a table that turns out crowded is
/// given up for sorting. Precondition: twice as many places as names at least, and a power of two.
template <class Number>
bool has_repeats_in(std::span<Number> numbers, const std::vector<core::engine_hash>& names, std::vector<core::engine_hash>& scratch) {
  const int shift = 64 - std::countr_zero(numbers.size());
  std::size_t steps_left = numbers.size();
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::size_t at = (names[i].get() * core::golden) >> shift;
    for (; number_in(numbers[at]) != 0; at = (at + 1) & (numbers.size() - 1)) {
      if (names[number_in(numbers[at]) - 1] == names[i]) return true;
      if (--steps_left == 0) return has_repeats_sorted(names, scratch);
    }
    numbers[at] = static_cast<Number>(i + 1);
  }
  return false;
}

/// The same in a table on the stack, set as far as it is used.
template <class Number, std::size_t most_names>
bool has_repeats_here(std::size_t rounded, const std::vector<core::engine_hash>& names, std::vector<core::engine_hash>& scratch) {
  std::array<Number, most_names * places_of_few> numbers;
  std::fill_n(numbers.begin(), rounded * places_of_few, Number{0});
  return has_repeats_in(std::span(numbers).first(rounded * places_of_few), names, scratch);
}

bool is_hexadecimal(std::string_view text) {
  return !text.empty() && text.size() <= longest_digest && text.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

core::engine_hash name_of_digits(std::string_view digits, core::digest_names& digests) {
  if (digits.size() <= integer_digits) return core::engine_hash{number_of<std::uint64_t>(digits, 16).value_or(0)};
  std::array<std::byte, longest_digest / 2> bytes{};
  std::size_t count = 0;
  if (digits.size() % 2 != 0) {  // an odd number of digits is one with a leading zero
    bytes[count++] = static_cast<std::byte>(number_of<std::uint8_t>(digits.substr(0, 1), 16).value_or(0));
    digits.remove_prefix(1);
  }
  for (; !digits.empty(); digits.remove_prefix(2)) {
    bytes[count++] = static_cast<std::byte>(number_of<std::uint8_t>(digits.substr(0, 2), 16).value_or(0));
  }
  return digests.name_of(std::span(bytes).first(count));
}

}  // namespace

core::engine_hash name_of_text(std::string_view text, core::digest_names& digests) {
  if (const auto number = number_of<std::uint64_t>(text, 10)) return core::engine_hash{*number};
  if (const auto number = number_of<std::int64_t>(text, 10)) return core::engine_hash{static_cast<std::uint64_t>(*number)};
  const bool is_marked = text.starts_with("0x") || text.starts_with("0X");
  const std::string_view digits = is_marked ? text.substr(2) : text;
  if (is_hexadecimal(digits)) return name_of_digits(digits, digests);
  return core::engine_hash{core::digest(std::as_bytes(std::span(text)))};
}

bool read_name(tape_value from, bool accepts_text, core::digest_names& digests, core::engine_hash& out) {
  if (from.is_integer()) {
    out = core::engine_hash{from.node().bits};
    return true;
  }
  const bool is_text = accepts_text && from.is(kind::string);
  if ((!is_text && !from.is(kind::binary)) || from.length() == 0) return false;
  out = is_text ? name_of_text(from.text(), digests) : digests.name_of(from.bytes());
  return true;
}

bool has_repeats(const std::vector<core::engine_hash>& names, std::vector<core::engine_hash>& scratch) {
  const std::size_t rounded = std::bit_ceil(std::max<std::size_t>(names.size(), 2));
  if (names.size() <= few_names) return has_repeats_here<std::uint8_t, few_names>(rounded, names, scratch);
  if (names.size() <= some_names) return has_repeats_here<std::uint16_t, some_names>(rounded, names, scratch);
  scratch.assign(rounded * places_of_many, core::engine_hash{0});
  return has_repeats_in(std::span(scratch), names, scratch);
}

}  // namespace kvc::net
