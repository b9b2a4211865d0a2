#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <boost/test/unit_test.hpp>

#include "perf/sim_store_cluster.hpp"
#include "perf/sim_store_probe.hpp"
#include "tests/support/net/store_fixture.hpp"

BOOST_AUTO_TEST_SUITE(store_races)

using namespace kvc;
using namespace std::chrono_literals;

namespace {

/// A promotion of this store does not end by itself before a test is over.
constexpr auto never = std::chrono::minutes(10);

sim::store_options store_of(sim::store_options chosen = {}) {
  chosen.generation = sim::store_generation::array;
  chosen.objects = 0;
  chosen.object_bytes = 10;
  chosen.memory_objects = 100;
  chosen.rules.capacity = 1'000;
  chosen.rules.lease = 0ms;
  return chosen;
}

sim::store_options slow_store() {
  sim::store_options chosen = store_of();
  chosen.rules.copy = never;
  return chosen;
}

sim::store_options odd_store(sim::store_fault kind) {
  sim::store_options chosen = store_of();
  chosen.faults = 1U << static_cast<unsigned>(kind);
  chosen.fault_rate = 1;
  return chosen;
}

net::store_settings hasty() {
  net::store_settings settings = test::quick_stores();
  settings.prefetch_deadline = 400ms;
  settings.store_call_timeout = 150ms;
  return settings;
}

/// What is known gets old at once, and is read again.
net::store_settings doubting(net::store_settings settings) {
  settings.reconcile_age = 0ms;
  settings.reconcile_rate = 10'000;
  return settings;
}

/// The whole service and a stand-in store, of which the service knows one object, on SSD only.
struct race {
  explicit race(const sim::store_options& chosen, const net::store_settings& settings = test::quick_stores())
      : service(settings), store(chosen) {
    const std::string wrong = store.open();
    BOOST_REQUIRE_MESSAGE(wrong.empty(), wrong);
    for (std::size_t master = 0; master < chosen.masters; ++master) {
      const auto registered = service.call("POST", "/register",
                                           sim::store_publisher_body(store.options(), "store-" + std::to_string(master),
                                                                     store.endpoint(master), store.replay_endpoint(master)));
      BOOST_REQUIRE_MESSAGE(registered.status == 200, registered.body);
    }
    const auto known = service.call("POST", "/stores", sim::store_executor_body(store.options(), store.url()));
    BOOST_REQUIRE_MESSAGE(known.status == 200, known.body);
    store.at_home([](sim::store_world& world) {
      BOOST_REQUIRE(world.storage.put("ssd", 10, world.now()));
      BOOST_REQUIRE(world.storage.evict("ssd", world.now()));
    });
    BOOST_REQUIRE(becomes(false, R"({"exists":1})"));
  }

  std::string probe(bool with_prefetch, std::string_view more = "") {
    return service.exist(std::string(R"({"key":"ssd")") + (with_prefetch ? R"(,"prefetch":true)" : "") + std::string(more) + "}");
  }
  /// The store goes on saying that it is there, so that what was not heard is missed.
  bool becomes(bool with_prefetch, const std::string& answer) {
    return service.eventually([&] {
      store.at_home([](sim::store_world& world) { world.publishers[0]->beat(); });
      return probe(with_prefetch) == answer;
    });
  }
  /// At least one wish has come to this end.
  bool ends(const std::string& outcome) {
    return service.eventually([&] { return service.metric("kvc_prefetch_requests_total{outcome=\"" + outcome + "\"}") >= 1; });
  }
  /// Until the master has been asked to promote as often as it wants.
  bool is_promoting() {
    return service.eventually([&] { return store.at_home([](sim::store_world& world) { return world.storage.promotions() == 1; }); });
  }
  /// Does something that nobody is told of.
  template <class Do>
  void silently(Do what) {
    store.at_home([&](sim::store_world& world) {
      what(world);
      static_cast<void>(world.storage.take_changes());
    });
  }

  test::store_fixture service;
  sim::store_cluster store;
};

constexpr const char* missing = R"({"exists":0})";
constexpr const char* exists = R"({"exists":1})";
constexpr const char* none = R"({"exists":1,"prefetch":"none"})";
constexpr const char* started = R"({"exists":1,"prefetch":"started"})";
constexpr const char* joined = R"({"exists":1,"prefetch":"joined"})";
constexpr const char* suppressed = R"({"exists":1,"prefetch":"suppressed"})";

}  // namespace

