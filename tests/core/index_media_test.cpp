// Behaviour of media: alone, together, placeholders, clears. Run for every index of index_suite.hpp.
#include <optional>

#include <boost/test/unit_test.hpp>

#include "tests/support/index_suite.hpp"

namespace kvc::test::suite {
BOOST_AUTO_TEST_SUITE(index_media)

namespace {

BOOST_AUTO_TEST_CASE_TEMPLATE(media_count_alone_and_together, Subject, index_subjects) {
  // A router asks what is on the device and what could be fetched.
  scene<Subject> at({first});
  at.root(first, names({11, 12}), blocks({1, 2}), medium_id::gpu);
  at.behind(first, 12, names({13}), blocks({3}), medium_id::cpu);
  at.behind(first, 13, names({14}), blocks({4}), medium_id::disk);
  at.root(first, names({11}), blocks({1}), medium_id::disk);
  const auto query = blocks({1, 2, 3, 4});

  BOOST_TEST(at.depth(first, query, core::mask_of(medium_id::gpu)) == 2U);
  BOOST_TEST(at.depth(first, query, core::mask_of(medium_id::cpu)) == 0U);
  BOOST_TEST(at.depth(first, query, core::mask_of(medium_id::disk)) == 1U);
  BOOST_TEST(at.depth(first, query, device_and_host) == 3U);
  BOOST_TEST(at.depth(first, query, core::mask_of(medium_id::gpu) | core::mask_of(medium_id::disk)) == 2U);
  BOOST_TEST(at.depth(first, query) == 4U);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_removal_is_for_one_medium, Subject, index_subjects) {
  // Offloading copies a block to the host, then the device evicts its own.
  scene<Subject> at({first});
  at.root(first, names({11}), blocks({1}), medium_id::gpu);
  at.root(first, names({11}), blocks({1}), medium_id::cpu);
  at.remove(first, {11}, medium_id::gpu);

  BOOST_TEST(at.depth(first, blocks({1}), core::mask_of(medium_id::gpu)) == 0U);
  BOOST_TEST(at.depth(first, blocks({1}), core::mask_of(medium_id::cpu)) == 1U);
  BOOST_TEST(at.index.held_on(first, medium_id::gpu) == 0U);
  BOOST_TEST(at.index.held_on(first, medium_id::cpu) == 1U);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_placeholder_means_the_block_of_its_name, Subject, index_subjects) {
  // Offload events carry names only.
  scene<Subject> at({first});
  at.root(first, names({11, 12}), blocks({1, 2}));
  at.by_name(first, names({12, 11}), medium_id::cpu);

  BOOST_TEST(at.depth(first, blocks({1, 2}), core::mask_of(medium_id::cpu)) == 2U);
  at.remove(first, {11, 12}, medium_id::gpu);
  BOOST_TEST(at.depth(first, blocks({1, 2})) == 2U);
  at.behind(first, 12, names({13}), blocks({3}));  // the name is known as long as one copy is
  BOOST_TEST(at.depth(first, blocks({1, 2, 3})) == 3U);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_placeholder_waits_for_its_name_and_brings_its_children, Subject, index_subjects) {
  // The offload event may overtake the store; the chain may even be told on the other medium only.
  scene<Subject> at({first});
  at.by_name(first, names({12}), medium_id::cpu);
  at.behind(first, 12, names({13}), blocks({3}));
  BOOST_TEST(at.depth(first, blocks({1, 2, 3})) == 0U);

  at.root(first, names({11, 12}), blocks({1, 2}));
  BOOST_TEST(at.depth(first, blocks({1, 2, 3})) == 3U);
  BOOST_TEST(at.depth(first, blocks({1, 2, 3}), core::mask_of(medium_id::cpu)) == 0U);
  at.by_name(first, names({11}), medium_id::cpu);
  BOOST_TEST(at.depth(first, blocks({1, 2, 3}), core::mask_of(medium_id::cpu)) == 2U);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_clear_takes_the_media_it_names, Subject, index_subjects) {
  // An engine resets its device cache; what it has offloaded survives. What waits is cleared like what stands.
  scene<Subject> at({first, second});
  for (const worker_id each : {first, second}) {
    at.root(each, names({11, 12}), blocks({1, 2}), medium_id::gpu);
    at.root(each, names({11}), blocks({1}), medium_id::cpu);
    at.behind(each, 30, names({31}), blocks({6}), medium_id::gpu);
    at.behind(each, 30, names({32}), blocks({7}), medium_id::cpu);
  }
  at.index.clear(first, core::mask_of(medium_id::gpu), std::nullopt, 1);

  BOOST_TEST(at.depth(first, blocks({1, 2})) == 1U);
  BOOST_TEST(at.depth(first, blocks({1, 2}), core::mask_of(medium_id::gpu)) == 0U);
  BOOST_TEST(at.depth(second, blocks({1, 2})) == 2U);
  at.root(first, names({30}), blocks({5}), medium_id::gpu);
  BOOST_TEST(at.depth(first, blocks({5, 6})) == 1U);
  BOOST_TEST(at.depth(first, blocks({5, 7})) == 2U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace kvc::test::suite
