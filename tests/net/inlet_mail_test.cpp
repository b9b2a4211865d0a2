// What is told to the stream of another lane, which does not come to it: no more waits than may, and nothing is left out unsaid.
#include "net/inlet_mail.hpp"

#include <chrono>
#include <cstddef>
#include <future>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include "core/catalog.hpp"
#include "net/event_encode.hpp"
#include "net/fleet_service.hpp"
#include "net/object_shelves.hpp"
#include "net/runtime.hpp"
#include "tests/support/net/odd_store.hpp"
#include "tests/support/net/stream_fixture.hpp"
#include "tests/support/net/told_stream.hpp"

BOOST_AUTO_TEST_SUITE(inlet_mails)

namespace {

using namespace kvc;

constexpr std::size_t keys_each = 256;
constexpr std::size_t most_messages = net::inlet_mail::most_keys / keys_each;

/// Keeps what it is told until it is let go of.
struct slow_inlet final : net::index_inlet {
  void take_changes(net::changed_objects what) override { waiting.push_back(std::move(what)); }
  void lose_track() override {
    ++times_lost;
    waiting.clear();
  }
  void names_of(const core::partition_key& /*home*/, std::span<const core::seq_hash> /*blocks*/,
                std::vector<core::named_block>& /*into*/) const override {}

  std::vector<net::changed_objects> waiting;
  std::size_t times_lost = 0;
};

struct stage {
  core::catalog catalog;
  net::runtime lanes{1, catalog};
  net::object_shelves shelves{core::object_table::options()};
  std::shared_ptr<slow_inlet> inlet = std::make_shared<slow_inlet>();
  const net::changed_objects news{"a", "default", std::vector<std::string>(keys_each, "k")};

  stage() { BOOST_REQUIRE(shelves.attach("a", lanes.at(0), inlet)); }

  void tell(std::size_t times) {
    for (std::size_t i = 0; i < times; ++i) shelves.tell(*shelves.find("a"), news);
  }
  [[nodiscard]] bool is_behind() const { return shelves.are_others_behind("a", {}); }
  std::size_t turn() { return lanes.at(0).context.poll(); }
};

}  // namespace

// Each was a message of its own, of which there was no end while the lane was busy with something else.
BOOST_AUTO_TEST_CASE(a_lane_that_does_not_come_to_it_has_a_bounded_number_of_messages_waiting) {
  stage at;
  at.tell(3 * most_messages);
  BOOST_TEST(at.turn() == most_messages + 1);
  BOOST_TEST(at.inlet->times_lost == 1U);
  BOOST_TEST(at.inlet->waiting.empty());

  // Behind that it is told again.
  at.tell(2);
  BOOST_TEST(at.turn() == 2U);
  BOOST_TEST(at.inlet->waiting.size() == 2U);
  BOOST_TEST(at.inlet->times_lost == 1U);
}

// What has come and is not applied counts: a stream in the middle of a long batch takes it in, and no more than that.
BOOST_AUTO_TEST_CASE(what_waits_with_the_stream_counts_until_it_is_applied) {
  stage at;
  for (std::size_t i = 0; i < most_messages; ++i) {
    at.tell(1);
    BOOST_TEST_REQUIRE(at.turn() == 1U);
    BOOST_TEST_REQUIRE(at.is_behind() == (i + 1 > most_messages / 2));
  }
  BOOST_TEST(at.inlet->waiting.size() == most_messages);
  at.inlet->waiting.resize(most_messages / 2);
  BOOST_TEST(!at.is_behind());

  at.tell(most_messages / 2);
  BOOST_TEST(at.turn() == most_messages / 2);
  BOOST_TEST(at.inlet->times_lost == 0U);
  at.tell(1);
  BOOST_TEST(!at.is_behind());  // there is nothing to wait for
  BOOST_TEST(at.turn() == 1U);
  BOOST_TEST(at.inlet->times_lost == 1U);
  BOOST_TEST(at.inlet->waiting.empty());
  BOOST_TEST(!at.is_behind());
}

// A stream that is attached anew after something was thrown would hear everything twice.
BOOST_AUTO_TEST_CASE(who_attaches_twice_is_told_once) {
  stage at;
  BOOST_REQUIRE(at.shelves.attach("a", at.lanes.at(0), at.inlet));
  at.tell(1);
  BOOST_TEST(at.turn() == 1U);
  at.inlet.reset();
  at.tell(1);
  BOOST_TEST(at.turn() == 1U);  // nobody is there to hear it, nor harmed by it
}

// Over sockets: a stream that could not be told drops what it holds, says so, and reads it anew.
BOOST_AUTO_TEST_CASE(a_stream_that_loses_track_begins_anew) {
  core::catalog catalog;
  core::medium_table media;
  net::zmq_engine engine(1);
  net::runtime lanes(2, catalog);
  net::object_shelves objects{core::object_table::options()};
  net::fleet_service fleet(lanes, engine, catalog, media, test::quick_settings(), &objects);
  lanes.start(false);
  boost::asio::io_context context;
  test::fake_publisher publisher(engine, context, {});
  struct stop {
    net::runtime& which;
    ~stop() { which.stop(std::chrono::seconds(10)); }
  };
  const stop at_the_end{lanes};
  core::registration as = test::master_of("store", "master", "m", test::odd_block_size);
  as.endpoint = publisher.endpoint();
  as.replay_endpoint = publisher.replay_endpoint();
  as.hash_seed = core::default_hash_seed;
  auto added = boost::asio::co_spawn(context, fleet.add(as), boost::asio::use_future);
  BOOST_REQUIRE(test::run_until(context, [&] { return added.wait_for(std::chrono::seconds(0)) == std::future_status::ready; }));
  BOOST_REQUIRE(added.get().has_value());
  const auto listed = fleet.view().get();
  const net::service_info& stream = *listed->front();
  const test::odd_thing thing{.tenant = "default", .key = "7", .block = 7, .key_names_it = true};
  core::event_batch batch;
  batch.events = test::events_of(thing, {}, {.memory = true}, net::event_form::mooncake_branch, "m");
  std::string payload;
  net::encode_batch(batch, media, {.form = net::event_form::mooncake_branch, .backend_id = "store"}, payload);
  publisher.publish(payload);
  const auto is_known = [&] {
    return test::is_held(catalog, as.partition, thing.block, core::medium_id::cpu) &&
           stream.status->state.load() == core::stream_state::whole;
  };
  BOOST_REQUIRE(test::run_until(context, is_known));

  std::promise<void> go_on;
  boost::asio::post(lanes.at(stream.lane).context, [held = go_on.get_future().share()] { held.wait(); });
  const net::changed_objects news{"store", "default", std::vector<std::string>(keys_each, "k")};
  for (std::size_t i = 0; i <= most_messages; ++i) objects.tell(*objects.find("store"), news);
  go_on.set_value();

  BOOST_TEST(test::run_until(context, [&] { return stream.status->failures.load() == 1; }));
  BOOST_TEST(test::run_until(context, is_known));
  BOOST_TEST(stream.status->failures.load() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()
