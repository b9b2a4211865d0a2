// Listens on every lane and runs one session per connection.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/errc.hpp"
#include "net/http_service.hpp"
#include "net/runtime.hpp"

namespace kvc::net {

/// What the HTTP side may do; see app/config for how they are set. Timeouts are at least 10 ms.
struct http_settings {
  std::chrono::milliseconds idle_timeout{120'000};       ///< silence between two requests of a connection
  std::chrono::milliseconds header_timeout{10'000};      ///< from the first byte of a request to the end of its head
  std::chrono::milliseconds body_timeout{30'000};        ///< from there to the end of its body
  std::chrono::milliseconds handler_timeout{30'000};     ///< until the answer is there, for requests that wait for others
  std::chrono::milliseconds write_timeout{30'000};       ///< until the client has taken the answer
  std::size_t max_header_bytes = 16 << 10;               ///< more is a 413; also of a body's trailers and chunk extensions
  std::size_t max_body_bytes = 64 << 20;                 ///< more is a 413
  std::size_t max_connections = 20'000;                  ///< over all lanes; more are answered 503 and closed
  std::size_t body_budget_bytes = std::size_t{1} << 30;  ///< of all bodies being read at one time, and of all answers
                                                         ///< being written; more is a 503
  std::vector<std::string> auth_tokens;                  ///< may do everything; with both lists empty, anybody may
  std::vector<std::string> auth_read_tokens;             ///< may do what changes nothing
};

/// The HTTP side of the process: for every port one listening socket per lane, among which the kernel spreads the connections.
///
/// Life cycle: construct; `listen` for each address; `start` once; `stop_accepting` when draining; then the runtime's `stop`, whose `total`
/// cancellation lets sessions finish the request in hand and leave, and whose `terminal` ends them at once; destroy after that.
/// Lane: `listen` and `start` from the thread that made it; the others from anywhere.
class http_server {
 public:
  /// `lanes` and `service` outlive the server.
  http_server(runtime& lanes, http_service& service, http_settings settings);
  ~http_server();
  http_server(const http_server&) = delete;
  http_server& operator=(const http_server&) = delete;

  /// Why an address cannot be listened on.
  struct listen_failure {
    std::string address;  ///< host:port
    error_code why;
    [[nodiscard]] std::string message() const { return "cannot listen on " + address + ": " + why.message(); }
  };

  /// Binds `host` (a numeric address; `::` takes IPv4 too) and `port` (0: a free one) on every lane. A port that another process listens on
  /// is refused, although sharing it would be possible.
  [[nodiscard]] std::optional<listen_failure> listen(const std::string& host, std::uint16_t port);

  /// The ports really bound, in the order of the `listen` calls.
  [[nodiscard]] const std::vector<std::uint16_t>& ports() const noexcept;

  /// Begins to accept, on every lane. The runtime must have been started or be about to.
  void start();

  /// Closes the listening sockets soon; connections live on.
  void stop_accepting();

  /// Connections of all lanes at this moment.
  [[nodiscard]] std::size_t connections() const noexcept;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace kvc::net
