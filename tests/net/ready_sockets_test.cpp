#include "net/ready_sockets.hpp"

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(ready_sockets_)

namespace {

using namespace kvc;
namespace asio = boost::asio;

/// Two ends of a connection; the near one does not block.
struct connected_pair {
  connected_pair() {
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()) != 0) throw std::runtime_error("no sockets");
  }
  ~connected_pair() {
    for (const int each : ends) ::close(each);
  }
  connected_pair(const connected_pair&) = delete;
  connected_pair& operator=(const connected_pair&) = delete;

  [[nodiscard]] int near() const noexcept { return ends[0]; }
  void say(const std::string& what) const {
    BOOST_REQUIRE(::write(ends[1], what.data(), what.size()) == static_cast<ssize_t>(what.size()));
  }

  std::array<int, 2> ends{};
};

/// Does what the test wants when its socket stirs.
class listener final : public net::ready_sockets::client {
 public:
  listener(net::ready_sockets& sockets, std::function<void(listener&)> what) : what_(std::move(what)) {
    BOOST_REQUIRE(sockets.watch(pair.near(), *this));
  }
  void on_ready() noexcept override {
    ++calls;
    what_(*this);
  }
  [[nodiscard]] std::string take() {
    std::string text(100, '\0');
    const ssize_t got = ::read(pair.near(), text.data(), text.size());
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    may_read_ = false;
    return text;
  }
  [[nodiscard]] bool may_read() const noexcept { return may_read_; }
  [[nodiscard]] bool has_end() const noexcept { return has_end_; }

  connected_pair pair;
  int calls = 0;

 private:
  std::function<void(listener&)> what_;
};

struct watched_lane {
  watched_lane() { sockets.start(); }
  asio::io_context context{1};
  net::ready_sockets sockets{context};
};

}  // namespace

BOOST_AUTO_TEST_CASE(calls_those_that_have_something_and_nobody_else) {
  watched_lane lane;
  std::string heard;
  const auto hear = [&](listener& self) {
    if (self.may_read()) heard += self.take();
    if (heard == "onetwothree") lane.context.stop();
  };
  listener first(lane.sockets, hear);
  listener second(lane.sockets, hear);
  listener silent(lane.sockets, hear);

  first.pair.say("one");
  asio::post(lane.context, [&] { second.pair.say("two"); });
  asio::post(lane.context, [&] { asio::post(lane.context, [&] { first.pair.say("three"); }); });
  lane.context.run_for(std::chrono::seconds(20));
  BOOST_TEST(heard == "onetwothree");
  BOOST_TEST(silent.calls <= 1);  // that it may write
  BOOST_TEST(!silent.may_read());
}

BOOST_AUTO_TEST_CASE(tells_when_the_other_side_has_closed) {
  watched_lane lane;
  listener waiting(lane.sockets, [&](listener& self) {
    if (self.has_end()) lane.context.stop();
  });
  ::shutdown(waiting.pair.ends[1], SHUT_RDWR);
  lane.context.run_for(std::chrono::seconds(20));
  BOOST_TEST(waiting.has_end());
  BOOST_TEST(waiting.may_read());
}

BOOST_AUTO_TEST_CASE(who_always_has_more_does_not_keep_others_waiting) {
  // A client that sends a thousand requests at once, another that sends one, and the rest of what the lane has to do.
  watched_lane lane;
  int others = 0;
  const std::function<void()> other_work = [&] {
    if (++others < 100) asio::post(lane.context, other_work);
  };
  listener greedy(lane.sockets, [&](listener& self) { lane.sockets.again(self); });
  int answered_at = 0;
  listener modest(lane.sockets, [&](listener& self) {
    if (self.may_read() && !self.take().empty()) answered_at = greedy.calls;
    if (answered_at != 0 && others == 100) lane.context.stop();
    lane.sockets.again(self);
  });
  asio::post(lane.context, other_work);
  greedy.pair.say("many");
  modest.pair.say("one");
  lane.context.run_for(std::chrono::seconds(20));
  BOOST_TEST(answered_at > 0);
  BOOST_TEST(answered_at <= 3);
  BOOST_TEST(others == 100);
}

BOOST_AUTO_TEST_CASE(who_keeps_the_lane_busy_can_have_the_sockets_looked_at) {
  // Unless they are being served already: then they go on behind whatever else the lane has to do, as without it.
  watched_lane lane;
  std::string heard;
  listener asking(lane.sockets, [&](listener& self) {
    if (self.may_read()) heard += self.take();
  });
  bool is_over = false;
  asio::post(lane.context, [&] {
    asking.pair.say("one");
    lane.sockets.look();
    BOOST_TEST(heard == "one");
    asking.pair.say("two");
    lane.sockets.again(asking);
    const int before = asking.calls;
    lane.sockets.look();
    BOOST_TEST(asking.calls == before);
    is_over = true;
    lane.context.stop();
  });
  lane.context.run_for(std::chrono::seconds(20));
  BOOST_TEST(is_over);
}

BOOST_AUTO_TEST_CASE(who_has_gone_is_not_called) {
  // A session may end by its deadline after its socket has stirred and before its turn.
  watched_lane lane;
  std::vector<std::unique_ptr<listener>> all;
  int calls = 0;
  for (int i = 0; i < 10; ++i) {
    all.push_back(std::make_unique<listener>(lane.sockets, [&](listener& self) {
      ++calls;
      std::erase_if(all, [&](const auto& each) { return each.get() != &self; });
      lane.context.stop();
    }));
    all.back()->pair.say("x");
  }
  lane.context.run_for(std::chrono::seconds(20));
  BOOST_TEST(calls == 1);
}

BOOST_AUTO_TEST_SUITE_END()
