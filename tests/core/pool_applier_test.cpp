// What a store says of its objects, as queries see it: with engines, without, before them and after them.
#include <boost/test/unit_test.hpp>

#include "tests/support/pool_scene.hpp"

namespace kvc::test::pools {
BOOST_AUTO_TEST_SUITE(pool_applier)

namespace {

BOOST_AUTO_TEST_CASE(an_engine_s_name_makes_a_pool_s_block_count_for_everybody) {
  // The engine came first; what it calls its blocks is asked for. Others who never had the block can use the pool's.
  scene at;
  auto& first = at.engine("a");
  auto& second = at.engine("b");
  auto& store = at.pool(1);
  first.apply(store_of({11, 12}, {1, 2, 3, 4}));
  store.apply(object_of(vllm_key(11)));
  store.apply(object_of(vllm_key(12)));
  BOOST_TEST(at.depth(second, {1, 2, 3, 4}) == 0U);
  at.settle();

  BOOST_TEST(at.depth(second, {1, 2, 3, 4}) == 2U);
  BOOST_TEST(at.depth(second, {1, 2, 3, 4}, cpu) == 2U);
  BOOST_TEST(at.depth(second, {1, 2, 3, 4}, disk) == 0U);
  BOOST_TEST(store.applier->pooled().joined == 2U);
  store.apply(object_of(vllm_key(11), change::removed));
  BOOST_TEST(at.depth(second, {1, 2, 3, 4}) == 0U);
}

BOOST_AUTO_TEST_CASE(a_pool_that_comes_first_is_joined_by_any_engine) {
  // Its objects may have been there for days. Nothing is asked: the engine tells as it stores.
  scene at;
  auto& store = at.pool(1);
  store.apply(object_of(vllm_key(11)));
  store.apply(object_of(vllm_key(12)));
  at.settle();
  BOOST_TEST(store.applier->pooled().waiting == 2U);
  auto& first = at.engine("a");
  auto& second = at.engine("b");
  first.apply(store_of({11}, {1, 2}));
  second.apply(store_of({12}, {3, 4}, 11));  // waits for its parent, and so must the pool's
  at.settle();
  BOOST_TEST(at.depth(second, {1, 2, 3, 4}) == 1U);
  second.apply(store_of({11}, {1, 2}));
  at.settle();

  BOOST_TEST(store.applier->pooled().waiting == 0U);
  first.apply(cleared_event{});
  second.apply(cleared_event{});
  BOOST_TEST(at.depth(first, {1, 2, 3, 4}) == 2U);  // nobody but the pool has it now
}

BOOST_AUTO_TEST_CASE(what_a_name_means_outlives_the_engine_that_told) {
  // The pool's content does not change because an engine evicts, restarts or leaves.
  scene at;
  auto& engine = at.engine("a");
  auto& other = at.engine("b");
  auto& store = at.pool(1);
  engine.apply(store_of({11}, {1, 2}));
  store.apply(object_of(vllm_key(11)));
  at.settle();
  engine.apply(remove_of({11}));
  BOOST_TEST(at.depth(other, {1, 2}) == 1U);
  engine.applier->leave();
  while (!engine.applier->drop_some(1, engine.tally)) continue;
  BOOST_TEST(at.depth(other, {1, 2}) == 1U);
  store.apply(object_of(vllm_key(11), change::stored, medium_id::disk));
  store.apply(object_of(vllm_key(12), change::stored));
  at.settle();
  BOOST_TEST(at.depth(other, {1, 2}, disk) == 1U);
}

BOOST_AUTO_TEST_CASE(a_name_of_two_blocks_means_none) {
  // Whose object the pool has nobody can know: in doubt it does not count, also once the second engine has gone.
  scene at;
  auto& first = at.engine("a");
  auto& second = at.engine("b");
  auto& third = at.engine("c");
  auto& store = at.pool(1);
  first.apply(store_of({11}, {1, 2}));
  store.apply(object_of(vllm_key(11)));
  at.settle();
  BOOST_TEST(at.depth(third, {1, 2}) == 1U);
  second.apply(store_of({11}, {7, 8}));
  at.settle();
  BOOST_TEST(at.depth(third, {1, 2}) == 0U);
  BOOST_TEST(at.depth(third, {7, 8}) == 0U);
  BOOST_TEST(store.applier->pooled().doubtful == 1U);
  second.apply(cleared_event{});
  first.apply(store_of({11}, {1, 2}));
  at.settle();
  BOOST_TEST(at.depth(third, {1, 2}) == 0U);
  store.apply(object_of(vllm_key(11), change::removed));
  BOOST_TEST(store.applier->pooled().doubtful == 0U);
}

BOOST_AUTO_TEST_CASE(engines_of_two_recipes_both_find_their_own) {
  // The same tokens under two names: each engine's objects are the same block, which is there while either object is.
  scene at;
  auto& first = at.engine("a");
  auto& second = at.engine("b", publisher_type::sglang);
  auto& idle = at.engine("c");
  auto& store = at.pool(1);
  first.apply(store_of({11}, {1, 2}));
  second.apply(store_of({21}, {1, 2}));
  store.apply(object_of(vllm_key(11)));
  store.apply(object_of(vllm_key(21)));
  at.settle();
  BOOST_TEST(at.depth(idle, {1, 2}) == 1U);
  store.apply(object_of(vllm_key(11), change::removed));
  BOOST_TEST(at.depth(idle, {1, 2}) == 1U);
  store.apply(object_of(vllm_key(21), change::removed));
  BOOST_TEST(at.depth(idle, {1, 2}) == 0U);
}

BOOST_AUTO_TEST_CASE(tokens_need_nobody) {
  // The first format carries hash, parent and tokens: the index finds the block by these alone, also when parents come later.
  scene at;
  auto& idle = at.engine("b");
  auto& store = at.pool();
  const auto told = [](std::string key, std::uint64_t name, std::optional<std::uint64_t> parent, words tokens) {
    object_event made;
    made.scope.object_key = std::move(key);
    made.scope.block_size = 512;  // bytes, says the guide
    made.replicas = {{medium_id::cpu, "here"}};
    made.name = engine_hash{name};
    if (parent) made.parent = engine_hash{*parent};
    made.tokens = std::move(tokens);
    return event(made);
  };
  store.apply(told("key_2", 2, 1, {3, 4}));
  BOOST_TEST(at.depth(idle, {1, 2, 3, 4}) == 0U);
  store.apply(told("key_1", 1, {}, {1, 2}));
  at.settle();
  BOOST_TEST(at.depth(idle, {1, 2, 3, 4}) == 2U);
  store.apply(listed_of("key_1", {medium_id::disk}));  // an update tells the key only
  BOOST_TEST(at.depth(idle, {1, 2, 3, 4}, disk) == 1U);
  store.apply(listed_of("key_1", {}));
  BOOST_TEST(at.depth(idle, {1, 2, 3, 4}) == 0U);
  store.apply(told("key_1", 1, {}, {1, 2}));
  BOOST_TEST(at.depth(idle, {1, 2, 3, 4}) == 2U);
  store.apply(told("key_5", 5, 2, {5, 6, 7, 8}));  // two blocks in one object
  BOOST_TEST(at.depth(idle, {1, 2, 3, 4, 5, 6, 7, 8}) == 4U);
  store.apply(cleared_event{});
  BOOST_TEST(at.depth(idle, {1, 2}) == 0U);
  BOOST_TEST(store.applier->pooled().objects == 0U);
  BOOST_TEST(store.applier->names() == 0U);
}

BOOST_AUTO_TEST_CASE(a_parent_may_be_an_engine_s) {
  // The pool has the tail of a chain whose head only an engine has stored.
  scene at;
  auto& engine = at.engine("a");
  auto& store = at.pool();
  object_event tail;
  tail.scope.object_key = "key_2";
  tail.name = engine_hash{2};
  tail.parent = engine_hash{1};
  tail.tokens = {3, 4};
  tail.replicas = {{medium_id::cpu, "here"}};
  store.apply(tail);
  at.settle();
  BOOST_TEST(at.depth(engine, {1, 2, 3, 4}) == 0U);
  engine.apply(store_of({1}, {1, 2}));
  at.settle();
  BOOST_TEST(at.depth(engine, {1, 2, 3, 4}) == 2U);
}

BOOST_AUTO_TEST_CASE(a_number_is_a_sequence_hash_unless_engines_say_otherwise) {
  // Which of the two a number is the key does not tell; engines that use it for a block do.
  scene at;
  auto& idle = at.engine("b");
  auto& store = at.pool();
  const std::uint64_t first = hash_block(words{1, 2}, applier::seed).get();
  stored_event number;
  number.hashes = names({first});
  number.base = position{0};
  number.scope.object_key = std::to_string(first);
  store.apply(number);
  at.settle();
  BOOST_TEST(at.depth(idle, {1, 2}) == 1U);
  store.apply(object_of("12345"));
  auto& engine = at.engine("a");
  engine.apply(store_of({12345}, {7, 8}));
  at.settle();
  BOOST_TEST(at.depth(idle, {7, 8}) == 1U);
  removed_event gone{.scope = {}, .hashes = names({first}), .all_media = true};
  gone.scope.object_key = std::to_string(first);
  store.apply(gone);
  BOOST_TEST(at.depth(idle, {1, 2}) == 0U);
}

BOOST_AUTO_TEST_CASE(blocks_of_an_adapter_are_found_in_its_partition) {
  // Keys do not tell adapters; the engine that explains a name does.
  scene at;
  auto& engine = at.engine("a");
  auto& store = at.pool(1);
  stored_event adapted = std::get<stored_event>(store_of({11}, {1, 2}));
  adapted.scope.lora = "sql";
  engine.apply(adapted);
  store.apply(object_of(vllm_key(11)));
  at.settle();
  engine.apply(remove_of({11}));
  BOOST_TEST(at.depth(engine, {1, 2}, all_media, "sql") == 1U);
  BOOST_TEST(at.depth(engine, {1, 2}) == 0U);
}

BOOST_AUTO_TEST_CASE(adapters_that_came_and_went_leave_room_for_others) {
  scene at;
  auto& engine = at.engine("a");
  auto& store = at.pool(1);
  stored_event adapted = std::get<stored_event>(store_of({11}, {1, 2}));
  removed_event gone = std::get<removed_event>(remove_of({11}));
  for (int i = 0; i < 1'500; ++i) {
    adapted.scope.lora = gone.scope.lora = "adapter " + std::to_string(i);
    engine.apply(adapted);
    engine.apply(gone);
  }
  adapted.scope.lora = gone.scope.lora = "sql";
  engine.apply(adapted);
  store.apply(object_of(vllm_key(11)));
  at.settle();
  engine.apply(gone);
  BOOST_TEST(at.depth(engine, {1, 2}, all_media, "sql") == 1U);
}

BOOST_AUTO_TEST_CASE(objects_of_another_model_do_not_count) {
  // Models share hashes of equal tokens; a connector's short name for the registered model is that model.
  scene at;
  auto& engine = at.engine("a");
  auto& idle = at.engine("b");
  auto& store = at.pool(1);
  engine.apply(store_of({11, 12}, {1, 2, 3, 4}));
  store.apply(object_of(vllm_key(11, 0, "other")));
  store.apply(object_of(vllm_key(12, 0, "m")));
  at.settle();
  BOOST_TEST(at.depth(idle, {1, 2}) == 0U);
  store.apply(object_of(vllm_key(11, 0, "m")));
  at.settle();
  BOOST_TEST(at.depth(idle, {1, 2, 3, 4}) == 2U);
}

BOOST_AUTO_TEST_CASE(what_waits_is_bounded_and_the_oldest_goes_first) {
  // A store may hold millions of objects of engines that nobody has registered.
  scene at;
  auto& store = at.add(scene::pool_registration(1), 3);
  for (std::uint64_t name = 1; name <= 5; ++name) store.apply(object_of(vllm_key(name)));
  store.apply(object_of(vllm_key(3)));  // told again: younger than 4
  store.apply(object_of(vllm_key(6)));
  BOOST_TEST(store.applier->pooled().waiting == 3U);
  BOOST_TEST(store.applier->pooled().dropped == 3U);
  BOOST_TEST(store.applier->pooled().objects == 3U);
  auto& engine = at.engine("a");
  auto& idle = at.engine("b");
  for (std::uint32_t name = 1; name <= 6; ++name) engine.apply(store_of({name}, {name, name}));
  at.settle();
  BOOST_TEST(at.depth(idle, {3, 3}) == 1U);
  BOOST_TEST(at.depth(idle, {4, 4}) == 0U);
  store.apply(object_of(vllm_key(4)));
  at.settle();
  BOOST_TEST(at.depth(idle, {4, 4}) == 1U);
}

BOOST_AUTO_TEST_CASE(nothing_survives_its_stream) {
  // A restart, a clear and a leaving end everything, names that were asked for included.
  scene at;
  auto& engine = at.engine("a");
  auto& idle = at.engine("b");
  auto& store = at.pool(2);
  engine.apply(store_of({11, 12}, {1, 2, 3, 4}));
  for (unsigned rank = 0; rank < 2; ++rank) {
    for (std::uint64_t name = 11; name < 15; ++name) store.apply(object_of(vllm_key(name, rank)));
  }
  at.settle();
  const auto board = at.all.view().get()->partitions.begin()->second->partition->names();
  BOOST_TEST(at.depth(idle, {1, 2, 3, 4}) == 2U);
  BOOST_TEST(board->watched() == 4U);
  while (!store.applier->drop_some(1, store.tally)) continue;
  BOOST_TEST(at.depth(idle, {1, 2}) == 0U);
  BOOST_TEST(board->watched() == 0U);
  BOOST_TEST(!board->is_in_use());
  BOOST_TEST(store.applier->pooled().objects == 0U);
  store.apply(object_of(vllm_key(11, 0)));  // the next generation has this one only
  at.settle();
  BOOST_TEST(at.depth(idle, {1, 2}) == 0U);
  store.apply(object_of(vllm_key(11, 1)));
  BOOST_TEST(at.depth(idle, {1, 2}) == 1U);
}

BOOST_AUTO_TEST_CASE(a_clear_names_what_it_means) {
  // One backend's objects on one medium, or one backend's, or all.
  scene at;
  auto& engine = at.engine("a");
  auto& idle = at.engine("b");
  auto& store = at.pool(1);
  engine.apply(store_of({11}, {1, 2}));
  const auto on_node = [](std::string node, medium_id medium) {
    event made = object_of(vllm_key(11), change::stored, medium);
    std::get<object_event>(made).scope.backend = std::move(node);
    return made;
  };
  store.apply(on_node("node-1", medium_id::cpu));
  store.apply(on_node("node-1", medium_id::disk));
  store.apply(on_node("node-2", medium_id::cpu));
  at.settle();
  cleared_event cleared;
  cleared.scope.backend = "node-1";
  cleared.scope.medium = medium_id::cpu;
  store.apply(cleared);
  BOOST_TEST(at.depth(idle, {1, 2}, cpu) == 1U);
  BOOST_TEST(at.depth(idle, {1, 2}, disk) == 1U);
  cleared.scope.medium.reset();
  store.apply(cleared);
  BOOST_TEST(at.depth(idle, {1, 2}, disk) == 0U);
  cleared.scope.backend = "node-2";
  cleared.scope.tenant = "another";
  store.apply(cleared);
  BOOST_TEST(at.depth(idle, {1, 2}, cpu) == 1U);
  cleared.scope.tenant.reset();
  store.apply(cleared);
  BOOST_TEST(at.depth(idle, {1, 2}) == 0U);
}

BOOST_AUTO_TEST_CASE(a_removal_without_a_key_is_about_the_block) {
  // Whoever names the block and no object, means all of them; and the next word about one of them counts again.
  scene at;
  auto& engine = at.engine("a");
  auto& idle = at.engine("b");
  auto& store = at.pool(1);
  engine.apply(store_of({11}, {1, 2}));
  store.apply(object_of(vllm_key(11)));
  at.settle();
  BOOST_TEST(at.depth(idle, {1, 2}) == 1U);
  store.apply(remove_of({11}));
  BOOST_TEST(at.depth(idle, {1, 2}) == 0U);
  store.apply(object_of(vllm_key(11)));
  at.settle();
  BOOST_TEST(at.depth(idle, {1, 2}) == 1U);
}

BOOST_AUTO_TEST_CASE(a_private_pool_lends_to_its_instance_only) {
  // Registered with `shared` false.
  scene at;
  auto& engine = at.engine("a");
  auto& other = at.engine("b");
  registration own = scene::pool_registration(1);
  own.shared = false;
  own.worker.instance = "b";
  auto& store = at.add(own);
  auto& third = at.engine("c");
  engine.apply(store_of({11}, {1, 2}));
  store.apply(object_of(vllm_key(11)));
  at.settle();
  BOOST_TEST(at.depth(other, {1, 2}) == 1U);
  BOOST_TEST(at.depth(third, {1, 2}) == 0U);
}

BOOST_AUTO_TEST_CASE(rubbish_is_counted_and_harmless) {
  // Keys that say nothing, blocks behind themselves, parts without end.
  scene at;
  auto& store = at.pool();
  store.apply(object_of("key"));
  store.apply(object_of("key", change::removed));
  BOOST_TEST(store.tally.unplaced == 2U);
  object_event circle;
  circle.replicas = {{medium_id::cpu, "here"}};
  for (std::uint64_t i = 1; i <= 4; ++i) {
    circle.scope.object_key = "key_" + std::to_string(i);
    circle.name = engine_hash{i};
    circle.parent = engine_hash{i % 4 + 1};
    circle.tokens = {1, 2};
    store.apply(circle);
  }
  at.wait();
  for (std::uint64_t i = 1; i <= 4; ++i) store.apply(listed_of("key_" + std::to_string(i), {}));
  BOOST_TEST(store.applier->pooled().objects == 0U);
  BOOST_TEST(!at.all.view().get()->partitions.begin()->second->partition->names()->is_in_use());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace kvc::test::pools
