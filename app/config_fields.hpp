// The table of settings: one row each, from which the file, environment, flags, help and printed configuration all follow.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "app/settings.hpp"

namespace kvc::app {

/// How a whole number is read from and put into the settings. `put` is called with values of the legal range only.
struct integer_access {
  std::uint64_t (*get)(const settings&);
  void (*put)(settings&, std::uint64_t);
  std::uint64_t least;
  std::uint64_t most;
  bool is_size = false;  ///< bytes: as text, also with a K, M, G or T behind it, in steps of 1024
};

/// How a number with a fraction is read from and put into the settings. `put` is called with values of the legal range only.
struct decimal_access {
  double (*get)(const settings&);
  void (*put)(settings&, double);
  double least;
  double most;
  bool without_least;  ///< `least` itself is not legal
};

struct boolean_access {
  bool (*get)(const settings&);
  void (*put)(settings&, bool);
};

/// `put` changes nothing and answers false when the text is not legal.
struct text_access {
  std::string (*get)(const settings&);
  bool (*put)(settings&, const std::string&);
};

/// As text, for a list of items. `numbers`: the items are written as JSON numbers. `members`: {"http": "debug"} is taken for
/// ["http=debug"].
struct list_access {
  std::vector<std::string> (*get)(const settings&);
  bool (*put)(settings&, const std::vector<std::string>&);
  bool numbers;
  bool members = false;
};

/// One setting. In a file it is called `name`, in the environment `KVC_<NAME>`, as a flag `--name` with dashes.
struct field_info {
  std::string_view group;
  std::string_view name;
  std::variant<integer_access, decimal_access, boolean_access, text_access, list_access> access;
  std::string_view legal;  ///< legal values in words; for integers only what to add to the range, such as what zero means
  std::string_view explanation;
  std::string_view stands_for{};  ///< another setting this one changes: it is accepted everywhere but not listed as one of its own
  bool secret = false;            ///< never printed
};

/// All settings, in the order they are shown and applied. The table lives as long as the process.
[[nodiscard]] std::span<const field_info> config_fields() noexcept;

/// The row called `name` (`-` and `_` are the same), or null.
[[nodiscard]] const field_info* find_field(std::string_view name) noexcept;

/// Legal values of a row, for messages and help: `1..64`, `0..1024, 0 = one per CPU`.
[[nodiscard]] std::string legal_values(const field_info& field);

/// A number as it is shown: no more digits than it needs.
[[nodiscard]] std::string decimal_text(double value);

/// The fleet coordinator that others know, told apart by their prefix: the row of `LMCACHE_MP_COORDINATOR_<NAME>` or, as a flag, of
/// `--name`; null when it has none. (Source: spec coordinator-api, section 4, and its seed.)
[[nodiscard]] const field_info* find_coordinator_variable(std::string_view name) noexcept;
[[nodiscard]] const field_info* find_coordinator_flag(std::string_view name) noexcept;

/// The names of those flags, without `--`.
[[nodiscard]] std::span<const std::string_view> coordinator_flags() noexcept;

/// The environment variable and the flag of a row: `KVC_HTTP_PORTS`, `--http-ports`.
[[nodiscard]] std::string variable_name(std::string_view field_name);
[[nodiscard]] std::string flag_name(std::string_view field_name);

/// The name out of `known` that is closest to a mistyped one, or empty when none is near.
[[nodiscard]] std::string_view nearest_name(std::string_view mistyped, std::span<const std::string_view> known);

}  // namespace kvc::app
