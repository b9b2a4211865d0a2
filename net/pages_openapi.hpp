// The part of the description of the HTTP surface that is about streams: /services, /workers and the pages for probes.
#pragma once

#include <string>

namespace kvc::net {

/// Appends the members of `components/schemas` that these pages are: Services, Workers, Alive, Health, Readiness and what they refer to,
/// each with a comma behind it. Pure.
void append_page_schemas(std::string& out);

}  // namespace kvc::net
