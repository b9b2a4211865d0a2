// Dump and load where random streams do not reach: long chains, other runs on the other side, budgets, filters.
#include "core/snapshot.hpp"

#include <cstdint>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/snapshot_loader.hpp"
#include "tests/support/index_subjects.hpp"

namespace kvc::test {
BOOST_AUTO_TEST_SUITE(snapshot)

namespace {

using namespace kvc::core;

constexpr std::uint32_t long_chain = 10'000;  ///< more than two of the longest runs
constexpr worker_id told{1};
constexpr worker_id other{2};

std::vector<local_hash> chain(std::uint64_t first, std::uint64_t count) {
  std::vector<local_hash> made;
  for (std::uint64_t i = 0; i < count; ++i) made.emplace_back(first + i);
  return made;
}

/// Stores a chain from the root; names are `offset` more than the local hashes.
store_step from_root(std::vector<local_hash> locals, std::uint64_t offset = 1'000'000) {
  store_step step;
  for (const local_hash each : locals) step.names.emplace_back(each.get() + offset);
  step.locals = std::move(locals);
  return step;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_long_chain_is_loaded_into_an_index_whose_runs_are_others) {
  // Where a run ends depends on who stored what before; a path must fit whatever it meets.
  real_subject from;
  from.add(told, {});
  from.store(told, from_root(chain(1, long_chain)));
  from.remove(told, engine_hash{1'000'000 + 7'000}, medium_id::gpu);
  real_subject to;
  to.add(other, {});
  std::vector<local_hash> fork = chain(1, 3'000);
  for (const local_hash each : chain(500'000, 500)) fork.push_back(each);
  to.store(other, from_root(chain(1, 1'234)));
  to.store(other, from_root(std::move(fork), 2'000'000));
  to.add(told, {});

  to.worker(told).load(from.worker(told).dump(1'000));

  BOOST_TEST(to.depth(0, told, all_media, chain(1, long_chain)) == 6'999U);
  BOOST_TEST(to.held_on(told, medium_id::gpu) == long_chain - 1);
  to.store(told, from_root(chain(1, 7'000)));
  BOOST_TEST(to.depth(0, told, all_media, chain(1, long_chain)) == long_chain);  // what stood behind the hole is there
}

BOOST_AUTO_TEST_CASE(a_slice_is_no_larger_than_its_budget_and_a_run) {
  // Events of the lane wait for one slice at most.
  real_subject from;
  from.add(told, {});
  for (std::uint64_t i = 1; i <= 40; ++i) from.store(told, from_root(chain(i * 1'000, 100), i * 10'000'000));
  from.store(told, from_root(chain(900'000, long_chain)));

  const worker_dump all = from.worker(told).dump(500);

  std::size_t blocks = 0;
  for (const dump_slice& each : all.slices) {
    BOOST_TEST(each.blocks() <= 500U + max_run_blocks);
    blocks += each.blocks();
  }
  BOOST_TEST(blocks == 40U * 100 + long_chain);
}

BOOST_AUTO_TEST_CASE(a_dump_ends_and_misses_nothing_though_chains_part_all_the_time) {
  // A chain that parts takes its end along into another run, which the dump may have been past already.
  constexpr std::uint64_t chains = 1'000;
  constexpr std::uint32_t length = 20;
  constexpr std::size_t budget = 500;
  constexpr std::size_t most_slices = 300;  ///< for some 40,000 names and local hashes, all runs once, and as many to let go of
  const auto first_of = [](std::uint64_t which) { return which * 1'000; };
  real_subject from;
  from.add(told, {});
  for (std::uint64_t i = 1; i <= chains; ++i) from.store(told, from_root(chain(first_of(i), length)));

  worker_dump all;
  dump_cursor at;
  std::uint64_t parted = 0;
  while (!from.worker(told).blocks().dump_some(at, budget, all.slices.emplace_back())) {
    BOOST_REQUIRE(all.slices.size() < most_slices);
    parted = parted % chains + 1;
    store_step other_end = from_root(chain(first_of(parted) + 500, 4));
    other_end.how = link::parent;
    other_end.parent = engine_hash{1'000'000 + first_of(parted) + 15};
    from.store(told, other_end);
  }
  for (const auto& each : at.homes()) all.homes.push_back(each->key());
  real_subject to;
  to.add(told, {});
  to.worker(told).load(all);

  for (std::uint64_t i = 1; i <= chains; ++i) BOOST_TEST(to.depth(0, told, all_media, chain(first_of(i), length)) == length);
}

BOOST_AUTO_TEST_CASE(a_filter_leaves_other_partitions_out) {
  // One partition of a worker that is in several.
  real_subject from;
  from.add(told, {});
  from.store(told, from_root(chain(1, 3)));
  store_step elsewhere = from_root(chain(1, 5), 2'000'000);
  elsewhere.partition = 1;
  from.store(told, elsewhere);
  dump_filter only;
  only.lora = "adapter-1";
  dump_cursor at(only);
  dump_slice slice;

  BOOST_TEST(from.worker(told).blocks().dump_some(at, 1'000, slice));
  BOOST_TEST(slice.blocks() == 5U);
}

BOOST_AUTO_TEST_CASE(what_a_dump_has_begun_to_tell_outlives_the_worker) {
  // A worker is unregistered, and a client gone, in the middle of a dump: nothing dangles, nothing stays behind.
  real_subject from;
  from.add(told, {});
  for (std::uint64_t i = 1; i <= 20; ++i) from.store(told, from_root(chain(i * 1'000, 100), i * 10'000'000));
  const auto seen = from.view(0);
  {
    dump_cursor at;
    dump_slice slice;
    BOOST_TEST(!from.worker(told).blocks().dump_some(at, 300, slice));
    from.drop(told);
    BOOST_TEST(seen->partition->index().count_held() == 0U);
  }
  BOOST_TEST(seen->partition->index().blocks() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test
