// Settings and commands from the command line.
#pragma once

#include <string>
#include <vector>

#include "app/config.hpp"
#include "app/config_env.hpp"

namespace kvc::app {

/// What the command line says, in its order.
struct parsed_flags {
  command wanted = command::serve;
  std::string config_file;  ///< of `--config`; empty: not given
  std::vector<found_value> values;
  std::vector<std::string> errors;
};

/// Reads `--name value`, `--name=value`, and for true-or-false settings `--name` and `--no-name`. `--log` is short for `--log-modules`.
[[nodiscard]] parsed_flags read_flags(const std::vector<std::string>& arguments);

}  // namespace kvc::app
