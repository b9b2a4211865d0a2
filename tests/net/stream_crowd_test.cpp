// Many streams of a lane that ask for replays at once.
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "net/replay_gate.hpp"
#include "tests/support/net/payloads.hpp"
#include "tests/support/net/stream_fixture.hpp"

BOOST_AUTO_TEST_SUITE(stream_crowd)

using kvc::core::stream_state;
using kvc::test::fake_publisher;
using kvc::test::stored_payload;
using kvc::test::stream_fixture;
using kvc::test::tokens_from;

namespace {

kvc::net::stream_settings patient_settings() {
  auto settings = kvc::test::quick_settings();
  settings.replay_timeout = std::chrono::minutes(10);  // longer than the test: whoever does not answer stays inside
  return settings;
}

/// More publishers on each of the two lanes than may be replayed at once, each with a batch that only a replay can bring.
struct crowd_fixture : stream_fixture {
  crowd_fixture() : stream_fixture(patient_settings()) {}

  std::vector<std::unique_ptr<fake_publisher>> publishers;

  void come(std::size_t count, const std::string& name, bool answers) {
    for (std::size_t i = 0; i < count; ++i) {
      fake_publisher& made = *publishers.emplace_back(std::make_unique<fake_publisher>(engine, context, fake_publisher::options{}));
      made.publish(stored_payload({1}, {}, tokens_from(0, 1)));
      made.answer(answers);
      BOOST_REQUIRE(await(fleet.add(registration(made, name + std::to_string(i)))));
    }
  }
  [[nodiscard]] std::size_t in_state(stream_state wanted) {
    std::size_t found = 0;
    for (const auto& each : *fleet.view().get()) found += each->status->state.load() == wanted ? 1U : 0U;
    return found;
  }
};

constexpr std::size_t crowd = 3 * kvc::net::replay_gate::room;

}  // namespace

BOOST_AUTO_TEST_CASE(all_of_a_crowd_are_caught_up_with) {
  crowd_fixture at;
  at.come(crowd, "engine-", true);

  BOOST_TEST(at.eventually([&] { return at.in_state(stream_state::whole) == crowd; }));
  BOOST_TEST(at.depth(tokens_from(0, 1), "engine-0") == 1U);
  BOOST_TEST(at.depth(tokens_from(0, 1), "engine-" + std::to_string(crowd - 1)) == 1U);
}

BOOST_AUTO_TEST_CASE(a_healthy_stream_is_caught_up_with_beside_many_whose_publishers_do_not_answer) {
  crowd_fixture at;
  at.come(crowd, "silent-", false);
  at.come(2, "healthy-", true);

  BOOST_TEST(at.eventually([&] { return at.in_state(stream_state::whole) == 2U; }));
  BOOST_TEST(at.depth(tokens_from(0, 1), "healthy-0") == 1U);
  BOOST_TEST(at.depth(tokens_from(0, 1), "healthy-1") == 1U);
}

BOOST_AUTO_TEST_CASE(streams_that_wait_for_their_turn_can_be_unregistered) {
  crowd_fixture at;
  at.come(crowd, "silent-", false);

  for (std::size_t i = 0; i < crowd; ++i) {
    BOOST_TEST_REQUIRE(
        at.await(at.fleet.remove({.tenant = "default", .instance = "silent-" + std::to_string(i), .rank = {}, .kind = {}})).size() == 1U);
  }
  BOOST_TEST(at.fleet.view().get()->empty());
  BOOST_TEST(at.catalog.view().get()->partitions.empty());
}

BOOST_AUTO_TEST_SUITE_END()
