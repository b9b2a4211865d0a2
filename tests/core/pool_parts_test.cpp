// What counts of blocks that stores keep in several parts: ranks, halves, layers; and on several media.
#include <boost/test/unit_test.hpp>

#include "tests/support/pool_scene.hpp"

namespace kvc::test::pools {
BOOST_AUTO_TEST_SUITE(pool_parts)

namespace {

BOOST_AUTO_TEST_CASE(a_block_counts_while_all_its_parts_are_there) {
  // Two tensor-parallel ranks have a half each; one half is of no use to anybody.
  scene at;
  auto& engine = at.engine("a");
  auto& idle = at.engine("b");
  auto& store = at.pool(2);
  engine.apply(store_of({11}, {1, 2}));
  store.apply(object_of(vllm_key(11, 0)));
  at.settle();
  BOOST_TEST(at.depth(idle, {1, 2}) == 0U);
  BOOST_TEST(store.applier->pooled().incomplete == 1U);
  store.apply(object_of(vllm_key(11, 0)));  // told again: still one part
  BOOST_TEST(at.depth(idle, {1, 2}) == 0U);
  store.apply(object_of(vllm_key(11, 1)));
  BOOST_TEST(at.depth(idle, {1, 2}) == 1U);
  BOOST_TEST(store.applier->pooled().incomplete == 0U);
  store.apply(object_of(vllm_key(11, 0), change::removed));
  BOOST_TEST(at.depth(idle, {1, 2}) == 0U);
}

BOOST_AUTO_TEST_CASE(how_many_parts_there_are_is_learned_with_patience) {
  // The keys do not tell: the first part looks like all of it, until others are seen; only then, and after a while without new ones, blocks
  // count.
  scene at;
  auto& engine = at.engine("a");
  auto& idle = at.engine("b");
  auto& store = at.pool();
  engine.apply(store_of({11, 12}, {1, 2, 3, 4}));
  store.apply(object_of(vllm_key(11, 0)));
  store.apply(object_of(vllm_key(12, 0)));
  at.settle();
  BOOST_TEST(at.depth(idle, {1, 2, 3, 4}) == 0U);
  store.apply(object_of(vllm_key(11, 1)));
  at.settle();
  BOOST_TEST(at.depth(idle, {1, 2, 3, 4}) == 0U);
  at.wait();
  BOOST_TEST(at.depth(idle, {1, 2, 3, 4}) == 1U);
  store.apply(object_of(vllm_key(12, 1)));
  BOOST_TEST(at.depth(idle, {1, 2, 3, 4}) == 2U);
  store.apply(object_of(vllm_key(11, 2)));  // a third rank: nothing is sure any more
  at.settle();
  BOOST_TEST(at.depth(idle, {1, 2, 3, 4}) == 0U);
  at.wait();
  BOOST_TEST(at.depth(idle, {1, 2, 3, 4}) == 1U);
}

BOOST_AUTO_TEST_CASE(a_layout_without_blocks_gives_way) {
  // Each tenant's writer is one of its own, and there is room for so many at a time.
  scene at;
  auto& store = at.pool(1);
  const auto of_tenant = [](int i, change what) {
    object_event made;
    made.scope.object_key = vllm_key(11);
    made.scope.tenant = "tenant " + std::to_string(i);
    made.scope.medium = medium_id::cpu;
    made.what = what;
    return made;
  };
  for (int i = 0; i < 300; ++i) {
    store.apply(of_tenant(i, change::stored));
    if (i != 299) store.apply(of_tenant(i, change::removed));
  }

  BOOST_TEST(store.applier->pooled().objects == 1U);
  BOOST_TEST(store.applier->pooled().dropped == 0U);
}

BOOST_AUTO_TEST_CASE(a_single_rank_counts_after_a_while) {
  // The usual small deployment must not need a setting.
  scene at;
  auto& engine = at.engine("a");
  auto& idle = at.engine("b");
  auto& store = at.pool();
  engine.apply(store_of({11}, {1, 2}));
  store.apply(object_of(vllm_key(11)));
  at.settle();
  BOOST_TEST(at.depth(idle, {1, 2}) == 0U);
  at.wait();
  BOOST_TEST(at.depth(idle, {1, 2}) == 1U);
}

BOOST_AUTO_TEST_CASE(keys_may_tell_the_number_of_ranks_themselves) {
  // LMCache's do: nothing has to be learned.
  scene at;
  auto& engine = at.engine("a");
  auto& idle = at.engine("b");
  auto& store = at.pool();
  engine.apply(store_of({0xb}, {1, 2}));
  store.apply(object_of("vllm@m@2@0@b@half"));
  at.settle();
  BOOST_TEST(at.depth(idle, {1, 2}) == 0U);
  store.apply(object_of("vllm@m@2@1@b@half"));
  BOOST_TEST(at.depth(idle, {1, 2}) == 1U);
  store.apply(object_of("vllm@m@2@1@c@half"));
  store.apply(object_of("vllm@m@2@1@b@float"));  // another type: other parts
  BOOST_TEST(at.depth(idle, {1, 2}) == 1U);
}

BOOST_AUTO_TEST_CASE(a_chunk_is_all_of_its_blocks) {
  // LMCache's chunks are larger than the engine's blocks, and told of in the engine's stream: before the store's objects, or after.
  scene at;
  auto& engine = at.engine("a");
  auto& idle = at.engine("b");
  auto& store = at.pool();
  const auto chunk = [](std::uint64_t name, const words& tokens, std::optional<std::uint64_t> parent) {
    event made = store_of({name}, tokens, parent);
    std::get<stored_event>(made).scope.block_size = 6;
    std::get<stored_event>(made).scope.medium = medium_id::cpu;
    return made;
  };
  engine.apply(chunk(0xb, {1, 2, 3, 4, 5, 6}, {}));
  store.apply(object_of("vllm@m@1@0@b@half"));
  store.apply(object_of("vllm@m@1@0@c@half"));
  at.settle();
  BOOST_TEST(at.depth(idle, {1, 2, 3, 4, 5, 6}) == 3U);
  engine.apply(chunk(0xc, {7, 8, 9, 10, 11, 12}, 0xb));
  at.settle();
  engine.apply(cleared_event{.scope = applier::on(medium_id::cpu)});
  BOOST_TEST(at.depth(idle, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}) == 6U);
  store.apply(object_of("vllm@m@1@0@b@half", change::removed));
  BOOST_TEST(at.depth(idle, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}) == 0U);
  store.apply(object_of("vllm@m@1@0@c@half", change::removed));
  BOOST_TEST(store.applier->names() == 0U);
}

