// Which MP servers there are, and which of them still give signs of life.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/errc.hpp"
#include "core/text_spread.hpp"

namespace kvc::core {

/// What an MP server says about itself, checked and completed. (Source: spec coordinator-api, POST /instances.)
struct mp_server {
  std::string instance_id;  ///< not empty
  std::string ip;           ///< name or address of its HTTP interface
  std::uint16_t http_port = 0;
  std::vector<std::pair<std::string, std::string>> metadata;  ///< in the order it was told
  std::string p2p_advertised_url;                             ///< empty: takes no part in transfers between peers
  std::uint16_t mq_port = 0;                                  ///< 0: none
};

/// A registered server.
struct mp_member {
  mp_server server;
  std::chrono::system_clock::time_point registered_at;  ///< wall clock, shown to people
  std::chrono::steady_clock::time_point heard_at;       ///< newest registration or heartbeat
};

/// The id of a server that named none: `mp-` and a random UUID (version 4, RFC 9562) in 32 hex digits, from 128 random bits.
[[nodiscard]] std::string made_up_instance_id(std::uint64_t high, std::uint64_t low);

/// The fleet.
///
/// Listed in the order of first registration. A server that registers again is replaced as a whole and keeps its place; one that left and
/// came back is the last. Silence ends a membership at the first sweep after more than `timeout`. Leaving changes nothing else: what a
/// server has stored is shared by all. Pure; one lane.
class mp_registry {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  struct limits {
    std::chrono::nanoseconds timeout = std::chrono::seconds(30);  ///< above 0
    std::size_t servers = 65'536;
    std::size_t text_bytes = std::size_t{256} << 20;  ///< of everything servers say about themselves
  };

  explicit mp_registry(const limits& with) : limits_(with) {}

  /// True when a registration was replaced. Errors: `servers_exhausted`, when there are too many or they say too much; then nothing
  /// changes, and neither does it when something is thrown.
  [[nodiscard]] result<bool> add(mp_server server, time_point now, std::chrono::system_clock::time_point wall);
  /// False: unknown, the server has to register again.
  bool heartbeat(std::string_view instance_id, time_point now);
  /// False when there was none.
  bool remove(std::string_view instance_id);
  /// Drops the servers not heard of for longer than the timeout; answers their ids, in the order of the list.
  [[nodiscard]] std::vector<std::string> sweep(time_point now);

  /// Null when unknown. Valid until the server leaves or registers again.
  [[nodiscard]] const mp_member* find(std::string_view instance_id) const;
  /// One server, each as likely as the others; null when there is none. `random` is 64 random bits. Valid as from `find`.
  [[nodiscard]] const mp_member* pick(std::uint64_t random) const;
  /// In order of first registration, by a number that is a server's as long as it stays, and nobody else's afterwards: who goes through
  /// them in several turns finds its place again.
  [[nodiscard]] const std::map<std::uint64_t, mp_member>& all() const noexcept { return members_; }
  /// The number given out last; whoever comes from now on has a higher one, as has who leaves and comes back.
  [[nodiscard]] std::uint64_t newest() const noexcept { return numbers_; }

 private:
  using place = std::map<std::uint64_t, mp_member>::iterator;
  void erase(place where);

  limits limits_;
  std::map<std::uint64_t, mp_member> members_;
  std::uint64_t numbers_ = 0;  ///< given out
  std::size_t text_bytes_ = 0;
  std::unordered_map<std::string_view, place, text_spread> by_id_;  ///< views of the ids in `members_`
};

}  // namespace kvc::core
