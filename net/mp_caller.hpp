// Calls to MP servers over a bounded number of connections, each with deadlines.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include "net/errc.hpp"
#include "net/http_client.hpp"

namespace kvc::net {

/// Connections that are kept and shared.
///
/// A call takes an idle connection to its server or opens one, while the bounds allow; else it waits for one to come free. Each that comes
/// free goes to the one call that has waited longest of those which may use it, and nobody overtakes it. Redirects are not followed.
/// Lane: the executor's thread. Must outlive its calls.
class mp_caller {
 public:
  struct limits {
    std::size_t per_server = 64;  ///< connections in use to one server, which may be slow: the others need some, too
    std::size_t in_all = 100;     ///< connections in use (as the other service's client has them)
    std::size_t idle = 20;        ///< connections kept while nobody uses them
    std::size_t waiting = 1'000;  ///< calls that wait for a connection
  };

  mp_caller(asio::any_io_executor executor, const limits& with) : executor_(std::move(executor)), limits_(with) {}
  mp_caller(const mp_caller&) = delete;
  mp_caller& operator=(const mp_caller&) = delete;

  static constexpr std::size_t most_answer_bytes = std::size_t{1} << 20;  ///< unless a call says otherwise
  static constexpr auto never = std::chrono::steady_clock::time_point::max();

  /// One request and its whole answer, of at most `most_bytes`. Its turn on a connection is waited for no longer than `patience`, and then
  /// the exchange, which may have to open it, has as long again: what was sent is not given up because others were slow before. Both have
  /// ended by `latest`. Errors: `timed_out`, `cancelled`, `overloaded` (too many calls wait), or those of `http_client`.
  [[nodiscard]] asio::awaitable<result<http_client::answer>> call(std::string host, std::uint16_t port, std::string_view method,
                                                                  std::string target, std::string body,
                                                                  std::chrono::steady_clock::duration patience,
                                                                  std::size_t most_bytes = most_answer_bytes,
                                                                  std::chrono::steady_clock::time_point latest = never);

  /// Whether a call to a server would begin at once.
  [[nodiscard]] bool has_room(const std::string& host, std::uint16_t port) const { return has_room(address(host, port)); }
  [[nodiscard]] std::size_t in_use() const noexcept { return in_use_; }
  [[nodiscard]] std::size_t waiting() const noexcept { return waiting_.size(); }

 private:
  using address = std::pair<std::string, std::uint16_t>;
  using time_point = std::chrono::steady_clock::time_point;
  struct idle_connection {
    address to;
    http_client client;
  };
  struct server {
    std::size_t in_use = 0;   ///< connections; those that are promised to a call count
    std::size_t waiting = 0;  ///< calls
  };
  using servers = std::map<address, server>;  ///< those with anything but zeros
  struct waiting_call {
    asio::steady_timer alarm;
    servers::iterator to;
    bool has_room = false;  ///< a connection is promised to it, and it is out of the line
  };

  [[nodiscard]] bool has_room(const address& to) const;
  [[nodiscard]] bool has_room(const server& to) const noexcept;
  [[nodiscard]] asio::awaitable<error_code> find_room(const address& to, time_point deadline, servers::iterator& found);
  [[nodiscard]] asio::awaitable<error_code> wait_in_line(waiting_call& mine, time_point deadline);
  void leave_line(waiting_call& mine, std::list<waiting_call*>::iterator place);
  void enter(servers::iterator to) noexcept;
  void leave(servers::iterator to);
  [[nodiscard]] http_client take(const address& to);
  void keep(const address& to, http_client client);

  asio::any_io_executor executor_;
  limits limits_;
  std::size_t in_use_ = 0;  ///< in all, as each server's
  servers servers_;
  std::list<idle_connection> idle_;   ///< longest idle first
  std::list<waiting_call*> waiting_;  ///< each in the frame of its call
};

}  // namespace kvc::net
