// The configuration file: JSON, in which comments and trailing commas are allowed.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/config_value.hpp"
#include "app/settings.hpp"

namespace kvc::app {

/// What a file says. `errors` are complete lines; what they are not about is set all the same.
struct file_contents {
  std::vector<std::string> errors;
  std::vector<std::pair<std::string, raw_value>> values;  ///< every member but the two below, in the file's order
  std::vector<publisher_entry> publishers;                ///< the members of `kvevent_instance`
  std::vector<publisher_entry> stores;                    ///< the members of `stores`
};

/// Reads a whole file of at most 64 MiB. `error` is the reason when it cannot be read. A pipe will do as well, and is waited for no longer
/// than `patience`: nobody may be writing to it.
[[nodiscard]] std::string read_config_file(const std::string& path, std::string& error,
                                           std::chrono::milliseconds patience = std::chrono::seconds(10));

/// Takes a file's text apart. `path` is for messages. Syntax errors name the line. A byte order mark before UTF-8 is left out.
/// `stores` is read alike, with backend_id for instance_id.
/// `kvevent_instance` is an object of registrations by name, where the name is the instance_id of those that give none, or a list of them.
[[nodiscard]] file_contents parse_config_file(std::string_view text, const std::string& path);

}  // namespace kvc::app
