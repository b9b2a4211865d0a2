// What the behaviour suite cannot see from outside: tallies, budgets of clearing, books of orphans.
#include "core/lane_blocks.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/arena.hpp"
#include "core/catalog.hpp"
#include "core/snapshot.hpp"
#include "tests/support/real_worker.hpp"

namespace {

using namespace kvc::core;
using kvc::test::link;
using kvc::test::real_worker;
using kvc::test::store_step;

constexpr worker_id me{1};

std::vector<engine_hash> names(const std::vector<std::uint64_t>& numbers) {
  std::vector<engine_hash> made;
  for (const std::uint64_t each : numbers) made.emplace_back(each);
  return made;
}

/// A chain from the root: block i has content 100 + i.
store_step chain(const std::vector<std::uint64_t>& numbers, medium_id medium = medium_id::gpu) {
  store_step step;
  step.medium = medium;
  step.names = names(numbers);
  for (std::uint64_t i = 0; i < numbers.size(); ++i) step.locals.emplace_back(100 + i);
  return step;
}

/// One block behind another.
store_step child(std::uint64_t parent, std::uint64_t name, std::uint64_t content, std::size_t partition = 0) {
  store_step step;
  step.partition = partition;
  step.how = link::parent;
  step.parent = engine_hash{parent};
  step.names = names({name});
  step.locals = {local_hash{content}};
  return step;
}

/// A prompt whose blocks have the same numbers as names and as contents.
void store_chain(kvc::core::lane_blocks& into, const std::shared_ptr<partition>& home, std::uint64_t first, std::uint64_t count) {
  std::vector<engine_hash> named;
  std::vector<local_hash> content;
  for (std::uint64_t each = first; each < first + count; ++each) {
    named.emplace_back(each);
    content.emplace_back(each);
  }
  store_command command;
  command.home = home;
  command.names = named;
  command.locals = content;
  apply_tally nobody_reads;
  into.store(command, nobody_reads);
}

struct fixture {
  kvc::core::catalog catalog;
  real_worker worker{me, {}, catalog};

