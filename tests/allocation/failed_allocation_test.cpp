// Every allocation of a store or a removal fails in turn; then the worker is cleared, as a stream does with whatever was thrown, and
// nothing may be left of it, nor may that take for ever. The same of a cycle of eviction, which the next one makes good.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <set>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/catalog.hpp"
#include "core/evictor.hpp"
#include "core/lane_blocks.hpp"
#include "core/quiescence.hpp"
#include "core/quota.hpp"
#include "core/usage.hpp"
#include "tests/allocation/watched_heap.hpp"

BOOST_AUTO_TEST_SUITE(failed_allocation)

namespace {

using namespace kvc::core;
using kvc::test::watched_heap;

/// Two workers of one lane.
struct pair_of_workers {
  std::shared_ptr<partition> home = std::make_shared<partition>(partition_key{"tenant", "model", "", "", 16}, 7);
  std::shared_ptr<lane_names> lane = std::make_shared<lane_names>();
  lane_blocks first{{.worker = worker_id{1}, .lane = lane}};
  lane_blocks second{{.worker = worker_id{2}, .lane = lane}};

  /// Blocks `from` to `from + count - 1`, behind block `parent`, or else at the beginning. Names and contents have the same numbers.
  void store(lane_blocks& who, std::uint64_t from, std::uint64_t count, std::uint64_t parent = 0, medium_id medium = medium_id::gpu) {
    std::vector<engine_hash> names;
    std::vector<local_hash> locals;
    for (std::uint64_t each = from; each < from + count; ++each) {
      names.emplace_back(each);
      locals.emplace_back(each);
    }
    store_command command;
    command.home = home;
    command.medium = medium;
    command.link = parent == 0 ? store_link::root : store_link::parent;
    command.parent = engine_hash{parent};
    command.names = names;
    command.locals = locals;
    apply_tally tally;
    who.store(command, tally);
  }
  apply_tally remove(lane_blocks& who, std::uint64_t name) {
    const std::vector<engine_hash> names{engine_hash{name}};
    apply_tally tally;
    who.remove(names, medium_id::gpu, tally);
    return tally;
  }
  [[nodiscard]] static bool clear(lane_blocks& who) {
    apply_tally tally;
    for (int calls = 0; calls < 100; ++calls) {
      if (who.clear_some(all_media, {}, 4'096, tally)) return true;
    }
    return false;
  }
  [[nodiscard]] std::uint32_t depth(std::uint32_t worker, std::uint64_t from, std::uint64_t count) const {
    std::vector<local_hash> query;
    for (std::uint64_t each = from; each < from + count; ++each) query.emplace_back(each);
    match_result answer;
    home->index().match(query, {}, answer);
    return answer.of(worker_id{worker}).any;
  }
};

/// What is done before, and what fails then.
struct scene {
  const char* name;
  std::function<void(pair_of_workers&)> before;
  std::function<void(pair_of_workers&)> act;
};

const std::vector<scene>& all_scenes() {
  using at = pair_of_workers&;
  static const std::vector<scene> all{
      {"a first prompt", [](at) {}, [](at p) { p.store(p.first, 1, 100); }},
      {"a long one", [](at) {}, [](at p) { p.store(p.first, 1, 3'000); }},
      {"one grows", [](at p) { p.store(p.first, 1, 100); }, [](at p) { p.store(p.first, 1'000, 60, 100); }},
      {"somebody joins it", [](at p) { p.store(p.first, 1, 100); }, [](at p) { p.store(p.second, 1, 100); }},
      {"its own end is moved", [](at p) { p.store(p.first, 1, 100); }, [](at p) { p.store(p.first, 1'000, 60, 50); }},
      {"another's end is moved",
       [](at p) {
         p.store(p.first, 1, 100);
         p.store(p.second, 1, 50);
       },
       [](at p) { p.store(p.second, 1'000, 60, 50); }},
      {"a branch",
       [](at p) {
         p.store(p.first, 1, 100);
         p.store(p.second, 1, 100);
       },
       [](at p) { p.store(p.first, 1'000, 60, 50); }},
      {"a hole", [](at p) { p.store(p.first, 1, 100); }, [](at p) { p.remove(p.first, 50); }},
      {"further copies", [](at p) { p.store(p.first, 1, 100); }, [](at p) { p.store(p.first, 1, 100); }},
      {"another medium", [](at p) { p.store(p.first, 1, 100); }, [](at p) { p.store(p.first, 1, 100, 0, medium_id::cpu); }},
      {"copies on two media",
       [](at p) {
         p.store(p.first, 1, 20);
         p.store(p.first, 1, 20, 0, medium_id::cpu);
       },
       [](at p) { p.store(p.first, 1, 20); }},
      {"names that move", [](at p) { p.store(p.first, 1, 20); }, [](at p) { p.store(p.first, 10, 20); }},
      {"orphans", [](at p) { p.store(p.first, 80, 5, 79); }, [](at p) { p.store(p.first, 50, 20, 49); }},
      {"orphans that join", [](at p) { p.store(p.first, 50, 20, 49); }, [](at p) { p.store(p.first, 1, 49); }},
      {"a copy that leaves another one",
       [](at p) {
         p.store(p.first, 1, 1);
         p.store(p.first, 1, 1);
       },
       [](at p) { p.remove(p.first, 1); }},
      {"the last copy of several",
       [](at p) {
         p.store(p.first, 1, 1);
         p.store(p.first, 1, 1);
         p.remove(p.first, 1);
       },
       [](at p) { p.remove(p.first, 1); }},
      {"an end that is let go of",
       [](at p) {
         p.store(p.first, 1, 100);
         p.store(p.first, 1, 20);
       },
       [](at p) {
         for (std::uint64_t name = 100; name > 20; --name) p.remove(p.first, name);
       }},
  };
  return all;
}

/// Whether allocation number `number` of a scene failed.
bool fail(const scene& of, long number) {
  pair_of_workers here;
  of.before(here);
  bool has_failed = false;
  watched_heap::before_failure = number;
  try {
    of.act(here);
  } catch (const std::bad_alloc&) {
    has_failed = true;
  }
  watched_heap::before_failure = -1;
  if (!has_failed) return false;

  BOOST_TEST_CONTEXT(of.name << ", allocation " << number) {
    for (lane_blocks* who : {&here.first, &here.second}) {
      BOOST_REQUIRE(pair_of_workers::clear(*who));
      BOOST_TEST(who->names() == 0U);
      BOOST_TEST(who->orphans() == 0U);
      BOOST_TEST(who->held_on(medium_id::gpu) == 0U);
    }
    BOOST_TEST(here.home->index().run_count() == 0U);
    BOOST_TEST(here.home->index().blocks() == 0U);
    BOOST_TEST(here.home->index().slots().used() == 0U);
    BOOST_TEST(here.home->entries().sum() == 0U);
    for (lane_blocks* who : {&here.first, &here.second}) here.store(*who, 1, 120);
    for (const std::uint32_t worker : {1U, 2U}) BOOST_TEST(here.depth(worker, 1, 120) == 120U);
  }
  return true;
}

}  // namespace

BOOST_AUTO_TEST_CASE(nothing_is_left_of_a_worker_that_is_cleared_after_a_failed_allocation) {
  for (const scene& each : all_scenes()) {
    long number = 0;
    while (fail(each, number)) ++number;
    BOOST_TEST_MESSAGE(each.name << ": " << number << " allocations");
    (void)collect_retired();
  }
}

BOOST_AUTO_TEST_CASE(a_name_that_could_not_be_entered_is_not_taken_for_one_that_can_be_found) {
  // Two workers share a list of names, which somebody goes on with and fails; after a clear that worker tells it all once more.
  constexpr std::uint64_t told = 1'500;
  for (const std::uint64_t shared : {100U, 500U, 600U}) {
    bool has_failed = true;
    for (long number = 0; has_failed; ++number) {
      pair_of_workers here;
      lane_blocks plain({.worker = worker_id{3}, .copy_counting = false, .lane = here.lane});
      here.store(here.first, 1, shared);
      watched_heap::before_failure = number;
      try {
        here.store(plain, 1, told);
        has_failed = false;
      } catch (const std::bad_alloc&) {
      }
      watched_heap::before_failure = -1;
      BOOST_REQUIRE(pair_of_workers::clear(plain));
      here.store(plain, 1, told);
      std::uint64_t unknown = 0;
      for (std::uint64_t name = 1; name <= told; ++name) unknown += here.remove(plain, name).unknown_removals;
      BOOST_TEST_CONTEXT(shared << " shared, allocation " << number) {
        BOOST_TEST(unknown == 0U);
        BOOST_TEST(plain.names() == 0U);
        BOOST_TEST(plain.held_on(medium_id::gpu) == 0U);
      }
    }
    (void)collect_retired();
  }
}

BOOST_AUTO_TEST_CASE(an_eviction_that_could_not_be_planned_is_planned_whole_by_the_next_cycle) {
  // Its loop goes on, and what one cycle leaves behind is the next one's: each key in one piece, which can be found.
  constexpr std::size_t stored = 40;
  bool has_failed = true;
  for (long number = 0; has_failed; ++number) {
    usage_ledger ledger;
    const quota_table quotas;
    evictor planner(ledger, quotas, {.keys_per_piece = 1});
    for (std::size_t i = 0; i < stored; ++i) BOOST_REQUIRE(ledger.store({std::to_string(i), "m", 0, 0, "s"}, 10).has_value());
    const auto cycle = [&planner] {
      planner.begin();
      while (!planner.step(7)) {
      }
      return planner.take_pieces({});
    };
    std::vector<evictor::piece> pieces;
    watched_heap::before_failure = number;
    try {
      pieces = cycle();
      has_failed = false;
    } catch (const std::bad_alloc&) {
    }
    watched_heap::before_failure = -1;
    if (has_failed) pieces = cycle();

    BOOST_TEST_CONTEXT("allocation " << number) {
      std::multiset<std::string> found;
      for (const evictor::piece& each : pieces) {
        (void)planner.visit_keys(each.id, 0, {.keys = stored}, [&](const object_key& key) { found.emplace(key.hash); });
      }
      BOOST_TEST(found.size() == stored);
      BOOST_TEST(std::set<std::string>(found.begin(), found.end()).size() == stored);
      BOOST_TEST(pieces.size() == stored);
      BOOST_TEST(planner.pieces_remembered() == stored);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
