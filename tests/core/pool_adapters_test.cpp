// Whose a store's block is, where several adapters have the same blocks under the same names: what the store says goes before what engines
// explain, and what nobody says is in doubt.
#include <boost/test/unit_test.hpp>

#include "tests/support/pool_scene.hpp"

namespace kvc::test::pools {
BOOST_AUTO_TEST_SUITE(pool_adapters)

namespace {

const words prompt{1, 2, 3, 4};

std::vector<std::uint64_t> standard_names() {
  std::vector<local_hash> locals;
  hash_blocks(prompt, block_size, applier::seed, locals);
  const seq_hash first = first_in_sequence(locals[0]);
  return {first.get(), roll(first, locals[1], applier::seed).get()};
}

event of(std::string lora, event told) {
  std::visit([&](auto& each) { each.scope.lora = std::move(lora); }, told);
  return told;
}

/// A store's word about blocks without tokens and without keys.
event named(const std::vector<std::uint64_t>& which) {
  return store_of(which, {});
}

/// Two engines by the standard with the same prompt: one has it for everybody and for an adapter, the other for nobody.
struct fleet {
  scene at;
  one_stream& engine = at.engine("a", publisher_type::standard);
  one_stream& idle = at.engine("b", publisher_type::standard);
  one_stream& store = at.pool(1);

  fleet() {
    idle.apply(of("sql", store_of({7}, {9, 9})));  // a member of the adapter's partition
    idle.apply(of("sql", remove_of({7})));
  }
  void engine_stores(const std::string& lora) { engine.apply(of(lora, store_of(standard_names(), prompt))); }
  void check(unsigned everybodys, unsigned adapters) {
    at.settle();
    BOOST_TEST(at.depth(idle, prompt) == everybodys);
    BOOST_TEST(at.depth(idle, prompt, all_media, "sql") == adapters);
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_store_that_names_the_adapter_is_believed) {
  // Before, the block went wherever an engine had the name: here to everybody's.
  for (const bool is_engine_first : {false, true}) {
    fleet now;
    if (is_engine_first) now.engine_stores("");
    now.store.apply(of("sql", named(standard_names())));
    if (!is_engine_first) now.engine_stores("");
    now.check(0, 2);
    now.engine_stores("sql");
    now.check(0, 2);
    now.store.apply(of("sql", remove_of(standard_names())));
    now.check(0, 0);
  }
}

BOOST_AUTO_TEST_CASE(a_store_that_names_no_adapter_by_an_empty_word_is_believed) {
  for (const bool is_engine_first : {false, true}) {
    fleet now;
    if (is_engine_first) now.engine_stores("sql");
    now.store.apply(of("", named(standard_names())));
    if (!is_engine_first) now.engine_stores("sql");
    now.check(2, 0);
    now.engine_stores("");
    now.check(2, 0);
    BOOST_TEST(now.store.applier->pooled().doubtful == 0U);
    now.store.apply(of("", remove_of(standard_names())));
    now.check(0, 0);
  }
}

BOOST_AUTO_TEST_CASE(one_store_keeps_the_same_block_for_two) {
  fleet now;
  now.engine_stores("");
  now.engine_stores("sql");
  now.store.apply(of("", named(standard_names())));
  now.store.apply(of("sql", named(standard_names())));
  now.check(2, 2);
  now.store.apply(of("", remove_of({standard_names()[1]})));
  now.check(1, 2);
  now.store.apply(of("sql", remove_of({standard_names()[0]})));
  now.check(1, 0);
}

BOOST_AUTO_TEST_CASE(a_name_of_two_adapters_is_in_doubt_where_the_store_says_nothing) {
  // Whoever is asked tells of all that have it; before, an engine that was asked told of the newest, so that it hung on the order of
  // events.
  for (const bool is_engine_first : {false, true}) {
    fleet now;
    if (!is_engine_first) now.store.apply(named(standard_names()));
    now.engine_stores("");
    now.engine_stores("sql");
    if (is_engine_first) now.store.apply(named(standard_names()));
    now.check(0, 0);
    BOOST_TEST(now.store.applier->pooled().doubtful == 2U);
  }
}

BOOST_AUTO_TEST_CASE(what_is_named_later_is_no_longer_in_doubt) {
  fleet now;
  now.engine_stores("");
  now.engine_stores("sql");
  now.store.apply(named(standard_names()));
  now.check(0, 0);
  now.store.apply(of("", named(standard_names())));
  now.check(2, 0);
  BOOST_TEST(now.store.applier->pooled().doubtful == 0U);
  now.store.apply(named(standard_names()));  // told again by who names nothing: it is the same block
  now.check(2, 0);
  now.store.apply(remove_of(standard_names()));
  now.check(0, 0);
  BOOST_TEST(!now.at.all.view().get()->partitions.begin()->second->partition->names()->is_in_use());
}

BOOST_AUTO_TEST_CASE(only_engines_of_the_adapter_explain_what_is_named) {
  // Which block an engine's own name means it still has to tell; that of another adapter may mean another block by it.
  fleet now;
  auto& vllm = now.at.engine("c");
  now.store.apply(of("sql", object_of(vllm_key(11))));
  vllm.apply(store_of({11}, {1, 2}));
  now.check(0, 0);
  BOOST_TEST(now.store.applier->pooled().waiting == 1U);
  auto& other = now.at.engine("d");
  other.apply(of("sql", store_of({11}, {1, 2})));
  now.check(0, 1);
  other.apply(of("sql", store_of({11}, {5, 6})));
  now.check(0, 0);
  BOOST_TEST(now.store.applier->pooled().doubtful == 1U);
}

BOOST_AUTO_TEST_CASE(what_stands_behind_a_parent_stays_with_its_adapter) {
  fleet now;
  auto& vllm = now.at.engine("c");
  vllm.apply(store_of({11}, {1, 2}));
  object_event tail = std::get<object_event>(object_of("tail"));
  tail.name = engine_hash{12};
  tail.parent = engine_hash{11};
  tail.tokens = {3, 4};
  now.store.apply(of("sql", tail));
  now.store.apply(of("sql", object_of(vllm_key(11))));
  now.check(0, 0);
  auto& other = now.at.engine("d");
  other.apply(of("sql", store_of({11}, {1, 2})));
  now.check(0, 2);
}

BOOST_AUTO_TEST_CASE(a_removal_takes_a_block_without_object_beside_another_adapter_s_object) {
  // Told by their tokens, blocks of the standard are those of no object. Before, such a one was never removed where an object had its name.
  fleet now;
  now.store.apply(of("", named(standard_names())));
  now.store.apply(of("sql", store_of(standard_names(), prompt)));
  now.check(2, 2);
  now.store.apply(of("sql", remove_of({standard_names()[1]})));
  now.check(2, 1);
  now.store.apply(of("", remove_of(standard_names())));
  now.check(0, 1);
}

BOOST_AUTO_TEST_CASE(a_prompt_told_by_names_finds_what_a_store_names) {
  fleet now;
  auto& vllm = now.at.engine("c");
  vllm.apply(of("sql", store_of({11}, {1, 2})));
  now.store.apply(of("sql", object_of(vllm_key(11))));
  now.at.settle();
  const auto view = now.at.all.view().get();
  BOOST_TEST(view->find(applier::with_lora("sql"))->partition->told_block(engine_hash{11}).has_value());
  BOOST_TEST(!view->find(applier::with_lora(""))->partition->told_block(engine_hash{11}).has_value());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test::pools
