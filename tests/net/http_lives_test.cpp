// Random lives of connections, against what HTTP and the documented limits say: which answers come, in which order, and what is left then.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <dirent.h>
#include <list>
#include <memory>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/unit_test.hpp>

#include "net/http_body.hpp"
#include "net/http_reply.hpp"
#include "tests/net/http_lives_client.hpp"
#include "tests/net/http_lives_requests.hpp"
#include "tests/support/net/lone_lane.hpp"
#include "tests/support/setting.hpp"

BOOST_AUTO_TEST_SUITE(http_lives)

namespace {

using namespace kvc;
using namespace kvc::net;
using namespace std::chrono_literals;
using test::lone_lane;
using test::http_lives::life;
using test::http_lives::piece_of;

/// Where what others do is waited for; the test says when it is done.
class gate {
 public:
  asio::awaitable<void> wait() {
    const place mine(*this, co_await asio::this_coro::executor);
    error_code woken;
    co_await mine.at->async_wait(asio::redirect_error(asio::use_awaitable, woken));
  }
  /// False when nobody waits.
  bool open(std::mt19937_64& random) {
    if (waiting_.empty()) return false;
    std::next(waiting_.begin(), static_cast<std::ptrdiff_t>(random() % waiting_.size()))->cancel();
    return true;
  }

 private:
  struct place {
    place(gate& of, const asio::any_io_executor& on)
        : all(of), at(all.waiting_.emplace(all.waiting_.end(), on, asio::steady_timer::time_point::max())) {}
    ~place() { all.waiting_.erase(at); }
    place(const place&) = delete;
    place& operator=(const place&) = delete;
    gate& all;
    std::list<asio::steady_timer>::iterator at;
  };
  std::list<asio::steady_timer> waiting_;
};

struct shared_by_bodies {
  gate doors;
  int alive = 0;
  int thrown = 0;
};

/// As `piece_of` and the target say; some pieces have to be waited for.
class slow_body final : public http_body {
 public:
  slow_body(shared_by_bodies& with, std::uint64_t number, std::uint64_t pieces, std::string ending)
      : with_(with), number_(number), pieces_(pieces), ending_(std::move(ending)) {
    ++with_.alive;
  }
  ~slow_body() override { --with_.alive; }

  asio::awaitable<progress> next(lane&, std::string& into) override {
    BOOST_TEST(into.empty());
    if ((number_ + at_) % 2 == 0) co_await with_.doors.wait();
    if (at_ == pieces_ && ending_ == "broken") co_return progress::broken;
    if (at_ == pieces_ && ending_ == "throw") {
      ++with_.thrown;
      throw std::runtime_error("as asked");
    }
    into = piece_of(number_, at_);
    co_return at_++ == pieces_ ? progress::last : progress::piece;
  }

 private:
  shared_by_bodies& with_;
  std::uint64_t number_;
  std::uint64_t pieces_;
  std::string ending_;
  std::uint64_t at_ = 0;
};

class lives_service final : public http_service {
 public:
  http_plan plan(const http_request& head) override {
    http_plan planned;
    planned.counter = core::route::inspect;
    planned.waits = head.path.starts_with("/wait");
    if (head.path == "/nothing") planned.refusal = reply_with(refusal{refusal_kind::unknown_path, "no"}, head.answer_form);
    return planned;
  }
  http_reply answer_now(lane&, const http_request& request, const http_plan&) override {
    const auto number = [&](std::string_view name) { return std::stoull("0" + std::string(request.parameter(name))); };
    if (request.path == "/fails") throw std::runtime_error("as asked");
    if (request.path == "/large") return ok_reply(std::string(number("bytes"), 'l'), wire_form::text);
    if (request.path == "/stream") {
      return stream_reply(std::make_shared<slow_body>(bodies, number("number"), number("pieces"), std::string(request.parameter("ending"))),
                          wire_form::text);
    }
    return ok_reply(std::string(request.body), wire_form::text);
  }
  asio::awaitable<http_reply> answer(lane&, const http_request& request, const http_plan&) override {
    co_await bodies.doors.wait();
    if (request.path == "/waits_and_fails") {
      ++bodies.thrown;
      throw std::runtime_error("as asked");
    }
    co_return ok_reply(std::string(request.body), wire_form::text);
  }

  shared_by_bodies bodies;
};

std::size_t open_descriptors() {
  std::size_t found = 0;
  DIR* const folder = ::opendir("/proc/self/fd");
  while (::readdir(folder) != nullptr) ++found;
  ::closedir(folder);
  return found;
}

/// Some lives on one lane, from the first connection until nothing is left of them.
class story {
 public:
  explicit story(std::uint64_t seed)
      : random_(seed), next_life_(seed * 10), is_tight_(seed % 3 == 0), will_stop_(random_() % 3 == 0), lane_(service_, settings()) {}

