// The stores' part of the description of the HTTP surface.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace kvc::net {

/// A route of store_service as it is described.
struct store_route {
  std::string_view method;
  std::string_view path;  ///< `{name}` stands for the rest of it
  std::string_view summary;
  std::string_view asked;     ///< schema of the body; empty: none
  std::string_view answered;  ///< schema of the answer
};

/// Every route of store_service. Pure.
[[nodiscard]] std::span<const store_route> store_routes() noexcept;

/// Appends the members of `paths` for these routes, separated by commas. Pure.
void append_store_paths(std::string& out);

/// Appends the members of `webhooks`: what stores are sent that are registered as one. Pure.
void append_store_webhooks(std::string& out);

/// Appends the members of `components/schemas` that all of these refer to. Pure.
void append_store_schemas(std::string& out);

}  // namespace kvc::net