BOOST_AUTO_TEST_CASE(halves_and_layers_are_parts) {
  // SGLang writes keys and values apart, Ascend's layerwise connector each layer; SGLang names a block by the other end of its digest.
  scene at;
  auto& engine = at.engine("a", publisher_type::sglang);
  auto& idle = at.engine("b");
  auto& store = at.pool();
  const std::string digest = "00000000000000aa" + std::string(48, '5');
  engine.apply(store_of({0xaa}, {1, 2}));
  store.apply(object_of(digest + "_0_k"));
  store.apply(object_of(digest + "_1_k"));
  store.apply(object_of(digest + "_0_v"));
  at.wait();
  const std::string other = "00000000000000ab" + std::string(48, '5');
  store.apply(object_of(other + "_1_v"));
  at.wait();
  BOOST_TEST(at.depth(idle, {1, 2}) == 0U);
  store.apply(object_of(digest + "_1_v"));
  BOOST_TEST(at.depth(idle, {1, 2}) == 1U);

  engine.apply(store_of({0xc}, {3, 4}));
  for (const char* layer : {"0", "1", "2"}) store.apply(object_of(std::string("m@pcp0@dcp0@head_or_tp_rank:0@d@") + layer));
  for (const char* layer : {"0", "2"}) store.apply(object_of(std::string("m@pcp0@dcp0@head_or_tp_rank:0@c@") + layer));
  at.wait();
  BOOST_TEST(at.depth(idle, {3, 4}) == 0U);
  store.apply(object_of("m@pcp0@dcp0@head_or_tp_rank:0@c@1"));
  BOOST_TEST(at.depth(idle, {3, 4}) == 1U);
}

