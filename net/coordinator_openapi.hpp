// The description of the coordinator's HTTP surface, in OpenAPI 3.1.
#pragma once

#include <string_view>

#include "net/http_message.hpp"

namespace kvc::net {

/// GET /openapi.json of the coordinator: every route of its table. Pure.
[[nodiscard]] http_reply coordinator_openapi_reply(std::string_view version);

}  // namespace kvc::net
