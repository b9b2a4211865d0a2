// What a stream writes into the log of things that are not understood: the first time in any case, however much came at once.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "net/errc.hpp"
#include "net/stream_sink.hpp"
#include "tests/net/event_samples.hpp"
#include "tests/support/net/heard_log.hpp"
#include "tests/support/net/told_stream.hpp"

BOOST_AUTO_TEST_SUITE(stream_sink_lines)

namespace {

using namespace kvc;

/// A store's stream without a socket.
struct lone_sink {
  test::two_lanes on{1};
  net::object_shelves objects{{}};
  net::service_info info;
  std::unique_ptr<net::stream_sink> sink;
  test::heard_log log;

  lone_sink() {
    info.registration = test::master_of("store", "master", "m", 16);
    info.worker = *on.numbers.next();
    info.status = std::make_shared<core::stream_status>();
    info.objects = &objects;
    sink = std::make_unique<net::stream_sink>(on.lanes.at(0), info, on.catalog, on.media, on.streams);
  }
  /// Applies a batch and has its lane do what belongs to that.
  void apply(const std::string& payload) {
    BOOST_TEST_REQUIRE(!sink->read(std::as_bytes(std::span(payload))));
    auto now = std::chrono::steady_clock::now();
    if (sink->begin(now)) return;
    on.lanes.at(0).tasks.spawn("batch", finish(*sink, now));
    while (on.lanes.at(0).tasks.running() != 0) on.turn();
  }
  static net::asio::awaitable<void> finish(net::stream_sink& of, std::chrono::steady_clock::time_point now) { co_await of.finish(now); }

  [[nodiscard]] std::ptrdiff_t lines_with(std::string_view part) const {
    const auto all = log.lines();
    return std::ranges::count_if(all, [&](const std::string& line) { return line.find(part) != std::string::npos; });
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_batch_nobody_can_read_is_told_however_many_events_could_not_be_understood_before) {
  // It may have been lost for good, and why stands nowhere else.
  lone_sink here;
  here.apply(net::samples::from_hex("92cb41dac043843039569291ab426c6f636b53746f72656491ab426c6f636b53746f726564"));
  BOOST_TEST(here.info.status->rejected.load() == 2U);

  here.sink->reject_batch(core::seqno{7}, net::make_error_code(net::errc::not_understood));
  BOOST_TEST(here.info.status->rejected.load() == 3U);
  BOOST_TEST(here.lines_with("seqno=7") == 1);
  for (int i = 0; i < 1'000; ++i) here.sink->reject_batch(core::seqno{8}, net::make_error_code(net::errc::not_understood));
  BOOST_TEST(here.lines_with("seqno=8") == 9);  // when they double
}

BOOST_AUTO_TEST_SUITE_END()
