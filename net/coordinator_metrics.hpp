// The coordinator's figures as Prometheus reads them.
#pragma once

#include <string>

#include "net/coordinator_context.hpp"

namespace kvc::net {

/// The coordinator's part of GET /metrics. Of servers, senders and salts the first `most_metric_rows` have lines of their own; how many
/// there are is told in any case. A name stands there as its `label_text`, so that a page has a bound. Home lane, in turns: each row is as
/// it was in its turn.
inline constexpr std::size_t most_metric_rows = 1'000;
[[nodiscard]] asio::awaitable<std::string> coordinator_metrics(coordinator_context& context);

}  // namespace kvc::net
