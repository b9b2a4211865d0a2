#include "net/field_reading.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>

namespace kvc::net {
namespace {

using kind = tape_node::kind;

constexpr std::string_view not_whole = "Input should be a valid integer";
constexpr std::string_view not_whole_text = "Input should be a valid integer, unable to parse string as an integer";
constexpr std::string_view fractional = "Input should be a valid integer, got a number with a fractional part";
constexpr std::string_view not_a_number = "Input should be a valid number";
constexpr std::string_view not_a_number_text = "Input should be a valid number, unable to parse string as a number";

/// The number nearest to a real one without a fraction.
std::int64_t nearest_whole(double value) noexcept {
  constexpr double beyond = 9'223'372'036'854'775'808.0;  // 2^63
  if (value >= beyond) return std::numeric_limits<std::int64_t>::max();
  if (value < -beyond) return std::numeric_limits<std::int64_t>::min();
  return static_cast<std::int64_t>(value);
}

/// What a text spells: blanks around it, a sign, digits, and nothing but zeros behind a point.
std::optional<std::int64_t> spelled_whole(std::string_view text) {
  text = stripped(text);
  const bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) text.remove_prefix(1);
  const std::size_t point = text.find('.');
  if (point != std::string_view::npos) {
    const std::string_view behind = text.substr(point + 1);
    if (behind.empty() || behind.find_first_not_of('0') != std::string_view::npos) return std::nullopt;
    text = text.substr(0, point);
  }
  if (text.empty() || text.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  std::uint64_t magnitude = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), magnitude);
  constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
  const bool is_beyond = failed == std::errc::result_out_of_range || magnitude > most;
  if (is_beyond) return is_negative ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int64_t>::max();
  return is_negative ? -static_cast<std::int64_t>(magnitude) : static_cast<std::int64_t>(magnitude);
}

std::optional<double> spelled_real(std::string_view text) {
  text = stripped(text);
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  // Takes nan, inf and infinity in any case, as the clients' library does.
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size() || text.empty()) return std::nullopt;
  const std::size_t exponent = text.find_first_of("eE");
  const bool is_tiny = exponent != std::string_view::npos && text.substr(exponent + 1).starts_with('-');
  if (failed == std::errc::result_out_of_range && is_tiny) return 0.0;
  if (failed == std::errc::result_out_of_range) return text.starts_with('-') ? -HUGE_VAL : HUGE_VAL;
  if (failed != std::errc()) return std::nullopt;
  return value;
}

}  // namespace

std::string_view stripped(std::string_view text) noexcept {
  constexpr std::string_view blanks = " \t\n\r\v\f\x1c\x1d\x1e\x1f";
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::optional<std::string_view> read_text(const tape_value& value, const field_place& where, field_faults& faults) {
  if (value.is(kind::string)) return value.text();
  faults.add("string_type", where, "Input should be a valid string", value);
  return std::nullopt;
}

std::optional<std::int64_t> read_whole(const tape_value& value, const field_place& where, field_faults& faults, whole_range within) {
  std::optional<std::int64_t> number;
  const tape_node& node = value.node();
  switch (node.what) {
    case kind::boolean:
    case kind::unsigned_integer:
      number = node.bits > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) ? std::numeric_limits<std::int64_t>::max()
                                                                                                : static_cast<std::int64_t>(node.bits);
      break;
    case kind::negative_integer: number = static_cast<std::int64_t>(node.bits); break;
    case kind::real:
      if (!std::isfinite(node.number)) {
        faults.add("finite_number", where, "Input should be a finite number", value);
        return std::nullopt;
      }
      if (node.number != std::floor(node.number)) {
        faults.add("int_from_float", where, fractional, value);
        return std::nullopt;
      }
      number = nearest_whole(node.number);
      break;
    case kind::string:
      number = spelled_whole(node.text());
      if (!number) faults.add("int_parsing", where, not_whole_text, value);
      break;
    default: faults.add("int_type", where, not_whole, value);
  }
  if (!number) return std::nullopt;
  if (*number < within.least) {
    faults.add("greater_than_equal", where, "Input should be greater than or equal to " + std::to_string(within.least), value,
               fault_context{"ge", within.least});
    return std::nullopt;
  }
  if (*number > within.most) {
    faults.add("less_than_equal", where, "Input should be less than or equal to " + std::to_string(within.most), value,
               fault_context{"le", within.most});
    return std::nullopt;
  }
  return number;
}

std::optional<double> read_real(const tape_value& value, const field_place& where, field_faults& faults) {
  const tape_node& node = value.node();
  switch (node.what) {
    case kind::boolean:
    case kind::unsigned_integer: return static_cast<double>(node.bits);
    case kind::negative_integer: return static_cast<double>(static_cast<std::int64_t>(node.bits));
    case kind::real: return node.number;
    case kind::string: {
      const std::optional<double> number = spelled_real(node.text());
      if (!number) faults.add("float_parsing", where, not_a_number_text, value);
      return number;
    }
    default: faults.add("float_type", where, not_a_number, value);
  }
  return std::nullopt;
}

bool check_list(const tape_value& value, const field_place& where, field_faults& faults) {
  if (value.is(kind::array)) return true;
  faults.add("list_type", where, "Input should be a valid list", value);
  return false;
}

bool check_object(const tape_value& value, const field_place& where, field_faults& faults) {
  if (value.is(kind::map)) return true;
  faults.add("model_attributes_type", where, "Input should be a valid dictionary or object to extract fields from", value);
  return false;
}

std::optional<tape_value> require_member(const tape_value& object, std::string_view name, const field_place& where, field_faults& faults) {
  const tape_value found = find_member(object, name);
  if (found.is_present()) return found;
  faults.add("missing", field_place(where, name), "Field required", object);
  return std::nullopt;
}

std::optional<std::size_t> read_word(const tape_value& value, std::span<const std::string_view> words, std::string_view expected,
                                     const field_place& where, field_faults& faults) {
  if (value.is(kind::string)) {
    const auto found = std::ranges::find(words, value.text());
    if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  }
  faults.add("enum", where, "Input should be " + std::string(expected), value, fault_context{"expected", 0, expected});
  return std::nullopt;
}

}  // namespace kvc::net
