// The stores' part of the description of the HTTP surface.
#pragma once

#include <string>

namespace kvc::net {

/// Appends the members of `paths` for the routes of store_service, separated by commas. Pure.
void append_store_paths(std::string& out);

/// Appends the members of `components/schemas` that these paths refer to. Pure.
void append_store_schemas(std::string& out);

}  // namespace kvc::net
