#include "core/event_applier.hpp"

#include <cstdint>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/block_hasher.hpp"
#include "tests/support/applier_stream.hpp"

BOOST_AUTO_TEST_SUITE(event_applier)

namespace {

using namespace kvc::core;
using namespace kvc::test::applier;

BOOST_AUTO_TEST_CASE(tokens_become_blocks_of_the_registered_partition) {
  // The whole way of an ordinary event: hash, place, hold; then remove by name.
  stream at(registered(publisher_type::vllm));
  at.store({11, 12}, {1, 2, 3, 4});

  BOOST_TEST(at.depth({1, 2, 3, 4, 5}) == 2U);
  BOOST_TEST(at.who.media_seen->load() == mask_of(medium_id::gpu));
  at.remove({12});
  BOOST_TEST(at.depth({1, 2, 3, 4}) == 1U);
}

BOOST_AUTO_TEST_CASE(a_parent_and_extra_keys_are_followed) {
  // The second event of a chain, whose block carries an image.
  stream at(registered(publisher_type::vllm));
  at.store({11}, {1, 2});
  stored_event next;
  next.hashes = names({12});
  next.parent = engine_hash{11};
  next.tokens = {3, 4};
  next.has_tokens = true;
  next.extra_keys = {"image"};
  at.apply(next);

  const std::vector<local_hash> query{hash_block(words{1, 2}, seed), hash_block(words{3, 4}, seed, "image")};
  match_result answer;
  at.all.view().get()->find(registered(publisher_type::vllm).partition)->partition->index().match(query, {}, answer);
  BOOST_TEST(answer.of(worker_id{1}).any == 2U);
  BOOST_TEST(at.depth({1, 2, 3, 4}) == 1U);  // the same tokens without the image are another block
}

BOOST_AUTO_TEST_CASE(hashes_stand_for_tokens_that_were_hashed_beforehand) {
  stream at(registered(publisher_type::vllm));
  const auto recipe = at.applier->recipe();
  BOOST_TEST_REQUIRE(recipe.has_value());
  stored_event hashed;
  hashed.hashes = names({11, 12});
  hashed.has_tokens = true;
  hash_blocks(words{1, 2, 3, 4}, recipe->block_size, recipe->seed, hashed.locals);
  at.apply(hashed);
  BOOST_TEST(at.depth({1, 2, 3, 4}) == 2U);

  hashed.hashes = names({13});
  hashed.parent = engine_hash{12};
  hashed.locals = {hash_block(words{5, 6}, seed)};
  at.apply(hashed);
  BOOST_TEST(at.depth({1, 2, 3, 4, 5, 6}) == 3U);
  at.store({14}, {1, 2});  // the same block by its tokens: it has two names now
  at.remove({11});
  BOOST_TEST(at.depth({1, 2, 3, 4, 5, 6}) == 3U);
}

BOOST_AUTO_TEST_CASE(there_is_a_recipe_only_while_nobody_needs_the_tokens) {
  // A page of another size may end within a block, whose other tokens come with the next event; the standard's are checked against names.
  BOOST_TEST(!stream(registered(publisher_type::standard)).applier->recipe());
  BOOST_TEST(!stream(registered(publisher_type::mooncake, publisher_class::pool)).applier->recipe());
  stream at(registered(publisher_type::vllm));
  BOOST_TEST((at.applier->recipe() == hash_recipe{block_size, seed}));
  at.store({11}, {1, 2, 3}, of_size(3));
  BOOST_TEST(!at.applier->recipe());
  at.remove({11});
  BOOST_TEST((at.applier->recipe() == hash_recipe{block_size, seed}));
}

BOOST_AUTO_TEST_CASE(the_medium_of_an_event_goes_before_the_registered_one) {
  // Offloading rides in the engine's stream; media that were ever named are remembered for answers.
  stream at(registered(publisher_type::vllm));
  at.store({11}, {1, 2}, on(medium_id::cpu));

  BOOST_TEST(at.depth({1, 2}, mask_of(medium_id::gpu)) == 0U);
  BOOST_TEST(at.depth({1, 2}, mask_of(medium_id::cpu)) == 1U);
  at.remove({11});  // without a medium: the registered one, where it is not
  BOOST_TEST(at.tally.unknown_removals == 1U);
  at.remove({11}, on(medium_id::cpu));
  BOOST_TEST(at.depth({1, 2}) == 0U);
  BOOST_TEST(at.who.media_seen->load() == mask_of(medium_id::cpu));
}

BOOST_AUTO_TEST_CASE(a_placeholder_has_no_block_size_and_no_tokens) {
  // An offload event: names only, any number of them.
  stream at(registered(publisher_type::vllm));
  at.store({11, 12}, {1, 2, 3, 4});
  at.store({12, 11}, {}, on(medium_id::cpu));

  BOOST_TEST(at.depth({1, 2, 3, 4}, mask_of(medium_id::cpu)) == 2U);
  BOOST_TEST(at.tally.skipped == 0U);
}

BOOST_AUTO_TEST_CASE(a_placeholder_without_its_adapter_finds_its_block) {
  // The offload event of an adapter's block says nothing of the adapter.
  stream at(registered(publisher_type::vllm));
  at.store({11}, {1, 2}, with_adapter("sql"));
  at.store({11}, {}, on(medium_id::cpu));

  BOOST_TEST(at.depth({1, 2}, mask_of(medium_id::cpu), with_lora("sql")) == 1U);
  BOOST_TEST(at.depth({1, 2}, all_media) == 0U);
}

BOOST_AUTO_TEST_CASE(blocks_of_another_size_are_made_to_fit_for_engines) {
  // The registered size is the one that is asked for: a chunk of four tokens is two blocks of two, and a short page is none.
  stream at(registered(publisher_type::vllm));
  at.store({11}, {1, 2, 3, 4}, of_size(4));
  at.store({12}, {9}, of_size(1));

  BOOST_TEST(at.depth({1, 2, 3, 4}) == 2U);
  BOOST_TEST(at.tally.reblocked_pages == 2U);
  BOOST_TEST(at.tally.reblocked == 2U);
  BOOST_TEST(at.tally.skipped == 0U);
  BOOST_TEST(at.all.view().get()->partitions.size() == 1U);
}

BOOST_AUTO_TEST_CASE(blocks_of_another_size_open_a_partition_for_the_standard) {
  // There the size is part of the identity that every event carries.
  stream at(registered(publisher_type::standard));
  at.store({11}, {1, 2, 3}, of_size(3));

  partition_key key = registered(publisher_type::standard).partition;
  key.block_size = 3;
  BOOST_TEST(at.depth({1, 2, 3}, all_media, key) == 1U);
  BOOST_TEST(at.tally.skipped == 0U);
}

BOOST_AUTO_TEST_CASE(tokens_that_do_not_fit_the_names_are_never_distributed_among_them) {
  // Masked blocks are left out of the names but not of the tokens: which is which cannot be known, so the names alone are believed.
  stream at(registered(publisher_type::vllm));
  at.store({11, 12}, {1, 2, 3});
  at.store({13}, {1, 2, 3, 4});
  BOOST_TEST(at.depth({1, 2, 3, 4}) == 0U);
  BOOST_TEST(at.applier->names() == 0U);
  BOOST_TEST(at.applier->orphans() == 3U);

  at.store({11}, {1, 2});  // now it is known what one of them is
  BOOST_TEST(at.depth({1, 2}) == 1U);
  BOOST_TEST(at.applier->orphans() == 2U);
}

BOOST_AUTO_TEST_CASE(names_by_the_standard_need_no_tokens_that_fit) {
  // A partial block at the end has tokens and no name.
  stream at(registered(publisher_type::standard));
  std::vector<local_hash> locals;
  hash_blocks(words{1, 2, 3, 4}, block_size, seed, locals);
  const seq_hash first = first_in_sequence(locals[0]);
  event_scope scope;
  scope.names_span_groups = true;
  at.store({first.get(), roll(first, locals[1], seed).get()}, {1, 2, 3, 4, 5}, scope);
  BOOST_TEST(at.depth({1, 2, 3, 4}) == 2U);
  BOOST_TEST(at.applier->orphans() == 0U);
}

BOOST_AUTO_TEST_CASE(groups_that_cannot_answer_for_a_prefix_are_tracked_and_never_counted) {
  // A removal of such a group names its group only; its hash may be that of a good block in another group.
  stream at(registered(publisher_type::vllm));
  at.store({11}, {1, 2});
  at.store({11}, {1, 2}, in_group(1, false));
  BOOST_TEST(at.applier->uncounted() == 1U);
  at.remove({11}, in_group(1));

  BOOST_TEST(at.applier->uncounted() == 0U);
  BOOST_TEST(at.tally.uncounted == 1U);
  BOOST_TEST(at.tally.skipped == 0U);
  BOOST_TEST(at.tally.unknown_removals == 0U);
  BOOST_TEST(at.depth({1, 2}) == 1U);
}

BOOST_AUTO_TEST_CASE(what_was_stored_before_its_group_is_known_for_a_window_can_be_removed) {
  // A removal means what was stored, not what its group has turned out to be: else such blocks would be held for ever.
  stream at(registered(publisher_type::vllm));
  at.store({11, 12}, {1, 2, 3, 4});
  at.store({13}, {5, 6}, in_group(0, false));
  BOOST_TEST(at.depth({1, 2, 3, 4}) == 2U);
  at.remove({12, 13});
  BOOST_TEST(at.depth({1, 2, 3, 4}) == 1U);
  BOOST_TEST(at.applier->uncounted() == 0U);
  at.remove({11});
  BOOST_TEST(at.applier->names() == 0U);
  at.remove({14});  // a window may have held more than is tracked
  BOOST_TEST(at.tally.unknown_removals == 0U);
}

BOOST_AUTO_TEST_CASE(what_names_neither_group_nor_kind_counts_beside_a_window) {
  // A hybrid engine's first group is a window; what its connectors say of other tiers names no group, and is whole unless it says
  // otherwise.
  constexpr media_mask cpu = mask_of(medium_id::cpu);
  stream at(registered(publisher_type::vllm));
  at.store({11, 12}, {1, 2, 3, 4}, in_group(0, false));
  at.store({11, 12}, {1, 2, 3, 4}, in_group(1));
  event_scope chunk = on(medium_id::cpu);
  chunk.block_size = 4;
  at.store({77}, {1, 2, 3, 4}, chunk);
  BOOST_TEST(at.depth({1, 2, 3, 4}, cpu) == 2U);
  at.store({11, 12}, {1, 2, 3, 4}, on(medium_id::cpu));
  at.remove({77}, on(medium_id::cpu));
  BOOST_TEST(at.depth({1, 2, 3, 4}, cpu) == 2U);
  at.remove({12}, on(medium_id::cpu));
  BOOST_TEST(at.depth({1, 2, 3, 4}, cpu) == 1U);
  BOOST_TEST(at.applier->uncounted() == 2U);  // those of the window, in memory of the device
  BOOST_TEST(at.depth({1, 2, 3, 4}, mask_of(medium_id::gpu)) == 2U);
  at.remove({11, 12}, in_group(0));
  BOOST_TEST(at.applier->uncounted() == 0U);
  BOOST_TEST(at.depth({1, 2, 3, 4}, mask_of(medium_id::gpu)) == 2U);
}

BOOST_AUTO_TEST_CASE(a_store_that_names_a_window_s_group_without_its_kind_does_not_count) {
  // It says which group it is about, and what that group is has been said.
  stream at(registered(publisher_type::vllm));
  at.store({11}, {1, 2}, in_group(1, false));
  event_scope again = in_group(1);
  again.takes_kind_of_group = true;
  at.store({12}, {3, 4}, again);
  BOOST_TEST(at.depth({3, 4}) == 0U);
  BOOST_TEST(at.applier->uncounted() == 2U);
  again.group = 2;  // nobody has said anything about this one
  at.store({13}, {5, 6}, again);
  BOOST_TEST(at.depth({5, 6}) == 1U);
}

BOOST_AUTO_TEST_CASE(a_new_generation_may_number_its_groups_in_another_way) {
  // An engine that was started with another model has the same stream.
  stream at(registered(publisher_type::vllm));
  at.store({11}, {1, 2}, in_group(0, false));
  BOOST_TEST(at.depth({1, 2}) == 0U);
  while (!at.applier->drop_some(plenty, at.tally)) continue;
  at.store({11}, {1, 2});

  BOOST_TEST(at.depth({1, 2}) == 1U);
  BOOST_TEST(at.applier->uncounted() == 0U);
}

BOOST_AUTO_TEST_CASE(groups_have_names_of_their_own) {
  // Two groups of a hybrid engine use one hash for different blocks.
  stream at(registered(publisher_type::vllm));
  at.store({11}, {1, 2});
  at.store({11}, {5, 6}, in_group(1));
  BOOST_TEST(at.depth({1, 2}) == 1U);
  BOOST_TEST(at.depth({5, 6}) == 1U);

  stored_event next;
  next.scope.group = 1;
  next.hashes = names({12});
  next.parent = engine_hash{11};
  next.tokens = {7, 8};
  at.apply(next);
  BOOST_TEST(at.depth({5, 6, 7, 8}) == 2U);
  at.remove({11}, in_group(1));
  BOOST_TEST(at.depth({1, 2}) == 1U);
  BOOST_TEST(at.depth({5, 6}) == 0U);
}

BOOST_AUTO_TEST_CASE(a_block_counts_while_any_group_that_answers_for_a_prefix_holds_it) {
  // The engine needs it in all of them, but nothing says which there are: see the decisions in core/README.md.
  stream at(registered(publisher_type::vllm));
  for (const std::uint32_t group : {0U, 2U}) at.store({11, 12}, {1, 2, 3, 4}, in_group(group));
  at.store({11, 12}, {1, 2, 3, 4}, in_group(1, false));
  at.remove({12}, in_group(2));
  BOOST_TEST(at.depth({1, 2, 3, 4}) == 2U);
  at.remove({12}, in_group(0));
  BOOST_TEST(at.depth({1, 2, 3, 4}) == 1U);  // the window, which still holds it, is not asked
  for (const std::uint32_t group : {0U, 1U, 2U}) at.remove({11}, in_group(group));
  BOOST_TEST(at.depth({1, 2}) == 0U);
  BOOST_TEST(at.applier->names() == 0U);
}

BOOST_AUTO_TEST_CASE(standard_hashes_mean_the_same_in_every_group) {
  // They identify the block, so a removal finds it whatever its group.
  for (const publisher_type type : {publisher_type::standard, publisher_type::automatic}) {
    stream at(registered(type));
    std::vector<local_hash> locals;
    std::vector<seq_hash> rolled;
    hash_blocks(words{1, 2, 3, 4}, block_size, seed, locals);
    roll_from_root(locals, seed, rolled);
    stored_event made;
    made.scope.group = 3;
    made.scope.names_span_groups = true;
    made.standard_hashes = true;
    made.hashes = {engine_hash{rolled[0].get()}, engine_hash{rolled[1].get()}};
    at.apply(made);

    BOOST_TEST(at.depth({1, 2, 3, 4}) == 2U);
    at.apply(removed_event{.scope = made.scope, .hashes = made.hashes});
    BOOST_TEST(at.depth({1, 2, 3, 4}) == 0U);
    BOOST_TEST(at.applier->names() == 0U);
  }
}

BOOST_AUTO_TEST_CASE(a_standard_event_changes_nothing_about_the_groups_of_an_engine) {
  // Streams are mixed: how names are meant is a matter of each event.
  stream at(registered(publisher_type::automatic));
  at.store({11}, {1, 2}, in_group(2));
  stored_event standard;
  standard.standard_hashes = true;
  standard.scope.names_span_groups = true;
  standard.hashes = names({777});
  at.apply(standard);
  at.remove({11}, in_group(2));

  BOOST_TEST(at.depth({1, 2}) == 0U);
  BOOST_TEST(at.tally.unknown_removals == 0U);
}

BOOST_AUTO_TEST_CASE(a_position_without_a_parent_is_not_a_root) {
  // For the standard the names then say where they stand; for an engine nothing does.
  stored_event made;
  made.hashes = names({11});
  made.base = position{4};
  made.tokens = {1, 2};
  made.has_tokens = true;
  stream engine(registered(publisher_type::vllm));
  engine.apply(made);
  BOOST_TEST(engine.tally.skipped == 1U);
  BOOST_TEST(engine.depth({1, 2}) == 0U);

  made.base = position{0};
  engine.apply(made);
  BOOST_TEST(engine.depth({1, 2}) == 1U);

  std::vector<local_hash> locals;
  std::vector<seq_hash> rolled;
  hash_blocks(words{1, 2, 3, 4}, block_size, seed, locals);
  roll_from_root(locals, seed, rolled);
  stream standard(registered(publisher_type::standard));
  standard.store({rolled[0].get()}, {1, 2});
  stored_event next;
  next.hashes = {engine_hash{rolled[1].get()}};
  next.base = position{1};
  next.tokens = {3, 4};
  standard.apply(next);
  BOOST_TEST(standard.depth({1, 2, 3, 4}) == 2U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
