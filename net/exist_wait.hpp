// Probes that wait for what they have started or joined.
#pragma once

#include <chrono>

#include <boost/asio/awaitable.hpp>

#include "net/exist_lookup.hpp"
#include "net/exist_request.hpp"
#include "net/promotion_service.hpp"
#include "net/runtime.hpp"

namespace kvc::net {

/// Runs `lookup` and waits until nothing of what is wanted is on its way any more, for as long as the request says and `longest` at most;
/// then what has failed is said to have, in `answer`. Lifetimes: all outlive the call. Lane: `here`, which the lookup is of. Cancellation:
/// ends at once, and nothing is told to whoever waited any more.
[[nodiscard]] asio::awaitable<void> look_and_wait(lane& here, promotion_service& promotions, exist_lookup& lookup,
                                                  const exist_request& request, exist_answer& answer, std::chrono::milliseconds longest);

}  // namespace kvc::net