  [[nodiscard]] const apply_tally& tally() const { return worker.tally(); }
  [[nodiscard]] std::uint32_t depth(std::size_t partition, const std::vector<std::uint64_t>& content) const {
    std::vector<local_hash> query;
    for (const std::uint64_t each : content) query.emplace_back(each);
    match_result answer;
    const auto view = catalog.view().get();
    view->find(kvc::test::partition_number(partition))->partition->index().match(query, {}, answer);
    return answer.of(me).any;
  }
};

BOOST_FIXTURE_TEST_SUITE(lane_blocks, fixture)

BOOST_AUTO_TEST_CASE(stores_and_removals_are_tallied) {
  // The numbers of /metrics: stored less removed is what is held.
  worker.store(chain({1, 2, 3}));
  worker.store(chain({1}));
  worker.store(chain({1}, medium_id::cpu));
  BOOST_TEST(tally().stored == 4U);
  BOOST_TEST(tally().repeated == 1U);

  worker.remove(engine_hash{1}, medium_id::gpu);  // one of two copies
  BOOST_TEST(tally().removed == 0U);
  worker.remove(engine_hash{1}, medium_id::gpu);
  worker.remove(engine_hash{1}, medium_id::gpu);  // unknown there now, though known on the other medium
  worker.remove(engine_hash{99}, medium_id::gpu);
  BOOST_TEST(tally().removed == 1U);
  BOOST_TEST(tally().unknown_removals == 2U);
  BOOST_TEST(worker.blocks().held_on(medium_id::gpu) == 2U);
  BOOST_TEST(worker.blocks().held_on(medium_id::cpu) == 1U);
  BOOST_TEST(worker.blocks().names() == 3U);
}

BOOST_AUTO_TEST_CASE(a_move_is_neither_a_store_nor_a_removal) {
  // It would look like growth.
  worker.store(chain({1}));
  worker.store(chain({7, 1}));

  BOOST_TEST(tally().moved == 1U);
  BOOST_TEST(tally().stored == 2U);
  BOOST_TEST(tally().removed == 0U);
  BOOST_TEST(worker.blocks().held_on(medium_id::gpu) == 2U);
}

BOOST_AUTO_TEST_CASE(orphans_are_tallied_when_they_come_join_and_go) {
  // They tell an operator that events were missed.
  worker.store(child(1, 2, 101));
  worker.store(child(2, 3, 102));
  worker.store(child(8, 9, 5));
  BOOST_TEST(tally().orphaned == 3U);
  BOOST_TEST(tally().stored == 0U);

  worker.store(chain({1}));
  BOOST_TEST(tally().joined == 2U);
  BOOST_TEST(tally().stored == 3U);
  worker.remove(engine_hash{9}, medium_id::gpu);
  BOOST_TEST(worker.blocks().orphans() == 0U);
  BOOST_TEST(tally().unknown_removals == 0U);
}

BOOST_AUTO_TEST_CASE(dropped_orphans_are_tallied) {
  // The bound is never silent; a bound of zero keeps none.
  real_worker strict(worker_id{2}, {.max_orphans = 0}, catalog);
  strict.store(child(1, 2, 101));
  real_worker narrow(worker_id{3}, {.max_orphans = 1}, catalog);
  narrow.store(child(1, 2, 101));
  narrow.store(child(1, 3, 102));
  narrow.store(child(1, 3, 102));

  BOOST_TEST(strict.tally().dropped_orphans == 1U);
  BOOST_TEST(strict.blocks().orphans() == 0U);
  BOOST_TEST(narrow.tally().dropped_orphans == 1U);
  BOOST_TEST(narrow.tally().orphaned == 2U);
  BOOST_TEST(narrow.blocks().orphans() == 1U);
}

BOOST_AUTO_TEST_CASE(the_newest_word_about_an_orphan_counts) {
  // The same name behind another parent: the first parent brings nothing any more.
  worker.store(child(1, 5, 50));
  worker.store(child(2, 5, 60));
  worker.store(chain({1}));
  BOOST_TEST(worker.blocks().orphans() == 1U);

  worker.store(chain({7, 2}));
  BOOST_TEST(worker.blocks().orphans() == 0U);
  BOOST_TEST(depth(0, {100, 101, 60}) == 3U);
  BOOST_TEST(depth(0, {100, 50}) == 1U);
}

BOOST_AUTO_TEST_CASE(the_newest_word_counts_across_partitions_too) {
  // The same name behind a parent of the same name, but in another partition.
  worker.join(1);
  worker.store(child(1, 5, 50, 0));
  worker.store(child(1, 5, 50, 1));
  worker.store(chain({1}));
  BOOST_TEST(depth(0, {100, 50}) == 1U);
  BOOST_TEST(worker.blocks().orphans() == 1U);

  store_step elsewhere = chain({1});
  elsewhere.partition = 1;
  worker.store(elsewhere);
  BOOST_TEST(depth(1, {100, 50}) == 2U);
}

BOOST_AUTO_TEST_CASE(a_long_chain_of_names_from_elsewhere_joins_without_recursion) {
  // Every name stands in one partition already and waits in another: joining must not use a stack frame per block.
  constexpr std::uint64_t length = 20'000;
  std::vector<std::uint64_t> all;
  for (std::uint64_t i = 1; i <= length; ++i) all.push_back(i);
  worker.join(1);
  worker.store(chain(all));
  for (std::uint64_t i = length; i > 1; --i) {
    store_step step = child(i - 1, i, i, 1);
    step.medium = medium_id::cpu;
    worker.store(step);
  }
  BOOST_TEST(worker.blocks().orphans() == length - 1);

  store_step head = chain({1}, medium_id::cpu);
  head.partition = 1;
  worker.store(head);
  BOOST_TEST(worker.blocks().orphans() == 0U);
  BOOST_TEST(worker.blocks().held_on(medium_id::cpu) == length);
}

BOOST_AUTO_TEST_CASE(clearing_takes_no_more_names_per_call_than_allowed) {
  // A lane must get back to its queries between the pieces.
  worker.store(chain({1, 2, 3, 4, 5}));
  apply_tally pieces;
  kvc::core::lane_blocks blocks({.worker = worker_id{2}});
  store_command command;
  command.home = *catalog.join(kvc::test::partition_number(0), kvc::test::test_seed,
                               {.id = worker_id{2}, .key = shared_key({}), .shared_pool = false, .status = nullptr, .media_seen = nullptr});
  const auto named = names({1, 2, 3, 4, 5});
  const std::vector<local_hash> content(5, local_hash{4});
  command.names = named;
  command.locals = content;
  blocks.store(command, pieces);

  BOOST_TEST(!blocks.clear_some(all_media, {}, 2, pieces));
  BOOST_TEST(pieces.removed == 2U);
  BOOST_TEST(!blocks.clear_some(all_media, {}, 2, pieces));
  BOOST_TEST(blocks.clear_some(all_media, {}, 2, pieces));
  BOOST_TEST(pieces.removed == 5U);
  BOOST_TEST(blocks.names() == 0U);
  BOOST_TEST(blocks.clear_some(all_media, {}, 2, pieces));  // nothing to do
  BOOST_TEST(worker.blocks().names() == 5U);
}

BOOST_AUTO_TEST_CASE(clearing_partitions_takes_what_waits_there_too) {
  // Scoped by partition, several at once; the others stay.
  for (const std::size_t home : {0U, 1U, 2U}) {
    store_step step = chain({10 * home + 1});
    step.partition = home;
    worker.store(step);
    worker.store(child(500 + home, 10 * home + 2, 6, home));
  }
  worker.clear(all_media, 1, 1);

  BOOST_TEST(worker.blocks().names() == 2U);
  BOOST_TEST(worker.blocks().orphans() == 2U);
  BOOST_TEST(depth(1, {100}) == 0U);
  BOOST_TEST(depth(2, {100}) == 1U);
}

BOOST_AUTO_TEST_CASE(what_waits_is_forgotten_in_pieces_too) {
  // Tens of thousands may wait after a loss. Between two pieces another worker of the stream may need the place of one that is still there.
  const auto line = std::make_shared<orphan_line>(1'000);
  kvc::core::lane_blocks blocks({.worker = worker_id{2}, .orphans = line});
  kvc::core::lane_blocks other({.worker = worker_id{3}, .orphans = line});
  const auto home = std::make_shared<partition>(partition_key{}, 1);
  apply_tally counted;
  const auto lose = [&](kvc::core::lane_blocks& whose, std::uint64_t name) {
    const std::vector<engine_hash> named{engine_hash{name}};
    const std::vector<local_hash> local{local_hash{name}};
    store_command command;
    command.home = home;
    command.link = store_link::parent;
    command.parent = engine_hash{5};
    command.names = named;
    command.locals = local;
    whose.store(command, counted);
  };
  for (std::uint64_t name = 1'000; name < 2'000; ++name) lose(blocks, name);

  unsigned calls = 1;
  for (std::size_t before = blocks.orphans(); !blocks.clear_some(all_media, {}, 10, counted); before = blocks.orphans()) {
    BOOST_TEST(before - blocks.orphans() < 60U);  // and those that share a bucket with the last one
    if (++calls % 8 == 0) lose(other, 10'000 + calls);
  }
  BOOST_TEST(calls > 30U);
  BOOST_TEST(blocks.orphans() == 0U);
  BOOST_TEST(other.orphans() == calls / 8);
}

BOOST_AUTO_TEST_CASE(clearing_is_charged_for_blocks_that_it_looks_at_in_vain) {
  // Each block is held twice, so that its name is odd, and there is nothing plain to let go of in any run.
  constexpr std::uint64_t runs = 1'000;
  constexpr std::size_t budget = 100;
  const auto home = std::make_shared<partition>(kvc::test::partition_number(0), kvc::test::test_seed);
  kvc::core::lane_blocks blocks({.worker = me});
  for (std::uint64_t each = 0; each < 2 * runs; ++each) store_chain(blocks, home, 1 + each / 2, 1);

  apply_tally counted;
  std::size_t calls = 1;
  while (!blocks.clear_some(all_media, {}, budget, counted) && calls < runs) ++calls;
  BOOST_TEST(calls * budget >= 5 * runs);  // a word of bits for each run, and what goes
  BOOST_TEST(blocks.names() == 0U);
  BOOST_TEST(counted.removed == runs);
}

BOOST_AUTO_TEST_CASE(clearing_comes_to_its_end_with_the_least_budget) {
  // A long run that is held under odd names in part.
  const auto home = std::make_shared<partition>(kvc::test::partition_number(0), kvc::test::test_seed);
  kvc::core::lane_blocks blocks({.worker = me});
  store_chain(blocks, home, 1, 500);
  store_chain(blocks, home, 1, 100);

  apply_tally counted;
  std::size_t calls = 1;
  while (!blocks.clear_some(all_media, {}, 1, counted) && calls < 10'000) ++calls;
  BOOST_TEST(calls < 10'000U);
  BOOST_TEST(blocks.names() == 0U);
  BOOST_TEST(counted.removed == 500U);
  BOOST_TEST(home->index().run_count() == 0U);
}

BOOST_AUTO_TEST_CASE(a_clear_gives_back_what_was_kept_for_each_run) {
  // A fleet whose engines are reset now and then would else keep what each of them once needed, where no byte budget sees it.
  constexpr std::uint64_t runs = 10'000;
  constexpr std::size_t budget = 50;
  const auto kept = [] { return arena_now().used[static_cast<std::size_t>(arena_kind::holdings)]; };
  const auto home = std::make_shared<partition>(kvc::test::partition_number(0), kvc::test::test_seed);
  kvc::core::lane_blocks blocks({.worker = me});
  const std::size_t before = kept();
  for (std::uint64_t each = 1; each <= runs; ++each) store_chain(blocks, home, 10 * each, 1);
  const std::size_t peak = kept() - before;
  dump_cursor begun;
  dump_slice told;
  BOOST_TEST(!blocks.dump_some(begun, 1, told));

  apply_tally counted;
  std::size_t most = 0;
  for (bool is_done = false; !is_done;) {
    const std::size_t now = kept();
    is_done = blocks.clear_some(all_media, {}, budget, counted);
    most = std::max(most, now - kept());
  }
  BOOST_TEST(kept() - before < peak / 50);
  BOOST_TEST(most <= 2 * budget * 64 * sizeof(holding));

  for (std::uint64_t each = 1; each <= 10; ++each) store_chain(blocks, home, 10 * each, 2);
  BOOST_TEST(blocks.names() == 20U);
  BOOST_TEST(blocks.dump_some(begun, runs * runs, told));
  dump_cursor again;
  dump_slice all;
  BOOST_TEST(blocks.dump_some(again, runs * runs, all));
  BOOST_TEST(all.blocks() == 20U);
  while (!blocks.clear_some(all_media, {}, budget, counted)) continue;
  BOOST_TEST(blocks.names() == 0U);
}

BOOST_AUTO_TEST_CASE(tallies_add_up) {
  // Every field, so that none is forgotten when one is added.
  const apply_tally some{.stored = 1,
                         .repeated = 2,
                         .moved = 3,
                         .removed = 4,
                         .unknown_removals = 5,
                         .orphaned = 6,
                         .joined = 7,
                         .dropped_orphans = 8,
                         .skipped = 9};
  apply_tally sum = some;
  sum.add(some);

  BOOST_TEST(sum.stored == 2U);
  BOOST_TEST(sum.repeated == 4U);
  BOOST_TEST(sum.moved == 6U);
  BOOST_TEST(sum.removed == 8U);
  BOOST_TEST(sum.unknown_removals == 10U);
  BOOST_TEST(sum.orphaned == 12U);
  BOOST_TEST(sum.joined == 14U);
  BOOST_TEST(sum.dropped_orphans == 16U);
  BOOST_TEST(sum.skipped == 18U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
