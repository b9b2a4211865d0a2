// Looks at a store of which one key, or the want of memory, is no fault of the others: without sockets.
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "net/object_shelves.hpp"
#include "net/promotion_service.hpp"
#include "net/store_reconciler.hpp"
#include "tests/support/net/odd_store.hpp"
#include "tests/support/net/told_stream.hpp"

namespace kvc::test {
BOOST_AUTO_TEST_SUITE(store_looks)

namespace {

constexpr std::size_t others = 10;

/// A store that is looked at, of which a hundred objects were told and none is left, but for some of another tenant.
struct looked_at_fixture {
  static net::store_settings settings() {
    net::store_settings with;
    with.reconcile_age = std::chrono::milliseconds(0);
    with.reconcile_rate = 100'000;
    return with;
  }

  looked_at_fixture() {
    const auto number = objects.keep("store");
    BOOST_REQUIRE(number);
    core::event_batch batch;
    for (int i = 0; i < 100; ++i) {
      core::object_event stored;
      stored.scope.object_key = "k" + std::to_string(i);
      batch.events.emplace_back(std::move(stored));
    }
    for (std::size_t i = 0; i < others; ++i) {
      core::object_event stored;
      stored.scope.object_key = "o" + std::to_string(i);
      stored.scope.tenant = "ada";
      store.objects[{"ada", stored.scope.object_key}].memory = true;
      batch.events.emplace_back(std::move(stored));
    }
    core::object_tally tally;
    net::object_shelves::progress at;
    while (!objects.apply_some(batch, {.backend = "store", .tenant = "default"}, at, tally)) continue;
    promotions.add_target(*number, std::make_unique<odd_mover>(in.lanes.at(0), store));
    in.lanes.at(0).tasks.spawn("reconciliation", truth.keep_true(promotions.target(*number)));
  }
  ~looked_at_fixture() { in.end(); }
  looked_at_fixture(const looked_at_fixture&) = delete;
  looked_at_fixture& operator=(const looked_at_fixture&) = delete;

  template <class Condition>
  bool becomes(Condition holds) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!holds() && std::chrono::steady_clock::now() < deadline) in.turn();
    return holds();
  }

  net::store_settings with = settings();
  two_lanes in{1};
  net::object_shelves objects{core::object_table::options()};
  net::store_reconciler truth{in.lanes.at(0), objects, with};
  net::promotion_service promotions{in.lanes.at(0), objects, with, truth};
  odd_store store{1};
};

}  // namespace

// A look that is never answered was taken for a store that is away: the same keys were asked for again, for ever, and no others.
BOOST_FIXTURE_TEST_CASE(a_key_that_breaks_looks_costs_the_others_nothing, looked_at_fixture) {
  store.poison = "k7";

  BOOST_TEST(becomes([&] { return objects.sum().objects == others + 1; }));
  store.poison.clear();
  BOOST_TEST(becomes([&] { return objects.sum().objects == others; }));
}

BOOST_FIXTURE_TEST_CASE(a_touched_key_that_breaks_looks_costs_the_others_nothing, looked_at_fixture) {
  BOOST_REQUIRE(becomes([&] { return objects.sum().objects == others; }));
  store.poison = "t7";
  std::vector<std::string> keys;
  for (int i = 0; i < 100; ++i) {
    keys.push_back("t" + std::to_string(i));
    store.objects[{"default", keys.back()}].memory = true;
  }
  truth.touch(*objects.find("store"), "default", std::move(keys));

  BOOST_TEST(becomes([&] { return objects.sum().objects == others + 99; }));
  BOOST_TEST(becomes([&] { return truth.is_reachable(*objects.find("store")); }));
}

// What was thrown in a look was the end of all looks, and nobody was told.
BOOST_FIXTURE_TEST_CASE(a_look_for_which_there_is_no_memory_is_not_the_last, looked_at_fixture) {
  store.shortages = 1;

  BOOST_TEST(becomes([&] { return objects.sum().objects == others; }));
  BOOST_TEST(store.shortages == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test
