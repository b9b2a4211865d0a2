// The coordinator's part of the description of the HTTP surface.
#pragma once

#include <string>

namespace kvc::net {

/// Appends the members of `paths` for every route of the coordinator, separated by commas. Pure.
void append_coordinator_paths(std::string& out);

/// Appends the members of `components/schemas` that these paths refer to. Pure.
void append_coordinator_schemas(std::string& out);

}  // namespace kvc::net
