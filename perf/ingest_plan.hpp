// What `kv-conductor-bench ingest` is asked to do.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/registration.hpp"
#include "net/event_encode.hpp"

namespace kvc::perf {

/// A form of events as the command line names it, and what its publisher is registered as.
struct ingest_dialect {
  std::string_view name;
  net::event_form form;
  core::publisher_type type;
};

/// All forms that put blocks into the index by themselves. Those of stores name objects, or blocks without their tokens.
[[nodiscard]] std::span<const ingest_dialect> ingest_dialects() noexcept;
/// Null when there is no such form.
[[nodiscard]] const ingest_dialect* find_ingest_dialect(std::string_view name) noexcept;

/// What is measured. The values are bits.
enum ingest_mode : std::uint8_t {
  ingest_idle = 1,        ///< streams on which nothing happens
  ingest_saturation = 2,  ///< as fast as it goes, beside discarding
  ingest_sweep = 4,       ///< offered rates
  ingest_latency = 8,     ///< publish to queryable at half the saturation rate
  ingest_replay = 16,     ///< a full replay
  ingest_queries = 32,    ///< queries beside events
  ingest_everything = 63,
};

/// Absent when there is no such mode; `all` is one.
[[nodiscard]] std::optional<std::uint8_t> find_ingest_mode(std::string_view name) noexcept;

struct ingest_plan {
  std::uint8_t modes = ingest_everything;
  std::string trace{};                      ///< a Mooncake request trace; empty: requests made up by a seed
  const ingest_dialect* dialect = nullptr;  ///< null: all of them, saturation only
  std::uint32_t streams = 8;                ///< engines that publish
  std::uint32_t idle_streams = 1'000;
  std::uint32_t idle_seconds = 10;      ///< of silence that are measured
  std::uint32_t idle_queries = 1'500;   ///< asked when nothing else happens
  std::uint32_t cache_blocks = 32'768;  ///< of one engine; what is beyond is evicted, and told
  std::uint64_t blocks = 4'000'000;     ///< stored and removed, in all, in one measurement
  std::uint32_t replay_batches = 10'000;
  std::uint32_t batch_weight = 64;       ///< blocks whose time a batch takes beside that of its own (see `ingest_schedule`)
  std::uint32_t query_rate = 500;        ///< queries per second beside events
  std::uint32_t receive_high_water = 0;  ///< messages the server's sockets keep; 0: the product's default
  bool is_transport_free = false;        ///< libzmq's threads of the server may run on every CPU, not on the lane's alone
  std::uint32_t reserve_mib = 0;         ///< memory that is touched before anything is measured
  std::uint32_t repeat = 1;
  double most_stolen = 1;  ///< share of the CPUs; what lost more is measured again
  std::string out{};       ///< a page in Markdown; empty: none
  std::string commit{};    ///< empty: ask git in the current folder
  bool as_json = false;
  bool with_yardstick = true;
};

}  // namespace kvc::perf
