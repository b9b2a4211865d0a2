// One line per fact, key=value fields, level by module. Formatting and sinks are spdlog's.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

namespace kvc::net::log {

/// Which room a line comes from; each has a level of its own.
enum class module : std::uint8_t { app, http, stream, fleet };
enum class level : std::uint8_t { trace, debug, info, warn, error, off };

/// One `key=value` of a line. Values with blanks, quotes or control bytes are quoted and escaped when the line is written.
struct field {
  field(std::string_view name, std::string_view text) : key(name), value(text) {}
  field(std::string_view name, const char* text) : key(name), value(text) {}
  field(std::string_view name, const std::string& text) : key(name), value(text) {}
  field(std::string_view name, bool flag) : key(name), value(flag ? "true" : "false") {}
  template <class Number>
  requires(std::integral<Number> || std::floating_point<Number>) field(std::string_view name, Number number)
      : key(name), value(std::to_string(number)) {}

  std::string_view key;
  std::string value;
};

/// True when a line of this level would be written: ask before building costly fields.
[[nodiscard]] bool enabled(module from, level severity) noexcept;

/// Writes `what` followed by the fields. `what` is a short constant phrase; everything variable goes into fields. Any lane; never throws.
void write(module from, level severity, std::string_view what, std::initializer_list<field> fields = {}) noexcept;

inline void debug(module from, std::string_view what, std::initializer_list<field> fields = {}) {
  write(from, level::debug, what, fields);
}
inline void info(module from, std::string_view what, std::initializer_list<field> fields = {}) {
  write(from, level::info, what, fields);
}
inline void warn(module from, std::string_view what, std::initializer_list<field> fields = {}) {
  write(from, level::warn, what, fields);
}
inline void error(module from, std::string_view what, std::initializer_list<field> fields = {}) {
  write(from, level::error, what, fields);
}

void set_level(module from, level least) noexcept;

/// Receives every written line, already formatted as `module what key=value ...`, without time and level. May be called from any lane.
using sink = std::function<void(level severity, std::string_view line)>;

/// Replaces the sink; an empty one brings back the default (standard error with time and level). Any lane, but lines being written
/// meanwhile may still reach the old sink.
void set_sink(sink receiver);

/// Words for configuration: `trace debug info warn error off`; `app http stream fleet`. False when the word is unknown.
[[nodiscard]] bool parse_level(std::string_view word, level& parsed) noexcept;
[[nodiscard]] bool parse_module(std::string_view word, module& parsed) noexcept;
[[nodiscard]] std::string_view to_string(level severity) noexcept;
[[nodiscard]] std::string_view to_string(module from) noexcept;

}  // namespace kvc::net::log
