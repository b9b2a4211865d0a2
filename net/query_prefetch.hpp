// Queries that want what lies behind their match brought to memory.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/block_hasher.hpp"
#include "core/ids.hpp"
#include "net/api_query.hpp"
#include "net/api_types.hpp"
#include "net/object_shelves.hpp"
#include "net/promotion_service.hpp"
#include "net/query_leftover.hpp"
#include "net/runtime.hpp"
#include "net/store_reconciler.hpp"
#include "net/store_settings.hpp"

namespace kvc::net {

/// What the query that was answered last with this scratch leaves behind; null: nothing can be done about it. Same lane.
[[nodiscard]] std::shared_ptr<query_leftover> leftover_of(const query_request& query, const query_source& source,
                                                          const query_scratch& scratch, bool wants_tokens);

/// A part of the blocks that the query which was answered last with this scratch has asked for, to be read again from the stores of its
/// partition's pools: the `turn`th one of so many blocks. Null: there are no pools. Same lane.
[[nodiscard]] std::shared_ptr<query_leftover> asked_for_by(const query_request& query, const query_source& source,
                                                           const query_scratch& scratch, std::size_t turn);

/// Index-driven prefetch, and what else queries say about which objects matter.
///
/// Story: a router that asks how far a prompt is cached will send the request there soon, so what the instance would have to read from a
/// disk had better be in memory by then. The query is answered as always; what it leaves behind is looked at in another turn of the lane,
/// and nobody waits for it (`object_walk`, for each backend). An LMCache server knows no names: it gets the tokens, if the index says that
/// its disk reaches further than its memory. Of some queries a part of what they ask for is read again from stores, if it is old, so that a
/// loss a store was silent about is noticed where it is met most. Bound: `most_under_way` queries are looked after at one time; what others
/// leave behind is left. Lane: `take` on the lane that answers; the rest from anywhere.
class query_prefetch {
 public:
  static constexpr std::size_t most_under_way = 1'024;

  query_prefetch(object_shelves& objects, promotion_service& promotions, store_reconciler& truth, const store_settings& settings,
                 std::size_t lanes)
      : objects_(objects), promotions_(promotions), truth_(truth), settings_(settings), readings_(lanes) {}

  void take(lane& here, std::shared_ptr<query_leftover> left);
  /// The turn of what a query has asked for to be read again; absent: it is too soon, or nobody can be asked. Lane: `here`.
  [[nodiscard]] std::optional<std::size_t> next_reading(const lane& here, std::chrono::steady_clock::time_point now);

  [[nodiscard]] bool wants_tokens() const noexcept { return token_stores_.load(std::memory_order_relaxed) != 0; }
  /// Queries for which nothing was done, as too many came.
  [[nodiscard]] std::uint64_t left_out() const noexcept { return left_out_.load(std::memory_order_relaxed); }
  /// A store that knows blocks by their tokens has come or gone.
  void note_token_store(std::uint32_t backend, bool is_there);

 private:
  void carry_out(lane& here, const std::shared_ptr<query_leftover>& left);
  /// How far the instance reaches for which the query asks, where its answer was about others or about some media only.
  static void look_up(lane& here, query_leftover& left);
  void promote_tokens(const query_leftover& left);

  object_shelves& objects_;
  promotion_service& promotions_;
  store_reconciler& truth_;
  const store_settings& settings_;
  struct alignas(64) reading {
    std::chrono::steady_clock::time_point last;
    std::size_t turn = 0;
  };
  std::vector<reading> readings_;  ///< by lane
  std::shared_ptr<std::atomic<std::size_t>> under_way_ = std::make_shared<std::atomic<std::size_t>>(0);
  std::atomic<std::uint64_t> left_out_{0};
  std::atomic<std::size_t> token_stores_{0};
  std::array<std::atomic<bool>, object_shelves::most_backends> takes_tokens_{};
};

/// What the answer given last with this scratch shows to lie on disks only is promoted in another turn of the lane. `by`: null: by nobody.
void prefetch_behind(query_prefetch* by, lane& here, const query_request& query, const query_source& source, const query_scratch& after);
/// Of what the query has asked for some is read again in another turn of the lane. As above.
void read_again_behind(query_prefetch* by, lane& here, const query_request& query, const query_source& source, const query_scratch& after);

}  // namespace kvc::net
