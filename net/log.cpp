#include "net/log.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <mutex>
#include <utility>

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

#include "core/utf8.hpp"

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

/// Whether a character may stand in a line as it is. Peers choose some values: what begins a line (also in the eyes of a program that reads
/// the log), drives a terminal or turns the direction of writing must not.
bool is_harmless(std::string_view character) noexcept {
  const auto byte = [character](std::size_t at) { return static_cast<unsigned char>(character[at]); };
  switch (character.size()) {
    case 0: return false;
    case 1: return byte(0) >= 0x20 && byte(0) != 0x7F;
    case 2: return byte(0) != 0xC2 || byte(1) >= 0xA0;  // U+0080 to U+009F, the second set of controls
    case 3:
      if (byte(0) != 0xE2) return true;
      if (byte(1) == 0x80) return byte(2) < 0x8E || (byte(2) > 0x8F && byte(2) < 0xA8) || byte(2) > 0xAE;  // U+200E, 200F, 2028 to 202E
      return byte(1) != 0x81 || byte(2) < 0xA6 || byte(2) > 0xA9;                                          // U+2066 to 2069
    default: return true;
  }
}

/// The character at `at`, or a byte that belongs to none.
std::string_view character_at(std::string_view value, std::size_t at, bool& may_stand) noexcept {
  const std::string_view character = value.substr(at, core::character_length(value.substr(at)));
  may_stand = is_harmless(character);
  return character.empty() ? value.substr(at, 1) : character;
}

bool needs_quotes(std::string_view value) noexcept {
  bool may_stand = !value.empty();
  for (std::size_t at = 0; may_stand && at < value.size();) {
    const std::string_view next = character_at(value, at, may_stand);
    if (next == " " || next == "\"" || next == "\\" || next == "=") return true;
    at += next.size();
  }
  return !may_stand;
}

void append_quoted(std::string& line, std::string_view value) {
  constexpr std::string_view digits = "0123456789abcdef";
  line += '"';
  for (std::size_t at = 0; at < value.size();) {
    bool may_stand = false;
    const std::string_view next = character_at(value, at, may_stand);
    at += next.size();
    if (next == "\"" || next == "\\") line += '\\';
    if (next == "\n") {
      line += "\\n";
    } else if (may_stand) {
      line += next;
    } else {
      for (const char letter : next) {
        const auto byte = static_cast<unsigned char>(letter);
        line += "\\x";
        line += digits[byte >> 4U];
        line += digits[byte & 0xFU];
      }
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

std::string_view to_string(level severity) noexcept {
  return level_words[static_cast<std::size_t>(severity)];
}
std::string_view to_string(module from) noexcept {
  return module_words[static_cast<std::size_t>(from)];
}

}  // namespace kvc::net::log
