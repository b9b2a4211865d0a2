// How the index keeps trunks whole: chains that many workers take further, each leaving them somewhere.
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/catalog.hpp"
#include "core/quiescence.hpp"
#include "tests/support/real_worker.hpp"

namespace kvc::test {
BOOST_AUTO_TEST_SUITE(index_trunk)

namespace {

using namespace kvc::core;

constexpr std::uint64_t trunk_name = 1'000'000;

struct fleet {
  core::catalog catalog;
  std::shared_ptr<lane_names> lane = std::make_shared<lane_names>();
  std::vector<std::unique_ptr<real_worker>> workers;

  explicit fleet(std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i)
      workers.push_back(std::make_unique<real_worker>(worker_id{i + 1}, worker_traits{}, catalog, lane));
  }
  /// The trunk's blocks up to `end`, then `own` blocks of the worker's own behind them.
  void store(std::uint32_t worker, std::uint64_t end, std::uint64_t own) {
    store_step trunk;
    for (std::uint64_t i = 0; i < end; ++i) {
      trunk.names.emplace_back(trunk_name + i);
      trunk.locals.emplace_back(i + 1);
    }
    workers[worker]->store(trunk);
    store_step branch;
    branch.how = link::parent;
    branch.parent = trunk.names.back();
    for (std::uint64_t i = 0; i < own; ++i) {
      branch.names.emplace_back(own_name(worker, i));
      branch.locals.emplace_back(own_name(worker, i));
    }
    workers[worker]->store(branch);
  }
  static std::uint64_t own_name(std::uint32_t worker, std::uint64_t at) { return (worker + 1) * std::uint64_t{10'000'000} + at; }

