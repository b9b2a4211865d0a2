// The description of the whole HTTP surface, in OpenAPI 3.1.
#pragma once

#include <string_view>

#include "net/http_message.hpp"

namespace kvc::net {

/// GET /openapi.json: always JSON. `version` is the server's. Pure.
[[nodiscard]] http_reply openapi_reply(std::string_view version);

/// GET /docs and GET /redoc: the routes of the index and the coordinator as a page that leads to the description, and fetches nothing from
/// anywhere. Pure.
[[nodiscard]] http_reply docs_reply();

}  // namespace kvc::net
