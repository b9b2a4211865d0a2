#include "net/zmtp_codec.hpp"

#include <algorithm>

namespace kvc::net::zmtp {
namespace {

constexpr std::size_t signature_bytes = 10;
constexpr std::size_t mechanism_at = 12;
constexpr std::size_t mechanism_bytes = 20;
constexpr std::size_t short_frame = 255;
constexpr unsigned char major = 3;
constexpr std::string_view mechanism = "NULL";
constexpr std::string_view socket_type = "Socket-Type";

std::string_view text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool is_same_name(std::string_view one, std::string_view other) {
  const auto lower = [](char each) { return each >= 'A' && each <= 'Z' ? static_cast<char>(each - 'A' + 'a') : each; };
  return std::ranges::equal(one, other, {}, lower, lower);
}

void append_big_endian(std::string& to, std::uint64_t value, unsigned bytes) {
  for (unsigned i = bytes; i-- > 0;) to += static_cast<char>(value >> (8 * i) & 0xff);
}

std::uint64_t read_big_endian(std::span<const std::byte> bytes) {
  std::uint64_t value = 0;
  for (const std::byte each : bytes) value = value << 8 | std::to_integer<std::uint64_t>(each);
  return value;
}

}  // namespace

std::array<std::byte, greeting_bytes> greeting() noexcept {
  std::array<std::byte, greeting_bytes> said{};
  said[0] = std::byte{0xff};
  said[signature_bytes - 2] = std::byte{1};  // a length, for peers of the first version: of an identity that is empty
  said[signature_bytes - 1] = std::byte{0x7f};
  said[signature_bytes] = std::byte{major};
  std::ranges::transform(mechanism, said.begin() + mechanism_at, [](char each) { return static_cast<std::byte>(each); });
  return said;
}

greeted judge_greeting(std::span<const std::byte> so_far) noexcept {
  const auto at = [&so_far](std::size_t place) { return std::to_integer<unsigned>(so_far[place]); };
  // The first version begins with the length of an identity: 1 to 254, or 0xff and a longer form whose flags, at the end of the signature,
  // are even. What begins otherwise may be anybody.
  if (!so_far.empty() && at(0) != 0xff) return at(0) == 1 ? greeted::as_older : greeted::badly;
  if (so_far.size() >= signature_bytes && (at(signature_bytes - 1) & 1) == 0) return greeted::as_older;
  if (so_far.size() > signature_bytes && at(signature_bytes) < major) return greeted::as_older;
  if (so_far.size() < mechanism_at + mechanism_bytes) return greeted::unfinished;
  const std::string_view named = text(so_far.subspan(mechanism_at, mechanism_bytes));
  if (!named.starts_with(mechanism) || named.find_first_not_of('\0', mechanism.size()) != std::string_view::npos) return greeted::badly;
  return so_far.size() < greeting_bytes ? greeted::unfinished : greeted::well;
}

std::optional<command> read_command(std::span<const std::byte> body) noexcept {
  if (body.empty()) return std::nullopt;
  const auto length = std::to_integer<std::size_t>(body[0]);
  if (length == 0 || length > body.size() - 1) return std::nullopt;
  return command{text(body.subspan(1, length)), body.subspan(1 + length)};
}

bool is_publisher(std::span<const std::byte> properties) noexcept {
  constexpr std::size_t length_bytes = 4;
  bool publishes = false;
  while (!properties.empty()) {
    const auto name_bytes = std::to_integer<std::size_t>(properties[0]);
    if (name_bytes == 0 || properties.size() < 1 + name_bytes + length_bytes) return false;
    const std::string_view name = text(properties.subspan(1, name_bytes));
    const std::uint64_t value_bytes = read_big_endian(properties.subspan(1 + name_bytes, length_bytes));
    properties = properties.subspan(1 + name_bytes + length_bytes);
    if (value_bytes > properties.size()) return false;
    const std::string_view value = text(properties.first(value_bytes));
    if (is_same_name(name, socket_type)) publishes = value == "PUB" || value == "XPUB";
    properties = properties.subspan(value_bytes);
  }
  return publishes;
}

std::optional<std::span<const std::byte>> ping_context(std::span<const std::byte> data) noexcept {
  constexpr std::size_t time_to_live_bytes = 2;
  constexpr std::size_t longest_context = 16;
  if (data.size() < time_to_live_bytes) return std::nullopt;
  const auto context = data.subspan(time_to_live_bytes);
  if (context.size() > longest_context) return std::nullopt;
  return context;
}

void append_ready(std::string& to) {
  constexpr std::string_view name = "READY";
  constexpr std::string_view value = "SUB";
  constexpr std::size_t size = 1 + name.size() + 1 + socket_type.size() + 4 + value.size();
  to.reserve(to.size() + longest_head + size);
  to += '\x04';
  to += static_cast<char>(size);
  to += static_cast<char>(name.size());
  to += name;
  to += static_cast<char>(socket_type.size());
  to += socket_type;
  append_big_endian(to, value.size(), 4);
  to += value;
}

// A message, as 3.0 has it: a one and the prefix. The command of 3.1 is for peers that were greeted so.
void append_subscription(std::string& to, std::string_view prefix) {
  const std::size_t size = prefix.size() + 1;
  to.reserve(to.size() + longest_head + size);
  if (size <= short_frame) {
    to += '\0';
    to += static_cast<char>(size);
  } else {
    to += '\x02';
    append_big_endian(to, size, 8);
  }
  to += '\x01';
  to += prefix;
}

void append_pong(std::string& to, std::span<const std::byte> context) {
  constexpr std::string_view name = "PONG";
  const std::size_t size = 1 + name.size() + context.size();
  to.reserve(to.size() + longest_head + size);
  to += '\x04';
  to += static_cast<char>(size);
  to += static_cast<char>(name.size());
  to += name;
  to += text(context);
}

}  // namespace kvc::net::zmtp
