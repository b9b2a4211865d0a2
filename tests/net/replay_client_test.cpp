// A replay client against an odd router: every form of a reply and of an end, what is none, other people's, late and missing ones.
//
// KVC_REPLAYS_SEED sets the first router, KVC_REPLAYS_SEEDS how many there are.
#include "net/replay_client.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/test/unit_test.hpp>

#include "net/zmq_frames.hpp"
#include "tests/support/net/wire_fixture.hpp"
#include "tests/support/setting.hpp"

BOOST_AUTO_TEST_SUITE(replay_clients)

namespace {

using namespace kvc;
using namespace kvc::net;
using namespace kvc::test;
using kind = replay_client::reply::kind;

/// What the client is to say of a reply. Written from kv-events.md section 7.
struct expected {
  kind what = kind::batch;
  std::uint64_t number = 0;
  std::string topic;
  std::string payload;
};

/// A router with a client, in one thread: what has been sent is there to be received.
class stage {
 public:
  stage(wire& on, std::uint64_t seed)
      : random_(seed),
        router_(on.open(zmq_socket::kind::router)),
        endpoint_("inproc://odd-router-" + std::to_string(seed)),
        client_(on.engine, on.context.get_executor(), endpoint_, 1 << 20) {
    BOOST_TEST_REQUIRE(!router_.bind(endpoint_));
  }

  asio::awaitable<void> play() {
    for (int i = 0; i < 12; ++i) {
      co_await ask();
      for (int step = 0; step < 40; ++step) {
        if (chance(3)) {
          answer();
        } else if (chance(9)) {
          answer_others();
        } else {
          co_await hear();
        }
      }
      // Sometimes the rest of it is left, which must not be taken for a part of the next answer.
      while (!coming_.empty() && chance(2)) co_await hear();
      if (chance(3)) co_await finish();
    }
    client_.close();
    const kind last = co_await next(soon());
    BOOST_TEST((last == kind::stopped));
    BOOST_TEST((client_.request(core::seqno{0}) == errc::closed));
  }
  [[nodiscard]] std::size_t heard(kind what) const { return heard_[static_cast<std::size_t>(what)]; }

 private:
  bool chance(std::uint64_t one_in) { return random_() % one_in == 0; }
  std::string text(std::size_t most) { return std::string(random_() % (most + 1), 'p'); }
  static std::string number_text(std::uint64_t number) { return std::string(seqno_frame(core::seqno{number}).view()); }

  /// The number asked for arrives, behind an empty frame: without it publishers do not answer.
  asio::awaitable<void> ask() {
    const std::uint64_t from = chance(3) ? random_() : random_() % 100;
    BOOST_TEST_REQUIRE(!client_.request(core::seqno{from}));
    coming_.clear();
    zmq_message request;
    const auto until = soon();
    const error_code received = co_await router_.receive(request, until);
    BOOST_TEST_REQUIRE(!received);
    BOOST_TEST_REQUIRE(request.size() == 3U);
    BOOST_TEST(request.frame(1).empty());
    const auto asked = read_replay_request(request);
    BOOST_TEST_REQUIRE(asked.has_value());
    BOOST_TEST(asked->first.get() == from);
    if (!asker_.empty()) before_ = asker_;
    asker_ = std::string(asked->asker);
  }

  void send(const std::string& to, const std::vector<std::string>& frames) {
    std::vector<std::string_view> all{to};
    all.insert(all.end(), frames.begin(), frames.end());
    (void)router_.try_send(all);  // whoever has gone is not told anything
  }

  /// To somebody who has asked before, and to nobody.
  void answer_others() {
    const std::vector<std::string> frames{"", number_text(random_() % 100), "another's"};
    if (!before_.empty()) send(before_, frames);
    send("nobody", frames);
  }

