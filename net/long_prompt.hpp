// Prompts so long that hashing them in one turn would keep everybody else of the lane waiting.
#pragma once

#include <cstddef>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "core/ids.hpp"
#include "net/api_types.hpp"
#include "net/runtime.hpp"

namespace kvc::net {

/// Tokens that a lane hashes in a turn: less than a millisecond with any size of blocks (single tokens take the longest, 11 ns each).
inline constexpr std::size_t tokens_per_turn = std::size_t{64} << 10;

/// Hashes the prompt of `query` into `locals`, with turns for the lane's other work in between, and has `query.locals` refer to them. Does
/// nothing for prompts of one turn, for hashes, and where the partition does not exist: `answer_query` hashes what has not been hashed.
/// Lifetimes: all three outlive the call, and `locals` the query's use. Executor: the lane's. Deadline: none is needed, it ends by itself.
[[nodiscard]] asio::awaitable<void> hash_in_turns(lane& here, query_request& query, std::vector<core::local_hash>& locals);

}  // namespace kvc::net
