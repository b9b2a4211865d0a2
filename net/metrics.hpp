// The counters of all lanes and the state of all streams, as Prometheus reads them.
#pragma once

#include <chrono>

#include "net/api_context.hpp"
#include "net/http_message.hpp"

namespace kvc::net {

/// Collects and writes the exposition. Reads counters of other lanes with relaxed loads: each number is exact, together they are a recent
/// picture. Any lane; takes time in proportion to the number of streams.
[[nodiscard]] http_reply metrics_reply(const api_context& context, std::chrono::steady_clock::time_point now);

}  // namespace kvc::net
