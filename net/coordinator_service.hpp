// The fleet coordinator as the server sees it: owner of the tables, its routes, its loops.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "net/coordinator_settings.hpp"
#include "net/http_service.hpp"
#include "net/runtime.hpp"

namespace kvc::net {

/// Serves the coordinator's surface and does what it does by itself.
///
/// Everything it knows lives on one lane, its home. Bodies are read on the lane that has the request, long ones on a thread beside the
/// lanes; then the request goes home for what touches the tables, in slices, so that a heartbeat waits for no batch, listing or plan. With
/// one lane nothing has to go anywhere, and short requests are answered at once. Life cycle: construct, `start` once the runtime has been
/// started or is about to; destroyed after the runtime has stopped. Lane: `plan` and `answer` on any lane with that lane; `start` from the
/// thread that made it.
class coordinator_service final : public http_service {
 public:
  /// Home is the last lane, since the first one has the registration of publishers, signals and the watchdog.
  coordinator_service(runtime& lanes, coordinator_settings settings);
  ~coordinator_service() override;

  /// Reads the quotas that an earlier process has kept, if that is wanted; before `start`. Answers why they cannot be read.
  [[nodiscard]] std::optional<std::string> load_quotas();

  /// Starts the loops on the home lane.
  void start();

  /// The coordinator's part of the metrics page. Any lane, with that lane.
  [[nodiscard]] asio::awaitable<std::string> metrics(lane& here);

  [[nodiscard]] http_plan plan(const http_request& head) override;
  [[nodiscard]] bool has_to_wait(lane& here, const http_request& request, const http_plan& plan) noexcept override;
  [[nodiscard]] http_reply answer_now(lane& here, const http_request& request, const http_plan& plan) override;
  [[nodiscard]] asio::awaitable<http_reply> answer(lane& here, const http_request& request, const http_plan& plan) override;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace kvc::net
