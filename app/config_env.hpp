// Settings from environment variables.
#pragma once

#include "app/config.hpp"
#include "app/config_value.hpp"

namespace kvc::app {

/// A value with the setting it is for and the place it was found.
struct found_value {
  const field_info* field;
  raw_value value;
  std::string source;
};

/// The `KVC_...` variables that are settings. One that is none gives a warning, not an error: other programs of the project read some too.
[[nodiscard]] std::vector<found_value> read_environment(const environment& variables, std::vector<std::string>& warnings);

}  // namespace kvc::app
