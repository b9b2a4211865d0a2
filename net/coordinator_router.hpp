// Method and path to one of the fleet coordinator's endpoints. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace kvc::net {

/// What can be asked of the coordinator.
enum class coordinator_endpoint : std::uint8_t {
  add_instance,
  list_instances,
  remove_instance,
  heartbeat,
  list_usage,
  read_usage,
  set_quota,
  remove_quota,
  read_default_quota,
  set_default_quota,
  usage_events,
  publish_chunks,
  remove_chunks,
  match_chunks,
  submit_prefetch,
  poll_prefetch,
  event_batches,
};

/// One row of the table of routes.
struct coordinator_route {
  std::string_view method;
  std::string_view path;  ///< `{name}` stands for one segment that is not empty
  coordinator_endpoint endpoint;
  bool changes = false;      ///< needs a token that may change things, once tokens are configured
  std::string_view summary;  ///< one line for the description of the surface
};

/// Every route there is.
[[nodiscard]] std::span<const coordinator_route> coordinator_routes() noexcept;

/// Whether a path lies below a first segment that the coordinator has routes under: what is wrong with it is told in the coordinator's way.
[[nodiscard]] bool is_coordinator_path(std::string_view path) noexcept;

/// What a method and a decoded path mean. Since the path was decoded before, a segment with an encoded slash matches nothing, as it does in
/// the other service.
struct coordinator_routed {
  const coordinator_route* route = nullptr;    ///< null: see `allowed`
  std::array<std::string_view, 2> segments{};  ///< what stands for `{...}`, views of the path
  std::string_view allowed{};                  ///< a method of the first route with this path, when the path exists
};
/// The first route that matches wins, so that the words `events` and `config` are salts wherever no route of their own takes the method.
/// The exception is `config`, which is reserved. (Spec coordinator-api, sections 2 and 9.)
[[nodiscard]] coordinator_routed find_coordinator_route(std::string_view method, std::string_view path) noexcept;

}  // namespace kvc::net
