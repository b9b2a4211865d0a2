// What the service knows about itself: publishers, workers, partitions, health.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "net/api_context.hpp"
#include "net/http_message.hpp"

namespace kvc::net {

using time_point = std::chrono::steady_clock::time_point;

/// GET /services: every registration with its stream; `?instance_id=` leaves one instance. Any lane.
[[nodiscard]] http_reply list_services(const api_context& context, const http_request& request, time_point now);

/// GET /global_view: every partition with its size, never its blocks, and the memory of all indexes. Any lane.
[[nodiscard]] http_reply list_partitions(const api_context& context, const http_request& request);

/// GET /healthz, /livez: that this process answers.
[[nodiscard]] http_reply say_alive(const http_request& request);

/// GET /health: the same, with the state of the parts.
[[nodiscard]] http_reply say_health(const api_context& context, const http_request& request, time_point now);

/// Why the service is not ready.
struct readiness {
  bool are_streams_whole = true;   ///< or past their grace period, and the server is not draining
  std::vector<std::string> all{};  ///< a sentence for each reason; empty: it is ready
};
/// Any lane.
[[nodiscard]] readiness reasons_not_ready(const api_context& context, time_point now);

/// GET /readyz, /ready: 200, or 503 with the reasons. Either tells of the streams that are not whole, also of those that are past their
/// grace period and hold back nothing.
[[nodiscard]] http_reply say_ready(const api_context& context, const http_request& request, time_point now);

}  // namespace kvc::net