BOOST_AUTO_TEST_CASE(a_put_that_lands_first_ends_the_promotion) {
  race with(slow_store());
  BOOST_TEST(with.probe(true) == started);
  BOOST_REQUIRE(with.is_promoting());
  BOOST_TEST(with.probe(true) == joined);

  with.silently([](sim::store_world& world) { BOOST_REQUIRE(world.storage.put_again("ssd", world.now())); });

  BOOST_TEST(with.ends("accepted"));
  BOOST_TEST(with.probe(true) == none);
  BOOST_TEST(with.store.at_home([](sim::store_world& world) { return world.storage.counts().promoted; }) == 0U);
  BOOST_TEST(with.service.metric("kvc_prefetch_in_flight") == 0);
}

BOOST_AUTO_TEST_CASE(what_another_prefetch_has_brought_is_not_asked_for) {
  auto chosen = store_of();
  chosen.rules.copy = 0ms;
  race with(chosen);
  with.silently([](sim::store_world& world) {
    world.storage.look_up("ssd", world.now());
    BOOST_REQUIRE((world.storage.look_up("ssd", world.now()) == sim::store_promotion::started));
    world.storage.advance(world.now());
  });

  BOOST_TEST(with.probe(true) == started);

  BOOST_TEST(with.ends("already"));
  BOOST_TEST(with.probe(true) == none);
  BOOST_TEST(with.store.at_home([](sim::store_world& world) { return world.counts.look_ups; }) == 0U);
}

BOOST_AUTO_TEST_CASE(a_prefetch_of_somebody_elses_that_is_under_way_is_waited_for) {
  auto chosen = store_of();
  chosen.rules.copy = 300ms;
  race with(chosen);
  with.silently([](sim::store_world& world) {
    world.storage.look_up("ssd", world.now());
    BOOST_REQUIRE((world.storage.look_up("ssd", world.now()) == sim::store_promotion::started));
  });

  BOOST_TEST(with.probe(true) == started);

  BOOST_TEST(with.ends("accepted"));
  BOOST_TEST(with.probe(true) == none);
  BOOST_TEST(with.store.at_home([](sim::store_world& world) { return world.storage.counts().promoted; }) == 1U);
}

BOOST_AUTO_TEST_CASE(an_object_that_is_deleted_meanwhile_is_gone) {
  race with(slow_store());
  BOOST_TEST(with.probe(true) == started);
  BOOST_REQUIRE(with.is_promoting());

  with.store.at_home([](sim::store_world& world) { BOOST_REQUIRE(world.storage.remove("ssd")); });

  BOOST_TEST(with.ends("gone"));
  BOOST_TEST(with.becomes(false, missing));
}

BOOST_AUTO_TEST_CASE(an_object_that_is_lost_silently_meanwhile_is_found_to_be_gone) {
  race with(slow_store());
  BOOST_TEST(with.probe(true) == started);
  BOOST_REQUIRE(with.is_promoting());

  with.silently([](sim::store_world& world) {
    for (std::uint32_t client = 0; client < 2; ++client) world.storage.lose_segment(client, true);
  });

  BOOST_TEST(with.ends("gone"));
  BOOST_TEST(with.probe(false) == missing);
  BOOST_TEST(with.service.metric(R"(kvc_store_reconcile_total{difference="vanished"})") == 1);
}

BOOST_AUTO_TEST_CASE(a_promotion_goes_on_with_another_master) {
  auto chosen = store_of();
  chosen.masters = 3;
  race with(chosen);
  with.store.at_home([](sim::store_world& world) { world.depose(); });
  BOOST_TEST(with.probe(true) == started);
  // Asked while nobody leads, and then the second one: the registered address is no leader any more.
  BOOST_REQUIRE(with.service.eventually(
      [&] { return with.store.at_home([](sim::store_world& world) { return world.counts.refused_as_follower > 0; }); }));

  with.store.at_home([](sim::store_world& world) { world.elect(1); });

  BOOST_TEST(with.ends("accepted"));
  BOOST_TEST(with.probe(true) == none);
  with.store.at_home([](sim::store_world& world) {
    world.elect(2);
    BOOST_REQUIRE(world.storage.put("other", 10, world.now()));
    BOOST_REQUIRE(world.storage.evict("other", world.now()));
  });
  BOOST_TEST(with.service.eventually([&] { return with.service.exist(R"({"key":"other","prefetch":true})") == started; }));
  BOOST_TEST(with.service.eventually([&] { return with.service.exist(R"({"key":"other","prefetch":true})") == none; }));
}

