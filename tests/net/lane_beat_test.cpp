// Until when a lane has surely seen everything.
#include "net/lane_beat.hpp"

#include <chrono>
#include <thread>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(lane_beats)

namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using kvc::net::lane_beat;
using clock_type = lane_beat::clock;

constexpr auto period = 2ms;

/// Until the beat has settled on a moment behind `when`.
clock_type::time_point settle_behind(asio::io_context& lane, const lane_beat& beat, clock_type::time_point when) {
  const auto patience = clock_type::now() + 20s;
  while (beat.settled() <= when && clock_type::now() < patience) lane.run_one();
  return beat.settled();
}

}  // namespace

BOOST_AUTO_TEST_CASE(nothing_is_settled_before_the_lane_has_gone_round) {
  asio::io_context lane{1};
  lane_beat beat(lane, period);
  beat.begin();
  BOOST_TEST((beat.settled() == clock_type::time_point()));
  BOOST_TEST((settle_behind(lane, beat, {}) != clock_type::time_point()));
}

BOOST_AUTO_TEST_CASE(what_is_settled_lies_two_periods_back_and_goes_on) {
  asio::io_context lane{1};
  lane_beat beat(lane, period);
  beat.begin();
  const auto begun = clock_type::now();
  const auto first = settle_behind(lane, beat, begun);
  BOOST_TEST((first > begun));
  BOOST_TEST((clock_type::now() - first >= 2 * period));
  BOOST_TEST((settle_behind(lane, beat, first) > first));
}

BOOST_AUTO_TEST_CASE(what_came_while_the_lane_was_busy_is_behind_what_is_settled) {
  // Whoever is woken behind a long piece of work must not believe that all was well until just now.
  asio::io_context lane{1};
  lane_beat beat(lane, period);
  beat.begin();
  (void)settle_behind(lane, beat, clock_type::now());
  clock_type::time_point came;
  clock_type::time_point settled;
  asio::post(lane, [&] {
    came = clock_type::now();
    while (clock_type::now() - came < 10 * period) std::this_thread::yield();
    asio::post(lane, [&] { settled = beat.settled(); });  // as a sleep ends for what came
  });
  while (settled == clock_type::time_point()) lane.run_one();
  BOOST_TEST((settled < came));
}

BOOST_AUTO_TEST_SUITE_END()
