#include "perf/sim_chaos_run.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <string>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "net/task_scope.hpp"
#include "net/zmq_socket.hpp"
#include "perf/sim_chaos_session.hpp"
#include "perf/sim_memory_watch.hpp"

namespace kvc::sim {
namespace {

using clock = std::chrono::steady_clock;

constexpr std::chrono::seconds news_pause{5};
constexpr std::chrono::milliseconds look_pause{100};
constexpr std::chrono::minutes session_patience{5};
constexpr std::size_t most_failures_told = 5;
constexpr double mebibyte = 1U << 20;

void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

/// Lane: one thread.
class chaos_run {
 public:
  explicit chaos_run(const options& chosen)
      : chosen_(chosen),
        next_seed_(chosen.chaos_seed),
        transport_(1, 65'536),
        signals_(context_, SIGINT, SIGTERM),
        timer_(context_),
        sessions_(context_.get_executor()),
        main_(context_.get_executor()) {
    request_.server_host = chosen.server_host;
    request_.server_port = chosen.server_port;
    request_.engine_host = chosen.engine_host;
    request_.run = "chaos-" + std::to_string(::getpid());
  }

  int go() {
    signals_.async_wait([this](const boost::system::error_code& failed, int) {
      if (!failed) is_stopping_ = true;
    });
    started_ = clock::now();
    main_.spawn("chaos", whole());
    context_.run();
    return main_.failed() > 0 || failures_ > 0 || is_growing_ || seeds_ == 0 ? 1 : 0;
  }

 private:
  [[nodiscard]] bool goes_on() const {
    if (is_stopping_) return false;
    if (chosen_.minutes > 0) return clock::now() - started_ < std::chrono::minutes(chosen_.minutes);
    return next_seed_ < chosen_.chaos_seed + chosen_.chaos_seeds;
  }

  asio::awaitable<void> run_some() {
    while (goes_on()) {
      chaos_verdict verdict;
      chaos_request what = request_;
      verdict.seed = next_seed_++;
      // A verdict about a run that the machine has disturbed is worth nothing; the seed is, once more.
      for (int attempt = 1;; ++attempt) {
        verdict = co_await run_chaos_session(transport_, context_.get_executor(), what, verdict.seed, is_stopping_);
        if (verdict.complaints.empty() || verdict.was_undisturbed() || is_stopping_ || attempt == most_chaos_attempts) break;
        ++disturbed_;
        what.run += "-again";
      }
      if (is_stopping_) break;
      if (verdict.complaints.empty() || verdict.was_undisturbed()) {
        take(verdict);
      } else {
        undecided_.push_back(verdict.seed);
      }
    }
  }

  void take(const chaos_verdict& verdict) {
    ++seeds_;
    faults_.add(verdict.faults);
    coverage_.add(verdict.coverage);
    streams_ += verdict.streams;
    incomplete_ += verdict.incomplete;
    batches_ += verdict.batches;
    answers_ += verdict.answers;
    if (verdict.complaints.empty()) return;
    if (++failures_ > most_failures_told) return;
    for (const std::string& each : verdict.complaints) {
      std::printf("FAILED  seed %llu: %s\n", static_cast<unsigned long long>(verdict.seed), each.c_str());
    }
    if (chosen_.minutes > 0) return;  // a long run is for counting; the seed tells the story again
    for (const std::string& each : verdict.journal) std::printf("        %s\n", each.c_str());
  }

  void look_at_memory() {
    if (chosen_.watched_process == 0) return;
    if (const auto bytes = resident_bytes(chosen_.watched_process)) {
      memory_.add(*bytes);
      last_bytes_ = *bytes;
    }
  }

  void tell_news() {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(clock::now() - started_).count();
    std::printf("%6lld s  %llu seeds, %llu streams (%llu incomplete), %llu batches, %llu answers, %llu failed",
                static_cast<long long>(seconds), static_cast<unsigned long long>(seeds_), static_cast<unsigned long long>(streams_),
                static_cast<unsigned long long>(incomplete_), static_cast<unsigned long long>(batches_),
                static_cast<unsigned long long>(answers_), static_cast<unsigned long long>(failures_));
    if (!undecided_.empty()) std::printf(", %llu undecided", static_cast<unsigned long long>(undecided_.size()));
    if (last_bytes_ > 0) std::printf(", server %.1f MiB", static_cast<double>(last_bytes_) / mebibyte);
    std::printf("\n");
    std::fflush(stdout);
  }

  void sum_up() {
    tell_news();
    if (disturbed_ > 0) {
      std::printf("%llu times a seed was run again, because this machine took the time of the run that failed\n",
                  static_cast<unsigned long long>(disturbed_));
    }
    for (const std::uint64_t each : undecided_) {
      std::printf("UNDECIDED  seed %llu: failed %d times, and the machine took the time of each run\n",
                  static_cast<unsigned long long>(each), most_chaos_attempts);
    }
    std::printf("injected\n");
    for (std::size_t i = 0; i < fault_count; ++i) {
      std::printf("  %-16s %llu\n", std::string(to_string(static_cast<fault>(i))).c_str(),
                  static_cast<unsigned long long>(faults_.times[i]));
    }
    coverage_.visit_all([](const std::string& name, std::uint64_t times) {
      if (times == 0) std::printf("never happened: %s\n", name.c_str());
    });
    if (const auto verdict = memory_.judge()) {
      is_growing_ = !verdict->is_flat;
      std::printf("memory  %.1f MiB in the third quarter, %.1f MiB in the last: %s\n", static_cast<double>(verdict->before) / mebibyte,
                  static_cast<double>(verdict->after) / mebibyte, is_growing_ ? "GROWING" : "flat");
    }
    const bool is_fine = failures_ == 0 && !is_growing_ && seeds_ > 0;
    std::printf("%s\n", is_fine ? "ok" : "FAILED");
    std::fflush(stdout);
  }

  asio::awaitable<void> whole() {
    for (std::uint32_t i = 0; i < chosen_.clients; ++i) sessions_.spawn("session", run_some());
    auto next_news = clock::now() + news_pause;
    while (sessions_.running() > 0) {
      boost::system::error_code woken;
      timer_.expires_after(look_pause);
      co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
      if (clock::now() < next_news) continue;
      next_news = clock::now() + news_pause;
      look_at_memory();
      tell_news();
    }
    co_await sessions_.wait(session_patience);
    sum_up();
    signals_.cancel();
  }

  const options chosen_;
  chaos_request request_;
  std::uint64_t next_seed_;
  asio::io_context context_{1};
  bool is_stopping_ = false;
  bool is_growing_ = false;
  clock::time_point started_{};
  std::uint64_t seeds_ = 0;
  std::uint64_t failures_ = 0;
  std::uint64_t disturbed_ = 0;
  std::vector<std::uint64_t> undecided_;  ///< seeds whose every run failed and was disturbed
  std::uint64_t streams_ = 0;
  std::uint64_t incomplete_ = 0;
  std::uint64_t batches_ = 0;
  std::uint64_t answers_ = 0;
  std::uint64_t last_bytes_ = 0;
  fault_counts faults_;
  chaos_coverage coverage_;
  memory_watch memory_;
  net::zmq_engine transport_;
  asio::signal_set signals_;
  asio::steady_timer timer_;
  net::task_scope sessions_;
  net::task_scope main_;  ///< last: ends before what it uses
};

}  // namespace

int run_chaos(const options& chosen) {
  raise_descriptor_limit();
  chaos_run whole(chosen);
  return whole.go();
}

}  // namespace kvc::sim
