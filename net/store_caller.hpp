// Calls to one store, over a bounded number of connections, to whichever of its servers leads.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "net/mp_caller.hpp"
#include "net/store_url.hpp"

namespace kvc::net {

/// Who a 503 of a store comes from.
enum class led_by : std::uint8_t {
  one_server,   ///< the one that was registered: it is short of something
  an_election,  ///< one of several, which does not lead
};

/// Lane: the executor's thread. Must outlive its calls.
class store_caller {
 public:
  using duration = std::chrono::steady_clock::duration;

  /// `patience`: of one exchange, at most, and of the wait for a connection before it.
  store_caller(asio::any_io_executor executor, store_url url, duration patience, led_by who)
      : executor_(executor), url_(std::move(url)), at_(url_), patience_(patience), who_(who), calls_(executor, limits()) {}

  /// One request and its answer, of at most `most_bytes`, by `deadline`; `target` goes behind the store's path, and the root is asked for
  /// where both are empty. Where servers elect one of them, one that says it does not lead (503) is asked who does, and the request goes
  /// there, again and again until the deadline, since there may be no leader for a while. Errors: those of mp_caller.
  [[nodiscard]] asio::awaitable<result<http_client::answer>> call(std::string_view method, std::string target, std::string body,
                                                                  std::chrono::steady_clock::time_point deadline,
                                                                  std::size_t most_bytes = mp_caller::most_answer_bytes);

  [[nodiscard]] const store_url& url() const noexcept { return url_; }
  /// Which server is asked at the moment.
  [[nodiscard]] const store_url& leader() const noexcept { return at_; }

 private:
  static mp_caller::limits limits() { return {.per_server = 8, .in_all = 16, .idle = 4, .waiting = 256}; }
  [[nodiscard]] asio::awaitable<bool> find_leader(std::chrono::steady_clock::time_point deadline);

  asio::any_io_executor executor_;
  store_url url_;  ///< as registered
  store_url at_;
  duration patience_;
  led_by who_;
  mp_caller calls_;
};

}  // namespace kvc::net
