// Whether the service could start with the quota file it is given.
#pragma once

#include <string>
#include <vector>

#include "app/settings.hpp"

namespace kvc::app {

/// Reads `coordinator_quota_file` as the start does. Empty when that goes well, which a file that is not there yet does, too; else one
/// line.
/// A file that only the service's user may read is no fault of it: who checks may be somebody else, and `warnings` says so.
[[nodiscard]] std::string check_quotas(const settings& values, std::vector<std::string>& warnings);

}  // namespace kvc::app
