#include "app/log_sink.hpp"

#include <spdlog/async_logger.h>
#include <spdlog/details/thread_pool.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <cstddef>
#include <string>
#include <thread>

#include "net/log.hpp"

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

spdlog::string_view_t view_of(std::string_view text) noexcept { return {text.data(), text.size()}; }

}  // namespace

struct log_sink::state {
  std::shared_ptr<spdlog::details::thread_pool> pool = std::make_shared<spdlog::details::thread_pool>(queued_lines, 1);
  std::shared_ptr<spdlog::async_logger> logger = std::make_shared<spdlog::async_logger>(
      "kv-conductor", std::make_shared<spdlog::sinks::stderr_sink_mt>(), pool, spdlog::async_overflow_policy::overrun_oldest);
};

log_sink::log_sink(bool to_journal) : state_(std::make_shared<state>()) {
  state_->logger->set_level(spdlog::level::trace);
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
  const std::size_t dropped = state_->pool->overrun_counter();
  // Ending the pool writes out what is queued.
  state_.reset();
  if (dropped > 0) log::warn(log::module::app, "log lines dropped", {{"lines", dropped}});
}

void log_sink::write_out(std::chrono::milliseconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  // The one writer takes the flush out of the queue only after it has written every line before it.
  state_->logger->flush();
  while (state_->pool->queue_size() > 0 && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace kvc::app
