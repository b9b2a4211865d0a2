// The bytes of ZeroMQ's message transport protocol, as far as who subscribes speaks it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "net/errc.hpp"

/// ZMTP 3.0, mechanism NULL (rfc.zeromq.org/spec/23): a greeting of 64 bytes either way, a READY command either way, and then frames. Of
/// later revisions peers speak as much to whoever greets with 3.0. Pure.
namespace kvc::net::zmtp {

inline constexpr std::size_t greeting_bytes = 64;
inline constexpr std::size_t longest_head = 9;  ///< of a frame: flags and a length of 8 bytes
/// The longest command that is read: READY with an identity, both of 255 bytes at most, and room for what else a peer may tell of itself.
inline constexpr std::size_t longest_command = 4'096;

/// What we say first.
[[nodiscard]] std::array<std::byte, greeting_bytes> greeting() noexcept;

enum class greeted : std::uint8_t {
  unfinished,  ///< so far nothing is wrong
  well,        ///< 3.0 or later, mechanism NULL
  as_older,    ///< by a peer that speaks 1.0 or 2.0
  badly,       ///< no greeting, or another mechanism
};
/// Of the first bytes of a peer, however many there are.
[[nodiscard]] greeted judge_greeting(std::span<const std::byte> so_far) noexcept;

struct frame_head {
  std::uint64_t size = 0;  ///< of the body behind it
  std::uint8_t bytes = 0;  ///< of the head itself; 0: it is not there as a whole
  bool is_command = false;
  bool has_more = false;  ///< of the same message
  bool is_wrong = false;  ///< no such frame exists
};
[[nodiscard]] inline frame_head read_head(std::span<const std::byte> from) noexcept {
  constexpr unsigned more = 1;
  constexpr unsigned is_long = 2;
  constexpr unsigned command = 4;
  constexpr std::size_t short_head = 2;
  frame_head read;
  if (from.size() < short_head) return read;
  const auto flags = std::to_integer<unsigned>(from[0]);
  if (flags > (more | is_long | command) || (flags & (more | command)) == (more | command)) {
    read.is_wrong = true;
    return read;
  }
  read.has_more = (flags & more) != 0;
  read.is_command = (flags & command) != 0;
  if ((flags & is_long) == 0) {
    read.size = std::to_integer<std::uint64_t>(from[1]);
    read.bytes = short_head;
    return read;
  }
  if (from.size() < longest_head) return read;
  for (std::size_t i = 1; i < longest_head; ++i) read.size = read.size << 8 | std::to_integer<std::uint64_t>(from[i]);
  read.bytes = longest_head;
  return read;
}

struct command {
  std::string_view name;
  std::span<const std::byte> data;
};
/// The body of a command frame. None: it is no command.
[[nodiscard]] std::optional<command> read_command(std::span<const std::byte> body) noexcept;

/// Whether the peer that sent READY with `properties` publishes. Property names have no case.
[[nodiscard]] bool is_publisher(std::span<const std::byte> properties) noexcept;

/// What a heartbeat is to be answered with: the bytes that PING wants back. None: it is no PING.
[[nodiscard]] std::optional<std::span<const std::byte>> ping_context(std::span<const std::byte> data) noexcept;

// Whole frames, appended to what is to be sent. Throw std::bad_alloc: nothing has been appended then.
void append_ready(std::string& to);
void append_subscription(std::string& to, std::string_view prefix);
void append_pong(std::string& to, std::span<const std::byte> context);

}  // namespace kvc::net::zmtp
