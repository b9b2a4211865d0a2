#include "app/config_env.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace kvc::app {

config_inputs process_inputs(int argc, const char* const* argv) {
  config_inputs inputs;
  for (int i = 1; i < argc; ++i) inputs.arguments.emplace_back(argv[i]);
  for (char** each = environ; each != nullptr && *each != nullptr; ++each) {
    const std::string_view entry = *each;
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = entry.substr(0, equals);
    if (name.starts_with("KVC_") || name == "CONDUCTOR_CONFIG_PATH" || name == "JOURNAL_STREAM") {
      inputs.variables.emplace(name, entry.substr(equals + 1));
    }
  }
  struct stat seen {};
  if (fstat(STDERR_FILENO, &seen) == 0) inputs.standard_error = std::to_string(seen.st_dev) + ":" + std::to_string(seen.st_ino);
  return inputs;
}

std::vector<found_value> read_environment(const environment& variables, std::vector<std::string>& warnings) {
  // Read by the scripts that set up and run the project, which may export them to us.
  constexpr std::array<std::string_view, 2> of_scripts{"KVC_NO_INSTALL", "KVC_TRACE"};
  std::vector<found_value> found;
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
