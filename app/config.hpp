// Settings of the process out of their four sources: built-in defaults, file, environment, flags; each outranks the one before.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/settings.hpp"

namespace kvc::app {

/// Variables by name.
using environment = std::map<std::string, std::string>;

/// All the outside that settings come from, so that a test can make one up.
struct config_inputs {
  std::vector<std::string> arguments;  ///< without the program's name
  environment variables;
  std::string default_file = "/etc/kv-conductor/kv-conductor.json";  ///< read when no other is named, unless there is none
  std::string standard_error;  ///< device:inode of standard error, as JOURNAL_STREAM would name it; empty: unknown
};

/// What the command line asks for.
enum class command : std::uint8_t { serve, check_config, print_config, help, version };

/// Where a setting's value comes from, by setting name; what is not here is at its default.
using value_sources = std::map<std::string, std::string, std::less<>>;

/// The result of reading the configuration. With `errors` the settings must not be used.
struct configuration {
  command wanted = command::serve;
  settings values;
  value_sources sources;
  std::string file;                   ///< the file that was read; empty: none
  std::vector<std::string> errors;    ///< one line each: name, value, legal range, source
  std::vector<std::string> warnings;  ///< one line each; to be logged
};

/// Reads and validates everything, publishers aside (see publishers.hpp). Never throws for bad input: every fault becomes a line, so that
/// all of them can be mended at once.
[[nodiscard]] configuration read_config(const config_inputs& inputs);

/// The arguments and environment of this process.
[[nodiscard]] config_inputs process_inputs(int argc, const char* const* argv);

/// What `--help` prints: every setting with its default, legal values and meaning, in groups, and an example.
[[nodiscard]] std::string help_text();

/// The effective settings as JSON, each with the place it comes from. Secrets are hidden.
[[nodiscard]] std::string print_config(const configuration& config);

}  // namespace kvc::app
