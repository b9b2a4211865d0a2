// The applier where one stream speaks for several ranks or backends.
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include <boost/test/unit_test.hpp>

#include "core/worker_numbers.hpp"
#include "tests/support/applier_stream.hpp"

BOOST_AUTO_TEST_SUITE(event_applier_owners)

namespace {

using namespace kvc::core;
using namespace kvc::test::applier;

/// A stream whose applier may open further workers.
struct owned_stream : stream {
  worker_numbers numbers;

  explicit owned_stream(const registration& with, event_applier::options limits = {}) : stream(with) {
    limits.next_worker = [this] { return std::optional(worker_id{100 + numbers.next()->get()}); };
    applier = std::make_unique<kvc::core::event_applier>(with, who, all, limits);
  }

  void apply_for(std::optional<std::uint32_t> rank, event what) {
    event_batch batch;
    if (rank) batch.rank = dp_rank{*rank};
    batch.events.push_back(std::move(what));
    kvc::core::event_applier::progress at;
    BOOST_TEST(applier->apply_some(batch, at, plenty, tally));
  }
  void store_for(std::optional<std::uint32_t> rank, std::uint64_t name, const words& tokens, const event_scope& scope = {}) {
    stored_event made;
    made.scope = scope;
    made.hashes = names({name});
    made.tokens = tokens;
    made.has_tokens = true;
    apply_for(rank, made);
  }

