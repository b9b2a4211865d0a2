// How the simulator's flags are read: values with their ranges, `--name value` and `--name=value`. Pure.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kvc::sim::flags {

/// Why a value was refused, or nothing.
using refusal = std::optional<std::string>;

inline constexpr std::uint64_t any_u64 = ~std::uint64_t{0};

template <class Whole>
refusal whole(std::string_view text, Whole& into, std::uint64_t least, std::uint64_t most) {
  std::uint64_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || end != text.data() + text.size() || value < least || value > most) {
    return "must be a whole number from " + std::to_string(least) + " to " + std::to_string(most);
  }
  into = static_cast<Whole>(value);
  return std::nullopt;
}

/// A number from 0 to `most`; `range` names the two in words.
[[nodiscard]] refusal number(std::string_view text, double& into, double most, std::string_view range);

template <class Value>
refusal word(std::string_view text, Value& into, std::initializer_list<std::pair<std::string_view, Value>> known) {
  std::string names;
  for (const auto& [name, value] : known) {
    if (text == name) {
      into = value;
      return std::nullopt;
    }
    names += (names.empty() ? "" : ", ") + std::string(name);
  }
  return "must be one of " + names;
}

[[nodiscard]] refusal non_empty(std::string_view text, std::string& into);

/// A name that is sent in bodies, which are UTF-8.
[[nodiscard]] refusal name(std::string_view text, std::string& into);

/// host:port, [v6]:port, or a bare host; `example` is a port for the sentence that teaches.
[[nodiscard]] refusal address(std::string_view text, std::string& host, std::uint16_t& port, std::string_view example);

template <class Options>
struct value_flag {
  std::string_view name;
  refusal (*read)(std::string_view, Options&);
};

template <class Options>
struct switch_flag {
  std::string_view name;
  bool Options::*set;
};

/// Handles the flag at `at`, moving it past a value taken from the next argument. `help` becomes true for --help and -h.
template <class Options>
refusal read_flag(const std::vector<std::string>& arguments, std::size_t& at, std::span<const value_flag<Options>> values,
                  std::span<const switch_flag<Options>> switches, Options& into, bool& help) {
  std::string_view name = arguments[at];
  std::optional<std::string_view> value;
  if (name == "--help" || name == "-h") {
    help = true;
    return std::nullopt;
  }
  if (const auto equals = name.find('='); equals != std::string_view::npos && name.starts_with("--")) {
    value = name.substr(equals + 1);
    name = name.substr(0, equals);
  }
  for (const auto& flag : switches) {
    if (flag.name != name) continue;
    if (value) return std::string(name) + " takes no value";
    into.*flag.set = true;
    return std::nullopt;
  }
  for (const auto& flag : values) {
    if (flag.name != name) continue;
    if (!value && at + 1 < arguments.size()) value = arguments[++at];
    if (!value) return std::string(name) + " needs a value";
    if (const auto wrong = flag.read(*value, into)) {
      return std::string(name) + " " + *wrong + (value->empty() ? "" : ", not '" + std::string(*value) + "'");
    }
    return std::nullopt;
  }
  return "unknown flag '" + std::string(name) + "'; --help lists them all";
}

}  // namespace kvc::sim::flags
