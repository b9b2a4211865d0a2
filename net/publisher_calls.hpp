// What a link asks of the kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

/// None of them waits, and none changes who owns the socket. Any lane.
namespace kvc::net::publisher_calls {

/// Probes (probe_rhythm, another with each socket) and no delays, where the family has such things.
void prepare(int socket, int family) noexcept;

struct received {
  std::size_t bytes = 0;  ///< 0: there is nothing at the moment, or it has ended
  bool has_ended = false;
};
/// Precondition: `into` is not empty.
[[nodiscard]] received receive(int socket, std::span<std::byte> into) noexcept;

enum class sent : std::uint8_t { all, not_all, ended };
/// `not_all`: the peer takes nothing at the moment, though so little is said to it.
[[nodiscard]] sent send(int socket, std::string_view words) noexcept;

/// The other side has ended the connection, however much of what it has sent waits to be received.
[[nodiscard]] bool has_peer_ended(int socket) noexcept;

}  // namespace kvc::net::publisher_calls
