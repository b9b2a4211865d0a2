#include "net/long_prompt.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "core/block_hasher.hpp"

namespace kvc::net {

asio::awaitable<void> hash_in_turns(lane& here, query_request& query, std::vector<core::local_hash>& locals) {
  if (query.by_hash || query.tokens.size() <= tokens_per_turn) co_return;
  const core::partition_view* const found = here.partitions.get().find(query.partition);
  if (found == nullptr) co_return;
  const std::uint64_t seed = found->partition->seed();  // the view may be another one after the first wait
  const std::uint32_t block_size = query.partition.block_size;
  const std::size_t blocks = query.tokens.size() / block_size;
  const std::size_t in_turn = std::max<std::size_t>(tokens_per_turn / block_size, 1);
  locals.clear();
  locals.reserve(blocks);
  for (std::size_t at = 0; at < blocks; at += in_turn) {
    if (at != 0) co_await asio::post(here.context, asio::use_awaitable);
    const std::size_t count = std::min(in_turn, blocks - at);
    std::span<const std::string> keys;
    if (at < query.extra_keys.size()) keys = std::span(query.extra_keys).subspan(at, std::min(count, query.extra_keys.size() - at));
    core::hash_blocks(query.tokens.subspan(at * block_size, count * block_size), block_size, seed, locals, keys);
  }
  query.locals = locals;
  query.seed_of_locals = seed;
}

}  // namespace kvc::net
