// The coordinator's figures as Prometheus reads them.
#pragma once

#include <chrono>

#include "net/coordinator_context.hpp"
#include "net/http_message.hpp"

namespace kvc::net {

/// GET /metrics. Of servers and of salts the first `most_rows` have lines of their own; how many there are is told in any case. Home lane;
/// takes some microseconds and as much again per hundred rows.
inline constexpr std::size_t most_metric_rows = 1'000;
[[nodiscard]] http_reply coordinator_metrics_reply(coordinator_context& context, std::chrono::steady_clock::time_point now);

}  // namespace kvc::net
