#include "app/config_env.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <sys/stat.h>
#include <unistd.h>
#include <variant>

#include "app/config_texts.hpp"
#include "app/plain_text.hpp"

namespace kvc::app {

config_inputs process_inputs(int argc, const char* const* argv) {
  config_inputs inputs;
  for (int i = 1; i < argc; ++i) inputs.arguments.emplace_back(argv[i]);
  for (char** each = environ; each != nullptr && *each != nullptr; ++each) {
    const std::string_view entry = *each;
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = entry.substr(0, equals);
    if (name.starts_with("KVC_") || name.starts_with("LMCACHE_MP_COORDINATOR_") || name == "CONDUCTOR_CONFIG_PATH" ||
        name == "JOURNAL_STREAM" || name == "NOTIFY_SOCKET") {
      inputs.variables.emplace(name, entry.substr(equals + 1));
    }
  }
  struct stat seen {};
  if (fstat(STDERR_FILENO, &seen) == 0) inputs.standard_error = std::to_string(seen.st_dev) + ":" + std::to_string(seen.st_ino);
  return inputs;
}

namespace {

/// Whether the other service would take a number out of this text. It goes on with the default where it cannot.
bool spells_number(const field_info& field, const std::string& text) {
  if (std::holds_alternative<integer_access>(field.access)) return looks_whole(text);
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, failed] = std::from_chars(text.data(), end, number);
  // What is too large for a number is out of range, which stops the start.
  return (failed == std::errc{} || failed == std::errc::result_out_of_range) && stop == end;
}

/// A variable of the other service, by its rules: a number that is none is warned of and left out; every word that does not say yes says
/// no. What is out of range stops the start, here as there. (Source: spec coordinator-api, section 4.)
void read_coordinator_variable(const std::string& name, const std::string& text, std::vector<found_value>& found,
                               std::vector<std::string>& warnings) {
  const field_info* const field = find_coordinator_variable(name);
  if (field == nullptr) {
    warnings.push_back("environment variable " + name + " is not a setting");
    return;
  }
  std::string value = text;
  while (value.starts_with(' ')) value.erase(0, 1);
  while (value.ends_with(' ')) value.pop_back();
  if (std::holds_alternative<boolean_access>(field->access)) {
    constexpr std::array<std::string_view, 4> yes{"1", "true", "yes", "on"};
    std::ranges::transform(value, value.begin(), [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
    value = std::ranges::find(yes, std::string_view(value)) != yes.end() ? "true" : "false";
  } else if (!std::holds_alternative<text_access>(field->access) && !std::holds_alternative<list_access>(field->access) &&
             !spells_number(*field, value)) {
    warnings.push_back("environment variable " + name + " = " + shown(text) + " is not a number; the default is used");
    return;
  }
  found.push_back({field, {raw_value::form::loose_text, value, {}}, "environment variable " + name});
}

}  // namespace

std::vector<found_value> read_environment(const environment& variables, std::vector<std::string>& warnings) {
  // Read by the scripts that set up and run the project, which may export them to us.
  constexpr std::array<std::string_view, 3> of_scripts{"KVC_JOBS", "KVC_NO_INSTALL", "KVC_TRACE"};
  std::vector<found_value> found;
  // First, so that the server's own names outrank them.
  for (const auto& [name, text] : variables) {
    if (name.starts_with("LMCACHE_MP_COORDINATOR_")) read_coordinator_variable(name, text, found, warnings);
  }
  for (const auto& [name, text] : variables) {
    if (!name.starts_with("KVC_") || std::ranges::find(of_scripts, name) != of_scripts.end()) continue;
    std::string field_name;
    for (const char letter : std::string_view(name).substr(4)) {
      field_name += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    }
    const field_info* const field = find_field(field_name);
    if (field != nullptr && variable_name(field->name) == name) {
      found.push_back({field, {raw_value::form::loose_text, text, {}}, "environment variable " + name});
    } else {
      warnings.push_back("environment variable " + name + " is not a setting");
    }
  }
  return found;
}

}  // namespace kvc::app
