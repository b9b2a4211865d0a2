// Names of settings in each place they can be written, and which one a mistyped name may have meant.
#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <numeric>
#include <system_error>

#include "app/config_fields.hpp"

namespace kvc::app {
namespace {

/// Levenshtein distance, case and the difference between `-` and `_` aside.
std::size_t edits_between(std::string_view left, std::string_view right) {
  const auto plain = [](char letter) { return letter == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(letter))); };
  std::vector<std::size_t> row(right.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < left.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < right.size(); ++j) {
      const std::size_t replaced = diagonal + (plain(left[i]) == plain(right[j]) ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

const field_info* find_field(std::string_view name) noexcept {
  const auto same_letter = [](char left, char right) { return (left == '-' ? '_' : left) == right; };
  for (const field_info& field : config_fields()) {
    if (std::ranges::equal(name, field.name, same_letter)) return &field;
  }
  return nullptr;
}

std::string legal_values(const field_info& field) {
  std::string legal;
  if (const auto* whole = std::get_if<integer_access>(&field.access)) {
    legal = std::to_string(whole->least) + ".." + std::to_string(whole->most);
    if (!field.legal.empty()) legal += ", ";
  }
  if (const auto* decimal = std::get_if<decimal_access>(&field.access)) {
    legal = (decimal->without_least ? "above " : "") + decimal_text(decimal->least) + ".." + decimal_text(decimal->most);
    if (!field.legal.empty()) legal += ", ";
  }
  return legal.append(field.legal);
}

std::string decimal_text(double value) {
  std::array<char, 32> digits;
  char* const end = digits.data() + digits.size();
  auto written = std::to_chars(digits.data(), end, value, std::chars_format::fixed);
  // So small or so large that it has more digits than there is room for.
  if (written.ec != std::errc{}) written = std::to_chars(digits.data(), end, value, std::chars_format::scientific);
  return {digits.data(), written.ptr};
}

const field_info* find_coordinator_variable(std::string_view name) noexcept {
  constexpr std::string_view prefix = "LMCACHE_MP_COORDINATOR_";
  constexpr std::string_view own_prefix = "coordinator_";
  if (!name.starts_with(prefix)) return nullptr;
  const std::string_view rest = name.substr(prefix.size());
  const auto same_letter = [](char left, char right) { return left == std::toupper(static_cast<unsigned char>(right)); };
  for (const field_info& field : config_fields()) {
    if (field.name.starts_with(own_prefix) && std::ranges::equal(rest, field.name.substr(own_prefix.size()), same_letter)) return &field;
  }
  return nullptr;
}

std::span<const std::string_view> coordinator_flags() noexcept {
  static constexpr std::array<std::string_view, 11> flags{"host",
                                                          "port",
                                                          "instance-timeout",
                                                          "health-check-interval",
                                                          "eviction-check-interval",
                                                          "eviction-ratio",
                                                          "trigger-watermark",
                                                          "blend-chunk-size",
                                                          "blend-probe-stride",
                                                          "timeout-keep-alive",
                                                          "eviction-unit"};
  return flags;
}

const field_info* find_coordinator_flag(std::string_view name) noexcept {
  const auto flags = coordinator_flags();
  if (std::ranges::find(flags, name) == flags.end()) return nullptr;
  return find_field("coordinator-" + std::string(name));
}

std::string variable_name(std::string_view field_name) {
  std::string name = "KVC_";
  for (const char letter : field_name) name += static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  return name;
}

std::string flag_name(std::string_view field_name) {
  std::string name = "--";
  for (const char letter : field_name) name += letter == '_' ? '-' : letter;
  return name;
}

std::string_view nearest_name(std::string_view mistyped, std::span<const std::string_view> known) {
  constexpr std::size_t longest_compared = 64;
  std::string_view nearest;
  if (mistyped.size() > longest_compared) return nearest;
  std::size_t fewest = std::max<std::size_t>(2, mistyped.size() / 3) + 1;
  for (const std::string_view candidate : known) {
    const std::size_t edits = edits_between(mistyped, candidate);
    // A name that was only cut short (`receive_high_water`) is as good as a slip of the finger.
    const bool is_part = mistyped.size() >= 4 && candidate.find(mistyped) != std::string_view::npos;
    const std::size_t distance = is_part ? std::min<std::size_t>(edits, 2) : edits;
    if (distance < fewest) {
      fewest = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

}  // namespace kvc::app
