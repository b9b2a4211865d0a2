#include "app/config_value.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <system_error>

#include "app/config_texts.hpp"
#include "app/plain_text.hpp"

namespace kvc::app {
namespace {

using form = raw_value::form;

/// A number that cannot be written in 64 bits comes out of the file as a real one, or as none at all.
bool is_huge(const std::string& text) {
  constexpr double beyond = 18446744073709551616.0;
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, failed] = std::from_chars(text.data(), end, number);
  return stop == end && (failed == std::errc::result_out_of_range || (failed == std::errc{} && std::abs(number) >= beyond));
}

/// `8G` as `8589934592`; what is no such size is left as it is, for the rules of whole numbers to judge.
std::string without_unit(const std::string& text) {
  constexpr std::string_view units = "KMGT";
  const std::size_t unit = text.empty() ? units.npos : units.find(static_cast<char>(std::toupper(static_cast<unsigned char>(text.back()))));
  const std::string digits = text.substr(0, text.empty() ? 0 : text.size() - 1);
  std::uint64_t number = 0;
  if (unit == units.npos || !looks_whole(digits) || !parse_whole(digits, number)) return text;
  const std::size_t shift = 10 * (unit + 1);
  constexpr std::uint64_t most = ~std::uint64_t{0};
  return std::to_string(number > most >> shift ? most : number << shift);  // too much in any case
}

std::string assign_to(const integer_access& access, const raw_value& value, settings& into) {
  if (access.is_size && (value.written == form::loose_text || value.written == form::json_string)) {
    const raw_value bytes{.written = form::loose_text, .text = without_unit(value.text)};
    integer_access plain = access;
    plain.is_size = false;
    return assign_to(plain, bytes, into);
  }
  const bool is_text = value.written == form::loose_text;
  const bool is_number = value.written == form::json_number;
  if ((!is_text && !is_number) || !looks_whole(value.text)) {
    return is_number && is_huge(value.text) ? "is out of range" : "is not a whole number";
  }
  std::uint64_t number = 0;
  if (!parse_whole(value.text, number) || number < access.least || number > access.most) return "is out of range";
  access.put(into, number);
  return {};
}

std::string assign_to(const decimal_access& access, const raw_value& value, settings& into) {
  const bool is_text = value.written == form::loose_text;
  double number = 0;
  const char* const end = value.text.data() + value.text.size();
  const auto [stop, failed] = std::from_chars(value.text.data(), end, number);
  const bool is_too_much = failed == std::errc::result_out_of_range;
  if ((!is_text && value.written != form::json_number) || (failed != std::errc{} && !is_too_much) || stop != end) return "is not a number";
  const bool is_in_range =
      !is_too_much && number >= access.least && number <= access.most && !(access.without_least && number == access.least);
  if (!is_in_range) return "is out of range";
  access.put(into, number);
  return {};
}

std::string assign_to(const boolean_access& access, const raw_value& value, settings& into) {
  constexpr std::array<std::string_view, 4> yes{"true", "1", "yes", "on"};
  constexpr std::array<std::string_view, 4> no{"false", "0", "no", "off"};
  if (value.written != form::loose_text && value.written != form::json_boolean) return "is not true or false";
  const bool is_yes = std::ranges::find(yes, value.text) != yes.end();
  if (!is_yes && std::ranges::find(no, value.text) == no.end()) return "is not true or false";
  access.put(into, is_yes);
  return {};
}

std::string assign_to(const text_access& access, const raw_value& value, settings& into) {
  if (value.written != form::loose_text && value.written != form::json_string) return "is not a text";
  // The system would take what stands before it for all of it.
  if (value.text.find('\0') != std::string::npos) return "has a NUL byte in it";
  return access.put(into, value.text) ? "" : "is not legal";
}

std::vector<std::string> split_at_commas(std::string_view text) {
  std::vector<std::string> items;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    std::string_view item = text.substr(0, comma);
    while (item.starts_with(' ')) item.remove_prefix(1);
    while (item.ends_with(' ')) item.remove_suffix(1);
    items.emplace_back(item);
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  return items;
}

std::string assign_to(const list_access& access, const raw_value& value, settings& into) {
  const form item = access.numbers ? form::json_number : form::json_string;
  if (value.written == form::json_list || (access.members && value.written == form::json_object)) {
    // `null` and 123 written where a token belongs are slips, not the tokens "null" and "123".
    if (!value.items.empty() && value.items_written != item) return access.numbers ? "is not a list of numbers" : "is not a list of texts";
    return access.put(into, value.items) ? "" : "is not legal";
  }
  if (value.written != form::loose_text && value.written != item) return "is not a list";
  return access.put(into, split_at_commas(value.text)) ? "" : "is not legal";
}

}  // namespace

std::string assign(const field_info& field, const raw_value& value, settings& into) {
  return std::visit([&](const auto& access) { return assign_to(access, value, into); }, field.access);
}

std::string bad_value_line(const field_info& field, const raw_value& value, std::string_view wrong, std::string_view source) {
  std::string written = field.secret ? "(hidden)" : shown(value.text);
  // As it stands in the file: that 4 is no whole number nobody would understand.
  if (!field.secret && value.written == form::json_string) written = '"' + written + '"';
  return std::string(field.name) + " = " + (written.empty() ? "(empty)" : written) + " " + std::string(wrong) +
         "; legal: " + legal_values(field) + " (from " + std::string(source) + ")";
}

}  // namespace kvc::app
