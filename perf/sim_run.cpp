#include "perf/sim_run.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <sys/resource.h>
#include <unistd.h>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "net/task_scope.hpp"
#include "net/zmq_socket.hpp"
#include "perf/sim_demo.hpp"
#include "perf/sim_display.hpp"
#include "perf/sim_fleet.hpp"
#include "perf/sim_generator.hpp"
#include "perf/sim_player.hpp"
#include "perf/sim_trace.hpp"

namespace kvc::sim {
namespace {

using clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds longest_nap{100};
constexpr std::chrono::seconds task_patience{5};

/// Every rank opens sockets and every socket needs descriptors: take all that are allowed.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

std::unique_ptr<request_source> open_source(const options& chosen) {
  if (chosen.trace.empty()) return std::make_unique<trace_generator>(chosen.seed);
  return std::make_unique<trace_file>(chosen.trace);
}

/// Everything of one run. Lane: one thread.
class run {
 public:
  explicit run(const options& chosen)
      : chosen_(chosen),
        source_(open_source(chosen)),
        // Two sockets per rank, and room for the transport's own.
        transport_(1, static_cast<int>(chosen.engines * chosen.ranks * 2 + 64)),
        engines_(transport_, context_.get_executor(), chosen_, is_stopping_),
        player_(context_.get_executor(), chosen_, *source_, engines_, is_stopping_),
        screen_(chosen.plain),
        signals_(context_, SIGINT, SIGTERM),
        showing_(context_.get_executor()),
        publishing_(context_.get_executor()),
        main_(context_.get_executor()) {}

  int go() {
    watch_signals();
    main_.spawn("run", whole());
    context_.run();
    return main_.failed() > 0 ? 1 : exit_code_;
  }

 private:
  void watch_signals() {
    signals_.async_wait([this](const boost::system::error_code& failed, int) {
      if (failed) return;
      if (is_stopping_) {
        display::restore_cursor();
        ::_exit(130);
      }
      is_stopping_ = true;
      watch_signals();
    });
  }

  /// Sleeps, but not past the wish to stop.
  asio::awaitable<void> nap(clock::duration length) {
    const auto end = clock::now() + length;
    asio::steady_timer timer(context_);
    while (!is_stopping_ && clock::now() < end) {
      boost::system::error_code woken;
      timer.expires_at(std::min(end, clock::now() + longest_nap));
      co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    }
  }

  void complain(const std::string& what) {
    exit_code_ = 1;
    screen_.finish();
    std::fflush(stdout);
    std::fprintf(stderr, "kv-conductor-sim: %s\n", what.c_str());
  }

  void take_picture(clock::duration since_last) {
    const tally& totals = player_.totals();
    const double seconds = std::chrono::duration<double>(since_last).count();
    const std::uint64_t blocks = totals.stored_blocks + totals.removed_blocks;
    if (seconds > 0) {
      // Smoothed over about a second, so that the numbers can be read.
      const double weight = std::min(1.0, seconds);
      const auto smooth = [&](double& shown, std::uint64_t now, std::uint64_t& before) {
        const double rate = static_cast<double>(now - before) / seconds;
        shown = shown == 0 ? rate : shown + weight * (rate - shown);
        before = now;
      };
      smooth(picture_.events_per_s, totals.events, events_before_);
      smooth(picture_.blocks_per_s, blocks, blocks_before_);
      smooth(picture_.queries_per_s, totals.queries, queries_before_);
    }
    picture_.source = source_->describe();
    picture_.planned = chosen_.requests;
    picture_.elapsed_s = std::chrono::duration<double>(clock::now() - started_).count();
    picture_.held_by_engines = engines_.blocks();
    picture_.totals = &totals;
  }

  asio::awaitable<void> refresh_held(conductor& server) {
    const reply got = co_await server.get("/global_view");
    if (got.error.empty()) picture_.held_by_conductor = read_blocks_held(got.body);
  }

  /// Refreshes the display and samples what only the conductor knows, until the play is over.
  asio::awaitable<void> show() {
    conductor server(context_.get_executor(), chosen_);
    auto last = clock::now();
    auto last_look = clock::time_point();
    while (is_playing_ && !is_stopping_) {
      if (clock::now() - last_look >= std::chrono::seconds(1)) {
        last_look = clock::now();
        co_await refresh_held(server);
        if (!chosen_.strict && is_playing_) {
          // Samples are for information: a failed one is repeated a second later, and whether the run fails is for the clients to say.
          static_cast<void>(co_await engines_.sample_staleness(server, player_.totals()));
        }
      }
      const auto now = clock::now();
      take_picture(now - last);
      last = now;
      if (is_playing_) screen_.show(picture_, chosen_);
      asio::steady_timer timer(context_, display::picture_pause);
      boost::system::error_code woken;
      co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    }
  }

