// The whole service: builds its parts, starts them in order, waits for a signal, stops them in the reverse order.
#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "app/log_sink.hpp"
#include "app/memory_reserve.hpp"
#include "app/memory_trim.hpp"
#include "app/service_notify.hpp"
#include "app/settings.hpp"
#include "app/signals.hpp"
#include "core/catalog.hpp"
#include "core/medium.hpp"
#include "core/registration.hpp"
#include "net/api_service.hpp"
#include "net/coordinator_service.hpp"
#include "net/fleet_service.hpp"
#include "net/http_server.hpp"
#include "net/joint_service.hpp"
#include "net/runtime.hpp"
#include "net/store_service.hpp"
#include "net/zmq_socket.hpp"

namespace kvc::app {

/// What the process leaves with; see --help.
enum class exit_code : int { stopped = 0, failed = 1, bad_configuration = 2 };

/// Owner of everything, made and run on the main thread.
///
/// Start: limits -> ports bound -> lanes -> configured publishers registered -> accepting -> ready is told once every stream is whole or
/// past its grace period and the memory is reserved, which goes on beside all this. Each step that must be undone pushes its undoing, so
/// that stopping is starting reversed.
/// Stop (first TERM or INT): not ready and no new registrations -> no new connections -> lanes let requests in hand finish, for the
/// shutdown timeout at most -> threads joined -> parts destroyed in reverse. A second signal leaves at once.
class application {
 public:
  /// `warnings` are lines about the configuration that shall be logged.
  explicit application(settings values, const std::vector<std::string>& warnings = {});
  ~application();
  application(const application&) = delete;
  application& operator=(const application&) = delete;

  /// Runs until a signal ends it. Call once. Never throws for what the configuration or the machine can bring about.
  [[nodiscard]] exit_code run();

 private:
  [[nodiscard]] exit_code start();
  [[nodiscard]] bool stop();
  [[nodiscard]] bool listen();
  [[nodiscard]] bool start_lanes();
  void prepare_signals();
  [[nodiscard]] std::vector<std::string> not_ready_because() const;
  /// What is missing beside the streams. From when the lanes start until they have stopped.
  [[nodiscard]] std::vector<std::string> still_missing() const;
  [[nodiscard]] bool register_publishers(std::vector<core::registration> publishers);
  [[nodiscard]] boost::asio::awaitable<void> add_all(std::vector<core::registration> publishers, std::promise<bool>* done);

  std::uint64_t open_files_;  ///< as many as this process may have
  settings values_;
  log_sink sink_;  ///< first made, last gone: everything below may log
  std::promise<void> asked_to_stop_;
  std::optional<signals> signals_;  ///< heard until all below is gone
  core::medium_table media_;
  core::catalog catalog_;
  net::zmq_engine engine_;  ///< outlives the sockets of the streams
  net::runtime lanes_;
  net::store_service stores_;  ///< before the streams, which tell it of objects
  net::fleet_service fleet_;
  net::api_service api_;
  net::coordinator_service coordinator_;
  net::joint_service surface_;  ///< of them all
  net::http_server server_;
  std::optional<service_notify> notify_;
  std::optional<memory_trim> trim_;
  std::optional<memory_reserve> reserve_;
  std::vector<std::function<bool()>> stops_;  ///< one per started part; false: it did not stop cleanly
};

}  // namespace kvc::app
