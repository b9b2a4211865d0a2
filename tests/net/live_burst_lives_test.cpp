// Bursts that take, hand out and let go of messages in any order, from two publishers over sockets, beside a list that is what they should
// be: what is there, what is in hand, which cannot be read, and which came over another connection than the one before.
//
// KVC_BURST_SEED sets the first life, KVC_BURST_SEEDS how many there are.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "net/live_burst.hpp"
#include "tests/support/net/wire_fixture.hpp"
#include "tests/support/setting.hpp"

namespace kvc::test {
BOOST_AUTO_TEST_SUITE(live_burst_lives)

namespace {

using net::error_code;
using net::live_burst;
using net::live_socket;
using net::seqno_frame;
using net::zmq_socket;

/// What one publisher has said. Its topic tells who and which.
struct said {
  std::string topic;
  std::uint64_t number = 0;
  std::string payload;
  net::error_code failed;
};

struct arrived {
  said what;
  bool is_other_connection = false;
};

class life {
 public:
  life(wire& on, std::uint64_t seed)
      : random_(seed),
        publishers_{on.open(zmq_socket::kind::publisher), on.open(zmq_socket::kind::publisher)},
        subscriber_(on.hear("tcp://127.0.0.1:*", true)) {}

  net::asio::awaitable<void> play() {
    co_await meet();
    for (int step = 0; step < 400; ++step) {
      switch (below(8)) {
        case 0:
        case 1: publish(); break;
        case 2: co_await receive_one(); break;
        case 3: receive_more(); break;
        case 4:
          if (told_ < all_.size()) {
            burst_.tell();
            ++told_;
          }
          break;
        case 5: finish(); break;
        case 6:
          if (below(4) == 0) drop_untold();
          break;
        default:
          if (below(20) == 0) clear();
      }
      check();
    }
    clear();
    while (!on_their_way_[0].empty() || !on_their_way_[1].empty()) {  // nothing was lost on the way
      co_await receive_one();
      check();
      clear();
    }
    subscriber_->close();  // or the lane would wait for what its connections may still do
  }

 private:
  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }

  /// Both publishers connect to the subscriber, and each is heard.
  net::asio::awaitable<void> meet() {
    for (zmq_socket& each : publishers_) {
      BOOST_TEST_REQUIRE(!each.connect(subscriber_->bound_endpoint()));
      co_await get_heard(each, *subscriber_);
    }
  }

