// What a removal in a store's stream takes away: its own object or block, and nothing of others that bear the same name.
#include <boost/test/unit_test.hpp>

#include "tests/support/pool_scene.hpp"

namespace kvc::test::pools {
BOOST_AUTO_TEST_SUITE(pool_removal)

namespace {

const words prompt{1, 2};

/// What a store on the standard hash calls the block of `prompt`.
std::uint64_t rolled() {
  return first_in_sequence(hash_block(prompt, applier::seed)).get();
}

event_scope of_object(std::string key, std::optional<std::string> tenant = {}) {
  event_scope scope;
  scope.object_key = std::move(key);
  scope.tenant = std::move(tenant);
  return scope;
}
event stored_object(const event_scope& scope, std::uint64_t name) {
  stored_event made;
  made.scope = scope;
  made.hashes = names({name});
  return made;
}
event removed_object(const event_scope& scope, std::uint64_t name) {
  return removed_event{.scope = scope, .hashes = names({name})};
}

BOOST_AUTO_TEST_CASE(a_removal_takes_no_other_object_of_the_same_name) {
  // One tenant's evictions must not take another one's blocks, nor one object's removal another object's.
  scene at;
  auto& store = at.pool();
  const std::uint64_t name = rolled();
  const std::string key = std::to_string(name);
  store.apply(stored_object(of_object(key, "default"), name));
  BOOST_TEST_REQUIRE(at.depth(store, prompt) == 1U);

  store.apply(removed_object(of_object(key, "another"), name));
  store.apply(removed_object(of_object("some-other-object", "default"), name));
  store.apply(removed_object(of_object({}, "another"), name));
  BOOST_TEST(at.depth(store, prompt) == 1U);
  BOOST_TEST(store.tally.unknown_removals == 3U);
  BOOST_TEST(store.applier->pooled().objects == 1U);
  store.apply(removed_object(of_object(key), name));
  BOOST_TEST(at.depth(store, prompt) == 0U);
  store.apply(stored_object(of_object(key), name));  // and the index agrees with what is known of objects: it can come back
  BOOST_TEST(at.depth(store, prompt) == 1U);
  store.apply(removed_object({}, name));
  BOOST_TEST(at.depth(store, prompt) == 0U);
}

BOOST_AUTO_TEST_CASE(a_removal_with_a_key_takes_no_block_that_was_told_without) {
  // Of a connector's pool: the block came with its tokens, and no object keeps it.
  scene at;
  registration with = scene::pool_registration();
  with.type = publisher_type::vllm;
  auto& store = at.add(with);
  store.apply(store_of({11}, prompt));
  store.apply(removed_object(of_object("some-object"), 11));
  BOOST_TEST(at.depth(store, prompt) == 1U);
  BOOST_TEST(store.tally.unknown_removals == 1U);
  store.apply(remove_of({11}));
  BOOST_TEST(at.depth(store, prompt) == 0U);
}

BOOST_AUTO_TEST_CASE(what_the_standard_names_goes_with_or_without_a_key) {
  // Such blocks say by themselves where they stand, so no object is kept of them, whatever key their events bear.
  for (const auto type : {publisher_type::mooncake, publisher_type::standard, publisher_type::vllm}) {
    scene at;
    registration with = scene::pool_registration();
    with.type = type;
    auto& store = at.add(with);
    stored_event by_standard = std::get<stored_event>(stored_object(of_object("some-object"), rolled()));
    by_standard.standard_hashes = true;
    by_standard.scope.names_span_groups = true;
    for (const char* key : {"some-object", ""}) {
      store.apply(by_standard);
      BOOST_TEST(at.depth(store, prompt) == 1U);
      event_scope scope = of_object(key);
      scope.names_span_groups = true;
      store.apply(removed_object(scope, rolled()));
      BOOST_TEST(at.depth(store, prompt) == 0U);
    }
    BOOST_TEST(store.tally.unknown_removals == 0U);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace kvc::test::pools