  /// The deepest member per rank, as the rows of an answer have it.
  [[nodiscard]] std::map<std::uint32_t, std::uint32_t> by_rank(const words& tokens) const {
    const auto view = all.view().get();
    const auto* home = view->find(registered(publisher_type::vllm).partition);
    std::map<std::uint32_t, std::uint32_t> depths;
    if (home == nullptr) return depths;
    std::vector<local_hash> query;
    hash_blocks(tokens, block_size, seed, query);
    match_result answer;
    home->partition->index().match(query, home->scope, answer);
    for (const member& each : home->members) {
      auto& deepest = depths[each.key->rank.get()];
      deepest = std::max(deepest, answer.of(each.id).any);
    }
    return depths;
  }
};

using ranks = std::map<std::uint32_t, std::uint32_t>;

registration of_rank(publisher_type type, std::uint32_t rank) {
  registration made = registered(type);
  made.worker.rank = dp_rank{rank};
  return made;
}

event_scope of_backend(std::string name) {
  event_scope made;
  made.backend = std::move(name);
  return made;
}

BOOST_AUTO_TEST_CASE(the_bound_of_what_waits_is_the_streams_and_not_each_ranks) {
  // A publisher that speaks for many ranks must not be able to fill the memory once per rank; the oldest goes, whosever it is.
  event_applier::options limits;
  limits.max_orphans = 2;
  owned_stream at(registered(publisher_type::vllm), limits);
  const auto store_behind = [&at](std::uint32_t rank, std::uint64_t parent, std::uint64_t name, const words& tokens) {
    stored_event made;
    made.parent = engine_hash{parent};
    made.hashes = names({name});
    made.tokens = tokens;
    made.has_tokens = true;
    at.apply_for(rank, made);
  };
  store_behind(1, 11, 12, {5, 6});
  store_behind(2, 21, 22, {5, 6});
  BOOST_TEST(at.tally.dropped_orphans == 0U);
  store_behind(2, 22, 23, {9, 10});

  BOOST_TEST(at.tally.dropped_orphans == 1U);
  BOOST_TEST(at.applier->orphans() == 2U);
  at.store_for(1, 11, {1, 2});
  at.store_for(2, 21, {1, 2});
  const auto depths = at.by_rank({1, 2, 5, 6, 9, 10});
  BOOST_TEST(depths.at(1) == 1U);
  BOOST_TEST(depths.at(2) == 3U);
}

BOOST_AUTO_TEST_CASE(a_batch_speaks_for_the_rank_it_carries) {
  // A relay has one port for all ranks; what rank 1 holds and clears is not rank 0's.
  owned_stream at(registered(publisher_type::tensorrt_llm));
  at.store_for(0, 11, {1, 2});
  at.store_for(1, 11, {3, 4});
  BOOST_TEST((at.by_rank({1, 2}) == ranks{{0, 1}, {1, 0}}));
  BOOST_TEST((at.by_rank({3, 4}) == ranks{{0, 0}, {1, 1}}));

  at.apply_for(1, removed_event{.scope = {}, .hashes = names({11})});
  BOOST_TEST((at.by_rank({1, 2}) == ranks{{0, 1}, {1, 0}}));
  BOOST_TEST((at.by_rank({3, 4}) == ranks{{0, 0}, {1, 0}}));
  at.store_for(1, 12, {5, 6});
  at.apply_for(0, cleared_event{});
  BOOST_TEST((at.by_rank({1, 2}) == ranks{{0, 0}, {1, 0}}));
  BOOST_TEST((at.by_rank({5, 6}) == ranks{{0, 0}, {1, 1}}));
}

BOOST_AUTO_TEST_CASE(an_event_s_own_rank_goes_before_its_batch_s) {
  // The envelope carries a rank per event.
  owned_stream at(registered(publisher_type::standard));
  event_scope scope;
  scope.rank = dp_rank{2};
  at.store_for(1, 11, {1, 2}, scope);
  BOOST_TEST((at.by_rank({1, 2}) == ranks{{0, 0}, {2, 1}}));
}

BOOST_AUTO_TEST_CASE(rank_0_is_also_what_an_engine_without_ranks_fills_in) {
  // Its registration knows better, until the stream shows that it speaks for others.
  owned_stream at(of_rank(publisher_type::vllm, 3));
  at.store_for(0, 11, {1, 2});
  at.store_for({}, 12, {3, 4});
  at.store_for(3, 13, {5, 6});
  BOOST_TEST((at.by_rank({1, 2}) == ranks{{3, 1}}));
  BOOST_TEST(at.applier->owners() == 1U);

  at.store_for(1, 14, {7, 8});
  at.store_for(0, 15, {9, 9});
  BOOST_TEST((at.by_rank({7, 8}) == ranks{{0, 0}, {1, 1}, {3, 0}}));
  BOOST_TEST((at.by_rank({9, 9}) == ranks{{0, 1}, {1, 0}, {3, 0}}));
}

BOOST_AUTO_TEST_CASE(the_registered_rank_beside_rank_0_shows_that_ranks_are_filled_in) {
  // Ranks 0 and 1 share a port that is registered for rank 1. What one of them holds the other cannot use.
  owned_stream at(of_rank(publisher_type::vllm, 1));
  at.store_for(0, 11, {1, 2});
  BOOST_TEST((at.by_rank({1, 2}) == ranks{{1, 1}}));  // nothing speaks against it yet
  stored_event next;
  next.parent = engine_hash{11};
  next.hashes = names({12});
  next.tokens = {3, 4};
  next.has_tokens = true;
  at.apply_for(1, next);
  BOOST_TEST((at.by_rank({1, 2, 3, 4}) == ranks{{0, 1}, {1, 0}}));

  at.apply_for(0, next);
  at.store_for(1, 11, {1, 2});
  BOOST_TEST((at.by_rank({1, 2, 3, 4}) == ranks{{0, 2}, {1, 2}}));
  at.apply_for(0, removed_event{.scope = {}, .hashes = names({11})});
  BOOST_TEST((at.by_rank({1, 2, 3, 4}) == ranks{{0, 0}, {1, 2}}));
  at.apply_for(1, cleared_event{});
  BOOST_TEST((at.by_rank({1, 2, 3, 4}) == ranks{{0, 0}, {1, 0}}));
  BOOST_TEST(at.tally.unknown_removals == 0U);
}

BOOST_AUTO_TEST_CASE(what_was_told_under_rank_0_is_rank_0_s_once_ranks_are_shown) {
  // Its removals and its clear find it, on whatever partition it stands.
  owned_stream at(of_rank(publisher_type::vllm, 1));
  at.store_for(0, 11, {1, 2});
  at.store_for(0, 12, {3, 4});
  at.store_for(0, 13, {1, 2}, with_adapter("sql"));
  at.store_for(2, 21, {5, 6});
  BOOST_TEST((at.by_rank({1, 2}) == ranks{{0, 1}, {1, 0}, {2, 0}}));
  BOOST_TEST((at.by_rank({5, 6}) == ranks{{0, 0}, {1, 0}, {2, 1}}));
  const auto* const adapter_home = at.all.view().get()->find(with_lora("sql"));
  BOOST_TEST_REQUIRE(adapter_home->members.size() == 1U);
  BOOST_TEST((adapter_home->members[0].key->rank == dp_rank{0}));
  at.apply_for(0, removed_event{.scope = {}, .hashes = names({11})});
  BOOST_TEST((at.by_rank({1, 2}) == ranks{{0, 0}, {1, 0}, {2, 0}}));
  at.apply_for(0, cleared_event{});
  BOOST_TEST((at.by_rank({3, 4}) == ranks{{0, 0}, {1, 0}, {2, 0}}));
  BOOST_TEST((at.by_rank({5, 6}) == ranks{{0, 0}, {1, 0}, {2, 1}}));

  while (!at.applier->drop_some(plenty, at.tally)) continue;
  BOOST_TEST(at.applier->owners() == 1U);
  at.store_for(1, 11, {1, 2});
  BOOST_TEST((at.by_rank({1, 2}) == ranks{{1, 1}}));
}

BOOST_AUTO_TEST_CASE(the_rank_of_an_event_says_nothing_of_its_batch_s) {
  // The envelope names its rank where it stores; its batches carry the 0 that somebody filled in.
  owned_stream at(of_rank(publisher_type::standard, 1));
  event_scope scope;
  scope.rank = dp_rank{1};
  at.store_for(0, 11, {1, 2}, scope);
  at.apply_for(0, removed_event{.scope = {}, .hashes = names({11})});
  BOOST_TEST((at.by_rank({1, 2}) == ranks{{1, 0}}));
  BOOST_TEST(at.applier->names() == 0U);
  BOOST_TEST(at.applier->owners() == 1U);
}

BOOST_AUTO_TEST_CASE(owners_are_bounded) {
  // A publisher that invents ranks gets no more than so many.
  owned_stream at(registered(publisher_type::tensorrt_llm));
  for (std::uint32_t rank = 0; rank < kvc::core::event_applier::max_owners + 5; ++rank) at.store_for(rank, 11, {1, 2});
  BOOST_TEST(at.applier->owners() == kvc::core::event_applier::max_owners);
  BOOST_TEST(at.tally.skipped == 5U);
  BOOST_TEST(at.tally.beyond_owners == 5U);
}

BOOST_AUTO_TEST_CASE(a_new_generation_speaks_for_whom_it_names) {
  // The ranks of the last one have no row any more and keep nobody out.
  owned_stream at(registered(publisher_type::tensorrt_llm));
  for (std::uint32_t rank = 0; rank < kvc::core::event_applier::max_owners; ++rank) at.store_for(rank, 11, {1, 2});
  const kvc::core::event_applier::owner rank_1{dp_rank{1}, {}};
  dump_cursor begun;
  dump_slice told;
  (void)at.applier->blocks_of(rank_1).dump_some(begun, 0, told);
  while (!at.applier->drop_some(5, at.tally)) continue;
  at.store_for(0, 11, {1, 2});
  at.store_for(70, 11, {1, 2});

  BOOST_TEST((at.by_rank({1, 2}) == ranks{{0, 1}, {70, 1}}));
  BOOST_TEST(at.applier->owners() == 2U);
  BOOST_TEST(at.tally.beyond_owners == 0U);
  BOOST_TEST(at.applier->blocks_of(rank_1).dump_some(begun, plenty, told));  // nothing of rank 0 under the name of rank 1
  BOOST_TEST(told.parts.empty());
}

BOOST_AUTO_TEST_CASE(another_life_is_not_heard_in_the_way_of_the_last) {
  // It may be a publisher of another kind at the same endpoint.
  owned_stream at(of_rank(publisher_type::vllm, 3));
  at.store_for(1, 11, {1, 2});
  while (!at.applier->drop_some(plenty, at.tally)) continue;
  at.applier->begin_anew();
  at.store_for(0, 11, {1, 2});
  BOOST_TEST((at.by_rank({1, 2}) == ranks{{3, 1}}));
  BOOST_TEST(at.applier->owners() == 1U);

  owned_stream pool(registered(publisher_type::mooncake, publisher_class::pool));
  pool.store_for(0, 11, {1, 2}, of_backend("node-1"));
  while (!pool.applier->drop_some(plenty, pool.tally)) continue;
  pool.applier->begin_anew();
  pool.store_for(0, 11, {1, 2}, of_backend("node-2"));
  BOOST_TEST(pool.applier->owners() == 1U);
  BOOST_TEST((pool.by_rank({1, 2}) == ranks{{0, 1}}));
}

BOOST_AUTO_TEST_CASE(a_clear_of_one_backend_of_a_pool_leaves_the_others) {
  // A master speaks for all its nodes on one stream.
  owned_stream at(registered(publisher_type::mooncake, publisher_class::pool));
  at.store_for(0, 11, {1, 2}, of_backend("node-1"));
  at.store_for(0, 11, {3, 4}, of_backend("node-2"));
  BOOST_TEST(at.applier->owners() == 2U);
  at.apply_for(0, cleared_event{.scope = of_backend("node-1")});
  BOOST_TEST((at.by_rank({1, 2}) == ranks{{0, 0}}));
  BOOST_TEST((at.by_rank({3, 4}) == ranks{{0, 1}}));
}

BOOST_AUTO_TEST_CASE(leaving_and_dropping_end_all_owners) {
  // An unregistered stream leaves nothing behind, for whomever it spoke.
  owned_stream at(registered(publisher_type::tensorrt_llm));
  for (std::uint32_t rank = 0; rank < 4; ++rank) at.store_for(rank, 11 + rank, {1, 2});
  BOOST_TEST(at.applier->names() == 4U);
  at.applier->leave();
  BOOST_TEST(at.all.view().get()->partitions.empty());
  while (!at.applier->drop_some(2, at.tally)) continue;
  BOOST_TEST(at.applier->names() == 0U);
  BOOST_TEST(at.applier->held_on(medium_id::gpu) == 0U);
}

BOOST_AUTO_TEST_CASE(objects_that_name_no_block_are_counted_as_unplaced) {
  // Neither their keys nor their events tell which blocks they hold.
  owned_stream at(registered(publisher_type::mooncake, publisher_class::pool));
  object_event seen;
  seen.scope.object_key = "key";
  at.apply_for({}, seen);
  BOOST_TEST(at.tally.unplaced == 1U);
  BOOST_TEST(at.applier->names() == 0U);
}

BOOST_AUTO_TEST_CASE(a_removal_may_mean_every_medium) {
  // A store labels its only removal with a medium of no meaning.
  stream at(registered(publisher_type::mooncake, publisher_class::pool));
  at.store({11}, {1, 2}, on(medium_id::disk));
  at.store({11}, {1, 2}, on(medium_id::cpu));
  at.apply(removed_event{.scope = on(medium_id::cpu), .hashes = names({11}), .all_media = true});
  BOOST_TEST(at.depth({1, 2}) == 0U);
  BOOST_TEST(at.tally.unknown_removals == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
