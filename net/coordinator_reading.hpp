// Bodies of the fleet coordinator's requests, read and checked before anything is done about them.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "core/mp_registry.hpp"
#include "net/api_prefetch.hpp"
#include "net/api_quota.hpp"
#include "net/blend_reading.hpp"
#include "net/coordinator_router.hpp"
#include "net/event_batches.hpp"
#include "net/http_message.hpp"
#include "net/json_tree.hpp"
#include "net/usage_batch.hpp"

namespace kvc::net {

/// What a body says. Views of the body, and of the tree.
struct coordinator_reading {
  json_tree tree;
  /// By endpoint.
  std::variant<std::monostate, core::mp_server, quota_order, default_quota_order, usage_batch, event_batches, std::vector<chunk_range>,
               removal_request, match_request, prefetch_order>
      what;
};

/// Reads the body of a request to `asked`, which has one; absent is a fault. The reply when something is wrong with it. The body outlives
/// the use of `into`. Pure, any thread; takes time by the size of the body.
[[nodiscard]] std::optional<http_reply> read_coordinator_body(coordinator_endpoint asked, std::string_view body, coordinator_reading& into);

/// Bytes of a body that are read within a turn of a lane, in a fraction of a millisecond when they are plain; longer ones are read aside.
[[nodiscard]] constexpr std::size_t most_read_in_a_turn(coordinator_endpoint asked) noexcept {
  // Nearly all of a prompt to be matched is one text, which takes a quarter of the time.
  return (asked == coordinator_endpoint::match_chunks ? std::size_t{1024} : std::size_t{256}) << 10;
}

}  // namespace kvc::net
