// Looks at a store of which one key, or the want of memory, is no fault of the others: without sockets.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <memory>
#include <span>
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

// An answer whose news waited until the object was doubted never reached the index: once an event had taken the rest, nobody knew of it.
BOOST_AUTO_TEST_CASE(what_is_known_to_be_gone_leaves_the_index_though_the_rest_is_doubted) {
  using core::medium_id;
  two_lanes in{1};
  net::object_shelves objects{core::object_table::options()};
  const core::registration as = master_of("store", "master", "m", odd_block_size);
  const auto stream = std::make_shared<told_stream>(in, as, objects);
  stream->begin();
  const odd_thing thing{.tenant = "default", .key = "7", .block = 7, .key_names_it = true};
  const auto say = [&](const odd_object& before, const odd_object& after) {
    core::event_batch batch;
    batch.events = events_of(thing, before, after, net::event_form::mooncake_branch, "m");
    std::string payload;
    net::encode_batch(batch, in.media, {.form = net::event_form::mooncake_branch, .backend_id = "store"}, payload);
    stream->hear(std::move(payload));
    for (int i = 0; i < 1'000 && (i == 0 || !stream->is_quiet()); ++i) in.turn();
  };
  const auto counts = [&](medium_id medium) { return is_held(in.catalog, as.partition, thing.block, medium); };
  say({}, {.memory = true, .local_disk = true});
  BOOST_REQUIRE((counts(medium_id::cpu) && counts(medium_id::disk)));
  const auto number = objects.find("store");
  BOOST_REQUIRE(number);
  const core::replica_view disk{core::replica_kind::local_disk, core::replica_state::complete, ""};
  objects.write(*number, [&](core::object_table& table) {
    static_cast<void>(table.set(table.owner("store", "default"), thing.key, std::span(&disk, 1), objects.now()));
  });
  objects.doubt(*number);

  stream->take_changes({"store", "default", {thing.key}});

  BOOST_TEST(!counts(medium_id::cpu));
  BOOST_TEST(counts(medium_id::disk));
  say({.local_disk = true}, {});
  BOOST_TEST(!counts(medium_id::cpu));
  BOOST_TEST(!counts(medium_id::disk));
  in.end();
}

// Beyond a thousand answers that waited, news were put off by doubting their objects: those that have gone cannot be doubted, and their
// blocks stayed in the index for ever.
BOOST_AUTO_TEST_CASE(what_has_gone_leaves_the_index_however_many_answers_wait) {
  constexpr std::uint64_t first = 1'000;
  constexpr std::uint64_t count = 40;
  for (const bool is_in_between : {false, true}) {
    two_lanes in{1};
    net::object_shelves objects{core::object_table::options()};
    const core::registration as = master_of("store", "master", "m", odd_block_size);
    const auto stream = std::make_shared<told_stream>(in, as, objects);
    stream->begin();
    const auto say = [&](std::uint64_t from, std::uint64_t to) {
      core::event_batch batch;
      for (std::uint64_t block = from; block < to; ++block) {
        const odd_thing thing{.tenant = "default", .key = std::to_string(block), .block = block, .key_names_it = true};
        std::ranges::move(events_of(thing, {}, {.memory = true}, net::event_form::mooncake_branch, "m"), std::back_inserter(batch.events));
      }
      std::string payload;
      net::encode_batch(batch, in.media, {.form = net::event_form::mooncake_branch, .backend_id = "store"}, payload);
      stream->hear(std::move(payload));
    };
    const auto held = [&] {
      std::uint64_t sum = 0;
      for (std::uint64_t i = 0; i < count; ++i) sum += is_held(in.catalog, as.partition, first + i, core::medium_id::cpu) ? 1U : 0U;
      return sum;
    };
    const auto becomes = [&](std::uint64_t wanted) {
      const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
      while (held() != wanted && std::chrono::steady_clock::now() < deadline) in.turn();
      return held() == wanted;
    };
    say(first, first + count);
    BOOST_REQUIRE(becomes(count));
    if (is_in_between) {  // of a long batch, if the machine is not too fast
      say(10'000, 10'200);
      for (int i = 0; i < 30; ++i) static_cast<void>(in.lanes.at(static_cast<std::size_t>(i % 2)).context.poll_one());
    }

    objects.write(*objects.find("store"), [&](core::object_table& table) {
      const std::uint32_t owner = table.owner("store", "default");
      for (std::uint64_t i = 0; i < count; ++i) static_cast<void>(table.set(owner, std::to_string(first + i), {}, objects.now()));
    });
    // More than a turn's work, so that what comes behind it waits.
    stream->take_changes({"store", "default", std::vector<std::string>(100, "nobody's")});
    for (int i = 0; i < 1'100; ++i) stream->take_changes({"store", "default", {"nobody's"}});
    for (std::uint64_t i = 0; i < count; ++i) stream->take_changes({"store", "default", {std::to_string(first + i)}});

    BOOST_TEST(becomes(0));
    in.end();
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test
