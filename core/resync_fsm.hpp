// The listing of what lies in the shared storage at start-up, as a machine without I/O: what happened goes in, what to do comes out.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <string_view>

namespace kvc::core {

/// One resync: pages of one server's listing, from the first to the one that names no next.
///
/// Story: a coordinator that starts knows nothing of what is stored. It waits for a server to register, takes one at random and asks for
/// its pages one by one. A server whose page fails, cannot list, or names a page twice is not asked again, and another one begins anew,
/// since page tokens mean something to their server only; what was seeded stays, seeding twice changes nothing. When every registered
/// server has failed, the machine waits for another one while `max_wait` lasts, then gives up. (Spec coordinator-api, sections 3 and 9.)
/// Until it has ended or given up nothing should be evicted, and it always ends: waiting, pages, servers and time are bounded.
/// Use: perform what `start` answers; after `wait` call `on_tick` a poll interval later, after `request` `on_page` or `on_failure`.
/// Pure; one lane. The caller keeps the deadline of each page.
class resync_fsm {
 public:
  using time_point = std::chrono::steady_clock::time_point;
  /// Ids of the registered servers, in any order.
  using servers = std::span<const std::string>;

  struct limits {
    std::chrono::nanoseconds max_wait = std::chrono::seconds(60);   ///< for a server to ask; 0: only those that are there at the start
    std::chrono::nanoseconds max_duration = std::chrono::hours(1);  ///< in all
    std::size_t max_pages = 10'000'000;                             ///< in all
    std::size_t max_servers = 1'000;                                ///< asked in all
  };

  enum class action : std::uint8_t {
    wait,     ///< nobody to ask: come back with `on_tick`
    request,  ///< ask `server()` for the page `token()`; the first one when absent
    finish,   ///< see `state()`
  };
  enum class phase : std::uint8_t { waiting, listing, complete, gave_up };

  resync_fsm(time_point now, std::uint64_t seed, const limits& with) : limits_(with), began_(now), random_(seed) {}

  [[nodiscard]] action start(time_point now, servers registered) { return ask_someone(now, registered); }
  [[nodiscard]] action on_tick(time_point now, servers registered);
  /// A page has come and its entries were seeded. `next`: the token it names; absent or null is the end, the empty text is a token.
  [[nodiscard]] action on_page(time_point now, std::optional<std::string_view> next, servers registered);
  /// The page did not come: no connection, no 2xx, no answer in time, or not what a page looks like.
  [[nodiscard]] action on_failure(time_point now, servers registered);

  [[nodiscard]] const std::string& server() const noexcept { return server_; }
  [[nodiscard]] const std::optional<std::string>& token() const noexcept { return token_; }
  [[nodiscard]] phase state() const noexcept { return phase_; }
  [[nodiscard]] bool holds_eviction() const noexcept { return phase_ == phase::waiting || phase_ == phase::listing; }
  [[nodiscard]] std::size_t pages() const noexcept { return pages_; }
  [[nodiscard]] std::size_t servers_failed() const noexcept { return failed_; }

 private:
  [[nodiscard]] action ask_someone(time_point now, servers registered);
  [[nodiscard]] action end(phase how);
  [[nodiscard]] bool is_out_of_time(time_point now) const noexcept { return now - began_ >= limits_.max_duration; }
  [[nodiscard]] bool goes_round(std::string_view next);

  limits limits_;
  time_point began_;
  std::mt19937_64 random_;
  phase phase_ = phase::waiting;
  std::string server_;
  std::optional<std::string> token_;
  std::set<std::string, std::less<>> asked_;  ///< servers that are not asked again
  std::size_t pages_ = 0;
  std::size_t failed_ = 0;
  std::optional<std::string> milestone_;  ///< a token seen earlier in this listing
  std::size_t since_milestone_ = 0;       ///< tokens since
  std::size_t milestone_span_ = 1;        ///< tokens until the next milestone
};

}  // namespace kvc::core
