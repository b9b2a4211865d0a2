#include "net/log.hpp"

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <mutex>
#include <utility>

namespace kvc::net::log {
namespace {

constexpr std::array<std::string_view, 4> module_words{"app", "http", "stream", "fleet"};
constexpr std::array<std::string_view, 6> level_words{"trace", "debug", "info", "warn", "error", "off"};

spdlog::level::level_enum to_spdlog(level severity) noexcept {
  switch (severity) {
    case level::trace: return spdlog::level::trace;
    case level::debug: return spdlog::level::debug;
    case level::info: return spdlog::level::info;
    case level::warn: return spdlog::level::warn;
    case level::error: return spdlog::level::err;
    case level::off: return spdlog::level::off;
  }
  return spdlog::level::info;
}

/// What `write` needs. Reached through a reference that is never destroyed, so that destructors of other statics may still log.
struct shared_state {
  std::array<std::atomic<level>, module_words.size()> least{level::info, level::info, level::info, level::info};
  std::mutex changing;
  std::shared_ptr<const sink> receiver;  ///< never null
};

sink standard_error() {
  auto logger = std::make_shared<spdlog::logger>("kvc", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %l %v");
  logger->set_level(spdlog::level::trace);
  logger->flush_on(spdlog::level::trace);
  return [logger](level severity, std::string_view line) {
    logger->log(to_spdlog(severity), spdlog::string_view_t(line.data(), line.size()));
  };
}

shared_state& shared() {
  static shared_state& only = *[] {
    auto* const made = new shared_state;
    made->receiver = std::make_shared<const sink>(standard_error());
    return made;
  }();
  return only;
}

bool needs_quotes(std::string_view value) noexcept {
  if (value.empty()) return true;
  for (const char letter : value) {
    const auto byte = static_cast<unsigned char>(letter);
    if (byte <= 0x20 || byte == 0x7F || byte == '"' || byte == '\\' || byte == '=') return true;
  }
  return false;
}

/// Peers choose some of these values: control bytes must not be able to start a line of their own or to drive a terminal.
void append_quoted(std::string& line, std::string_view value) {
  constexpr std::string_view digits = "0123456789abcdef";
  line += '"';
  for (const char letter : value) {
    const auto byte = static_cast<unsigned char>(letter);
    if (byte == '"' || byte == '\\') {
      line += '\\';
      line += letter;
    } else if (byte == '\n') {
      line += "\\n";
    } else if (byte < 0x20 || byte == 0x7F) {
      line += "\\x";
      line += digits[byte >> 4U];
      line += digits[byte & 0xFU];
    } else {
      line += letter;
    }
  }
  line += '"';
}

template <std::size_t Count>
bool find_word(const std::array<std::string_view, Count>& words, std::string_view word, std::size_t& index) noexcept {
  for (index = 0; index < Count; ++index) {
    if (words[index] == word) return true;
  }
  return false;
}

}  // namespace

bool enabled(module from, level severity) noexcept {
  return severity != level::off && severity >= shared().least[static_cast<std::size_t>(from)].load(std::memory_order_relaxed);
}

void write(module from, level severity, std::string_view what, std::initializer_list<field> fields) noexcept {
  if (!enabled(from, severity)) return;
  try {
    std::string line(to_string(from));
    line += ' ';
    line += what;
    for (const field& each : fields) {
      line += ' ';
      line += each.key;
      line += '=';
      if (needs_quotes(each.value)) {
        append_quoted(line, each.value);
      } else {
        line += each.value;
      }
    }
    std::shared_ptr<const sink> receiver;
    {
      const std::lock_guard lock(shared().changing);
      receiver = shared().receiver;
    }
    (*receiver)(severity, line);
  } catch (...) {
    std::fputs("kv-conductor: a log line could not be written\n", stderr);
  }
}

void set_level(module from, level least) noexcept {
  shared().least[static_cast<std::size_t>(from)].store(least, std::memory_order_relaxed);
}

void set_sink(sink receiver) {
  auto next = std::make_shared<const sink>(receiver ? std::move(receiver) : standard_error());
  const std::lock_guard lock(shared().changing);
  shared().receiver.swap(next);
}

bool parse_level(std::string_view word, level& parsed) noexcept {
  std::size_t index = 0;
  if (!find_word(level_words, word, index)) return false;
  parsed = static_cast<level>(index);
  return true;
}

bool parse_module(std::string_view word, module& parsed) noexcept {
  std::size_t index = 0;
  if (!find_word(module_words, word, index)) return false;
  parsed = static_cast<module>(index);
  return true;
}

std::string_view to_string(level severity) noexcept { return level_words[static_cast<std::size_t>(severity)]; }
std::string_view to_string(module from) noexcept { return module_words[static_cast<std::size_t>(from)]; }

}  // namespace kvc::net::log
