// Prefetches, relayed to the MP server that the client names: /cache/prefetches.
#pragma once

#include <string_view>

#include <boost/asio/awaitable.hpp>

#include "net/coordinator_context.hpp"
#include "net/http_message.hpp"
#include "net/json_tree.hpp"

namespace kvc::net {

/// (Contract of both: spec coordinator-api, "Cache".) The server's answer is waited for no longer than `call_timeout`; then
/// 502. When the client goes away, so does the call.

/// POST /cache/prefetches. The tree outlives the call.
[[nodiscard]] asio::awaitable<http_reply> submit_prefetch_reply(coordinator_context& context, lane& here, const http_request& request,
                                                                const tape_value& body);
/// GET /cache/prefetches/{instance_id}/{request_id}: the server's code and JSON body as they are.
[[nodiscard]] asio::awaitable<http_reply> poll_prefetch_reply(coordinator_context& context, lane& here, const http_request& request,
                                                              std::string_view instance_id, std::string_view request_id);

}  // namespace kvc::net
