// How late a stream is heard, in each place where it is told: /services, /workers, rows with detail, /metrics.
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <future>
#include <iterator>
#include <string>

#include <boost/asio/post.hpp>
#include <boost/json/value.hpp>
#include <boost/json/value_to.hpp>
#include <boost/test/unit_test.hpp>

#include "tests/support/net/payloads.hpp"
#include "tests/support/net/told_figures.hpp"

BOOST_AUTO_TEST_SUITE(stream_lag)

namespace {

using namespace kvc;
using std::chrono::milliseconds;
using test::stored_payload;
using test::tokens_from;
using test::told_figures;

/// The stream "a" is whole, and nothing has been published yet.
struct lag_fixture : test::report_fixture {
  test::fake_publisher publisher{engine, context, {}};

  lag_fixture() {
    enrol(publisher, "a");
    BOOST_REQUIRE(reaches("a", core::stream_state::whole));
  }
  [[nodiscard]] bool has_applied(core::seqno newest) {
    const auto status = status_of("a");
    return eventually([&] { return status->last_seqno.load() == newest.get() && status->last_applied_ns.load() != 0; });
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(lag_and_delay_are_told_in_each_place) {
  // The age of the newest batch differs from place to place by when each was asked; how old it was on arrival is one number.
  lag_fixture at;
  const told_figures before(at, "a");
  for (const auto& place : {before.service, before.worker, before.row}) {
    BOOST_TEST(place.at("lag_ms").is_null());
    BOOST_TEST(place.at("delay_ms").is_null());
  }
  BOOST_TEST(!before.series.contains("lag_seconds"));
  BOOST_TEST(!before.series.contains("delay_seconds"));

  const auto published = std::chrono::steady_clock::now();
  at.publisher.publish(test::aged(stored_payload({1}, {}, tokens_from(0, 1)), std::chrono::seconds(100)));
  BOOST_REQUIRE(at.has_applied(core::seqno{0}));
  const told_figures told(at, "a");
  const double elapsed_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - published).count();

  const auto number = [](const boost::json::object& place, const char* name) { return boost::json::value_to<double>(place.at(name)); };
  const double delay_ms = number(told.service, "delay_ms");
  BOOST_TEST(delay_ms >= 100'000);
  BOOST_TEST(delay_ms <= 100'000 + elapsed_ms);
  BOOST_TEST(number(told.worker, "delay_ms") == delay_ms);
  BOOST_TEST(number(told.row, "delay_ms") == delay_ms);
  BOOST_REQUIRE(told.series.contains("delay_seconds"));
  BOOST_TEST(std::abs(told.series.at("delay_seconds") * 1e3 - delay_ms) < 0.5);
  BOOST_REQUIRE(told.series.contains("lag_seconds"));
  const double lags_ms[] = {0,
                            number(told.service, "lag_ms"),
                            number(told.worker, "lag_ms"),
                            number(told.row, "lag_ms"),
                            told.series.at("lag_seconds") * 1e3,
                            elapsed_ms};
  for (std::size_t i = 1; i < std::size(lags_ms); ++i) BOOST_TEST(lags_ms[i - 1] <= lags_ms[i], i);
}

BOOST_AUTO_TEST_CASE(a_lane_that_stood_still_is_told_as_delay) {
  // What comes to a lane that is busy waits; the newest batch it has applied is always young, so its age tells nothing of that.
  lag_fixture at;
  const auto seen = at.fleet.view().get();
  const std::size_t lane = seen->front()->lane;
  std::promise<void> go_on;
  boost::asio::post(at.lanes.at(lane).context, [held = go_on.get_future().share()] { held.wait(); });

  constexpr std::uint32_t batches = 50;
  constexpr milliseconds shortest_hold{300};
  for (std::uint32_t i = 0; i < batches; ++i) {
    at.publisher.publish(test::aged(stored_payload({i + 1}, {}, tokens_from(4 * i, 1)), std::chrono::seconds(0)));
  }
  const auto last_published = std::chrono::system_clock::now();
  const bool has_stood = at.eventually([&] { return std::chrono::system_clock::now() - last_published >= shortest_hold; });
  const auto held_ms = std::chrono::duration_cast<milliseconds>(std::chrono::system_clock::now() - last_published).count();
  go_on.set_value();
  BOOST_REQUIRE(has_stood);
  BOOST_REQUIRE(at.has_applied(core::seqno{batches - 1}));

  const told_figures told(at, "a");
  for (const auto& place : {told.service, told.worker, told.row}) BOOST_TEST(place.at("delay_ms").as_int64() >= held_ms);
  BOOST_REQUIRE(told.series.contains("delay_seconds"));
  BOOST_TEST(told.series.at("delay_seconds") * 1e3 >= static_cast<double>(held_ms) - 0.5);
}

BOOST_AUTO_TEST_SUITE_END()
