// The directory of chunks for CacheBlend: /blend.
#pragma once

#include <cstddef>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "net/blend_reading.hpp"
#include "net/chunk_range.hpp"
#include "net/coordinator_context.hpp"
#include "net/http_message.hpp"

namespace kvc::net {

/// (Contract of all: spec coordinator-api, "CacheBlend directory".) Carried out on the home lane in slices of well under a millisecond.
/// What was read outlives the call, and so do the texts it views.

/// POST /blend/fingerprints.
[[nodiscard]] asio::awaitable<http_reply> publish_chunks_reply(coordinator_context& context, lane& here,
                                                               const std::vector<chunk_range>& ranges);
/// The same in one go. Home lane.
[[nodiscard]] http_reply publish_chunks_now(coordinator_context& context, const std::vector<chunk_range>& ranges);
/// DELETE /blend/fingerprints.
[[nodiscard]] asio::awaitable<http_reply> remove_chunks_reply(coordinator_context& context, lane& here, const removal_request& wanted);
/// POST /blend/match.
[[nodiscard]] asio::awaitable<http_reply> match_chunks_reply(coordinator_context& context, lane& here, const match_request& wanted);

/// Whether chunks from a body of so many bytes are published in one go: no more than one slice of them can be in it.
[[nodiscard]] bool is_published_in_a_turn(std::size_t body_bytes, std::size_t chunk_tokens) noexcept;

}  // namespace kvc::net
