// Listens on every lane and runs one session per connection. (Only the settings so far.)
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace kvc::net {

/// What the HTTP side may do; see app/config for meanings and ranges.
struct http_settings {
  std::chrono::milliseconds idle_timeout{120'000};
  std::chrono::milliseconds header_timeout{10'000};
  std::chrono::milliseconds body_timeout{30'000};
  std::chrono::milliseconds handler_timeout{30'000};
  std::chrono::milliseconds write_timeout{30'000};
  std::size_t max_header_bytes = 16 << 10;
  std::size_t max_body_bytes = 64 << 20;
  std::size_t max_connections = 20'000;
  std::size_t body_budget_bytes = std::size_t{1} << 30;
  std::vector<std::string> auth_tokens;
  std::vector<std::string> auth_read_tokens;
};

}  // namespace kvc::net
