// Whether a request may use a route, by its bearer token. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "net/http_router.hpp"
#include "net/refusal.hpp"

namespace kvc::net {

/// `authorization` is the header's value, empty when there is none. With no tokens configured everybody may do everything. Tokens are
/// compared in a time that does not depend on where they differ. Refusals: `unauthorized`, `forbidden`.
[[nodiscard]] checked check_access(access wanted, std::string_view authorization, std::span<const std::string> tokens,
                                   std::span<const std::string> read_tokens);

}  // namespace kvc::net
