// The address of a store's HTTP interface.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kvc::net {

/// Of `http://host:port/path`.
struct store_url {
  std::string host;  ///< without brackets
  std::uint16_t port = 80;
  std::string path;  ///< without a slash at its end; "" for none

  friend bool operator==(const store_url&, const store_url&) = default;
};

/// Absent: it is none, or of another scheme. User names, queries and fragments are refused. Pure.
[[nodiscard]] std::optional<store_url> parse_store_url(std::string_view text);

/// The first `host:port` or URL in what a store answers about its leader; `default_port` where it has none. Pure.
[[nodiscard]] std::optional<store_url> find_address(std::string_view text, std::uint16_t default_port);

}  // namespace kvc::net