  [[nodiscard]] const prefix_index& index() const { return catalog.view().get()->find(partition_number(0))->partition->index(); }
  [[nodiscard]] std::uint32_t depth(std::uint32_t worker, const std::vector<local_hash>& query) const {
    match_result answer;
    index().match(query, {}, answer);
    return answer.of(worker_id{worker + 1}).any;
  }
};

std::vector<local_hash> trunk(std::uint64_t end) {
  std::vector<local_hash> blocks;
  for (std::uint64_t i = 0; i < end; ++i) blocks.emplace_back(i + 1);
  return blocks;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_trunk_that_grows_behind_its_branches_stays_whole) {
  // Every worker takes the trunk four blocks further than the one before and leaves it there for blocks of its own.
  fleet all(64);
  for (std::uint32_t worker = 0; worker < 64; ++worker) all.store(worker, (worker + 1) * 4, 8);

  for (std::uint32_t worker = 0; worker < 64; ++worker) {
    const std::uint64_t end = (worker + 1) * 4;
    BOOST_REQUIRE(all.depth(worker, trunk(256)) == end);
    auto branch = trunk(end);
    for (std::uint64_t i = 0; i < 8; ++i) branch.emplace_back(fleet::own_name(worker, i));
    BOOST_REQUIRE(all.depth(worker, branch) == end + 8);
  }
  BOOST_TEST(all.index().run_count() <= 65U);  // the trunk and a branch per worker; the newest branch may be the trunk's end
  BOOST_TEST(all.index().blocks() == 256U + 64 * 8);
}

BOOST_AUTO_TEST_CASE(branches_that_moved_are_removed_by_their_names) {
  fleet all(16);
  for (std::uint32_t worker = 0; worker < 16; ++worker) all.store(worker, (worker + 1) * 4, 8);
  for (std::uint32_t worker = 0; worker < 16; ++worker) {
    for (std::uint64_t i = 8; i-- > 0;) all.workers[worker]->remove(engine_hash{fleet::own_name(worker, i)}, medium_id::gpu);
    auto branch = trunk((worker + 1) * 4);
    branch.emplace_back(fleet::own_name(worker, 0));
    BOOST_REQUIRE(all.depth(worker, branch) == (worker + 1) * 4);
    for (std::uint64_t i = (worker + 1) * 4; i-- > 0;) all.workers[worker]->remove(engine_hash{trunk_name + i}, medium_id::gpu);
    BOOST_REQUIRE(all.depth(worker, trunk(64)) == 0);
    BOOST_TEST(all.workers[worker]->tally().unknown_removals == 0U);
  }
  BOOST_TEST(all.index().blocks() == 0U);
  BOOST_TEST(all.lane->names() == 0U);
}

BOOST_AUTO_TEST_CASE(a_long_branch_that_moved_is_removed_by_its_names) {
  // Its names stand under two numbers of their list, which has one for each 256, and go over to a list of their own.
  fleet all(2);
  all.store(0, 200, 250);
  all.store(1, 204, 8);
  BOOST_TEST(all.index().run_count() == 2U);  // the trunk with the newer branch, and the older one
  auto branch = trunk(200);
  for (std::uint64_t i = 0; i < 250; ++i) branch.emplace_back(fleet::own_name(0, i));
  BOOST_TEST(all.depth(0, branch) == 450U);
  BOOST_TEST(all.depth(1, trunk(204)) == 204U);

  for (std::uint64_t i = 250; i-- > 0;) {
    all.workers[0]->remove(engine_hash{fleet::own_name(0, i)}, medium_id::gpu);
    BOOST_REQUIRE(all.depth(0, branch) == 200 + i);
  }
  for (std::uint64_t i = 200; i-- > 0;) all.workers[0]->remove(engine_hash{trunk_name + i}, medium_id::gpu);
  BOOST_TEST(all.workers[0]->tally().unknown_removals == 0U);
  BOOST_TEST(all.lane->names() == 212U);  // the other worker's
  BOOST_TEST(all.depth(1, trunk(204)) == 204U);
}

BOOST_AUTO_TEST_CASE(whoever_held_a_run_first_may_leave_and_come_again) {
  // A run leads to the holding of one of its holders only; the others', and those of his other media, are found as well.
  fleet all(3);
  const auto leave = [&](std::uint32_t worker, medium_id medium) {
    for (std::uint64_t i = 40; i-- > 0;) all.workers[worker]->remove(engine_hash{trunk_name + i}, medium);
  };
  for (std::uint32_t worker = 0; worker < 3; ++worker) all.store(worker, 40, 0);
  store_step copy;
  copy.medium = medium_id::cpu;
  for (std::uint64_t i = 0; i < 40; ++i) {
    copy.names.emplace_back(trunk_name + i);
    copy.locals.emplace_back(i + 1);
  }
  all.workers[0]->store(copy);

  leave(0, medium_id::gpu);
  BOOST_TEST(all.depth(0, trunk(40)) == 40U);
  leave(0, medium_id::cpu);
  BOOST_TEST(all.depth(0, trunk(40)) == 0U);
  BOOST_TEST(all.depth(1, trunk(40)) == 40U);
  all.store(0, 40, 0);
  leave(1, medium_id::gpu);
  leave(2, medium_id::gpu);
  BOOST_TEST(all.depth(0, trunk(40)) == 40U);
  BOOST_TEST(all.depth(1, trunk(40)) == 0U);
  leave(0, medium_id::gpu);
  BOOST_TEST(all.index().blocks() == 0U);
  for (const auto& each : all.workers) BOOST_TEST(each->tally().unknown_removals == 0U);
}

BOOST_AUTO_TEST_CASE(what_the_last_holder_lets_go_of_is_not_kept) {
  // A dead end is cut off when less than half of a run is left, and another chain may grow there.
  fleet all(2);
  all.store(0, 1'000, 1);
  all.store(1, 100, 1);
  all.workers[0]->remove(engine_hash{fleet::own_name(0, 0)}, medium_id::gpu);
  for (std::uint64_t i = 1'000; i-- > 90;) all.workers[0]->remove(engine_hash{trunk_name + i}, medium_id::gpu);
  (void)collect_retired();
  BOOST_TEST(all.index().blocks() < 220U);
  BOOST_TEST(all.depth(0, trunk(1'000)) == 90U);
  BOOST_TEST(all.depth(1, trunk(1'000)) == 100U);
  all.store(0, 1'000, 1);
  BOOST_TEST(all.depth(0, trunk(1'000)) == 1'000U);
}

BOOST_AUTO_TEST_CASE(one_odd_name_elsewhere_keeps_nobody_from_cutting_dead_ends) {
  // A block told of twice by a publisher that counts copies is enough; the removals come in one event.
  fleet all(1);
  store_step twice;
  twice.names = {engine_hash{7}};
  twice.locals = {local_hash{7}};
  all.workers[0]->store(twice);
  all.workers[0]->store(twice);
  all.store(0, 1'000, 1);
  std::vector<engine_hash> gone{engine_hash{fleet::own_name(0, 0)}};
  for (std::uint64_t i = 1'000; i-- > 10;) gone.emplace_back(trunk_name + i);
  all.workers[0]->remove(gone, medium_id::gpu);

  BOOST_TEST(all.index().blocks() == 11U);
  BOOST_TEST(all.lane->names() <= 11U);
  BOOST_TEST(all.depth(0, trunk(1'000)) == 10U);
  BOOST_TEST(all.depth(0, {local_hash{7}}) == 1U);
}

BOOST_AUTO_TEST_CASE(what_is_let_go_of_in_any_order_is_not_kept_either) {
  // The end of a run goes block by block, from somewhere in the midst of it, and in the end one cutoff tells all again.
  fleet all(1);
  all.store(0, 1'000, 1);
  all.workers[0]->remove(engine_hash{fleet::own_name(0, 0)}, medium_id::gpu);
  for (std::uint64_t i = 0; i < 990; ++i) all.workers[0]->remove(engine_hash{trunk_name + 10 + i * 7 % 990}, medium_id::gpu);

  BOOST_TEST(all.index().blocks() == 10U);
  BOOST_TEST(all.lane->names() == 10U);
  BOOST_TEST(all.depth(0, trunk(1'000)) == 10U);
  BOOST_TEST(all.workers[0]->tally().unknown_removals == 0U);
}

BOOST_AUTO_TEST_CASE(a_lane_gives_back_what_the_names_of_a_peak_took) {
  // A fleet that is smaller at night must not keep the memory of the day.
  fleet all(1);
  constexpr std::uint64_t chains = 200;
  constexpr std::uint64_t blocks = 500;
  const auto name_of = [](std::uint64_t chain, std::uint64_t at) { return (chain + 1) * 1'000'000 + at; };
  for (std::uint64_t chain = 0; chain < chains; ++chain) {
    store_step step;
    for (std::uint64_t i = 0; i < blocks; ++i) {
      step.names.emplace_back(name_of(chain, i));
      step.locals.emplace_back(name_of(chain, i));
    }
    all.workers[0]->store(step);
  }
  const std::size_t peak = all.lane->bytes();
  for (std::uint64_t chain = 1; chain < chains; ++chain) {
    for (std::uint64_t i = blocks; i-- > 0;) all.workers[0]->remove(engine_hash{name_of(chain, i)}, medium_id::gpu);
  }

  BOOST_TEST(all.lane->names() == blocks);
  BOOST_TEST(all.lane->bytes() < peak / 8);
  BOOST_TEST(all.depth(0, {local_hash{name_of(0, 0)}, local_hash{name_of(0, 1)}}) == 2U);
  for (std::uint64_t i = blocks; i-- > 0;) all.workers[0]->remove(engine_hash{name_of(0, i)}, medium_id::gpu);
  BOOST_TEST(all.workers[0]->tally().unknown_removals == 0U);
  BOOST_TEST(all.lane->names() == 0U);
}

BOOST_AUTO_TEST_CASE(a_list_of_names_that_was_long_gives_its_room_back) {
  // Only the first blocks of long prompts stay, as of a system prompt; its names need the room of those only.
  fleet all(1);
  all.store(0, 4'000, 1);
  const std::size_t peak = all.lane->bytes_in_use();
  std::vector<engine_hash> gone{engine_hash{fleet::own_name(0, 0)}};
  for (std::uint64_t i = 4'000; i-- > 20;) gone.emplace_back(trunk_name + i);
  all.workers[0]->remove(gone, medium_id::gpu);

  BOOST_TEST(all.lane->names() == 20U);
  BOOST_TEST(all.lane->bytes_in_use() < peak / 50);
  all.store(0, 4'000, 1);
  BOOST_TEST(all.depth(0, trunk(4'000)) == 4'000U);
  for (std::uint64_t i = 4'000; i-- > 0;) all.workers[0]->remove(engine_hash{trunk_name + i}, medium_id::gpu);
  BOOST_TEST(all.workers[0]->tally().unknown_removals == 0U);
}

BOOST_AUTO_TEST_CASE(a_lane_whose_workers_have_forgotten_everything_keeps_no_lists) {
  fleet all(1);
  const auto fill = [&] {
    for (std::uint64_t chain = 1; chain <= 2'000; ++chain) {
      store_step step;
      step.names = {engine_hash{chain}};
      step.locals = {local_hash{chain}};
      all.workers[0]->store(step);
    }
  };
  fill();
  const std::size_t peak = all.lane->bytes();
  all.workers[0]->clear(all_media, std::nullopt);
  BOOST_TEST(all.lane->bytes() < peak / 4);
  fill();
  BOOST_TEST(all.depth(0, {local_hash{2'000}}) == 1U);
  BOOST_TEST(all.workers[0]->blocks().names() == 2'000U);
  all.workers[0]->clear(all_media, std::nullopt);
  BOOST_TEST(all.lane->names() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test
