// Prefetches, relayed to the MP server that the client names: /cache/prefetches.
#pragma once

#include <chrono>
#include <cstddef>
#include <stop_token>
#include <string>
#include <string_view>

#include <boost/asio/awaitable.hpp>

#include "net/coordinator_context.hpp"
#include "net/field_faults.hpp"
#include "net/http_message.hpp"
#include "net/json_tree.hpp"

namespace kvc::net {

/// A prefetch as it is wanted.
struct prefetch_order {
  std::string instance_id;
  std::string body;  ///< for the server
};

/// Tokens of a submission. (Source: spec coordinator-api, "MP server": one refuses what is longer.)
inline constexpr std::size_t most_prefetched_tokens = 1'000'000;

/// Reads the body of POST /cache/prefetches; what is wrong is in `faults`. Pure.
void read_prefetch(const tape_value& body, prefetch_order& into, field_faults& faults);

/// (Contract of both: spec coordinator-api, "Cache".) A connection to the server is waited for no longer than `call_timeout`, and so is the
/// answer over it; then 502. When the client goes away, so does the call.

/// POST /cache/prefetches. The call has ended by `latest`, if that is sooner.
[[nodiscard]] asio::awaitable<http_reply> submit_prefetch_reply(coordinator_context& context, lane& here, prefetch_order wanted,
                                                                std::stop_token client_left, std::chrono::steady_clock::time_point latest);
/// GET /cache/prefetches/{instance_id}/{request_id}: the server's code and JSON body as they are.
[[nodiscard]] asio::awaitable<http_reply> poll_prefetch_reply(coordinator_context& context, lane& here, const http_request& request,
                                                              std::string_view instance_id, std::string_view request_id);

}  // namespace kvc::net
