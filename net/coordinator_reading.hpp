// Bodies of the fleet coordinator's requests, read and checked before anything is done about them.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "net/api_prefetch.hpp"
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
  /// By endpoint; a value of the tree where the endpoint reads it by itself, since it is short.
  std::variant<tape_value, usage_batch, event_batches, std::vector<chunk_range>, removal_request, match_request, prefetch_order> what;
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
