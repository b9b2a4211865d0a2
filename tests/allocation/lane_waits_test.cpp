// Coroutines that wait for their turn or for a replay, come and go as they please, are cancelled and run out of memory anywhere: whoever is
// left has to get on, in the order they came.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <random>
#include <vector>

#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/unit_test.hpp>

#include "net/errc.hpp"
#include "net/lane_turns.hpp"
#include "net/log.hpp"
#include "net/replay_gate.hpp"
#include "net/task_scope.hpp"
#include "tests/allocation/watched_heap.hpp"
#include "tests/support/setting.hpp"

BOOST_AUTO_TEST_SUITE(lane_waits)

namespace {

using namespace kvc::net;
using kvc::test::watched_heap;

/// The streams of a lane that the test runs itself, one handler after the other.
class stage {
 public:
  explicit stage(std::uint64_t seed) : random_(seed) {
    turns_line_.reserve(most_streams);
    replays_line_.reserve(most_streams);
  }
  ~stage() {
    for (const auto& each : streams_) each->task.cancel(asio::cancellation_type::terminal);
    settle();
  }
  stage(const stage&) = delete;
  stage& operator=(const stage&) = delete;

  void play() {
    const bool is_memory_short = chance(2);
    for (int step = 0; step < 600; ++step) {
      if (streams_.size() < most_streams && chance(5)) come();
      if (chance(10)) end_an_answer();
      if (chance(40)) cancel();
      turn(is_memory_short && chance(3));
    }
    is_over_ = true;
    settle();
    while (end_an_answer()) settle();
  }

  [[nodiscard]] std::size_t left() const {
    const auto is_left = [](const auto& each) { return each->task.running() != 0; };
    return static_cast<std::size_t>(std::ranges::count_if(streams_, is_left));
  }
  [[nodiscard]] std::size_t passes() const { return gate_.inside(); }
  [[nodiscard]] std::size_t entered() const { return entered_; }
  [[nodiscard]] std::size_t turns_taken() const { return turns_taken_; }
  [[nodiscard]] std::size_t failures() const { return failures_; }
  [[nodiscard]] bool is_in_order() const { return is_in_order_; }
  [[nodiscard]] bool is_too_full() const { return is_too_full_; }

 private:
  static constexpr std::size_t most_streams = 90;

  struct stream {
    explicit stream(asio::io_context& context) : task(context.get_executor()), answer(context) {}
    bool is_cancelled = false;
    bool is_inside = false;
    task_scope task;
    asio::steady_timer answer;  ///< of its replay; how long that takes is the test's to say
  };
  using line = std::vector<const stream*>;  ///< of those who wait, as they came

  bool chance(std::uint64_t one_in) { return random_() % one_in == 0; }

  void come() {
    auto& made = streams_.emplace_back(std::make_unique<stream>(context_));
    made->task.spawn("stream", live(*made));
  }
  bool end_an_answer() {
    std::vector<stream*> inside;
    for (const auto& each : streams_) {
      if (each->is_inside) inside.push_back(each.get());
    }
    if (inside.empty()) return false;
    inside[random_() % inside.size()]->answer.cancel();
    return true;
  }
  void cancel() {
    if (streams_.empty()) return;
    stream& whom = *streams_[random_() % streams_.size()];
    whom.is_cancelled = true;
    whom.task.cancel(chance(2) ? asio::cancellation_type::total : asio::cancellation_type::terminal);
    for (int i = 0; i < 20; ++i) turn(false);  // to end a coroutine takes memory that nobody could do without
  }
  /// Some handlers, as a lane runs them whatever they throw.
  void turn(bool fails) {
    for (int i = 0; i < 4; ++i) {
      if (fails) watched_heap::before_failure = static_cast<long>(random_() % 8);
      try {
        (void)context_.poll_one();
      } catch (const std::exception&) {
        ++failures_;
      }
      watched_heap::before_failure = -1;
    }
  }
  void settle() {
    context_.restart();
    while (context_.poll_one() != 0) {
    }
  }

