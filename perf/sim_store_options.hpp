// The flags of `kv-conductor-sim store`: names, ranges, defaults, and the help text that teaches them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "perf/sim_store_publisher.hpp"
#include "perf/sim_store_rules.hpp"
#include "perf/sim_store_voice.hpp"

namespace kvc::sim {

/// What can be made to go wrong, on purpose and by chance.
enum class store_fault : std::uint8_t {
  hang,      ///< a request is never answered
  error,     ///< a request is answered 500 and not carried out
  garbage,   ///< a request is answered 200 with something that is not JSON, and not carried out
  partial,   ///< an answer about several keys leaves every other one out
  slow,      ///< a request is answered late
  ignore,    ///< a look-up is answered and does not count
  late,      ///< a promotion is begun and takes `late_copy`
  revoke,    ///< a promotion is begun and given up
  rival,     ///< a client writes the object to memory while it is being promoted
  vanish,    ///< the object is deleted while it is being promoted
  pressure,  ///< for some turns every promotion is refused for want of memory
  leader,    ///< another master leads, after a turn in which none does
  drop,      ///< a batch of events is lost on the way
  segment,   ///< a segment is unmounted, silently
  client,    ///< a client dies, with its memory and its SSD, silently
  clear,     ///< everything is removed
};
inline constexpr std::size_t store_fault_kinds = 16;

/// Their words on the command line, in order.
inline constexpr std::array<std::string_view, store_fault_kinds> store_fault_words{
    "hang",  "error",  "garbage",  "partial", "slow", "ignore",  "late",   "revoke",
    "rival", "vanish", "pressure", "leader",  "drop", "segment", "client", "clear"};

/// What a run does. The ranges are checked by `parse_store_options`.
struct store_options {
  std::string conductor_host;  ///< empty: nobody is told or asked, the store is only there
  std::uint16_t conductor_port = 13'333;
  std::string host = "127.0.0.1";  ///< numeric address where masters and publishers listen, as the conductor reaches them
  std::uint16_t port = 0;          ///< of the first master's admin interface, the others follow; 0: free ones
  std::uint16_t events_port = 0;   ///< of the first master's publisher, the others follow; 0: free ones
  std::uint32_t masters = 1;       ///< 1 .. 8; the first one leads
  store_generation generation = store_generation::master;
  store_end_marker marker = store_end_marker::in_payload;
  store_key_form keys = store_key_form::decimal;
  std::string backend = "mooncake";
  std::string tenant = "default";
  std::string model = "sim-model";
  std::uint32_t block_size = 16;           ///< tokens of an object's block, 1 .. 4,096
  std::uint64_t objects = 1'000;           ///< put before anything else happens, 0 .. 1,000,000
  std::uint64_t object_bytes = 2'097'152;  ///< 1 .. 2^40
  std::uint64_t memory_objects = 500;      ///< that the store's memory has room for, 1 .. 1,000,000
  double disk_share = 0.1;                 ///< of the puts that write to the shared disk as well, 0 .. 1
  store_rules rules;                       ///< `capacity` comes from `memory_objects`
  double seconds = 10;                     ///< how long the store is used; 0: until TERM or INT
  std::uint32_t turns = 0;                 ///< instead of `seconds`: so many turns without pause between them
  std::uint32_t events_per_s = 200;        ///< things done to objects, 1 .. 100,000; with `turns` about 10 per turn
  double slow_s = 0.5;                     ///< how late a slow answer is
  std::uint64_t seed = 1;
  std::uint32_t faults = 0;  ///< bit i: kind number i may happen
  double fault_rate = 0.1;   ///< share of occasions at which one happens, 0 .. 1
  bool no_offload = false;   ///< what leaves memory is gone
  bool keep = false;         ///< stay registered at the end
  bool demo = false;         ///< show a prefix on SSD becoming a hit in memory, instead of a run
  std::string json_file;     ///< empty: no summary as JSON
};

/// Options, or why there are none.
struct parsed_store_options {
  store_options chosen;
  bool help = false;
  std::string error;  ///< empty: fine
};

/// Reads the arguments behind the word `store`: `--name value` and `--name=value`. Pure.
[[nodiscard]] parsed_store_options parse_store_options(const std::vector<std::string>& arguments);

/// All flags and what they mean.
[[nodiscard]] std::string_view store_help_text() noexcept;

}  // namespace kvc::sim