  void answer() {
    constexpr std::uint64_t end = ~std::uint64_t{0};
    expected then;
    std::vector<std::string> frames;
    switch (random_() % 12) {
      case 0: {  // ends: the number that means it, in either of the last two places
        then.what = kind::end;
        const std::array<std::vector<std::string>, 4> forms{{{"", number_text(end), ""},
                                                             {"", "", number_text(end), ""},
                                                             {"", "", number_text(end)},
                                                             {"", "kv-events", number_text(end), ""}}};
        frames = forms[random_() % forms.size()];
        break;
      }
      case 1: {  // too few frames and too many
        then.what = kind::unreadable;
        constexpr std::array<std::size_t, 6> counts{1, 2, 5, 6, 63, 200};
        frames.assign(counts[random_() % counts.size()], number_text(7));
        if (frames.size() > 60) frames.resize(60);  // with the address; a message of ours has no more than 64
        break;
      }
      case 2: {  // numbers of other sizes
        then.what = kind::unreadable;
        constexpr std::array<std::size_t, 5> sizes{1, 4, 7, 9, 16};
        frames = {"", std::string(sizes[random_() % sizes.size()], '\1'), text(20)};
        if (chance(2)) frames.insert(frames.begin() + 1, "topic");
        break;
      }
      case 3:  // nothing where the number is, and something that is no end behind it
        then.what = kind::unreadable;
        frames = {"", "", chance(2) ? text(7) : number_text(end - 1)};
        break;
      default: {
        then.number = chance(4) ? random_() : random_() % 100;
        if (then.number == end) --then.number;
        then.payload = chance(8) ? std::string(100'000, 'l') : chance(8) ? number_text(end) : text(40);
        frames = {chance(5) ? "x" : "", number_text(then.number), then.payload};
        if (chance(2)) {
          then.topic = chance(2) ? "kv@10.0.0.1@org/model" : "";
          frames.insert(frames.begin() + 1, then.topic);
        }
      }
    }
    const std::uint64_t times = chance(10) ? 2 : 1;  // it is not the client that knows what it has heard
    for (std::uint64_t i = 0; i < times; ++i) {
      send(asker_, frames);
      coming_.push_back(then);
    }
  }

  asio::awaitable<kind> next(wire_clock::time_point until) {
    reply_ = co_await client_.next(until);
    ++heard_[static_cast<std::size_t>(reply_.what)];
    co_return reply_.what;
  }

  asio::awaitable<void> hear() {
    if (coming_.empty()) {
      const auto until = wire_clock::now() + std::chrono::microseconds(chance(20) ? 300 : 0);
      const kind silence = co_await next(until);
      BOOST_TEST_REQUIRE((silence == kind::silence));
      co_return;
    }
    const expected then = coming_.front();
    coming_.pop_front();
    const auto until = soon();
    (void)co_await next(until);
    BOOST_TEST_REQUIRE((reply_.what == then.what));
    if (then.what != kind::batch) co_return;
    BOOST_TEST_REQUIRE(reply_.number.get() == then.number);
    BOOST_TEST_REQUIRE(reply_.topic == then.topic);
    const std::string_view payload(reinterpret_cast<const char*>(reply_.payload.data()), reply_.payload.size());
    BOOST_TEST_REQUIRE((payload == then.payload));
  }

  /// Nothing more of this answer is wanted.
  asio::awaitable<void> finish() {
    client_.finish();
    const auto until = soon();
    const kind last = co_await next(until);
    BOOST_TEST((last == kind::silence));
  }

  std::mt19937_64 random_;
  zmq_socket router_;
  std::string endpoint_;
  replay_client client_;
  std::string asker_;
  std::string before_;  ///< who asked before: the client's last socket
  std::deque<expected> coming_;
  replay_client::reply reply_;
  std::array<std::size_t, 5> heard_{};
};

}  // namespace

BOOST_AUTO_TEST_CASE(what_a_router_sends_to_whoever_has_asked_is_told_as_what_it_is) {
  const std::uint64_t first = setting("KVC_REPLAYS_SEED", 1);
  const std::uint64_t seeds = setting("KVC_REPLAYS_SEEDS", 40);
  wire on;
  std::array<std::size_t, 5> heard{};
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      stage here(on, seed);
      on.run(here.play());
      for (std::size_t i = 0; i < heard.size(); ++i) heard[i] += here.heard(static_cast<kind>(i));
    }
  }
  for (std::size_t i = 0; i < heard.size(); ++i) BOOST_TEST(heard[i] >= seeds);  // or nothing was tried
}

BOOST_AUTO_TEST_CASE(a_wait_for_a_reply_ends_when_the_client_is_closed_or_its_coroutine_cancelled) {
  for (const bool by_close : {true, false}) {
    wire on;
    zmq_socket router = on.open(zmq_socket::kind::router);
    BOOST_TEST_REQUIRE(!router.bind("inproc://silent-router"));
    replay_client client(on.engine, on.context.get_executor(), "inproc://silent-router", 1 << 20);
    BOOST_TEST_REQUIRE(!client.request(core::seqno{0}));
    std::optional<kind> heard;
    const auto wait = [&]() -> asio::awaitable<void> {
      const auto until = wire_clock::now() + std::chrono::hours(1);
      const replay_client::reply got = co_await client.next(until);
      heard = got.what;
    };
    asio::cancellation_signal stop;
    asio::co_spawn(on.context, wait(), asio::bind_cancellation_slot(stop.slot(), [](std::exception_ptr) {}));
    on.context.poll();
    BOOST_TEST(!heard.has_value());

    if (by_close) {
      client.close();
    } else {
      stop.emit(asio::cancellation_type::terminal);
    }
    on.context.restart();
    on.context.run();
    BOOST_TEST((heard == kind::stopped));
  }
}

BOOST_AUTO_TEST_CASE(a_request_that_cannot_be_sent_says_why_and_the_next_one_may_be) {
  wire on;
  replay_client client(on.engine, on.context.get_executor(), "no endpoint", 1 << 20);
  BOOST_TEST((client.request(core::seqno{0}) == errc::invalid_endpoint));
  const auto hear = [&]() -> asio::awaitable<void> {
    const auto until = wire_clock::now();
    const replay_client::reply got = co_await client.next(until);
    BOOST_TEST((got.what == kind::silence));
  };
  on.run(hear());
  BOOST_TEST((client.request(core::seqno{0}) == errc::invalid_endpoint));
}

// A stream takes "stopped" for its end, and would stay listed with nobody to hear its publisher.
BOOST_AUTO_TEST_CASE(who_has_not_been_asked_is_silent) {
  wire on;
  replay_client client(on.engine, on.context.get_executor(), "inproc://nobody", 1 << 20);
  const auto hear = [&](kind expected) -> asio::awaitable<void> {
    const auto until = wire_clock::now() + std::chrono::hours(1);
    const replay_client::reply got = co_await client.next(until);
    BOOST_TEST((got.what == expected));
  };
  on.run(hear(kind::silence));
  client.finish();
  on.run(hear(kind::silence));
  client.close();
  on.run(hear(kind::stopped));
}

BOOST_AUTO_TEST_SUITE_END()