  void publish() {
    const std::size_t who = below(2);
    for (std::uint64_t left = 1 + below(5); left != 0; --left) {
      said next;
      next.number = random_();
      next.topic = std::to_string(who) + ":" + std::to_string(next.number);
      constexpr std::array<std::size_t, 5> longest{1, 40, 2'000, 9'000, 40'000};
      next.payload.assign(below(longest[below(longest.size())]), static_cast<char>('a' + below(26)));
      const seqno_frame number{core::seqno{next.number}};
      std::vector<std::string_view> frames{next.topic, number.view(), next.payload};
      const std::uint64_t kind = below(8);
      if (kind == 0) {
        frames.pop_back();
        next.failed = net::errc::bad_frame_count;
      } else if (kind == 1) {
        frames[1] = "short";
        next.failed = net::errc::bad_seqno_frame;
      }
      BOOST_TEST_REQUIRE(!publishers_[who].try_send(frames));
      on_their_way_[who].push_back(std::move(next));
    }
  }

  [[nodiscard]] bool has_room() const { return end_ < live_burst::most_messages && bytes_ < live_burst::enough_bytes; }

  /// The burst has one more, as it says itself: whose it is, and what it has to be.
  void note(std::size_t place) {
    const live_burst::arrival& got = burst_[place];
    BOOST_TEST_REQUIRE(got.message.size() > 0U);
    const std::string topic = text_of(got.message, 0);
    const std::size_t who = topic.starts_with("0") ? 0 : 1;
    BOOST_TEST_REQUIRE(!on_their_way_[who].empty());
    arrived next{std::move(on_their_way_[who].front()), last_heard_ != who};
    on_their_way_[who].pop_front();
    BOOST_TEST_REQUIRE(next.what.topic == topic);
    last_heard_ = who;
    ++end_;
    if (!next.what.failed) bytes_ += next.what.payload.size();
    all_.push_back(std::move(next));
  }
  net::asio::awaitable<void> receive_one() {
    if (!has_room()) co_return;
    const bool is_coming = !on_their_way_[0].empty() || !on_their_way_[1].empty();
    bool is_there = burst_.receive(*subscriber_);
    if (!is_coming) BOOST_TEST_REQUIRE(!is_there);
    while (is_coming && !is_there) {
      (void)subscriber_->poll_connection();
      const auto until = soon();
      const error_code waited = co_await subscriber_->wait(until);
      BOOST_TEST_REQUIRE(!waited);
      is_there = burst_.receive(*subscriber_);
    }
    if (is_there) note(all_.size());
  }
  /// What has not arrived yet may be left; what has is taken up to a bound.
  void receive_more() {
    const std::size_t before = all_.size();
    const std::size_t most = below(live_burst::most_messages + 4);
    burst_.receive_more(*subscriber_, most);
    const std::size_t now = burst_.size();
    BOOST_TEST_REQUIRE(now >= before);
    for (std::size_t place = before; place < now; ++place) {
      BOOST_TEST_REQUIRE(has_room());
      BOOST_TEST_REQUIRE(place < most);
      note(place);
    }
  }
  void finish() {
    burst_.finish();
    all_.erase(all_.begin(), all_.begin() + static_cast<std::ptrdiff_t>(told_));
    told_ = 0;
    if (all_.empty()) begin_anew();
  }
  void drop_untold() {
    burst_.drop_untold();
    end_ -= all_.size() - told_;
    all_.resize(told_);
  }
  void clear() {
    burst_.clear();
    all_.clear();
    told_ = 0;
    begin_anew();
  }
  void begin_anew() {
    end_ = 0;
    bytes_ = 0;
  }

  void check() const {
    BOOST_TEST_REQUIRE(burst_.size() == all_.size());
    BOOST_TEST_REQUIRE(burst_.in_hand() == told_);
    BOOST_TEST_REQUIRE(burst_.has_room() == has_room());
    for (std::size_t i = 0; i < all_.size(); ++i) {
      const live_burst::arrival& got = burst_[i];
      const arrived& expected = all_[i];
      BOOST_TEST_REQUIRE(got.failed == expected.what.failed);
      BOOST_TEST_REQUIRE(got.is_other_connection == expected.is_other_connection, "message " << i);
      if (got.failed) continue;
      BOOST_TEST_REQUIRE(got.batch.number.get() == expected.what.number);
      BOOST_TEST_REQUIRE(got.batch.topic == expected.what.topic);
      const std::string_view payload(reinterpret_cast<const char*>(got.batch.payload.data()), got.batch.payload.size());
      BOOST_TEST_REQUIRE((payload == expected.what.payload), "message " << i);
    }
  }

  std::mt19937_64 random_;
  std::array<zmq_socket, 2> publishers_;
  std::optional<live_socket> subscriber_;
  live_burst burst_;
  std::array<std::deque<said>, 2> on_their_way_;
  std::vector<arrived> all_;  ///< what the burst should have
  std::size_t told_ = 0;
  std::size_t end_ = 0;    ///< places used since there was nothing
  std::size_t bytes_ = 0;  ///< of payloads received since then
  std::optional<std::size_t> last_heard_;
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_burst_is_what_a_list_of_its_messages_would_be) {
  const std::uint64_t first = setting("KVC_BURST_SEED", 1);
  const std::uint64_t seeds = setting("KVC_BURST_SEEDS", 10);
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      wire on;
      life one(on, seed);
      on.run(one.play());
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test
