// Events of more blocks than a lane may be kept busy with at once.
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/event_applier.hpp"
#include "tests/support/applier_stream.hpp"

BOOST_AUTO_TEST_SUITE(event_applier_parts)

namespace {

using namespace kvc::core;
using namespace kvc::test::applier;

constexpr std::uint32_t many = 3'500;  ///< blocks; as one event it takes some turns

/// The tokens of blocks `from` to `to` (exclusive) of one chain.
words tokens_of(std::uint32_t from, std::uint32_t to) {
  words made(std::size_t{to - from} * block_size);
  std::iota(made.begin(), made.end(), from * block_size);
  return made;
}

/// Their names, in the words of an engine.
std::vector<engine_hash> names_of(std::uint32_t from, std::uint32_t to) {
  std::vector<engine_hash> made;
  for (std::uint32_t i = from; i < to; ++i) made.emplace_back(1'000 + i);
  return made;
}

stored_event chain(std::uint32_t from, std::uint32_t to) {
  stored_event made;
  made.hashes = names_of(from, to);
  made.tokens = tokens_of(from, to);
  made.has_tokens = true;
  if (from != 0) made.parent = names_of(from - 1, from)[0];
  return made;
}

/// Applies an event; answers in how many turns.
std::size_t turns_for(stream& at, event happened) {
  event_batch batch;
  batch.events.push_back(std::move(happened));
  kvc::core::event_applier::progress where;
  std::size_t turns = 1;
  while (!at.applier->apply_some(batch, where, 256, at.tally)) ++turns;
  return turns;
}

BOOST_AUTO_TEST_CASE(a_chain_of_thousands_of_blocks_is_stored_and_removed_in_turns) {
  // Somebody else's query on this lane must not wait for all of a prompt of a million tokens.
  stream at(registered(publisher_type::vllm));
  event_batch batch;
  batch.events.emplace_back(chain(0, many));
  kvc::core::event_applier::progress where;
  BOOST_TEST(!at.applier->apply_some(batch, where, plenty, at.tally));
  BOOST_TEST(at.depth(tokens_of(0, many)) == worker_applier::names_at_once);
  at.applier->answer({});  // may come in between
  BOOST_TEST(!at.applier->apply_some(batch, where, plenty, at.tally));
  while (!at.applier->apply_some(batch, where, plenty, at.tally)) continue;
  BOOST_TEST(at.depth(tokens_of(0, many)) == many);
  BOOST_TEST(at.tally.stored == many);

  BOOST_TEST(turns_for(at, chain(many, 2 * many)) >= 4U);  // behind a parent
  BOOST_TEST(at.depth(tokens_of(0, 2 * many)) == 2 * many);
  stored_event offloaded;  // by name
  offloaded.scope = on(medium_id::cpu);
  offloaded.hashes = names_of(0, many);
  BOOST_TEST(turns_for(at, offloaded) >= 4U);
  BOOST_TEST(at.depth(tokens_of(0, 2 * many), mask_of(medium_id::cpu)) == many);

  removed_event gone{.scope = {}, .hashes = names_of(1, 2 * many)};
  BOOST_TEST(turns_for(at, gone) >= 7U);
  BOOST_TEST(at.depth(tokens_of(0, 2 * many), mask_of(medium_id::gpu)) == 1U);
  BOOST_TEST(at.depth(tokens_of(0, 2 * many)) == many);
  BOOST_TEST(at.tally.unknown_removals == 0U);
  BOOST_TEST(at.applier->names() == many);
}

BOOST_AUTO_TEST_CASE(hashes_in_place_of_tokens_are_stored_in_turns_as_well) {
  stream at(registered(publisher_type::vllm));
  stored_event hashed = chain(0, many);
  hashed.tokens.clear();
  hash_blocks(tokens_of(0, many), block_size, seed, hashed.locals);
  BOOST_TEST(turns_for(at, hashed) >= 4U);
  BOOST_TEST(at.depth(tokens_of(0, many)) == many);
  BOOST_TEST(turns_for(at, removed_event{{}, names_of(0, many), false}) >= 4U);
  BOOST_TEST(at.depth(tokens_of(0, many)) == 0U);
  BOOST_TEST(at.applier->names() == 0U);
}

BOOST_AUTO_TEST_CASE(groups_are_named_apart_in_every_part) {
  stream at(registered(publisher_type::vllm));
  stored_event made = chain(0, many);
  made.scope = in_group(3);
  BOOST_TEST(turns_for(at, made) >= 4U);
  BOOST_TEST(at.depth(tokens_of(0, many)) == many);
  BOOST_TEST(turns_for(at, removed_event{.scope = {}, .hashes = made.hashes}) >= 4U);
  BOOST_TEST(at.tally.unknown_removals == many);
  BOOST_TEST(turns_for(at, removed_event{.scope = in_group(3), .hashes = made.hashes}) >= 4U);
  BOOST_TEST(at.applier->names() == 0U);
}

BOOST_AUTO_TEST_CASE(what_waits_for_its_parent_waits_in_every_part) {
  stream at(registered(publisher_type::vllm));
  (void)turns_for(at, chain(1, many));
  BOOST_TEST(at.applier->orphans() == many - 1);
  (void)turns_for(at, chain(0, 1));
  BOOST_TEST(at.applier->orphans() == 0U);
  BOOST_TEST(at.depth(tokens_of(0, many)) == many);
}

/// One block each, and each of another adapter.
event_batch adapters(std::uint32_t count) {
  event_batch batch;
  for (std::uint32_t i = 0; i < count; ++i) {
    stored_event made = chain(i, i + 1);
    made.parent.reset();
    made.scope = with_adapter("adapter " + std::to_string(i));
    batch.events.emplace_back(std::move(made));
  }
  return batch;
}

BOOST_AUTO_TEST_CASE(a_batch_that_opens_many_partitions_is_applied_in_turns) {
  // Each is an index of its own and a change of what all queries look at, which takes longer than its block.
  constexpr std::uint32_t count = 200;
  stream at(registered(publisher_type::vllm));
  const event_batch batch = adapters(count);
  const auto turns = [&at, &batch] {
    kvc::core::event_applier::progress where;
    std::size_t taken = 1;
    while (!at.applier->apply_some(batch, where, 256, at.tally)) ++taken;
    return taken;
  };
  BOOST_TEST(turns() >= count / 8);
  BOOST_TEST(at.all.view().get()->partitions.size() == count + 1);
  BOOST_TEST(turns() <= 4U);  // now they are there
  BOOST_TEST(at.tally.stored == count);
}

/// What waits behind the last block of a chain: as many prompts of one block each.
void tell_branches(stream& at, std::uint32_t count, std::uint32_t behind) {
  for (std::uint32_t i = 0; i < count; ++i) {
    stored_event branch;
    branch.parent = names_of(behind - 1, behind)[0];
    branch.hashes = {engine_hash{100'000 + i}};
    branch.tokens = {100'000 + i, 0};
    branch.has_tokens = true;
    at.apply(std::move(branch));
  }
}

words with_branch(std::uint32_t blocks, std::uint32_t branch) {
  words made = tokens_of(0, blocks);
  made.insert(made.end(), {100'000 + branch, 0});
  return made;
}

BOOST_AUTO_TEST_CASE(what_waits_for_a_shared_prompt_joins_in_turns) {
  // After a loss tens of thousands of branches wait behind it. All at once they kept the lane for a tenth of a second.
  stream at(registered(publisher_type::vllm));
  tell_branches(at, many, 3);
  BOOST_TEST(at.applier->orphans() == many);

  event_batch batch;
  batch.events.emplace_back(chain(0, 5));  // the branches are behind a block in the middle
  kvc::core::event_applier::progress where;
  std::size_t turns = 1;
  for (std::uint64_t joined = 0; !at.applier->apply_some(batch, where, plenty, at.tally); ++turns) {
    BOOST_TEST(at.tally.joined - joined <= worker_applier::names_at_once);
    joined = at.tally.joined;
  }
  BOOST_TEST(turns >= 4U);

  BOOST_TEST(at.applier->orphans() == 0U);
  BOOST_TEST(at.tally.joined == many);
  BOOST_TEST(at.depth(tokens_of(0, 5)) == 5U);
  for (std::uint32_t i = 0; i < many; i += 7) BOOST_TEST(at.depth(with_branch(3, i)) == 4U);
  (void)turns_for(at, removed_event{{}, names_of(3, 5), false});
  BOOST_TEST(at.depth(tokens_of(0, 5)) == 3U);
}

BOOST_AUTO_TEST_CASE(a_long_chain_that_waits_joins_in_turns) {
  stream at(registered(publisher_type::vllm));
  (void)turns_for(at, chain(1, many));
  BOOST_TEST(turns_for(at, chain(0, 1)) >= 4U);
  BOOST_TEST(at.depth(tokens_of(0, many)) == many);
}

BOOST_AUTO_TEST_CASE(what_is_half_joined_can_be_dropped) {
  // A stream ends, or a batch fails, at any moment. Nothing may stay behind, and what comes next begins anew.
  stream at(registered(publisher_type::vllm));
  tell_branches(at, many, 3);
  event_batch batch;
  batch.events.emplace_back(chain(0, 3));
  kvc::core::event_applier::progress where;
  BOOST_TEST(!at.applier->apply_some(batch, where, plenty, at.tally));
  BOOST_TEST(at.tally.joined > 0U);

  while (!at.applier->drop_some(256, at.tally)) continue;
  const auto home = at.all.view().get()->partitions.begin()->second->partition;
  BOOST_TEST(home->index().blocks() == 0U);
  BOOST_TEST(at.applier->orphans() == 0U);

  at.store({11}, {1, 2});
  BOOST_TEST(at.depth({1, 2}) == 1U);
}

BOOST_AUTO_TEST_CASE(what_is_half_cleared_can_be_dropped) {
  // The clear is of another medium than what waits. What stayed behind would join in the next life.
  stream at(registered(publisher_type::vllm));
  for (std::uint32_t i = 0; i < 500; ++i) at.store({1'000 + i}, {i, i}, on(medium_id::cpu), 7);
  event_batch batch;
  batch.events.emplace_back(cleared_event{.scope = on(medium_id::gpu)});
  kvc::core::event_applier::progress where;
  BOOST_TEST(!at.applier->apply_some(batch, where, 250, at.tally));

  while (!at.applier->drop_some(256, at.tally)) continue;
  BOOST_TEST(at.applier->orphans() == 0U);
  at.store({7}, {9, 9});
  BOOST_TEST(at.depth({9, 9, 3, 3}) == 1U);
}

BOOST_AUTO_TEST_CASE(a_store_s_blocks_come_and_go_in_turns) {
  // Told by tokens, of which each part sees its own.
  stream at(registered(publisher_type::vllm, publisher_class::pool));
  stored_event made = chain(0, many);
  made.scope.object_key = "prompt";
  BOOST_TEST(turns_for(at, made) >= 4U);
  BOOST_TEST(at.depth(tokens_of(0, many)) == many);
  removed_event gone{.scope = made.scope, .hashes = names_of(2'000, many)};
  BOOST_TEST(turns_for(at, gone) >= 2U);
  BOOST_TEST(at.depth(tokens_of(0, many)) == 2'000U);
}

BOOST_AUTO_TEST_CASE(where_there_is_no_room_for_a_part_there_is_none_for_the_rest) {
  // Blocks that cannot be held must not wait for each other instead.
  stream at(registered(publisher_type::vllm));
  slot_table& slots = at.all.view().get()->partitions.begin()->second->partition->index().runs().slots();
  while (slots.has_room()) (void)slots.take(worker_id{3}, medium_id::cpu);
  (void)turns_for(at, chain(0, many));
  BOOST_TEST(at.tally.skipped == many);
  BOOST_TEST(at.applier->orphans() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
