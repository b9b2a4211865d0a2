// What is read again from a store because somebody asks, and not because its turn has come.
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "tests/support/net/payloads.hpp"
#include "tests/support/net/store_blocks.hpp"
#include "tests/support/net/store_fixture.hpp"
#include "tests/support/net/stub_master.hpp"

namespace kvc::test {
namespace {

using enum core::replica_kind;

/// What is known is old at once, and the sweep needs many seconds for all of it.
struct touches_fixture : store_fixture {
  static net::store_settings settings() {
    net::store_settings with = quick_stores();
    with.reconcile_age = std::chrono::milliseconds(0);
    with.reconcile_rate = 2'000;
    return with;
  }
  touches_fixture() : store_fixture(settings()) { open_pool(); }

  static constexpr int objects = 30'000;
  /// So many objects, which the store has and which are swept before all that are told of later.
  void fill() {
    for (int begin = 0; begin < objects; begin += 1'000) {
      std::vector<core::event> some;
      for (int i = begin; i < begin + 1'000; ++i) {
        some.push_back(listed("k" + std::to_string(i), {memory}));
        master.put("k" + std::to_string(i), {.memory = true});
      }
      publish(std::move(some));
    }
  }

  /// A probe for so many keys that are nowhere, and different ones each time.
  void miss(std::size_t count) {
    std::string list;
    for (std::size_t i = 0; i < count; ++i) list += (list.empty() ? "\"miss " : ",\"miss ") + std::to_string(missed++) + "\"";
    static_cast<void>(exist(R"({"backend_id":"store-1","keys":[)" + list + "]}"));
  }

  stub_master master;
  std::size_t missed = 0;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(store_touches, touches_fixture)

// Keys that nobody knows filled the room for those that are read again, and what is known was left to the sweep.
BOOST_AUTO_TEST_CASE(misses_do_not_keep_what_is_known_from_being_read_again) {
  fill();
  publish({listed("lost", {memory})});
  BOOST_REQUIRE(becomes(R"({"key":"lost"})", R"({"exists":1})"));
  master.hold();
  add_store(master.url());
  BOOST_REQUIRE(eventually([&] {
    miss(4'096);
    return metric("kvc_store_reconcile_left_out_total") > 0;
  }));
  BOOST_REQUIRE(exist(R"({"key":"lost","backend_id":"store-1"})") == R"({"exists":1})");
  master.resume();

  BOOST_TEST(eventually([&] { return metric(R"(kvc_store_reconcile_total{difference="vanished"})") == 1; }));
  BOOST_TEST(metric("kvc_store_reconciled_keys_total") < objects);  // before the sweep came to it
}

// Queries said nothing about which objects matter: a block that its store had lost without a word was told of until the sweep came to it.
BOOST_AUTO_TEST_CASE(what_queries_find_is_read_again) {
  const std::string query = R"({"model":"m","block_size":4,"token_ids":[1,2,3,4]})";
  fill();
  pool->publish(stored_block(tokens_from(1, 1), 0, "cpu"));
  BOOST_REQUIRE(eventually([&] { return call("POST", "/query", query).body.find(R"("CPU":4)") != std::string::npos; }));
  add_store(master.url());

  BOOST_TEST(eventually([&] { return call("POST", "/query", query).body.find(R"("CPU":0)") != std::string::npos; }));
  BOOST_TEST(metric("kvc_store_reconciled_keys_total") < objects);
}

// A store without events: what is nowhere stands before the rest of a long probe.
BOOST_AUTO_TEST_CASE(the_end_of_a_long_probe_is_asked_for_as_well) {
  master.put("there", {.memory = true});
  add_store(master.url());
  std::string probe = R"({"backend_id":"store-1","keys":[)";
  for (int i = 0; i < 3'000; ++i) probe += "\"nowhere " + std::to_string(i) + "\",";
  probe += "\"there\"]}";

  BOOST_TEST(eventually([&] { return exist(probe).ends_with("0,1]}"); }));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test
