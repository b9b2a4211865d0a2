#include "net/http_router.hpp"

#include <array>

namespace kvc::net {
namespace {

using core::route;

constexpr std::array routes{
    route_entry{"POST", "/query", endpoint::query, route::query, access::read, "Cache hits of a prompt given by its tokens"},
    route_entry{"POST", "/query_by_hash", endpoint::query_by_hash, route::query_by_hash, access::read,
                "Cache hits of a prompt given by its rolling sequence hashes"},
    route_entry{"POST", "/query_batch", endpoint::query_batch, route::query_batch, access::read, "Many queries in one request"},
    route_entry{"POST", "/register", endpoint::register_publisher, route::register_publisher, access::write,
                "Start consuming the events of a publisher"},
    route_entry{"POST", "/unregister", endpoint::unregister_publisher, route::unregister_publisher, access::write,
                "Stop consuming the events of a publisher and forget its blocks"},
    route_entry{"GET", "/services", endpoint::services, route::inspect, access::read, "Every registered publisher and its stream"},
    route_entry{"GET", "/workers", endpoint::workers, route::inspect, access::read, "Every instance and rank with what it holds"},
    route_entry{"GET", "/global_view", endpoint::global_view, route::inspect, access::read, "Every partition with its size"},
    route_entry{"GET", "/dump", endpoint::dump, route::inspect, access::read, "The blocks of workers or partitions as stored events"},
    route_entry{"GET", "/healthz", endpoint::alive, route::inspect, access::open, "Whether the process is alive"},
    route_entry{"GET", "/livez", endpoint::alive, route::inspect, access::open, "Whether the process is alive"},
    route_entry{"GET", "/health", endpoint::health, route::inspect, access::open, "Whether the process is alive, and its parts"},
    route_entry{"GET", "/readyz", endpoint::ready, route::inspect, access::open, "Whether answers are complete enough to be relied on"},
    route_entry{"GET", "/ready", endpoint::ready, route::inspect, access::open, "Whether answers are complete enough to be relied on"},
    route_entry{"GET", "/metrics", endpoint::metrics, route::metrics, access::open, "Counters in the Prometheus text format"},
    route_entry{"GET", "/openapi.json", endpoint::openapi, route::inspect, access::open, "This description"},
    route_entry{"GET", "/docs", endpoint::docs, route::inspect, access::open, "The routes of this description, as a page for people"},
    route_entry{"GET", "/redoc", endpoint::docs, route::inspect, access::open, "The same page"},
};

}  // namespace

std::span<const route_entry> all_routes() noexcept {
  return routes;
}

routed find_route(std::string_view method, std::string_view path) {
  routed result;
  const std::string_view sought = method == "HEAD" ? std::string_view("GET") : method;
  for (const route_entry& each : routes) {
    if (each.path != path) continue;
    if (each.method == sought) {
      result.entry = &each;
      return result;
    }
    result.path_exists = true;
    if (!result.allowed.empty()) result.allowed += ", ";
    result.allowed += each.method;
    if (each.method == "GET") result.allowed += ", HEAD";
  }
  return result;
}

}  // namespace kvc::net
