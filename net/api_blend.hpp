// The directory of chunks for CacheBlend: /blend.
#pragma once

#include <vector>

#include <boost/asio/awaitable.hpp>

#include "net/chunk_range.hpp"
#include "net/coordinator_context.hpp"
#include "net/http_message.hpp"
#include "net/json_tree.hpp"

namespace kvc::net {

/// (Contract of all: spec coordinator-api, "CacheBlend directory".) Read on the lane that has the request, carried out on the home lane in
/// slices of well under a millisecond. The tree outlives the call.

/// POST /blend/fingerprints.
[[nodiscard]] asio::awaitable<http_reply> publish_chunks_reply(coordinator_context& context, lane& here, const tape_value& body);
/// The same for ranges that were read without faults. They and the texts they view outlive the call.
[[nodiscard]] asio::awaitable<http_reply> publish_ranges_reply(coordinator_context& context, lane& here,
                                                               const std::vector<chunk_range>& ranges);
/// DELETE /blend/fingerprints.
[[nodiscard]] asio::awaitable<http_reply> remove_chunks_reply(coordinator_context& context, lane& here, const tape_value& body);
/// POST /blend/match.
[[nodiscard]] asio::awaitable<http_reply> match_chunks_reply(coordinator_context& context, lane& here, const tape_value& body);

}  // namespace kvc::net
