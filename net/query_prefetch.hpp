// Queries that want what lies behind their match brought to memory.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/block_hasher.hpp"
#include "core/ids.hpp"
#include "net/api_query.hpp"
#include "net/api_types.hpp"
#include "net/object_shelves.hpp"
#include "net/promotion_service.hpp"
#include "net/runtime.hpp"
#include "net/store_reconciler.hpp"
#include "net/store_settings.hpp"

namespace kvc::net {

/// What a query leaves behind once it is answered.
struct query_leftover {
  std::string tenant;
  std::string model;
  std::string salt;
  std::string preferred;  ///< instance, host or segment
  std::uint64_t hash_seed = 0;
  std::uint32_t block_size = 0;
  std::size_t in_memory = 0;             ///< leading blocks that the instance has in memory
  std::size_t on_any = 0;                ///< leading blocks that it has on any medium
  std::uint64_t max_blocks = 0;          ///< 0: the setting
  std::vector<core::local_hash> locals;  ///< of the prompt, unless it came by hash
  std::vector<core::seq_hash> hashes;    ///< of the prompt, if it came by hash
  std::vector<std::uint32_t> tokens;     ///< of the prompt; only where a store knows blocks by nothing else
};

/// What the query that was answered last with this scratch leaves behind; null: nothing can be done about it. Same lane.
[[nodiscard]] std::shared_ptr<query_leftover> leftover_of(const query_request& query, const query_source& source,
                                                          const query_scratch& scratch, bool wants_tokens);

/// Index-driven prefetch.
///
/// Story: a router that asks how far a prompt is cached will send the request there soon, so what the instance would have to read from a
/// disk had better be in memory by then. The query is answered as always; what it leaves behind is looked at in another turn of the lane,
/// and nobody waits for it. Objects are found by the names of their blocks where these are rolling sequence hashes; the walk ends at the
/// first block that no store has. An LMCache server knows no names: it gets the tokens, if the index says that its disk reaches further
/// than its memory. Lane: `take` on the lane that answers; `wants_tokens` from anywhere.
class query_prefetch {
 public:
  query_prefetch(object_shelves& objects, promotion_service& promotions, const store_settings& settings)
      : objects_(objects), promotions_(promotions), settings_(settings) {}

  void take(lane& here, std::shared_ptr<query_leftover> left);

  [[nodiscard]] bool wants_tokens() const noexcept { return token_stores_.load(std::memory_order_relaxed) != 0; }
  /// A store that knows blocks by their tokens has come or gone.
  void note_token_store(std::uint32_t backend, bool is_there);

 private:
  void carry_out(query_leftover& left);
  void promote_objects(query_leftover& left);
  void promote_tokens(query_leftover& left);

  object_shelves& objects_;
  promotion_service& promotions_;
  const store_settings& settings_;
  std::atomic<std::size_t> token_stores_{0};
  std::array<std::atomic<bool>, object_shelves::most_backends> takes_tokens_{};
};

}  // namespace kvc::net
