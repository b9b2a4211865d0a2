// The addresses of hosts, looked up without anybody else having to wait.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/address.hpp>

#include "net/errc.hpp"

namespace kvc::net {

namespace asio = boost::asio;

/// Asks the system for the addresses of a host.
///
/// Problem: the system's look-up can neither be waited for without blocking nor be ended, and lasts for tens of seconds when the name
/// service does not answer. Story: it happens on a thread that does nothing else; whoever gives up on it no longer listens, and what it
/// finds is dropped. Lane: one; one question at a time.
class name_lookup {
 public:
  explicit name_lookup(asio::any_io_executor executor) : executor_(std::move(executor)) {}

  /// At least one address, those of IPv4 first: servers listen there unless told otherwise. Of an address it is the address itself.
  /// Errors: `timed_out`, `cancelled`, the system's when there is no such host. Cancellation: every type the caller lets through.
  [[nodiscard]] asio::awaitable<result<std::vector<asio::ip::address>>> find(std::string host,
                                                                             std::chrono::steady_clock::time_point deadline);

  /// Ends a pending `find` with `cancelled`.
  void cancel() noexcept;

 private:
  struct question;

  asio::any_io_executor executor_;
  std::shared_ptr<question> pending_;
};

}  // namespace kvc::net
