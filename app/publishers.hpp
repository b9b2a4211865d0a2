// Publishers and stores of the configuration file, checked by the rules of POST /register and POST /stores.
#pragma once

#include <string>
#include <vector>

#include "app/settings.hpp"
#include "core/medium.hpp"
#include "core/registration.hpp"
#include "net/store_registration.hpp"

namespace kvc::app {

/// What comes of the file's registrations. With `errors` (one line each) `registrations` must not be used.
struct checked_publishers {
  std::vector<core::registration> registrations;
  std::vector<std::string> errors;
  std::vector<std::string> warnings;
};

/// Checks every entry; `media` learns their media. Two entries for one stream are an error, since the second would end the
/// first; so are two hash seeds in one partition.
[[nodiscard]] checked_publishers check_publishers(const settings& values, core::medium_table& media);

/// What comes of the file's stores. With `errors` `registrations` must not be used.
struct checked_stores {
  std::vector<net::store_registration> registrations;
  std::vector<std::string> errors;
};

/// Checks every entry. Two stores for one backend are an error, since the second would end the first.
[[nodiscard]] checked_stores check_stores(const settings& values);

}  // namespace kvc::app
