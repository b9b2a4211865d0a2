// The flags of `kv-conductor-sim mp`: names, ranges, defaults, and the help text that teaches them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kvc::sim {

/// What can be made to go wrong, on purpose and by chance.
enum class mp_fault : std::uint8_t {
  refuse,   ///< for some turns the registered port is one where nobody listens
  hang,     ///< a request is never answered
  error,    ///< a request is answered 500 and not carried out
  garbage,  ///< a request is answered 200 with something that is not JSON, and not carried out
  partial,  ///< a deletion is half done and answered `ok: false`; a listing has an entry without a size, and names its own page as the next
  slow,     ///< a request is answered late
  drop,     ///< a batch of events is lost on the way
  repeat,   ///< a batch is sent twice
  delay,    ///< a batch is sent after the one behind it
  restart,  ///< the server comes back under another identity, without what it had not told yet
  deregister,  ///< the server leaves while it carries out a deletion
};
inline constexpr std::size_t mp_fault_kinds = 11;

/// Their words on the command line, in order.
inline constexpr std::array<std::string_view, mp_fault_kinds> mp_fault_words{"refuse", "hang",   "error", "garbage", "partial",   "slow",
                                                                             "drop",   "repeat", "delay", "restart", "deregister"};

/// How servers tell their events; `mixed`: every other one in the newer way.
enum class mp_event_route : std::uint8_t { quota, events, mixed };

/// What a run does. The ranges are checked by `parse_mp_options`.
struct mp_options {
  std::string coordinator_host = "127.0.0.1";
  std::uint16_t coordinator_port = 9'300;
  std::string host = "127.0.0.1";          ///< numeric address where the servers listen, as the coordinator reaches them
  std::uint32_t servers = 3;               ///< 1 .. 256
  std::uint32_t salts = 4;                 ///< tenants that share the storage, 1 .. 10,000; the first is the empty salt
  std::uint64_t preload = 1'000;           ///< objects that lie there before anybody tells of them, 0 .. 1,000,000
  std::uint64_t quota = 500;               ///< of each salt, in objects of `object_bytes`; 0: a limit of 0 bytes, everything is evicted
  std::uint64_t object_bytes = 2'097'152;  ///< most objects have; 1 .. 2^40
  double seconds = 10;                     ///< how long events are told; 0: until TERM or INT
  std::uint32_t turns = 0;                 ///< instead of `seconds`: so many turns of each server, without pause between them
  std::uint32_t plans = 0;                 ///< with `turns`: go on until so many deletion requests have come
  std::uint32_t events_per_s = 1'000;      ///< of all servers together, 1 .. 1,000,000; with `turns` about 10 per turn
  double heartbeat_s = 5;                  ///< seconds between heartbeats, above 0; with `turns` every turn
  double flush_s = 1;                      ///< seconds between a server's turns, above 0
  double slow_s = 0.5;                     ///< how late a slow answer is
  mp_event_route route = mp_event_route::quota;
  std::uint64_t seed = 1;
  std::uint32_t faults = 0;  ///< bit i: kind number i may happen
  double fault_rate = 0.1;   ///< share of occasions at which one happens, 0 .. 1
  bool drain = false;        ///< at the end have everything evicted, to see the order of use
  bool keep = false;         ///< do not deregister at the end
  std::string json_file;     ///< empty: no summary as JSON
  std::string model = "sim-model";
};

/// Options, or why there are none.
struct parsed_mp_options {
  mp_options chosen;
  bool help = false;
  std::string error;  ///< empty: fine
};

/// Reads the arguments behind the word `mp`: `--name value` and `--name=value`. Pure.
[[nodiscard]] parsed_mp_options parse_mp_options(const std::vector<std::string>& arguments);

/// All flags and what they mean.
[[nodiscard]] std::string_view mp_help_text() noexcept;

}  // namespace kvc::sim
