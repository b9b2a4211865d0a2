// Streams for which the system has no socket at the moment: too many files, or too many sockets.
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "tests/support/net/payloads.hpp"
#include "tests/support/net/stream_fixture.hpp"

BOOST_AUTO_TEST_SUITE(stream_sockets)

namespace {

using kvc::core::connection_state;
using kvc::core::stream_state;
using kvc::net::zmq_socket;
using kvc::test::fake_publisher;
using kvc::test::stored_payload;
using kvc::test::tokens_from;

/// Of each kind: those that are watched, three for each stream that publishers connect to, so that there are enough for two; and those that
/// ask for replays.
constexpr std::size_t sockets = 8;

struct scarce_fixture : kvc::test::stream_fixture {
  scarce_fixture() : stream_fixture(kvc::test::quick_settings(), sockets) {}

  kvc::net::zmq_engine others;  ///< the publishers have their own sockets
  fake_publisher publisher{others, context, {}};
  const std::vector<std::string> names{"a", "b", "c", "d"};
  std::map<std::string, fake_publisher> callers;  ///< by name; who is connected to directly needs none of libzmq's sockets

  [[nodiscard]] static kvc::core::registration bound(const fake_publisher& caller, const std::string& name) {
    auto wanted = registration(caller, name);
    wanted.endpoint = "ipc://@kvc-scarce-" + name + std::to_string(::getpid());
    wanted.bind = true;
    return wanted;
  }
  void add_all() {
    for (const auto& each : names) {
      fake_publisher::options calling;
      calling.endpoint = "ipc://@kvc-scarce-" + each + std::to_string(::getpid());
      calling.connects = true;
      fake_publisher& caller = callers.try_emplace(each, others, context, calling).first->second;
      caller.publish(stored_payload({1}, {}, tokens_from(0, 1)));
      BOOST_TEST_REQUIRE(await(fleet.add(bound(caller, each))).has_value());
    }
  }
  [[nodiscard]] bool has_no_socket(const std::string& name) { return service(name)->status->connection.load() == connection_state::failed; }
  bool remove(const std::string& name) {
    return await(fleet.remove({.tenant = "default", .instance = name, .rank = {}, .kind = {}})).size() == 1;
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_stream_without_a_socket_says_so_and_gets_the_next_that_is_free, scarce_fixture) {
  add_all();
  BOOST_TEST_REQUIRE(eventually([&] { return has_no_socket("c") && has_no_socket("d"); }));
  BOOST_TEST((state("d") == stream_state::joining));

  BOOST_TEST_REQUIRE(remove("a"));
  BOOST_TEST_REQUIRE(remove("b"));

  for (const char* each : {"c", "d"}) {
    BOOST_TEST_REQUIRE(eventually([&] { return state(each) == stream_state::whole; }));
    BOOST_TEST(depth(tokens_from(0, 1), each) == 1U);
    BOOST_TEST(!has_no_socket(each));
  }
}

BOOST_FIXTURE_TEST_CASE(a_stream_without_a_socket_can_be_replaced_and_unregistered, scarce_fixture) {
  // Nobody would be able to get rid of it otherwise, and the service could not be stopped.
  add_all();
  BOOST_TEST_REQUIRE(eventually([&] { return has_no_socket("c") && has_no_socket("d"); }));

  BOOST_TEST(remove("d"));

  auto other = bound(callers.at("c"), "c");
  other.replay_endpoint.clear();
  BOOST_TEST_REQUIRE(await(fleet.add(other)).has_value());
  BOOST_TEST(remove("c"));
}

BOOST_FIXTURE_TEST_CASE(what_cannot_be_asked_for_without_a_socket_is_asked_for_later, scarce_fixture) {
  // The publisher still has it all: neither a gap nor the proof after a break may be taken for unanswered.
  publisher.publish(stored_payload({1}, {}, tokens_from(0, 1)));
  BOOST_TEST_REQUIRE(await(fleet.add(registration(publisher))).has_value());
  BOOST_TEST_REQUIRE(eventually([&] { return state() == stream_state::whole; }));
  for (const bool is_break : {false, true}) {
    // All that there are: the one of the replay before is given back a little after its end, and must not be there for the next.
    std::vector<std::optional<zmq_socket>> others_of_ours;
    BOOST_TEST_REQUIRE(eventually([&] {
      std::optional<zmq_socket> next;
      if (!zmq_socket::open(next, engine, context.get_executor(), zmq_socket::kind::dealer)) others_of_ours.push_back(std::move(next));
      return others_of_ours.size() == sockets;
    }));
    if (is_break) {
      publisher.break_connection(others, context);
    } else {
      publisher.lose_live(stored_payload({2}, 1, tokens_from(4, 1)));
      publisher.publish(stored_payload({3}, 2, tokens_from(8, 1)));
    }
    BOOST_TEST_REQUIRE(eventually([&] { return state() == stream_state::recovering; }));
    others_of_ours.clear();

    BOOST_TEST(eventually([&] { return depth(tokens_from(0, 3)) == 3U && state() == stream_state::whole; }));
    BOOST_TEST(service()->status->lost.load() == 0U);
    BOOST_TEST(service()->status->generation.load() == 1U);
  }
}

BOOST_FIXTURE_TEST_CASE(publishers_are_found_by_name_and_those_that_are_not_say_so, kvc::test::stream_fixture) {
  fake_publisher publisher(engine, context, {});
  const auto by_name = [](std::string endpoint) { return endpoint.replace(endpoint.find("127.0.0.1"), 9, "localhost"); };
  publisher.publish(stored_payload({1}, {}, tokens_from(0, 1)));
  auto wanted = registration(publisher, "named");
  wanted.endpoint = by_name(wanted.endpoint);
  wanted.replay_endpoint = by_name(wanted.replay_endpoint);
  auto nowhere = registration(publisher, "nowhere");
  nowhere.endpoint = "tcp://no-such-host.invalid:5557";

  BOOST_TEST_REQUIRE(await(fleet.add(nowhere)).has_value());
  BOOST_TEST_REQUIRE(await(fleet.add(wanted)).has_value());

  BOOST_TEST(eventually([&] { return depth(tokens_from(0, 1), "named") == 1; }));
  BOOST_TEST(eventually([&] { return service("nowhere")->status->connection.load() == connection_state::failed; }));
  BOOST_TEST(await(fleet.remove({.tenant = "default", .instance = "nowhere", .rank = {}, .kind = {}})).size() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()
