// What a peer says in ZeroMQ's wire protocol, written down byte by byte and by nothing that the product uses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace kvc::test::zmtp_words {

/// Of so many bytes, the most significant one first.
[[nodiscard]] inline std::string number(std::uint64_t value, unsigned bytes) {
  std::string written;
  for (unsigned left = bytes; left > 0; --left) written += static_cast<char>(value >> (8 * (left - 1)) & 0xff);
  return written;
}

[[nodiscard]] inline std::string greeting(unsigned major = 3, unsigned minor = 1, std::string_view mechanism = "NULL") {
  std::string said("\xff\0\0\0\0\0\0\0\1\x7f", 10);
  said += static_cast<char>(major);
  said += static_cast<char>(minor);
  said += mechanism;
  said.resize(64);
  return said;
}

struct frame_shape {
  bool has_more = false;
  bool is_command = false;
  bool is_long = false;  ///< the length has eight bytes, although one may be enough
};
/// The head of a frame whose body has so many bytes.
[[nodiscard]] inline std::string head(std::uint64_t size, frame_shape shape = {}) {
  const bool is_long = shape.is_long || size > 255;
  const unsigned flags = (shape.has_more ? 1U : 0U) | (is_long ? 2U : 0U) | (shape.is_command ? 4U : 0U);
  return std::string(1, static_cast<char>(flags)) + number(size, is_long ? 8 : 1);
}

[[nodiscard]] inline std::string frame(std::string_view body, frame_shape shape = {}) {
  return head(body.size(), shape).append(body);
}

template <class Frames>
[[nodiscard]] std::string message_of(const Frames& bodies) {
  std::string written;
  std::size_t left = bodies.size();
  for (const auto& each : bodies) written += frame(each, {.has_more = --left > 0});
  return written;
}
[[nodiscard]] inline std::string message(std::initializer_list<std::string_view> bodies) {
  return message_of(bodies);
}

/// The body of a command.
[[nodiscard]] inline std::string words(std::string_view name, std::string_view data) {
  return number(name.size(), 1).append(name).append(data);
}
[[nodiscard]] inline std::string command(std::string_view name, std::string_view data = {}) {
  return frame(words(name, data), {.is_command = true});
}

[[nodiscard]] inline std::string property(std::string_view name, std::string_view value) {
  return number(name.size(), 1).append(name) + number(value.size(), 4).append(value);
}
[[nodiscard]] inline std::string ready(std::string_view socket_type = "PUB") {
  return command("READY", property("Socket-Type", socket_type) + property("Identity", ""));
}
/// It lets a tenth of a second pass before it takes silence for death.
[[nodiscard]] inline std::string ping(std::string_view context = {}) {
  return command("PING", number(1, 2).append(context));
}

[[nodiscard]] inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}
[[nodiscard]] inline std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace kvc::test::zmtp_words
