// Where pages are placed when their story comes in another order than it happened, or in parts. The registered size is 4.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/eviction.hpp"
#include "core/reblocker.hpp"
#include "tests/support/page_stream.hpp"

BOOST_AUTO_TEST_SUITE(reblocker_places)

namespace {

using namespace kvc::core;
using namespace kvc::test::applier;

constexpr media_mask on_gpu = mask_of(medium_id::gpu);
constexpr media_mask on_cpu = mask_of(medium_id::cpu);

const words twelve{10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21};

BOOST_AUTO_TEST_CASE(a_page_before_its_parent_waits_for_it) {
  page_stream at;
  at.page(2, 1, {12, 13});
  BOOST_TEST(at.reach({10, 11, 12, 13}) == 0U);
  BOOST_TEST(at.applier->orphans() == 1U);
  at.page(1, {}, {10, 11});
  BOOST_TEST(at.reach({10, 11, 12, 13}) == 1U);
  BOOST_TEST(at.applier->orphans() == 0U);
}

BOOST_AUTO_TEST_CASE(what_hangs_behind_a_page_that_was_lost_stands_when_it_is_told_of) {
  // The batch with the second page was lost; the engine tells of it again when it computes it again.
  page_stream at;
  at.page(1, {}, {10, 11, 12});
  at.page(3, 2, {16, 17, 18});
  at.page(4, 3, {19, 20, 21});
  BOOST_TEST(at.reach(twelve) == 0U);
  // The tokens behind the gap, taken for the beginning of a block, are no prompt of their own either.
  BOOST_TEST(at.reach({16, 17, 18, 19}) == 0U);
  at.page(2, 1, {13, 14, 15});
  BOOST_TEST(at.reach(twelve) == 3U);
  BOOST_TEST(at.applier->orphans() == 0U);
  at.remove({2});
  BOOST_TEST(at.reach(twelve) == 0U);
  at.page(2, 1, {13, 14, 15});
  BOOST_TEST(at.reach(twelve) == 3U);
  at.remove({4, 3, 2, 1});
  BOOST_TEST(at.applier->names() == 0U);
}

BOOST_AUTO_TEST_CASE(a_lost_parent_of_the_registered_size_may_come_as_a_block) {
  page_stream at;
  at.page(3, 2, {14, 15});
  at.page(4, 3, {16, 17});
  BOOST_TEST(at.reach({10, 11, 12, 13, 14, 15, 16, 17}) == 0U);
  at.page(2, {}, {10, 11, 12, 13});
  BOOST_TEST(at.reach({10, 11, 12, 13, 14, 15, 16, 17}) == 2U);
}

BOOST_AUTO_TEST_CASE(a_page_waits_for_a_block_among_others) {
  page_stream at;
  at.page(3, 2, {18, 19});
  at.page(4, 3, {20, 21});
  BOOST_TEST(at.applier->orphans() != 0U);
  at.store({1, 2}, {10, 11, 12, 13, 14, 15, 16, 17});
  BOOST_TEST(at.reach(twelve) == 3U);
  BOOST_TEST(at.applier->orphans() == 0U);
}

BOOST_AUTO_TEST_CASE(a_page_waits_for_a_block_that_waits_itself) {
  page_stream at;
  at.store({2}, {14, 15, 16, 17}, {}, 1);
  at.page(3, 2, {18, 19});
  at.page(4, 3, {20, 21});
  BOOST_TEST(at.reach(twelve) == 0U);
  at.store({1}, {10, 11, 12, 13});
  BOOST_TEST(at.reach(twelve) == 3U);
  BOOST_TEST(at.applier->orphans() == 0U);
}

BOOST_AUTO_TEST_CASE(a_page_that_came_back_behind_a_block_that_waits_is_whole_when_that_has_its_place) {
  // The page behind it stayed, and needs its tokens again.
  page_stream at;
  at.store({1, 2}, {10, 11, 12, 13, 14, 15, 16, 17});
  at.page(3, 2, {18, 19});
  at.page(4, 3, {20, 21});
  at.remove({1, 2, 3});
  at.store({2}, {14, 15, 16, 17}, {}, 1);
  at.page(3, 2, {18, 19});
  at.store({1}, {10, 11, 12, 13});
  BOOST_TEST(at.reach(twelve) == 3U);
  BOOST_TEST(at.applier->orphans() == 0U);
}

BOOST_AUTO_TEST_CASE(a_page_waits_for_a_block_that_is_named_by_its_hash) {
  page_stream at;
  std::vector<local_hash> locals;
  hash_blocks(twelve, large, seed, locals);
  const seq_hash before = roll(first_in_sequence(locals[0]), locals[1], seed);
  at.page(3, before.get(), {18, 19});
  at.page(4, 3, {20, 21});
  stored_event told;
  told.hashes = names({first_in_sequence(locals[0]).get(), before.get()});
  told.standard_hashes = true;
  at.apply(told);
  BOOST_TEST(at.reach(twelve) == 3U);
  BOOST_TEST(at.applier->orphans() == 0U);
}

BOOST_AUTO_TEST_CASE(nodes_of_any_size_are_one_prompt) {
  // A radix cache cuts its nodes where prompts part; some are of the registered size by accident.
  for (const std::vector<std::size_t>& sizes : {std::vector<std::size_t>{3, 5, 4}, {6, 4, 2}, {4, 2, 4, 2}, {1, 4, 4, 3}}) {
    for (const bool is_backwards : {false, true}) {
      page_stream at;
      std::vector<stored_event> told;
      std::size_t begin = 0;
      for (std::size_t i = 0; i < sizes.size(); begin += sizes[i++]) {
        const auto first = twelve.begin() + static_cast<std::ptrdiff_t>(begin);
        const std::optional<std::uint64_t> parent = i == 0 ? std::optional<std::uint64_t>{} : i;
        told.push_back(page_stream::page_event(i + 1, parent, {first, first + static_cast<std::ptrdiff_t>(sizes[i])}));
      }
      if (is_backwards) std::ranges::reverse(told);
      for (const stored_event& each : told) at.apply(each);
      BOOST_TEST_CONTEXT("sizes from " << sizes.front() << (is_backwards ? ", backwards" : "")) {
        BOOST_TEST(at.reach(twelve) == 3U);
        BOOST_TEST(at.applier->orphans() == 0U);
        for (std::size_t i = 0; i < sizes.size(); ++i) at.remove({i + 1});
        BOOST_TEST(at.applier->names() == 0U);
        BOOST_TEST(at.tally.unknown_removals == 0U);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_telling_without_a_parent_means_the_same_page_on_another_medium) {
  // Connectors leave the parent out of what they offload.
  page_stream at;
  at.page(1, {}, {10, 11});
  at.page(2, 1, {12, 13});
  at.page(1, {}, {10, 11}, medium_id::cpu);
  at.page(2, {}, {12, 13}, medium_id::cpu);
  BOOST_TEST(at.reach({10, 11, 12, 13}, on_gpu) == 1U);
  at.page(2, 1, {12, 13}, medium_id::cpu);
  BOOST_TEST(at.reach({10, 11, 12, 13}, on_cpu) == 1U);
  at.remove({1, 2});
  BOOST_TEST(at.reach({10, 11, 12, 13}, on_cpu) == 1U);
  BOOST_TEST(at.reach({10, 11, 12, 13}, on_gpu) == 0U);
}

BOOST_AUTO_TEST_CASE(a_copy_told_of_before_its_chunk_stands_for_all_of_it) {
  stream at(registered(publisher_type::vllm));
  for (int copy = 0; copy < 2; ++copy) at.store({21}, {}, on(medium_id::cpu));
  at.store({21}, {1, 2, 3, 4}, of_size(4));
  BOOST_TEST(at.depth({1, 2, 3, 4}, mask_of(medium_id::gpu)) == 2U);
  BOOST_TEST(at.depth({1, 2, 3, 4}, mask_of(medium_id::cpu)) == 2U);
  BOOST_TEST(at.tally.joined == 1U);
  at.remove({21});
  at.remove({21}, on(medium_id::cpu));
  BOOST_TEST(at.depth({1, 2, 3, 4}) == 2U);  // the second copy of it
  at.remove({21}, on(medium_id::cpu));
  BOOST_TEST(at.tally.unknown_removals == 0U);
  BOOST_TEST(at.applier->names() == 0U);
  BOOST_TEST(at.applier->orphans() == 0U);
}

BOOST_AUTO_TEST_CASE(a_copy_told_of_before_its_page_stands_for_no_more_than_that) {
  page_stream at;
  at.store({2}, {}, on(medium_id::cpu));
  at.page(1, {}, {1, 2});
  at.page(2, 1, {3, 4});
  BOOST_TEST(at.reach({1, 2, 3, 4}, mask_of(medium_id::cpu)) == 0U);  // half of the block is nowhere but on the device
  at.store({1}, {}, on(medium_id::cpu));
  BOOST_TEST(at.reach({1, 2, 3, 4}, mask_of(medium_id::cpu)) == 1U);
  for (const std::uint64_t page : {1U, 2U}) at.remove({page});
  BOOST_TEST(at.reach({1, 2, 3, 4}) == 1U);
  for (const std::uint64_t page : {1U, 2U}) at.remove({page}, on(medium_id::cpu));
  BOOST_TEST(at.applier->names() == 0U);
  BOOST_TEST(at.applier->orphans() == 0U);
}

BOOST_AUTO_TEST_CASE(a_page_first_told_of_without_its_parent_moves_behind_it_with_all_copies) {
  page_stream at;
  at.page(2, {}, {12, 13}, medium_id::cpu);
  at.page(3, 2, {14, 15}, medium_id::cpu);
  BOOST_TEST(at.reach({12, 13, 14, 15}) == 1U);  // as was said
  at.page(1, {}, {10, 11}, medium_id::cpu);
  at.page(1, {}, {10, 11});
  at.page(2, 1, {12, 13});
  BOOST_TEST(at.reach({12, 13, 14, 15}) == 0U);
  BOOST_TEST(at.reach({10, 11, 12, 13}, on_cpu) == 1U);
  BOOST_TEST(at.reach({10, 11, 12, 13}, on_gpu) == 1U);
}

BOOST_AUTO_TEST_CASE(what_the_byte_budget_took_is_stored_anew_when_told_again) {
  page_stream at;
  at.page(1, {}, {10, 11});
  at.page(2, 1, {12, 13});
  BOOST_REQUIRE(at.reach({10, 11, 12, 13}) == 1U);

  index_budget budget(at.all, 1, 1);
  budget.begin_round();
  (void)budget.look();
  for (int passes = 0; passes < 1'000; ++passes) {
    const auto pass = budget.pass_for(0);
    if (!pass) break;
    std::size_t left = plenty;
    while (!at.applier->evict_some(
        *pass, left, [] {}, at.tally))
      left = plenty;
    (void)budget.finish(0, *pass);
    (void)budget.look();
  }
  BOOST_REQUIRE(at.reach({10, 11, 12, 13}) == 0U);
  at.page(1, {}, {10, 11});
  at.page(2, 1, {12, 13});
  BOOST_TEST(at.reach({10, 11, 12, 13}) == 1U);
}

BOOST_AUTO_TEST_CASE(pages_that_stand_behind_each_other_in_a_ring_are_no_prompt_and_do_no_harm) {
  page_stream at;
  at.page(1, 3, {10, 11, 12});
  at.page(2, 1, {13, 14, 15});
  at.page(3, 2, {16, 17, 18});
  for (int i = 0; i < 3; ++i) {
    BOOST_TEST(at.reach({10, 11, 12, 13}) == 0U);
    at.page(1, 3, {10, 11, 12});
    at.page(2, 1, {13, 14, 15}, medium_id::cpu);
  }
  at.page(4, 4, {1, 2});  // its own parent
  at.remove({1, 2, 3, 4});
  at.remove({2}, on(medium_id::cpu));
  BOOST_TEST(at.applier->names() == 0U);
  BOOST_TEST(at.applier->orphans() == 0U);
}

BOOST_AUTO_TEST_CASE(a_long_chain_that_hears_of_its_beginning_last_does_so_in_parts) {
  constexpr std::uint64_t length = 5'000;
  page_stream at;
  words prompt{7};
  for (std::uint64_t name = 2; name <= length; ++name) {
    const auto token = static_cast<std::uint32_t>(name);
    at.page(name, name - 1, {token, token, token});
    prompt.insert(prompt.end(), 3, token);
  }
  BOOST_TEST(at.reach(prompt) == 0U);
  event_batch batch;
  batch.events.emplace_back(page_stream::page_event(1, {}, {7}));
  event_applier::progress progress;
  std::size_t pauses = 0;
  while (!at.applier->apply_some(batch, progress, 1'000, at.tally)) ++pauses;
  BOOST_TEST(pauses >= 4U);
  BOOST_TEST(at.reach(prompt) == prompt.size() / large);
  for (std::uint64_t name = 1; name <= length; ++name) at.remove({name});
  BOOST_TEST(at.applier->names() == 0U);
  BOOST_TEST(at.tally.unknown_removals == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