  /// From when somebody comes until he goes on, or has to leave, however he does: a coroutine that cannot begin a wait is destroyed.
  class standing {
   public:
    standing(stage& in, line& which, const stream& who) : in_(in), which_(which), who_(who) { which.push_back(&who); }
    ~standing() { std::erase(which_, &who_); }
    standing(const standing&) = delete;
    standing& operator=(const standing&) = delete;
    /// Everybody who came before has gone on, or was asked to leave.
    void go_on() {
      const auto mine = std::ranges::find(which_, &who_);
      in_.is_in_order_ = in_.is_in_order_ && std::all_of(which_.begin(), mine, [](const stream* each) { return each->is_cancelled; });
      which_.erase(mine);
    }

   private:
    stage& in_;
    line& which_;
    const stream& who_;
  };
  struct visit {
    explicit visit(stream& who) : of(who) { of.is_inside = true; }
    ~visit() { of.is_inside = false; }
    visit(const visit&) = delete;
    visit& operator=(const visit&) = delete;
    stream& of;
  };

  asio::awaitable<void> live(stream& me) {
    co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
    co_await asio::this_coro::throw_if_cancelled(false);
    while (!is_over_) {
      const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
      if (state.cancelled() != asio::cancellation_type::none) co_return;
      try {
        if (chance(3)) {
          const replay_gate::pass mine = co_await enter(me);
          co_await hear_answer(me);
        } else {
          co_await take_turn(me);
        }
      } catch (const std::bad_alloc&) {
        ++failures_;
      }
    }
  }
  asio::awaitable<void> take_turn(stream& me) {
    standing here(*this, turns_line_, me);
    co_await turns_.next();
    here.go_on();
    ++turns_taken_;
  }
  asio::awaitable<replay_gate::pass> enter(stream& me) {
    standing here(*this, replays_line_, me);
    replay_gate::pass mine = co_await gate_.enter();
    here.go_on();
    co_return mine;
  }
  asio::awaitable<void> hear_answer(stream& me) {
    ++entered_;
    // Who has been inside for long takes no room; a machine that stands still may have made it so.
    const bool is_young = std::chrono::steady_clock::now() - begun_ < replay_gate::patience;
    is_too_full_ = is_too_full_ || (is_young && !me.is_cancelled && gate_.inside() > replay_gate::room + asked_to_leave());
    const visit here(me);
    error_code woken;
    co_await me.answer.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  }
  /// To those the gate gives a pass at once.
  [[nodiscard]] std::size_t asked_to_leave() const {
    return static_cast<std::size_t>(std::ranges::count_if(streams_, [](const auto& each) { return each->is_cancelled; }));
  }

  std::mt19937_64 random_;
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  lane_turns turns_;
  replay_gate gate_;
  asio::io_context context_{1};
  std::vector<std::unique_ptr<stream>> streams_;
  line turns_line_;
  line replays_line_;
  bool is_over_ = false;
  bool is_in_order_ = true;
  bool is_too_full_ = false;
  std::size_t entered_ = 0;
  std::size_t turns_taken_ = 0;
  std::size_t failures_ = 0;
};

}  // namespace

BOOST_AUTO_TEST_CASE(whoever_is_left_gets_on_in_the_order_they_came) {
  // A hand-over that is lost would stop every stream of the lane, for good and without a word.
  log::set_level(log::module::app, log::level::off);  // of coroutines that were destroyed; and it is there now
  const std::uint64_t first = kvc::test::setting("KVC_LANE_WAITS_SEED", 1);
  const std::uint64_t seeds = kvc::test::setting("KVC_LANE_WAITS_SEEDS", 200);
  std::size_t entered = 0;
  std::size_t turns = 0;
  std::size_t failures = 0;
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    stage here(seed);
    here.play();
    BOOST_TEST_CONTEXT("seed " << seed) {
      BOOST_TEST_REQUIRE(here.left() == 0U);
      BOOST_TEST(here.passes() == 0U);
      BOOST_TEST(here.is_in_order());
      BOOST_TEST(!here.is_too_full());
    }
    entered += here.entered();
    turns += here.turns_taken();
    failures += here.failures();
  }
  BOOST_TEST_MESSAGE(turns << " turns, " << entered << " replays, " << failures << " failures");
  BOOST_TEST(entered > 10 * seeds);  // or nothing was tried
  BOOST_TEST(turns > 100 * seeds);
  BOOST_TEST(failures > seeds);
  log::set_level(log::module::app, log::level::info);
}

BOOST_AUTO_TEST_SUITE_END()
