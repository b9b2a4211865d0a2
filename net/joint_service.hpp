// Both surfaces as one: what queries the index, and what coordinates the fleet.
#pragma once

#include "net/api_service.hpp"
#include "net/coordinator_service.hpp"
#include "net/http_service.hpp"

namespace kvc::net {

/// Hands each request to the surface whose path it is, on every port alike.
///
/// Paths that both know: /metrics and /openapi.json show both; /healthz answers the same in both, and takes GET only, as clients of the
/// coordinator expect. An error under such a path, or under one that neither knows, has the members of both error bodies.
/// Lane: any lane with that lane. Both services outlive this one.
class joint_service final : public http_service {
 public:
  joint_service(api_service& index, coordinator_service& coordinator) : index_(index), coordinator_(coordinator) {}

  [[nodiscard]] http_plan plan(const http_request& head) override;
  [[nodiscard]] http_reply answer_now(lane& here, const http_request& request, const http_plan& plan) override;
  [[nodiscard]] asio::awaitable<http_reply> answer(lane& here, const http_request& request, const http_plan& plan) override;

 private:
  api_service& index_;
  coordinator_service& coordinator_;
};

}  // namespace kvc::net
