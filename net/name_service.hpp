// The system's look-ups of names, on threads of their own.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/ip/address.hpp>

#include "net/errc.hpp"

namespace kvc::net {

namespace asio = boost::asio;

/// Looks names up, several at a time and each name once at a time.
///
/// Problem: the system's look-up can neither be waited for without blocking nor be ended, and lasts for tens of seconds when the name
/// service does not answer; on one thread, a name that hangs would keep everybody from being found. Story: a name that is asked for is
/// looked up on one of a few threads, and who asks for it meanwhile gets the same answer; names that nobody wants any more by the time they
/// have their turn are passed over. Nothing is remembered: the system does that. A thread ends when no name waits. Life cycle: nobody waits
/// for the threads. They share with this only what they own themselves, so that neither it nor the process has to wait for a look-up to
/// end. Thread-safety: all members from any thread.
class name_service {
 public:
  using addresses = std::vector<asio::ip::address>;
  using answer = result<addresses>;
  using look_up = std::function<answer(const std::string& host)>;  ///< blocks

  struct limits {
    std::size_t threads = 16;     ///< names looked up at a time
    std::size_t pending = 1'024;  ///< names that are looked up or wait for it
  };

  name_service(look_up how, const limits& with);
  ~name_service();
  name_service(const name_service&) = delete;
  name_service& operator=(const name_service&) = delete;

  /// The one of the process, which asks the system. It is never destroyed.
  [[nodiscard]] static name_service& of_system();

  /// Has `tell` called on one of the threads, once, unless `wanted` has expired by then; what it throws is lost. Errors, and then `tell` is
  /// not called: `overloaded` when too many names are pending, the system's when there is no thread to be had. Throws std::bad_alloc, and
  /// then nothing has been asked.
  [[nodiscard]] error_code ask(const std::string& host, std::weak_ptr<void> wanted, std::function<void(const answer&)> tell);

  /// Threads that look something up at this moment.
  [[nodiscard]] std::size_t threads() const;

 private:
  struct state;
  /// Under the lock. Throws std::bad_alloc, std::system_error.
  void start_thread();

  std::shared_ptr<state> state_;
};

/// What the system knows about a host: at least one address, those of IPv4 first. Blocks.
[[nodiscard]] name_service::answer addresses_of_host(const std::string& host);

}  // namespace kvc::net
