#include "core/slot_table.hpp"

#include <boost/test/unit_test.hpp>
#include <cstdint>

#include "core/quiescence.hpp"

namespace kvc::test {

using namespace kvc::core;

BOOST_AUTO_TEST_SUITE(slot_table)

BOOST_AUTO_TEST_CASE(a_number_is_used_again_only_when_nobody_can_still_read_of_its_old_owner) {
  core::slot_table slots;
  const std::uint32_t first = slots.take(worker_id{1}, medium_id::gpu);
  {
    const quiescent_scope reading;
    slots.give_back(first);
    BOOST_TEST(slots.owner(first).worker.get() == 1U);
    BOOST_TEST(slots.take(worker_id{2}, medium_id::gpu) != first);
  }
  (void)collect_retired();
  BOOST_TEST(slots.take(worker_id{3}, medium_id::cpu) == first);
  BOOST_TEST(slots.owner(first).worker.get() == 3U);
  BOOST_TEST((slots.owner(first).medium == medium_id::cpu));
  BOOST_TEST(slots.end() == 2U);
}

BOOST_AUTO_TEST_CASE(it_knows_which_media_are_in_use) {
  core::slot_table slots;
  const std::uint32_t gpu = slots.take(worker_id{1}, medium_id::gpu);
  const std::uint32_t cpu = slots.take(worker_id{1}, medium_id::cpu);
  BOOST_TEST(slots.media() == (mask_of(medium_id::gpu) | mask_of(medium_id::cpu)));
  BOOST_TEST(slots.used() == 2U);
  slots.give_back(cpu);
  BOOST_TEST(slots.media() == mask_of(medium_id::gpu));
  slots.give_back(gpu);
  BOOST_TEST(slots.media() == 0U);
  (void)collect_retired();
}

BOOST_AUTO_TEST_CASE(when_there_are_none_left_it_says_so_and_counts) {
  core::slot_table slots;
  for (std::uint32_t i = 0; i < max_slots; ++i) BOOST_REQUIRE(slots.take(worker_id{i}, medium_id::gpu) != no_slot);
  BOOST_TEST(slots.take(worker_id{max_slots}, medium_id::gpu) == no_slot);
  BOOST_TEST(slots.refused() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test
