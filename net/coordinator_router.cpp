#include "net/coordinator_router.hpp"

#include <algorithm>

namespace kvc::net {
namespace {

using enum coordinator_endpoint;

constexpr std::array routes{
    coordinator_route{"POST", "/instances", add_instance, true, "Register an MP server, or replace its registration"},
    coordinator_route{"GET", "/instances", list_instances, false, "Every registered MP server"},
    coordinator_route{"PUT", "/instances/{instance_id}/heartbeat", heartbeat, true, "An MP server's sign of life"},
    coordinator_route{"DELETE", "/instances/{instance_id}", remove_instance, true, "Deregister an MP server"},
    coordinator_route{"GET", "/quota", list_usage, false, "Usage and quota of every cache salt"},
    coordinator_route{"POST", "/quota/events", usage_events, true, "Stores, look-ups and deletions that an MP server tells"},
    coordinator_route{"GET", "/quota/config", read_default_quota, false, "The limit of cache salts without a quota"},
    coordinator_route{"PUT", "/quota/config", set_default_quota, true, "Change the limit of cache salts without a quota"},
    coordinator_route{"PUT", "/quota/{cache_salt}", set_quota, true, "Create or change a cache salt's quota"},
    coordinator_route{"GET", "/quota/{cache_salt}", read_usage, false, "Usage and quota of one cache salt"},
    coordinator_route{"DELETE", "/quota/{cache_salt}", remove_quota, true, "Remove a cache salt's quota"},
    coordinator_route{"POST", "/cache/prefetches", submit_prefetch, true, "Have one MP server load a prompt from the shared storage"},
    coordinator_route{"GET", "/cache/prefetches/{instance_id}/{request_id}", poll_prefetch, false, "How a prefetch goes"},
    coordinator_route{"POST", "/blend/fingerprints", publish_chunks, true, "Publish chunks for CacheBlend"},
    coordinator_route{"DELETE", "/blend/fingerprints", remove_chunks, true, "Take back the chunks of objects"},
    coordinator_route{"POST", "/blend/match", match_chunks, false, "Chunks of a prompt that are cached, at any offset"},
    coordinator_route{"POST", "/events", event_batches, true, "Batches of events with the incarnation of their sender"},
    coordinator_route{"POST", "/directory/events", event_batches, true, "The same under its earlier name"},
};

/// Where all of them lie: looked at for every request, also of the index.
constexpr std::array<std::string_view, 6> first_segments{"instances", "quota", "cache", "blend", "events", "directory"};
static_assert(std::ranges::all_of(routes, [](const coordinator_route& each) {
  const std::string_view rest = each.path.substr(1);
  return std::ranges::find(first_segments, rest.substr(0, rest.find('/'))) != first_segments.end();
}));

constexpr std::string_view reserved_path = "/quota/config";

std::string_view take_segment(std::string_view& path) {
  path.remove_prefix(1);
  const std::string_view segment = path.substr(0, path.find('/'));
  path.remove_prefix(segment.size());
  return segment;
}

bool matches(std::string_view pattern, std::string_view path, std::array<std::string_view, 2>& segments) {
  std::size_t taken = 0;
  while (!pattern.empty() && !path.empty()) {
    const std::string_view wanted = take_segment(pattern);
    const std::string_view found = take_segment(path);
    if (!wanted.starts_with('{')) {
      if (wanted != found) return false;
    } else if (found.empty()) {
      return false;
    } else {
      segments[taken++] = found;
    }
  }
  return pattern.empty() && path.empty();
}

}  // namespace

std::span<const coordinator_route> coordinator_routes() noexcept {
  return routes;
}

bool is_coordinator_path(std::string_view path) noexcept {
  if (!path.starts_with('/')) return false;
  return std::ranges::find(first_segments, take_segment(path)) != first_segments.end();
}

coordinator_routed find_coordinator_route(std::string_view method, std::string_view path) noexcept {
  coordinator_routed result;
  if (!path.starts_with('/')) return result;
  for (const coordinator_route& each : routes) {
    if (path == reserved_path && each.path != reserved_path) continue;
    std::array<std::string_view, 2> segments{};
    if (!matches(each.path, path, segments)) continue;
    if (each.method == method) {
      result.route = &each;
      result.segments = segments;
      return result;
    }
    if (result.allowed.empty()) result.allowed = each.method;
  }
  return result;
}

}  // namespace kvc::net
