// The description of the whole HTTP surface, in OpenAPI 3.1.
#pragma once

#include <string_view>

#include "net/http_message.hpp"

namespace kvc::net {

/// GET /openapi.json: always JSON. `version` is the server's. Pure.
[[nodiscard]] http_reply openapi_reply(std::string_view version);

}  // namespace kvc::net
