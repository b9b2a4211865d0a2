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
#include "net/name_service.hpp"

namespace kvc::net {

namespace asio = boost::asio;

/// Waits for the addresses of a host.
///
/// Whoever gives up on a look-up no longer listens, and what it finds is dropped; see `name_service` for where it happens. The lane's
/// context may be destroyed while it goes on. Lane: one; one question at a time.
class name_lookup {
 public:
  explicit name_lookup(asio::any_io_executor executor, name_service& with = name_service::of_system())
      : executor_(std::move(executor)), names_(&with) {}

  /// At least one address, those of IPv4 first: servers listen there unless told otherwise. Of an address it is the address itself.
  /// Errors: `timed_out`, `cancelled`, `overloaded`, the system's when there is no such host. Cancellation: every type the caller lets
  /// through.
  [[nodiscard]] asio::awaitable<result<std::vector<asio::ip::address>>> find(std::string host,
                                                                             std::chrono::steady_clock::time_point deadline);

  /// Ends a pending `find` with `cancelled`.
  void cancel() noexcept;

 private:
  struct question;

  asio::any_io_executor executor_;
  name_service* names_;
  std::shared_ptr<question> pending_;
};

}  // namespace kvc::net