BOOST_AUTO_TEST_CASE(a_promotion_that_succeeds_after_its_deadline_is_noticed) {
  auto chosen = store_of();
  chosen.rules.copy = 1'200ms;
  race with(chosen, doubting(hasty()));
  BOOST_TEST(with.probe(true) == started);

  BOOST_TEST(with.ends("failed"));
  BOOST_TEST(with.probe(true) == suppressed);

  BOOST_TEST(with.becomes(true, none));
}

BOOST_AUTO_TEST_CASE(a_store_without_room_is_left_alone_for_a_while) {
  race with(store_of());
  with.store.at_home([](sim::store_world& world) { world.storage.set_pressure(true); });
  BOOST_TEST(with.probe(true) == started);

  BOOST_TEST(with.ends("rejected_pressure"));
  BOOST_TEST(with.probe(true) == suppressed);
}

BOOST_AUTO_TEST_CASE(stores_that_answer_nonsense_or_never_cost_the_probe_nothing) {
  for (const auto kind : {sim::store_fault::garbage, sim::store_fault::hang, sim::store_fault::error, sim::store_fault::partial}) {
    BOOST_TEST_CONTEXT("fault " << sim::store_fault_words[static_cast<std::size_t>(kind)]) {
      race with(odd_store(kind), hasty());
      // The answer does not wait for the store: with one that never answers this would take the deadline at least.
      BOOST_TEST(with.probe(true) == started);
      BOOST_TEST(with.probe(false) == exists);
      if (kind == sim::store_fault::partial) {
        BOOST_TEST(with.ends("accepted"));  // one key is half of two, and told
        continue;
      }
      BOOST_TEST(with.ends("failed"));
      BOOST_TEST(with.probe(true) == suppressed);
      BOOST_TEST(with.probe(false) == exists);
      BOOST_TEST(with.service.metric("kvc_prefetch_in_flight") == 0);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_caller_who_waits_is_answered_when_the_store_never_answers) {
  race with(odd_store(sim::store_fault::hang), hasty());
  BOOST_TEST(with.probe(true, R"(,"wait_ms":20000)") == R"({"exists":1,"prefetch":"failed"})");
}

BOOST_AUTO_TEST_CASE(a_million_keys_in_one_request_are_refused_and_harm_nobody) {
  race with(store_of());
  std::string body = R"({"keys":["ssd")";
  for (int i = 0; i < 1'000'000; ++i) body += ",\"" + std::to_string(i) + "\"";
  body += "]}";

  const test::raw_answer answer = with.service.call("POST", "/exist", body);

  BOOST_TEST(answer.status == 400);
  BOOST_TEST(answer.body.find("keys") != std::string::npos, answer.body.substr(0, 200));
  BOOST_TEST(with.probe(false) == exists);
}

BOOST_AUTO_TEST_CASE(keys_with_escapes_in_them_are_promoted_as_well_as_others) {
  race with(store_of());
  const std::string odd = "b\u00e9b\u00e9/1%2C+%41";
  with.store.at_home([&](sim::store_world& world) {
    BOOST_REQUIRE(world.storage.put(odd, 10, world.now()));
    BOOST_REQUIRE(world.storage.evict(odd, world.now()));
  });
  const std::string body = R"({"key":")" + odd + R"(","prefetch":true})";
  BOOST_TEST(with.service.eventually([&] { return with.service.exist(body) == started; }));
  BOOST_TEST(with.service.eventually([&] { return with.service.exist(body) == none; }));
}

BOOST_AUTO_TEST_CASE(a_store_that_is_unregistered_is_asked_nothing_more) {
  race with(slow_store());
  BOOST_TEST(with.probe(true) == started);
  BOOST_REQUIRE(with.is_promoting());

  BOOST_TEST(with.service.call("DELETE", "/stores/mooncake").status == 200);

  BOOST_TEST(with.ends("failed"));
  BOOST_TEST(with.service.metric("kvc_prefetch_in_flight") == 0);
  BOOST_TEST(with.probe(false) == exists);
}

BOOST_AUTO_TEST_SUITE_END()
