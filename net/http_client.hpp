// A small keep-alive HTTP client for talking to conductors and stores. Every call has a deadline.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "net/errc.hpp"

namespace kvc::net {

namespace asio = boost::asio;

/// One connection to one server, opened on the first call and again after it broke.
/// Lane: one thread; one call at a time.
class http_client {
 public:
  struct answer {
    unsigned status = 0;
    std::string content_type;
    std::string body;
  };

  static constexpr std::size_t most_answer_bytes = std::size_t{256} << 20;  ///< unless a call says otherwise

  /// `host`: a name, or an address, which may stand in the brackets of a URL.
  http_client(asio::any_io_executor executor, std::string host, std::uint16_t port);
  ~http_client();
  http_client(http_client&&) noexcept;
  http_client& operator=(http_client&&) noexcept;

  /// Sends one request and reads the whole answer, whose body has at most `most_bytes`, within `patience`. A connection the server has
  /// closed meanwhile is opened again once; so is one on which more has come than the answers asked for. Of several addresses of the host
  /// each has its share of the time. Interim answers (1xx) are passed over, eight at most. It is read while the request is being sent: an
  /// answer that comes before the request has been taken counts, and ends the connection. A head has at most 64 KiB, and so have what
  /// stands around the chunks of a body, together.
  /// Errors: `timed_out`, `cancelled`, `message_too_large`, `host_not_found` (also for what cannot be a host), `not_understood` for more
  /// interim answers, or the transport's own.
  [[nodiscard]] asio::awaitable<result<answer>> call(std::string_view method, std::string target, std::string body,
                                                     std::chrono::steady_clock::duration patience,
                                                     std::string_view content_type = "application/json",
                                                     std::size_t most_bytes = most_answer_bytes);

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace kvc::net