  void play() {
    const std::size_t descriptors = open_descriptors();
    const std::uint64_t wanted = 1 + random_() % 6;
    const std::uint64_t stops_at = random_() % 800;
    for (std::uint64_t i = 0; i < 800; ++i) {
      const bool is_born = lives_.size() < wanted && !is_stopped_ && random_() % 20 == 0;
      if (is_born) lives_.push_back(std::make_unique<life>(lane_, next_life_++, is_tight_));
      if (will_stop_ && i == stops_at) stop();
      if (!lives_.empty()) act(*lives_[random_() % lives_.size()]);
    }
    const bool rests = comes_to_rest();
    BOOST_TEST(rests, told());
    for (auto& each : lives_) each->leave();
    const bool is_over = happens([&] { return lane_.shared.connections == 0 && lane_.here().tasks.running() == 0; });
    BOOST_TEST(is_over, told());
    check(descriptors);
  }

  std::size_t answers = 0;
  std::size_t times_ahead = 0;

 private:
  http_settings settings() {
    http_settings chosen;
    chosen.idle_timeout = chosen.header_timeout = chosen.body_timeout = chosen.handler_timeout = chosen.write_timeout = 1h;
    chosen.max_header_bytes = test::http_lives::most_head;
    chosen.max_body_bytes = test::http_lives::most_body;
    if (is_tight_) chosen.body_budget_bytes = 400'000;
    return chosen;
  }
  void stop() {
    is_stopped_ = true;
    lane_.ask_to_leave(asio::cancellation_type::total);
  }
  void act(life& who) {
    switch (random_() % 8) {
      case 0: (void)service_.bodies.doors.open(random_); break;
      case 1:
      case 2:
      case 3: (void)who.speak(true); break;
      case 4:
      case 5: (void)who.listen(); break;
      default: lane_.poll();
    }
  }
  /// Everybody says and hears the rest. False: somebody waits in vain.
  bool comes_to_rest() {
    std::size_t idle = 0;
    return happens([&] {
      bool has_moved = false;
      bool is_done = true;
      for (auto& each : lives_) {
        has_moved = each->listen() || has_moved;
        has_moved = each->speak(idle < 1'000) || has_moved;
        is_done = is_done && (each->is_over() || (each->is_served() && !is_stopped_));
      }
      idle = has_moved ? 0 : idle + 1;
      return is_done;
    });
  }
  template <class Condition>
  bool happens(Condition holds) {
    const auto end = std::chrono::steady_clock::now() + 20s;
    for (;;) {
      while (service_.bodies.doors.open(random_)) lane_.poll();
      lane_.poll();
      if (holds()) return true;
      if (std::chrono::steady_clock::now() > end) return false;
    }
  }
  std::string told() {
    std::ostringstream text;
    text << lane_.shared.connections << " connections, " << lane_.here().tasks.running() << " tasks" << (is_stopped_ ? ", stopped" : "");
    text << "\n";
    for (const auto& each : lives_) each->say(text);
    return text.str();
  }
  void check(std::size_t descriptors) {
    const core::lane_counters& counted = lane_.here().counters;
    std::size_t sent = 0;
    std::size_t received = 0;
    bool was_heard = !is_stopped_;  // all that was said
    for (const auto& each : lives_) {
      each->check(is_stopped_);
      sent += each->sent();
      received += each->all_received();
      answers += each->answers();
      times_ahead += each->times_ahead();
      was_heard = was_heard && each->has_heard_all();
    }
    BOOST_TEST(counted.bytes_in.get() <= sent);
    BOOST_TEST(counted.bytes_out.get() >= received);
    std::size_t made = 0;
    for (const core::route_counters& route : counted.routes) {
      for (const core::lane_counter& each : route.by_status_class) made += each.get();
    }
    BOOST_TEST(made >= answers);
    if (was_heard) {
      BOOST_TEST(counted.bytes_out.get() == received);
      BOOST_TEST(made == answers);
    }
    BOOST_TEST(counted.connections_open.get() == 0U);
    BOOST_TEST(counted.connections_timed_out.get() == 0U);
    BOOST_TEST(lane_.shared.bodies.taken() == 0U);
    BOOST_TEST(lane_.shared.replies.taken() == 0U);
    BOOST_TEST(service_.bodies.alive == 0);
    BOOST_TEST(lane_.here().tasks.failed() == static_cast<std::size_t>(service_.bodies.thrown));
    BOOST_TEST(open_descriptors() == descriptors);
  }

  std::mt19937_64 random_;
  std::uint64_t next_life_;
  bool is_tight_;
  bool will_stop_;
  bool is_stopped_ = false;
  lives_service service_;
  lone_lane lane_;
  std::vector<std::unique_ptr<life>> lives_;
};

}  // namespace

BOOST_AUTO_TEST_CASE(every_client_hears_what_it_is_owed_and_nothing_is_left_of_it) {
  const std::uint64_t first = test::setting("KVC_HTTP_SEED", 20'261'129);
  const std::uint64_t seeds = test::setting("KVC_HTTP_SEEDS", 60);
  std::size_t answers = 0;
  std::size_t times_ahead = 0;
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      story one(seed);
      one.play();
      answers += one.answers;
      times_ahead += one.times_ahead;
    }
  }
  BOOST_TEST_MESSAGE(seeds << " stories from seed " << first << ", " << answers << " answers, go ahead " << times_ahead << " times");
  BOOST_TEST((seeds < 20 || (answers > seeds && times_ahead > 0)));
}

BOOST_AUTO_TEST_SUITE_END()
