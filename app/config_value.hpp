// One value as some place wrote it down, before it is a setting; and how it becomes one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/config_fields.hpp"
#include "app/settings.hpp"

namespace kvc::app {

/// A value as found. Flags and the environment only have text, where a list is written with commas; a JSON file has types.
struct raw_value {
  enum class form : std::uint8_t { loose_text, json_string, json_number, json_boolean, json_list, json_object, json_other };

  form written = form::loose_text;
  std::string text;                       ///< what was written, for messages; the value itself unless it is a list
  std::vector<std::string> items{};       ///< of a JSON list its items as text, of an object its members as `key=value`
  form items_written = form::json_other;  ///< the form that all of them have; json_other: no common one
};

/// Puts `value` into the settings. Answers an empty string, or what is wrong with it (`is not a whole number`) and then leaves `into`
/// as it was.
[[nodiscard]] std::string assign(const field_info& field, const raw_value& value, settings& into);

/// The one line about a bad value: its name, the value (cut when long, hidden when secret), what is wrong, what is legal, where it stands.
[[nodiscard]] std::string bad_value_line(const field_info& field, const raw_value& value, std::string_view wrong, std::string_view source);

}  // namespace kvc::app
