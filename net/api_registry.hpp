// Registering publishers and ending their registration.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "net/api_context.hpp"
#include "net/api_types.hpp"
#include "net/http_message.hpp"

namespace kvc::net {

/// Registers a publisher and answers. (Contract: spec indexer-api, POST /register.)
/// Preconditions: the request is validated. Lifetimes: `context` outlives the call. Lane: any. Deadline: the caller's.
/// Cancellation: none; leaving half a registration is worse than finishing it. Errors: as replies.
[[nodiscard]] asio::awaitable<http_reply> register_publisher(const api_context& context, registration_request wanted, wire_form form);

/// Ends registrations and answers. (Contract: spec indexer-api, POST /unregister.) Otherwise as `register_publisher`.
[[nodiscard]] asio::awaitable<http_reply> unregister_publisher(const api_context& context, unregistration which, wire_form form);

}  // namespace kvc::net