  void sum_up() {
    take_picture(clock::duration::zero());
    const tally& totals = player_.totals();
    if (screen_.is_terminal()) screen_.show(picture_, chosen_);
    screen_.finish();
    if (!player_.error().empty()) complain(player_.error());
    if (chosen_.strict && totals.differences > 0) complain(grouped(totals.differences) + " differences in a strict run");
    if (is_stopping_ && exit_code_ == 0) complain("stopped before the end");
    std::vector<std::string> lines{"", "summary"};
    for (auto& line : render_summary(picture_, chosen_)) lines.push_back("  " + line);
    if (chosen_.speed > 0) {
      lines.push_back("  late       p99 " + grouped(player_.lateness_ms().at(0.99)) + " ms behind the trace's clock");
    }
    if (engines_.replays_served() > 0) lines.push_back("  replays    " + grouped(engines_.replays_served()) + " served");
    if (chosen_.strict) {
      for (const auto& each : totals.first_differences) lines.push_back("  differs    " + to_string(each));
    }
    lines.emplace_back(exit_code_ == 0 ? "ok" : "FAILED");
    screen_.print(lines);
    if (!chosen_.json_file.empty()) {
      std::ofstream file(chosen_.json_file, std::ios::binary);
      file << summary_json(picture_, chosen_, exit_code_ == 0);
      if (!file.flush()) complain("cannot write " + chosen_.json_file);
    }
  }

  /// Commands that show answers: a prompt small enough to read, and a real one, whose beginning is sure to be held somewhere.
  void print_example() {
    const bool is_v6 = chosen_.server_host.find(':') != std::string::npos;
    const std::string host = is_v6 ? "[" + chosen_.server_host + "]" : chosen_.server_host;
    const std::string base = "http://" + host + ":" + std::to_string(chosen_.server_port);
    options plain = chosen_;
    plain.wire = query_form::json;
    screen_.print({"", "The engines stay up; TERM or Ctrl-C ends them. Ask, for example:", "", demo_engine::example(base),
                   "curl -s '" + base + "/services?instance_id=" + instance_name(0) + "'",
                   "curl -s " + base + "/query -d '" + query_body(plain, player_.example()) + "'"});
  }

  asio::awaitable<void> stay_up() {
    demo_engine demo(transport_, context_.get_executor(), chosen_);
    std::string wrong = co_await demo.start(publishing_, is_stopping_);
    if (!wrong.empty()) complain(wrong);
    print_example();
    while (!is_stopping_) co_await nap(longest_nap);
    if (!chosen_.keep) wrong = co_await demo.stop();
    if (!wrong.empty()) complain(wrong);
    // Its replays refer to it: they end before it does.
    publishing_.cancel(asio::cancellation_type::terminal);
    co_await publishing_.wait(task_patience);
  }

  asio::awaitable<void> play(conductor& server) {
    started_ = clock::now();
    is_playing_ = true;
    showing_.spawn("display", show());
    co_await player_.play();
    picture_.elapsed_s = std::chrono::duration<double>(clock::now() - started_).count();
    is_playing_ = false;
    co_await showing_.wait(task_patience);
    if (player_.error().empty()) {
      std::string wrong = co_await engines_.settle(server);
      if (!wrong.empty()) complain(wrong);
      co_await refresh_held(server);
    }
    sum_up();
  }

  asio::awaitable<void> whole() {
    conductor server(context_.get_executor(), chosen_);
    std::string wrong = source_->error();
    if (wrong.empty()) wrong = engines_.open();
    if (wrong.empty()) {
      engines_.start(publishing_);
      wrong = co_await engines_.join(server);
      if (wrong.empty() && !is_stopping_) {
        co_await play(server);
        if (chosen_.serve && !is_stopping_) co_await stay_up();
      }
      if (!chosen_.keep) {
        std::string left = co_await engines_.leave(server);
        // After a failed start the first complaint says it all.
        if (!left.empty() && wrong.empty()) complain(left);
      }
    }
    if (!wrong.empty()) complain(wrong);
    showing_.cancel(asio::cancellation_type::terminal);
    publishing_.cancel(asio::cancellation_type::terminal);
    co_await showing_.wait(task_patience);
    co_await publishing_.wait(task_patience);
    signals_.cancel();
  }

  const options chosen_;
  asio::io_context context_{1};
  bool is_stopping_ = false;
  bool is_playing_ = false;
  int exit_code_ = 0;
  std::unique_ptr<request_source> source_;
  net::zmq_engine transport_;
  fleet engines_;
  player player_;
  display screen_;
  picture picture_;
  clock::time_point started_{};
  std::uint64_t events_before_ = 0;
  std::uint64_t blocks_before_ = 0;
  std::uint64_t queries_before_ = 0;
  asio::signal_set signals_;
  net::task_scope showing_;
  net::task_scope publishing_;
  net::task_scope main_;  ///< last: ends before what it uses
};

}  // namespace

int run_simulation(const options& chosen) {
  raise_descriptor_limit();
  run whole(chosen);
  return whole.go();
}

}  // namespace kvc::sim
