#include "app/log_sink.hpp"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <pthread.h>
#include <string>
#include <thread>

#include <spdlog/async_logger.h>
#include <spdlog/details/thread_pool.h>
#include <spdlog/sinks/stdout_sinks.h>

#include "net/log.hpp"
#include "net/log_losses.hpp"

namespace kvc::app {
namespace {

namespace log = net::log;

/// Lines kept while standard error does not take them. A line is a few hundred bytes, so this is about 2 MiB at most.
constexpr std::size_t queued_lines = 8192;

/// Priorities of syslog(3): 3 error, 4 warning, 6 informational, 7 debug.
std::string_view journal_priority(log::level severity) noexcept {
  switch (severity) {
    case log::level::error: return "<3>";
    case log::level::warn: return "<4>";
    case log::level::info: return "<6>";
    case log::level::debug:
    case log::level::trace:
    case log::level::off: return "<7>";
  }
  return "<7>";
}

spdlog::level::level_enum to_spdlog(log::level severity) noexcept {
  switch (severity) {
    case log::level::trace: return spdlog::level::trace;
    case log::level::debug: return spdlog::level::debug;
    case log::level::info: return spdlog::level::info;
    case log::level::warn: return spdlog::level::warn;
    case log::level::error: return spdlog::level::err;
    case log::level::off: return spdlog::level::off;
  }
  return spdlog::level::info;
}

/// The thread is there before signals are listened to, and after. A TERM that it took in between would end the process.
void take_no_signals() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

spdlog::string_view_t view_of(std::string_view text) noexcept {
  return {text.data(), text.size()};
}

/// Standard error, on the thread of the queue. Since the queue drops its oldest lines, what is missing is missing before the line that
/// comes out next, and is told there: at most once a second, and the rest when somebody waits for the end of the queue.
class standard_error final : public spdlog::sinks::stderr_sink_mt {
 public:
  /// `queue` outlives the thread's last line.
  standard_error(spdlog::details::thread_pool& queue, bool to_journal) : queue_(queue), to_journal_(to_journal) {}

  void log(const spdlog::details::log_msg& line) override {
    if (const auto now = std::chrono::steady_clock::now(); now - last_ >= std::chrono::seconds(1) && tell_dropped()) last_ = now;
    write(line);
  }
  void flush() override {
    tell_dropped();
    spdlog::sinks::stderr_sink_mt::flush();
    flushes_.fetch_add(1, std::memory_order_release);
  }

  /// Any thread.
  [[nodiscard]] std::size_t flushes() const noexcept { return flushes_.load(std::memory_order_acquire); }
  /// Lines that standard error has refused: a full disk behind it, or nobody who reads. Any thread.
  [[nodiscard]] std::uint64_t refused() const noexcept { return refused_.load(std::memory_order_relaxed); }

 private:
  void write(const spdlog::details::log_msg& line) {
    spdlog::sinks::stderr_sink_mt::log(line);
    if (std::ferror(stderr) == 0) return;
    std::clearerr(stderr);
    refused_.fetch_add(1, std::memory_order_relaxed);
  }
  bool tell_dropped() {
    const std::size_t dropped = queue_.overrun_counter();
    if (dropped == told_) return false;
    const std::string line = std::string(to_journal_ ? journal_priority(log::level::warn) : "") +
                             "app log lines dropped lines=" + std::to_string(dropped - told_);
    told_ = dropped;
    write(spdlog::details::log_msg("kv-conductor", spdlog::level::warn, view_of(line)));
    return true;
  }

  spdlog::details::thread_pool& queue_;
  const bool to_journal_;
  std::atomic<std::size_t> flushes_{0};
  std::atomic<std::uint64_t> refused_{0};
  std::size_t told_ = 0;
  std::chrono::steady_clock::time_point last_;
};

}  // namespace

struct log_sink::state {
  explicit state(bool to_journal)
      : pool(std::make_shared<spdlog::details::thread_pool>(queued_lines, 1, take_no_signals)),
        out(std::make_shared<standard_error>(*pool, to_journal)),
        logger(std::make_shared<spdlog::async_logger>("kv-conductor", out, pool, spdlog::async_overflow_policy::overrun_oldest)) {}

  std::shared_ptr<spdlog::details::thread_pool> pool;
  std::shared_ptr<standard_error> out;
  std::shared_ptr<spdlog::async_logger> logger;
};

log_sink::log_sink(bool to_journal) : state_(std::make_shared<state>(to_journal)) {
  state_->logger->set_level(spdlog::level::trace);
  log::count_lost_lines([pool = state_->pool, out = state_->out] { return pool->overrun_counter() + out->refused(); });
  state_->logger->set_pattern(to_journal ? "%v" : "%Y-%m-%dT%H:%M:%S.%e%z %l %v");
  log::set_sink([kept = state_, to_journal](log::level severity, std::string_view line) {
    if (to_journal) {
      std::string marked(journal_priority(severity));
      marked += line;
      kept->logger->log(to_spdlog(severity), view_of(marked));
    } else {
      kept->logger->log(to_spdlog(severity), view_of(line));
    }
  });
}

log_sink::~log_sink() {
  log::set_sink({});
  // Ending the pool, with the last of those that know it, writes out what is queued; the flush behind that tells what was dropped.
  state_->logger->flush();
  log::count_lost_lines({});  // no further line can be lost, and nobody else keeps the pool
}

bool log_sink::write_out(std::chrono::milliseconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  // The one writer takes the flush out of the queue only after it has written every line before it.
  const std::size_t before = state_->out->flushes();
  state_->logger->flush();
  while (state_->out->flushes() == before) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace kvc::app
