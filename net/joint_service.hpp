// All surfaces as one: what queries the index, what coordinates the fleet, and what probes stores.
#pragma once

#include <optional>
#include <string_view>

#include "net/api_service.hpp"
#include "net/coordinator_router.hpp"
#include "net/coordinator_service.hpp"
#include "net/http_service.hpp"
#include "net/store_service.hpp"

namespace kvc::net {

/// Hands each request to the surface whose path it is, on every port alike.
///
/// Paths that both know: /metrics and /openapi.json show both; /healthz answers the same in both, and takes GET only, as clients of the
/// coordinator expect. An error under such a path, or under one that neither knows, has the members of both error bodies.
/// Lane: any lane with that lane. The services outlive this one.
class joint_service final : public http_service {
 public:
  /// `stores` null: there are none, and their paths are unknown.
  joint_service(api_service& index, coordinator_service& coordinator, store_service* stores = nullptr)
      : index_(index), coordinator_(coordinator), stores_(stores) {}

  [[nodiscard]] std::optional<http_reply> refused_reply(std::string_view path, const refusal& why) override;
  [[nodiscard]] http_plan plan(const http_request& head) override;
  [[nodiscard]] bool has_to_wait(lane& here, const http_request& request, const http_plan& plan) override {
    if (is_coordinator_path(request.path)) return coordinator_.has_to_wait(here, request, plan);
    return is_of_stores(request.path) ? stores_->has_to_wait(here, request, plan) : index_.has_to_wait(here, request, plan);
  }
  [[nodiscard]] http_reply answer_now(lane& here, const http_request& request, const http_plan& plan) override;
  [[nodiscard]] asio::awaitable<http_reply> answer(lane& here, const http_request& request, const http_plan& plan) override;

 private:
  [[nodiscard]] bool is_of_stores(std::string_view path) const noexcept { return stores_ != nullptr && is_store_path(path); }

  api_service& index_;
  coordinator_service& coordinator_;
  store_service* stores_;
};

}  // namespace kvc::net
