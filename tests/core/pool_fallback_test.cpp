// Names of a pool that are told by tokens, when the parent they are told behind has no place any more: then engines say where they are.
#include <boost/test/unit_test.hpp>

#include "tests/support/pool_scene.hpp"

namespace kvc::test::pools {
BOOST_AUTO_TEST_SUITE(pool_fallback)

namespace {

constexpr std::uint64_t first = 1;   // what engines call the first block of `prompt`
constexpr std::uint64_t second = 2;  // and what all call the second
const words prompt{1, 2, 3, 4};

event told(std::string key, std::uint64_t name, const words& tokens, std::optional<std::uint64_t> parent) {
  object_event made = std::get<object_event>(object_of(std::move(key)));
  made.name = engine_hash{name};
  made.tokens = tokens;
  if (parent) made.parent = engine_hash{*parent};
  return made;
}

BOOST_AUTO_TEST_CASE(a_block_behind_a_name_that_has_become_doubtful_is_where_engines_say) {
  // Before, nobody needed to ask them.
  scene at;
  auto& engine = at.engine("a");
  auto& other = at.engine("b");
  auto& store = at.pool(1);
  engine.apply(store_of({first, second}, prompt));
  store.apply(told("first", 11, {1, 2}, {}));
  store.apply(object_of(vllm_key(first)));
  at.settle();
  store.apply(told(vllm_key(second), second, {3, 4}, first));
  at.settle();
  BOOST_TEST_REQUIRE(at.depth(store, prompt) == 2U);

  other.apply(store_of({first}, {7, 8}));
  at.settle();
  at.settle();  // the question is asked when the news has come
  BOOST_TEST(store.applier->pooled().doubtful == 1U);
  BOOST_TEST(at.depth(store, prompt) == 2U);
}

BOOST_AUTO_TEST_CASE(an_object_told_of_anew_behind_a_name_nobody_knows_is_where_engines_say) {
  scene at;
  auto& engine = at.engine("a");
  auto& store = at.pool(1);
  engine.apply(store_of({first, second}, prompt));
  store.apply(told("first", 11, {1, 2}, {}));
  store.apply(told(vllm_key(second), second, {3, 4}, {}));
  at.settle();
  BOOST_TEST_REQUIRE(at.depth(store, prompt) == 1U);  // believed to be a first block

  store.apply(told(vllm_key(second), second, {3, 4}, 999));
  at.settle();
  BOOST_TEST(at.depth(store, prompt) == 2U);
  BOOST_TEST(store.applier->pooled().waiting == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace kvc::test::pools
