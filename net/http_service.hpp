// The one interface through which the HTTP side meets what is served.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include <boost/asio/awaitable.hpp>

#include "core/counters.hpp"
#include "net/http_message.hpp"
#include "net/refusal.hpp"
#include "net/runtime.hpp"

namespace kvc::net {

/// What is known about a request once its head has been read.
struct http_plan {
  std::optional<http_reply> refusal;          ///< the answer, whatever the body says
  core::route counter = core::route::other;   ///< where the request is counted
  std::uint8_t handler = 0;                   ///< the service's own mark, handed back to it
  bool reads_any_type = false;                ///< the body is JSON, whatever its content type says
  bool waits = false;                         ///< answering may have to wait for others: use `answer`, not `answer_now`
  bool ends_with_client = false;              ///< nobody wants the answer when the client has gone: see `http_request::client_left`
  std::chrono::milliseconds patience{0};      ///< how long the answer may take; 0: the server's setting
  std::chrono::milliseconds idle_timeout{0};  ///< how long the connection may wait for the next request; 0: the server's setting
};

/// Answers requests. The server calls it on the lane that read the request, any number of requests at a time.
class http_service {
 public:
  http_service() = default;
  http_service(const http_service&) = delete;
  http_service& operator=(const http_service&) = delete;
  virtual ~http_service() = default;

  /// How clients of a path are told what the server itself refuses: a target that cannot be decoded, of which this is the path as it was
  /// sent, a body over a limit, an answer that took too long. Nothing: in the server's own way.
  [[nodiscard]] virtual std::optional<http_reply> refused_reply(std::string_view /*path*/, const refusal& /*why*/) { return std::nullopt; }

  /// Looks at method, path, query and authorization only; the body has not been read.
  [[nodiscard]] virtual http_plan plan(const http_request& head) = 0;

  /// Whether answering has to wait for others after all, as the body says. Asked only where the plan does not wait; if not, `answer_now`
  /// follows in the same turn of the lane, so that what has been read here need not be read again.
  [[nodiscard]] virtual bool has_to_wait(lane& /*here*/, const http_request& /*request*/, const http_plan& /*plan*/) { return false; }

  /// The answer, at once. Precondition: neither the plan nor the body waits. Work is bounded by the size of the request.
  [[nodiscard]] virtual http_reply answer_now(lane& here, const http_request& request, const http_plan& plan) = 0;

  /// The answer, after waiting. The request and the plan outlive the call. The server gives up waiting at its deadline and answers in its
  /// place; the call then goes on to its end unheard, so it must leave a state that makes sense either way. Never cancelled but at once.
  /// A plan may ask to be told when the client has gone; whoever carries out the request then decides what to leave undone.
  [[nodiscard]] virtual asio::awaitable<http_reply> answer(lane& here, const http_request& request, const http_plan& plan) = 0;
};

}  // namespace kvc::net
