// A query that tells its prompt by the names engines give its blocks: which blocks they are.
#pragma once

#include <chrono>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "core/ids.hpp"
#include "net/api_types.hpp"
#include "net/refusal.hpp"
#include "net/runtime.hpp"

namespace kvc::net {

namespace asio = boost::asio;

/// How long the lanes have to tell what the names of a prompt mean: a lane looks some thousand names up between two turns of its streams,
/// and one that takes seconds for that is lost to queries anyway.
inline constexpr std::chrono::seconds longest_wait_for_names{5};

/// Puts the sequence hashes of blocks in the place of the names by which a query tells its prompt (`by_names`): of as many, from the first
/// on, as somebody knows. Precondition: it is such a query. (Contract: spec indexer-api, POST /query_by_hash, `hash_kind` `engine`.)
///
/// Story: what a name means only the lane knows whose workers hold its block, so every lane is asked for the whole prompt, all at once,
/// some thousand names in a turn. On each the workers of the partition go on along the prompt one after the other; what a pool still holds
/// and its engines have forgotten is known to the partition's name_board. A worker that holds the first n blocks knows their names, so the
/// longest of the answers is enough, and what lies behind it nobody has. One seed for the fleet is the client's promise: where lanes mean
/// different blocks by a name, the prompt ends before it.
///
/// `blocks` is what the query refers to afterwards. Refused: `overloaded`, when a lane has not answered within `patience`, or has not
/// answered 256 before this one that have been given up. Lane: `here`, to which others post; the runtime outlives it. Cancellation: every
/// type, answers that are still on the way are dropped.
[[nodiscard]] asio::awaitable<checked> find_named_blocks(lane& here, query_request& query, std::vector<core::seq_hash>& blocks,
                                                         std::chrono::steady_clock::duration patience = longest_wait_for_names);

}  // namespace kvc::net
