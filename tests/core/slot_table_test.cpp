#include "core/slot_table.hpp"

#include <cstdint>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/block_hasher.hpp"
#include "core/catalog.hpp"
#include "core/quiescence.hpp"
#include "tests/support/real_worker.hpp"

namespace kvc::test {

BOOST_AUTO_TEST_SUITE(slot_table)

using namespace kvc::core;

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

BOOST_AUTO_TEST_CASE(a_worker_without_a_slot_holds_nothing) {
  // It would be held where those who cut a run cannot see it. What cannot be held is counted, and all else goes on.
  core::catalog all;
  real_worker late(worker_id{2}, {}, all);
  late.join(0);
  real_worker early(worker_id{1}, {}, all);
  store_step chain;
  chain.names = {engine_hash{11}, engine_hash{12}};
  chain.locals = {local_hash{1}, local_hash{2}};
  early.store(chain);

  core::slot_table& slots = all.view().get()->partitions.begin()->second->partition->index().runs().slots();
  std::vector<std::uint32_t> taken;
  while (slots.has_room()) taken.push_back(slots.take(worker_id{3}, medium_id::cpu));
  late.store(chain);
  BOOST_TEST(late.blocks().held_on(medium_id::gpu) == 0U);
  BOOST_TEST(late.blocks().names() == 0U);
  BOOST_TEST(late.tally().skipped == 2U);
  BOOST_TEST(slots.refused() != 0U);
  chain.names.push_back(engine_hash{13});
  chain.locals.push_back(local_hash{3});
  early.store(chain);
  BOOST_TEST(early.blocks().held_on(medium_id::gpu) == 3U);

  for (const std::uint32_t slot : taken) slots.give_back(slot);
  (void)collect_retired();
  late.store(chain);
  BOOST_TEST(late.blocks().held_on(medium_id::gpu) == 3U);
}

BOOST_AUTO_TEST_CASE(a_second_medium_without_a_slot_is_found_all_the_same_where_names_say_what_they_mean) {
  // Held in its run without a slot it would be counted, and no query would see it.
  catalog all;
  real_worker worker(worker_id{1}, {}, all);
  const std::vector<local_hash> locals{local_hash{1}, local_hash{2}};
  store_step chain;
  seq_hash last = first_in_sequence(locals[0]);
  chain.names = {engine_hash{last.get()}};
  last = roll(last, locals[1], test_seed);
  chain.names.push_back(engine_hash{last.get()});
  chain.locals = locals;
  worker.store(chain);
  prefix_index& index = all.view().get()->partitions.begin()->second->partition->index();
  while (index.runs().slots().take(worker_id{3}, medium_id::disk) != no_slot) continue;
  store_step further;
  further.medium = medium_id::cpu;
  further.how = link::standard;
  further.names = chain.names;
  worker.store(further);

  BOOST_TEST(worker.blocks().held_on(medium_id::cpu) == 2U);
  BOOST_TEST(worker.blocks().held_on(medium_id::gpu) == 2U);
  match_result answer;
  match_scope scope;
  scope.media = mask_of(medium_id::cpu);
  index.match(locals, scope, answer);
  BOOST_TEST(answer.of(worker_id{1}).any == 2U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test
