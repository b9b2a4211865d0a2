// The applier across partitions and turns: scopes, clears, bounds, leaving.
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "tests/support/applier_stream.hpp"

BOOST_AUTO_TEST_SUITE(event_applier_scopes)

namespace {

using namespace kvc::core;
using namespace kvc::test::applier;

BOOST_AUTO_TEST_CASE(an_event_may_speak_about_another_partition) {
  // Adapters, and the full envelope: tenant, model and salt too. The catalog learns the partition.
  stream at(registered(publisher_type::vllm));
  at.store({11}, {1, 2}, with_adapter("sql"));
  at.store({12}, {1, 2}, envelope("t", "n", {}, "s"));
  at.store({13}, {3, 4}, envelope("default", "m", "", {}));  // its own, spelled out

  BOOST_TEST(at.all.view().get()->partitions.size() == 3U);
  BOOST_TEST(at.depth({1, 2}) == 0U);
  BOOST_TEST(at.depth({3, 4}) == 1U);
  BOOST_TEST(at.depth({1, 2}, all_media, with_lora("sql")) == 1U);
  BOOST_TEST(at.depth({1, 2}, all_media, {.tenant = "t", .model = "n", .lora = "", .salt = "s", .block_size = block_size}) == 1U);
  at.remove({11, 12});  // a removal needs the name only
  BOOST_TEST(at.applier->names() == 1U);
}

BOOST_AUTO_TEST_CASE(partitions_of_a_stream_are_bounded) {
  // A publisher that invents adapters must not fill the catalog.
  stream at(registered(publisher_type::vllm), {.max_partitions = 2});
  std::uint64_t name = 11;
  for (const char* lora : {"a", "b", "c", "a"}) at.store({name++}, {1, 2}, with_adapter(lora));

  BOOST_TEST(at.tally.skipped == 1U);
  BOOST_TEST(at.tally.beyond_partitions == 1U);
  BOOST_TEST(at.all.view().get()->partitions.size() == 3U);
}

BOOST_AUTO_TEST_CASE(an_empty_partition_gives_way_to_another_one) {
  // Adapters come and go while an engine runs; those that have gone must not keep the others out for good.
  stream at(registered(publisher_type::vllm), {.max_partitions = 3});
  at.store({11}, {1, 2}, with_adapter("a"));
  at.store({12}, {1, 2}, with_adapter("b"));
  stored_event waiting;
  waiting.scope = with_adapter("c");
  waiting.hashes = names({22});
  waiting.parent = engine_hash{21};
  waiting.tokens = {3, 4};
  waiting.has_tokens = true;
  at.apply(waiting);
  at.store({13}, {1, 2}, with_adapter("d"));
  BOOST_TEST(at.tally.beyond_partitions == 1U);
  at.remove({12});
  for (int again = 0; again < 2; ++again) at.store({13}, {1, 2}, with_adapter("d"));  // not looked for each time

  BOOST_TEST(at.depth({1, 2}, all_media, with_lora("a")) == 1U);
  BOOST_TEST(at.depth({1, 2}, all_media, with_lora("d")) == 1U);
  BOOST_TEST(at.all.view().get()->find(with_lora("b")) == nullptr);
  at.store({21}, {1, 2}, with_adapter("c"));  // what waited there still does
  BOOST_TEST(at.depth({1, 2, 3, 4}, all_media, with_lora("c")) == 2U);
  at.remove({11, 13, 21, 22});
  for (const char* lora : {"e", "f", "g"}) at.store({14}, {1, 2}, with_adapter(lora));
  BOOST_TEST(at.depth({1, 2}, all_media, with_lora("g")) == 1U);
}

BOOST_AUTO_TEST_CASE(a_store_s_partitions_without_objects_give_way) {
  // Tenants and adapters come and go; a store used to be able to serve 256 of them, ever.
  stream at(registered(publisher_type::mooncake, publisher_class::pool), {.max_partitions = 3});
  const auto object_in = [&at](const std::string& lora, const char* key, bool is_there) {
    event_scope scope = with_adapter(lora);
    scope.object_key = key;
    if (is_there) {
      stored_event made;
      made.scope = scope;
      made.hashes = names({11});
      made.tokens = {1, 2};
      made.has_tokens = true;
      at.apply(made);
    } else {
      at.apply(removed_event{.scope = scope, .hashes = names({11})});
    }
  };
  object_in("stays", "kept", true);
  for (int i = 0; i < 40; ++i) {
    const std::string lora = "a" + std::to_string(i);
    object_in(lora, "key", true);
    BOOST_TEST(at.depth({1, 2}, all_media, with_lora(lora)) == 1U, lora);
    object_in(lora, "key", false);
  }

  BOOST_TEST(at.depth({1, 2}, all_media, with_lora("stays")) == 1U);
  BOOST_TEST(at.tally.beyond_partitions == 0U);
  BOOST_TEST(at.all.view().get()->partitions.size() <= 4U);
}

BOOST_AUTO_TEST_CASE(a_search_for_room_that_finds_little_is_made_rarely) {
  // A publisher that keeps its partitions full must not have everything looked through with each of its events.
  stream at(registered(publisher_type::vllm), {.max_partitions = 2});
  at.store({11}, {1, 2}, with_adapter("a"));
  at.store({12}, {1, 2}, with_adapter("b"));
  for (int i = 0; i < 20; ++i) at.store({13}, {1, 2}, with_adapter("c"));
  at.remove({12});
  at.store({13}, {1, 2}, with_adapter("c"));
  BOOST_TEST(at.tally.beyond_partitions == 21U);
  for (int i = 0; i < 1'024; ++i) at.store({13}, {1, 2}, with_adapter("c"));
  BOOST_TEST(at.depth({1, 2}, all_media, with_lora("c")) == 1U);
}

BOOST_AUTO_TEST_CASE(a_new_generation_begins_in_its_own_partition) {
  // Another incarnation has adapters of its own; those of the last one are no longer asked about.
  for (const auto kind : {publisher_class::engine, publisher_class::pool}) {
    stream at(registered(publisher_type::vllm, kind), {.max_partitions = 2});
    at.store({11}, {1, 2}, with_adapter("a"));
    at.store({12}, {1, 2}, with_adapter("b"));
    at.store({13}, {1, 2}, with_adapter("c"));
    BOOST_TEST(at.tally.beyond_partitions == 1U);
    while (!at.applier->drop_some(1, at.tally)) continue;
    BOOST_TEST(at.all.view().get()->partitions.size() == 1U);
    at.store({12}, {1, 2}, with_adapter("c"));
    at.store({13}, {1, 2}, with_adapter("d"));
    at.store({14}, {1, 2});

    BOOST_TEST(at.tally.beyond_partitions == 1U);
    BOOST_TEST(at.depth({1, 2}) == 1U);
    BOOST_TEST(at.depth({1, 2}, all_media, with_lora("c")) == 1U);
    BOOST_TEST(at.depth({1, 2}, all_media, with_lora("d")) == 1U);
  }
}

BOOST_AUTO_TEST_CASE(a_partition_under_another_seed_is_left_alone) {
  // Somebody else opened it first; its hashes would never meet ours.
  stream at(registered(publisher_type::vllm));
  member other = at.who;
  other.id = worker_id{2};
  BOOST_REQUIRE(at.all.join(with_lora("sql"), seed + 1, other).has_value());
  at.store({11}, {1, 2}, with_adapter("sql"));

  BOOST_TEST(at.tally.skipped == 1U);
  registration wrong = registered(publisher_type::vllm);
  wrong.hash_seed = seed + 1;
  BOOST_CHECK_THROW(kvc::core::event_applier(wrong, other, at.all, {}), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(a_clear_of_an_engine_resets_its_own_device) {
  // Offloaded copies survive; adapters do not.
  stream at(registered(publisher_type::vllm));
  at.store({11}, {1, 2});
  at.store({11}, {}, on(medium_id::cpu));
  at.store({21}, {5, 6}, with_adapter("sql"));
  at.clear();

  BOOST_TEST(at.depth({1, 2}, mask_of(medium_id::gpu)) == 0U);
  BOOST_TEST(at.depth({1, 2}, mask_of(medium_id::cpu)) == 1U);
  BOOST_TEST(at.depth({5, 6}, all_media, with_lora("sql")) == 0U);
  at.clear(on(medium_id::cpu));
  BOOST_TEST(at.depth({1, 2}) == 0U);
}

BOOST_AUTO_TEST_CASE(a_clear_of_a_pool_or_of_the_standard_means_every_medium) {
  // Their clears name no medium because all of them are meant.
  for (const auto& who : {registered(publisher_type::mooncake, publisher_class::pool), registered(publisher_type::standard),
                          registered(publisher_type::vllm, publisher_class::pool)}) {
    stream at(who);
    at.store({11}, {1, 2}, on(medium_id::disk));
    at.store({12}, {3, 4}, on(medium_id::cpu));
    at.clear();
    BOOST_TEST(at.applier->names() == 0U);
  }
}

BOOST_AUTO_TEST_CASE(a_clear_of_another_medium_is_not_one_of_everything) {
  // A stream that was joined late, and has spoken of nothing yet: what was lost will have been on its own medium.
  const event_batch batch;
  stream at(registered(publisher_type::standard));
  BOOST_TEST(!at.applier->clears_everything(cleared_event{.scope = on(medium_id::disk)}, batch));
  at.store({11}, {1, 2}, on(medium_id::disk));
  BOOST_TEST(!at.applier->clears_everything(cleared_event{.scope = on(medium_id::disk)}, batch));
  BOOST_TEST(!at.applier->clears_everything(cleared_event{.scope = on(medium_id::gpu)}, batch));
  BOOST_TEST(at.applier->clears_everything(cleared_event{}, batch));
  stream device(registered(publisher_type::vllm));
  BOOST_TEST(device.applier->clears_everything(cleared_event{}, batch));
}

BOOST_AUTO_TEST_CASE(a_clear_takes_the_partitions_that_agree_with_what_it_names) {
  // The envelope names dimensions; those it leaves out are not restricted.
  const event_scope sql = with_adapter("sql");
  const event_scope other_model = envelope({}, "n", {}, {});
  const event_scope other_tenant = envelope("t", {}, {}, {});
  const auto filled = [&] {
    auto at = std::make_unique<stream>(registered(publisher_type::standard));
    at->store({11}, {1, 2});
    at->store({12}, {1, 2}, sql);
    at->store({13}, {1, 2}, other_model);
    at->store({14}, {1, 2}, other_tenant);
    return at;
  };
  event_scope own = envelope("default", "m", "", "");
  own.block_size = block_size;
  const std::vector<std::pair<event_scope, std::size_t>> left{{envelope({}, "m", {}, {}), 1},  // base, adapter and the other tenant's go
                                                              {with_adapter(""), 1},           // all but the adapter's
                                                              {sql, 3},
                                                              {other_tenant, 3},
                                                              {envelope("default", {}, {}, {}), 1},
                                                              {envelope({}, "never seen", {}, {}), 4},
                                                              {of_size(64), 4},
                                                              {own, 3}};
  for (const auto& [scope, names_left] : left) {
    const auto at = filled();
    at->clear(scope);
    BOOST_TEST(at->applier->names() == names_left);
    BOOST_TEST(at->all.view().get()->partitions.size() == 4U);  // a clear opens nothing
  }
}

BOOST_AUTO_TEST_CASE(adapters_and_salts_share_the_hashes_of_the_standard_and_nothing_else) {
  // The usual case of a fleet with adapters: one system prompt, stored under each of them.
  stream at(registered(publisher_type::standard));
  std::vector<local_hash> locals;
  std::vector<seq_hash> rolled;
  hash_blocks(words{1, 2, 3, 4}, block_size, seed, locals);
  roll_from_root(locals, seed, rolled);
  const std::vector<engine_hash> both{engine_hash{rolled[0].get()}, engine_hash{rolled[1].get()}};
  const auto store = [&](const event_scope& scope) {
    stored_event made;
    made.scope = scope;
    made.standard_hashes = true;
    made.hashes = both;
    at.apply(made);
  };
  const auto depth_in = [&](const std::string& lora, const std::string& salt) {
    partition_key key = registered(publisher_type::standard).partition;
    key.lora = lora;
    key.salt = salt;
    return at.depth({1, 2, 3, 4}, all_media, key);
  };
  const event_scope salted = envelope({}, {}, {}, "tenant's");
  store({});
  store(with_adapter("sql"));
  store(salted);
  BOOST_TEST(depth_in("", "") == 2U);
  BOOST_TEST(depth_in("sql", "") == 2U);
  BOOST_TEST(depth_in("", "tenant's") == 2U);

  at.apply(removed_event{.scope = with_adapter("sql"), .hashes = {both[1]}});
  BOOST_TEST(depth_in("", "") == 2U);
  BOOST_TEST(depth_in("sql", "") == 1U);
  at.apply(removed_event{.scope = with_adapter("never seen"), .hashes = both});
  BOOST_TEST(depth_in("", "") == 2U);
  BOOST_TEST(depth_in("", "tenant's") == 2U);
  at.apply(removed_event{.scope = {}, .hashes = both});  // the registered partition's first
  BOOST_TEST(depth_in("", "") == 0U);
  BOOST_TEST(depth_in("", "tenant's") == 2U);
  at.apply(removed_event{.scope = {}, .hashes = both});  // of a publisher that names the salt when it stores only
  BOOST_TEST(depth_in("", "tenant's") == 0U);
  at.clear();
  BOOST_TEST(at.applier->names() == 0U);
}

BOOST_AUTO_TEST_CASE(a_block_that_waits_for_its_parent_leaves_equal_blocks_of_other_partitions_alone) {
  // By the standard, and with tokens: the same child is there for an adapter, and comes before its parent for the base model.
  for (const bool is_last_of_chain : {true, false}) {  // held in a list of names, and by itself
    stream at(registered(publisher_type::standard));
    std::vector<local_hash> locals;
    std::vector<seq_hash> rolled;
    hash_blocks(words{1, 2, 3, 4, 5, 6}, block_size, seed, locals);
    roll_from_root(locals, seed, rolled);
    const auto name = [&rolled](std::size_t block) { return rolled[block].get(); };
    at.store({name(0), name(1)}, {1, 2, 3, 4}, with_adapter("sql"));
    if (!is_last_of_chain) at.store({name(2)}, {5, 6}, with_adapter("sql"), name(1));

    at.store({name(1)}, {3, 4}, with_adapter(""), name(0));
    BOOST_TEST(at.applier->orphans() == 1U);
    BOOST_TEST(at.depth({1, 2, 3, 4}, all_media, with_lora("sql")) == 2U);
    BOOST_TEST(at.depth({1, 2, 3, 4}) == 0U);
    // Nor does it stop waiting because the other one is told of again, or is removed.
    at.store({name(0), name(1)}, {1, 2, 3, 4}, with_adapter("sql"));
    for (int copies = 2; copies >= 0; --copies) at.remove({name(1)}, with_adapter("sql"));  // and once more
    BOOST_TEST(at.applier->orphans() == 1U);
    BOOST_TEST(at.depth({1, 2, 3, 4}, all_media, with_lora("sql")) == 1U);
    at.store({name(0)}, {1, 2}, with_adapter(""));
    BOOST_TEST(at.depth({1, 2, 3, 4}) == 2U);
    BOOST_TEST(at.applier->orphans() == 0U);
  }
}

BOOST_AUTO_TEST_CASE(a_removal_from_an_adapter_that_was_never_heard_of_takes_nothing_else) {
  // The stream was joined late: the adapter's block of this name was stored before, and the base model's is another one.
  stream at(registered(publisher_type::standard));
  const local_hash local = hash_block(words{1, 2}, seed);
  stored_event made;
  made.standard_hashes = true;
  made.hashes = {engine_hash{first_in_sequence(local).get()}};
  at.apply(made);
  at.apply(removed_event{.scope = with_adapter("sql"), .hashes = made.hashes});
  BOOST_TEST(at.depth({1, 2}) == 1U);
  BOOST_TEST(at.tally.unknown_removals == 1U);
  at.apply(removed_event{.scope = with_adapter(""), .hashes = made.hashes});
  BOOST_TEST(at.depth({1, 2}) == 0U);
}

BOOST_AUTO_TEST_CASE(a_clear_of_a_store_means_its_tenant_whatever_else_it_fills_in) {
  // The model, the size and the rest come from the configuration of whoever publishes, not from the blocks.
  for (const auto& who : {registered(publisher_type::mooncake, publisher_class::pool), registered(publisher_type::mooncake),
                          registered(publisher_type::vllm, publisher_class::pool)}) {
    stream at(who);
    at.store({11}, {1, 2});
    at.store({12}, {1, 2}, with_adapter("sql"));
    at.store({13}, {1, 2}, envelope("t", {}, {}, {}));
    event_scope filled_in = envelope("default", "fallback-model", "", "s");
    filled_in.block_size = 64;
    at.clear(filled_in);
    BOOST_TEST(at.depth({1, 2}) == 0U);
    BOOST_TEST(at.depth({1, 2}, all_media, with_lora("sql")) == 0U);
    BOOST_TEST(at.applier->names() == 1U);
    at.clear(envelope({}, "fallback-model", {}, {}));
    BOOST_TEST(at.applier->names() == 0U);
  }
}

BOOST_AUTO_TEST_CASE(large_batches_are_applied_in_turns) {
  // A lane answers queries between the turns; a clear in the middle is split as well.
  stream at(registered(publisher_type::vllm));
  event_batch batch;
  for (std::uint64_t i = 1; i <= 10; ++i) {
    stored_event made;
    made.hashes = names({i});
    made.tokens = {static_cast<std::uint32_t>(i), 0};
    batch.events.emplace_back(made);
  }
  batch.events.emplace_back(cleared_event{});
  stored_event last;
  last.hashes = names({99});
  last.tokens = {7, 7};
  batch.events.emplace_back(last);
  kvc::core::event_applier::progress where;
  int turns = 1;
  while (!at.applier->apply_some(batch, where, 4, at.tally)) ++turns;

  BOOST_TEST(turns >= 7);
  BOOST_TEST(at.tally.stored == 11U);
  BOOST_TEST(at.tally.removed == 10U);
  BOOST_TEST(at.depth({7, 7}) == 1U);
  BOOST_TEST(at.applier->names() == 1U);
}

BOOST_AUTO_TEST_CASE(leaving_and_dropping_end_a_worker) {
  // First queries stop seeing it, then its blocks go in turns, even when a clear was left in the middle.
  stream at(registered(publisher_type::vllm));
  for (std::uint64_t i = 1; i <= 10; ++i) at.store({i}, {static_cast<std::uint32_t>(i), 0});
  const auto home = at.all.view().get()->find(registered(publisher_type::vllm).partition)->partition;
  event_batch batch;
  batch.events.emplace_back(cleared_event{});
  kvc::core::event_applier::progress where;
  BOOST_TEST(!at.applier->apply_some(batch, where, 3, at.tally));
  at.applier->leave();

  BOOST_TEST(at.all.view().get()->partitions.empty());
  int turns = 1;
  while (!at.applier->drop_some(2, at.tally)) ++turns;
  BOOST_TEST(turns >= 4);
  BOOST_TEST(home->index().blocks() == 0U);
  BOOST_TEST(at.applier->drop_some(2, at.tally));
}

BOOST_AUTO_TEST_CASE(an_empty_batch_is_finished_at_once) {
  // It still has a number in the stream.
  stream at(registered(publisher_type::vllm));
  kvc::core::event_applier::progress where;
  BOOST_TEST(at.applier->apply_some(kvc::core::event_batch{}, where, 1, at.tally));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
