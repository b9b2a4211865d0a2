// Behaviour of several workers and partitions. Run for every index of index_suite.hpp.
#include <algorithm>
#include <cstdint>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "tests/support/index_suite.hpp"

namespace kvc::test::suite {
BOOST_AUTO_TEST_SUITE(index_fleet)

namespace {

BOOST_AUTO_TEST_CASE_TEMPLATE(workers_are_reported_apart, Subject, index_subjects) {
  // Names are private: the same name of two workers may mean different blocks.
  scene<Subject> at({first, second, third});
  at.root(first, names({11, 12}), blocks({1, 2}));
  at.root(second, names({11}), blocks({1}));
  at.root(third, names({11}), blocks({9}));

  BOOST_TEST(at.depth(first, blocks({1, 2})) == 2U);
  BOOST_TEST(at.depth(second, blocks({1, 2})) == 1U);
  BOOST_TEST(at.depth(third, blocks({1, 2})) == 0U);
  at.remove(first, {11});
  BOOST_TEST(at.depth(second, blocks({1})) == 1U);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(dropping_a_worker_leaves_the_others, Subject, index_subjects) {
  // An engine dies.
  scene<Subject> at({first, second});
  for (const worker_id each : {first, second}) {
    at.root(each, names({11, 12}), blocks({1, 2}));
    at.by_name(each, names({11}), medium_id::cpu);
    at.behind(each, 77, names({78}), blocks({8}));
  }
  at.index.drop(first);

  BOOST_TEST(at.depth(first, blocks({1, 2})) == 0U);
  BOOST_TEST(at.depth(second, blocks({1, 2})) == 2U);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_replacement_starts_from_nothing, Subject, index_subjects) {
  // The same engine comes back with an empty cache: a new number, the old one's blocks, names and orphans gone.
  scene<Subject> at({first});
  at.root(first, names({11, 12}), blocks({1, 2}));
  at.behind(first, 20, names({21}), blocks({5}));
  at.index.drop(first);
  at.index.add(second, {});
  BOOST_TEST(at.depth(second, blocks({1, 2})) == 0U);

  at.behind(second, 11, names({12}), blocks({2}));
  at.root(second, names({20}), blocks({4}));
  BOOST_TEST(at.depth(second, blocks({1, 2})) == 0U);
  BOOST_TEST(at.depth(second, blocks({4, 5})) == 1U);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(partitions_share_nothing, Subject, index_subjects) {
  // Tenants, models, adapters and salts are walls.
  scene<Subject> at({first, second});
  at.root(first, names({11}), blocks({1}), medium_id::gpu, 0);
  at.root(second, names({11, 12}), blocks({1, 2}), medium_id::gpu, 1);
  at.root(first, names({21}), blocks({1}), medium_id::gpu, 1);

  BOOST_TEST(at.depth(first, blocks({1, 2}), core::all_media, 0) == 1U);
  BOOST_TEST(at.depth(second, blocks({1, 2}), core::all_media, 0) == 0U);
  BOOST_TEST(at.depth(second, blocks({1, 2}), core::all_media, 1) == 2U);
  at.index.clear(first, core::all_media, 1);
  BOOST_TEST(at.depth(first, blocks({1}), core::all_media, 0) == 1U);
  BOOST_TEST(at.depth(first, blocks({1}), core::all_media, 1) == 0U);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_parent_of_another_partition_is_unknown, Subject, index_subjects) {
  // A prefix cannot begin in one partition and end in another.
  scene<Subject> at({first});
  at.root(first, names({11}), blocks({1}), medium_id::gpu, 0);
  at.behind(first, 11, names({12}), blocks({2}), medium_id::gpu, 1);
  BOOST_TEST(at.index.orphans(first) == 1U);

  at.root(first, names({11}), blocks({1}), medium_id::cpu, 1);
  BOOST_TEST(at.depth(first, blocks({1, 2}), core::all_media, 1) == 2U);
  BOOST_TEST(at.depth(first, blocks({1, 2}), core::all_media, 0) == 1U);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_placeholder_finds_its_name_in_any_partition, Subject, index_subjects) {
  // Offload events carry no adapter, so they arrive as if for the base model.
  scene<Subject> at({first});
  at.by_name(first, names({12}), medium_id::cpu, 0);
  at.root(first, names({11, 12}), blocks({1, 2}), medium_id::gpu, 1);
  at.by_name(first, names({11}), medium_id::cpu, 0);

  BOOST_TEST(at.depth(first, blocks({1, 2}), core::mask_of(medium_id::cpu), 1) == 2U);
  BOOST_TEST(at.depth(first, blocks({1, 2}), core::all_media, 0) == 0U);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_name_waiting_in_one_partition_can_be_removed_while_it_stands_in_another, Subject, index_subjects) {
  // A removal must not miss the copy that waits, or it becomes a ghost when the parent comes.
  scene<Subject> at({first});
  at.root(first, names({12}), blocks({5}), medium_id::gpu, 0);
  at.behind(first, 11, names({12}), blocks({2}), medium_id::cpu, 1);
  at.remove(first, {12}, medium_id::cpu);
  at.root(first, names({11}), blocks({1}), medium_id::gpu, 1);

  BOOST_TEST(at.depth(first, blocks({1, 2}), core::all_media, 1) == 1U);
  BOOST_TEST(at.depth(first, blocks({5}), core::all_media, 0) == 1U);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_name_stored_in_another_partition_leaves_the_first_at_once, Subject, index_subjects) {
  // Where it stands now is not known yet; that it no longer stands where it did is.
  scene<Subject> at({first});
  at.root(first, names({12}), blocks({5}), medium_id::gpu, 0);
  at.behind(first, 11, names({12}), blocks({2}), medium_id::gpu, 1);
  BOOST_TEST(at.depth(first, blocks({5}), core::all_media, 0) == 0U);

  at.root(first, names({12}), blocks({6}), medium_id::gpu, 0);  // and back: then it does not wait any more
  at.root(first, names({11}), blocks({1}), medium_id::gpu, 1);
  BOOST_TEST(at.depth(first, blocks({1, 2}), core::all_media, 1) == 1U);
  BOOST_TEST(at.depth(first, blocks({6}), core::all_media, 0) == 1U);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(many_workers_keep_their_own_depths, Subject, index_subjects) {
  // Each of many workers holds a prefix of its own length of one chain; then every second one loses its first block.
  constexpr std::uint32_t fleet = 100;
  scene<Subject> at({});
  std::vector<local_hash> content;
  std::vector<engine_hash> named;
  for (std::uint32_t i = 1; i <= fleet; ++i) {
    content.emplace_back(i);
    named.emplace_back(i + 1'000);
    at.index.add(worker_id{i}, {.instance = "engine", .rank = i});
    at.root(worker_id{i}, named, content);
  }
  for (std::uint32_t i = 2; i <= fleet; i += 2) at.index.remove(worker_id{i}, named[0], medium_id::gpu);

  bool is_right = true;
  for (std::uint32_t i = 1; i <= fleet; i += 7) is_right = is_right && at.depth(worker_id{i}, content) == (i % 2 == 0 ? 0 : i);
  BOOST_TEST(is_right);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_prompt_shared_by_fleets_of_any_size_is_known_of_each_worker, Subject, index_subjects) {
  // What says how far a worker holds a run is kept in other forms the more workers do; some come and go while it changes its form.
  for (const std::uint32_t fleet : {7U, 33U, 129U, 513U, 1'500U}) {
    scene<Subject> at({});
    const std::vector<local_hash> content = blocks({1, 2, 3});
    const std::vector<engine_hash> named = names({11, 12, 13});
    for (std::uint32_t i = 1; i <= fleet; ++i) at.index.add(worker_id{i}, {.instance = "engine", .rank = i});
    const auto held_by = [](std::uint32_t worker) { return worker % 4; };  // 0: none
    for (std::uint32_t i = 1; i <= fleet; ++i) {
      const std::uint32_t held = std::max(held_by(i), 1U);
      at.root(worker_id{i}, {named.begin(), named.begin() + held}, {content.begin(), content.begin() + held});
      if (i > 20 && held_by(i - 20) == 0) at.index.remove(worker_id{i - 20}, named[0], medium_id::gpu);
    }
    std::uint32_t wrong = 0;
    for (std::uint32_t i = 1; i + 20 <= fleet; ++i) wrong += at.depth(worker_id{i}, content) == held_by(i) ? 0 : 1;
    BOOST_TEST(wrong == 0U, wrong << " workers of " << fleet);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace kvc::test::suite
