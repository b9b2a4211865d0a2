// Method and path to one of our endpoints. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/counters.hpp"

namespace kvc::net {

/// What can be asked. Aliases of a path share one.
enum class endpoint : std::uint8_t {
  query,
  query_by_hash,
  query_batch,
  register_publisher,
  unregister_publisher,
  services,
  workers,
  global_view,
  dump,
  alive,
  health,
  ready,
  metrics,
  openapi,
  docs,
};

/// Who may use a route once tokens are configured.
enum class access : std::uint8_t { open, read, write };

struct route_entry {
  std::string_view method;  ///< GET also answers HEAD
  std::string_view path;
  net::endpoint endpoint;
  core::route counter;
  net::access access;
  std::string_view summary;  ///< one line for the description of the surface
};

/// Every route there is, for the description of the surface.
[[nodiscard]] std::span<const route_entry> all_routes() noexcept;

/// What a method and a decoded path mean.
struct routed {
  const route_entry* entry = nullptr;  ///< null: see the rest
  bool path_exists = false;            ///< with another method
  std::string allowed = {};            ///< methods of that path, for the Allow header
};
[[nodiscard]] routed find_route(std::string_view method, std::string_view path);

}  // namespace kvc::net
