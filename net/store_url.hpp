// The address of a store's HTTP interface.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kvc::net {

/// Of `http://host:port/path`.
struct store_url {
  std::string host;  ///< without brackets
  std::uint16_t port = 80;
  std::string path;  ///< "" for none

  friend bool operator==(const store_url&, const store_url&) = default;
};

/// What becomes of slashes at the end of a path: a base that others are appended to has none, a path that is asked for is kept as written.
enum class path_end : std::uint8_t { stripped, kept };

/// Absent: it is none, or of another scheme. User names, queries and fragments are refused. Pure.
[[nodiscard]] std::optional<store_url> parse_store_url(std::string_view text, path_end end = path_end::stripped);

/// Every `host:port`, name, address or URL in what a store answers about its leader, the likeliest first: values of members named like a
/// leader, then like an address, then the rest as they come. Numbers with points that are no addresses (versions, times) are none.
/// `default_port` where there is no port. Pure.
[[nodiscard]] std::vector<store_url> find_addresses(std::string_view text, std::uint16_t default_port);

}  // namespace kvc::net