BOOST_AUTO_TEST_CASE(more_parts_than_registered_are_a_contradiction) {
  // Somebody has registered the wrong number: in doubt it does not count.
  scene at;
  auto& engine = at.engine("a");
  auto& store = at.pool(1);
  engine.apply(store_of({11}, {1, 2}));
  store.apply(object_of(vllm_key(11, 0)));
  at.settle();
  auto& idle = at.engine("b");
  BOOST_TEST(at.depth(idle, {1, 2}) == 1U);
  store.apply(object_of(vllm_key(11, 1)));
  at.settle();
  BOOST_TEST(at.depth(idle, {1, 2}) == 0U);
}

BOOST_AUTO_TEST_CASE(media_are_those_on_which_all_parts_are) {
  // A block is in memory when all of it is; when its parts lie on different media it is there, but on none of them.
  scene at;
  auto& engine = at.engine("a");
  auto& idle = at.engine("b");
  auto& store = at.pool(2);
  engine.apply(store_of({11}, {1, 2}));
  store.apply(listed_of(vllm_key(11, 0), {medium_id::cpu, medium_id::disk}, change::stored));
  store.apply(listed_of(vllm_key(11, 1), {medium_id::cpu}, change::stored));
  at.settle();
  BOOST_TEST(at.depth(idle, {1, 2}, cpu) == 1U);
  BOOST_TEST(at.depth(idle, {1, 2}, disk) == 0U);
  store.apply(listed_of(vllm_key(11, 0), {medium_id::disk}));
  BOOST_TEST(at.depth(idle, {1, 2}, cpu) == 0U);
  BOOST_TEST(at.depth(idle, {1, 2}, disk) == 0U);
  BOOST_TEST(at.depth(idle, {1, 2}) == 1U);
  store.apply(listed_of(vllm_key(11, 1), {medium_id::disk}));
  BOOST_TEST(at.depth(idle, {1, 2}, disk) == 1U);
  store.apply(listed_of(vllm_key(11, 1), {}));
  BOOST_TEST(at.depth(idle, {1, 2}) == 0U);
}

BOOST_AUTO_TEST_CASE(an_object_that_leaves_one_medium_stays_on_the_others) {
  // A store that writes a block back and then lets go of its memory says so of that medium: the copy on disk still saves a prefill.
  scene at;
  auto& engine = at.engine("a");
  auto& idle = at.engine("b");
  auto& store = at.pool(1);
  engine.apply(store_of({11}, {1, 2}));
  const auto gone_from = [](medium_id medium) {
    event made = object_of(vllm_key(11), change::removed, medium);
    std::get<object_event>(made).all_media = false;
    return made;
  };
  store.apply(object_of(vllm_key(11), change::stored, medium_id::cpu));
  store.apply(object_of(vllm_key(11), change::stored, medium_id::disk));
  at.settle();

  store.apply(gone_from(medium_id::cpu));
  BOOST_TEST(at.depth(idle, {1, 2}, cpu) == 0U);
  BOOST_TEST(at.depth(idle, {1, 2}, disk) == 1U);
  store.apply(gone_from(medium_id::cpu));  // told twice
  BOOST_TEST(at.depth(idle, {1, 2}, disk) == 1U);
  store.apply(gone_from(medium_id::disk));
  BOOST_TEST(at.depth(idle, {1, 2}) == 0U);
  BOOST_TEST(store.applier->pooled().objects == 0U);

  store.apply(object_of(vllm_key(11), change::stored, medium_id::cpu));
  store.apply(object_of(vllm_key(11), change::stored, medium_id::disk));
  store.apply(object_of(vllm_key(11), change::removed, medium_id::cpu));  // the first master names a medium and means all
  BOOST_TEST(store.applier->pooled().objects == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace kvc::test::pools
