// What the process takes of its machine, and whether it is ready, as monitoring sees it.
#include <array>
#include <atomic>
#include <charconv>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "net/process_usage.hpp"
#include "tests/support/net/api_fixture.hpp"
#include "tests/support/net/eventually.hpp"

BOOST_AUTO_TEST_SUITE(process_metrics)

namespace {

using namespace kvc;

/// The value of a series on a page of metrics; none where it is not there.
std::optional<double> value_of(const std::string& page, const std::string& series) {
  const std::size_t at = page.find("\n" + series + " ");
  if (at == std::string::npos) return std::nullopt;
  const char* const from = page.data() + at + series.size() + 2;
  double value = 0;
  if (std::from_chars(from, page.data() + page.size(), value).ec != std::errc{}) return std::nullopt;
  return value;
}

}  // namespace

BOOST_AUTO_TEST_CASE(descriptors_are_counted) {
  // A service that runs out of them takes neither connections nor streams: monitoring has to see it come.
  const net::process_usage before = net::process_usage_now();
  BOOST_REQUIRE(before.open_descriptors.has_value());

  std::array<std::array<int, 2>, 8> pipes{};
  for (auto& each : pipes) BOOST_REQUIRE(::pipe(each.data()) == 0);
  const net::process_usage with = net::process_usage_now();
  for (const auto& each : pipes) {
    ::close(each[0]);
    ::close(each[1]);
  }

  BOOST_TEST(*with.open_descriptors == *before.open_descriptors + 16);
  BOOST_TEST(*net::process_usage_now().open_descriptors == *before.open_descriptors);
  if (before.most_descriptors) BOOST_TEST(*before.most_descriptors >= *before.open_descriptors);
}

BOOST_AUTO_TEST_CASE(memory_and_cpu_are_those_of_this_process) {
  const net::process_usage before = net::process_usage_now();
  BOOST_REQUIRE(before.resident_bytes.has_value());
  BOOST_REQUIRE(before.cpu_seconds.has_value());

  constexpr std::size_t size = 64U << 20;
  const auto touched = std::make_unique<std::vector<char>>(size, 'x');
  const net::process_usage with = net::process_usage_now();

  BOOST_TEST(*with.resident_bytes >= *before.resident_bytes + size / 2);
  BOOST_TEST(*with.virtual_bytes >= *with.resident_bytes);
  BOOST_TEST(*with.cpu_seconds >= *before.cpu_seconds);
}

BOOST_AUTO_TEST_CASE(the_page_tells_of_the_process_and_of_each_lane) {
  test::api_fixture service;
  const auto lane_series = [](int lane) { return "kvc_lane_cpu_seconds_total{lane=\"" + std::to_string(lane) + "\"}"; };

  const std::string page = service.get("/metrics").body;

  for (const char* each :
       {"process_cpu_seconds_total", "process_resident_memory_bytes", "process_virtual_memory_bytes", "process_open_fds"}) {
    BOOST_TEST(value_of(page, each).value_or(0) > 0, each);
  }
  BOOST_TEST(value_of(page, lane_series(0)).has_value());
  BOOST_TEST(value_of(page, lane_series(1)).has_value());
  const double before = value_of(page, lane_series(0)).value_or(0) + value_of(page, lane_series(1)).value_or(0);
  const std::string later = service.get("/metrics").body;  // some lane has worked for this
  BOOST_TEST(value_of(later, lane_series(0)).value_or(0) + value_of(later, lane_series(1)).value_or(0) > before);
}

BOOST_AUTO_TEST_CASE(a_lane_without_a_thread_has_no_time) {
  // A number that stands still would pass for an idle lane.
  core::catalog catalog;
  net::runtime lanes(1, catalog);
  BOOST_TEST(!lanes.at(0).cpu_time().has_value());
  lanes.start(false);
  boost::asio::io_context idle;
  BOOST_TEST(test::run_until(idle, [&] { return lanes.at(0).cpu_time().has_value(); }));
  lanes.stop(std::chrono::seconds(10));
  BOOST_TEST(!lanes.at(0).cpu_time().has_value());
}

BOOST_AUTO_TEST_CASE(the_page_tells_whether_the_service_is_ready) {
  std::atomic<bool> is_missing{true};
  test::api_settings settings;
  settings.also_missing = [&is_missing] { return is_missing ? std::vector<std::string>{"index_reserve"} : std::vector<std::string>{}; };
  test::api_fixture service(settings);

  BOOST_TEST(value_of(service.get("/metrics").body, "kvc_ready").value_or(-1) == 0);
  is_missing = false;
  BOOST_TEST(value_of(service.get("/metrics").body, "kvc_ready").value_or(-1) == 1);

  service.join("a");
  BOOST_TEST(service.get("/readyz").status == 503);
  BOOST_TEST(value_of(service.get("/metrics").body, "kvc_ready").value_or(-1) == 0);
}

BOOST_AUTO_TEST_SUITE_END()
