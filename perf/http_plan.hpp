// What `kv-conductor-bench http` is asked to do.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace kvc::perf {

/// What is asked of the server, over and over.
enum class http_workload : std::uint8_t { healthz, by_hash, msgpack, json, long_json };

/// A workload as the command line and the figures name it.
struct http_workload_name {
  http_workload workload;
  std::string_view name;
  std::string_view what;       ///< for people
  std::uint32_t tokens = 0;    ///< of a prompt; 0: none
  std::uint32_t distinct = 1;  ///< requests that differ
};

inline constexpr std::array http_workloads{
    http_workload_name{http_workload::healthz, "healthz", "GET /healthz", 0, 1},
    http_workload_name{http_workload::by_hash, "query_by_hash", "POST /query_by_hash, 128 hashes, JSON", 2'048, 256},
    http_workload_name{http_workload::msgpack, "query_msgpack", "POST /query, 4,096 tokens, MessagePack bin", 4'096, 256},
    http_workload_name{http_workload::json, "query_json", "POST /query, 4,096 tokens, JSON", 4'096, 256},
    http_workload_name{http_workload::long_json, "query_long", "POST /query, 131,072 tokens, JSON", 131'072, 8},
};

/// Null when there is no such workload.
[[nodiscard]] const http_workload_name* find_http_workload(std::string_view name) noexcept;

/// Constants of the loads a run offers, as shares of the closed-loop rate of the same run.
inline constexpr std::array http_sweep_percents{10, 25, 50, 75, 90, 100};

struct http_load_plan {
  const http_workload_name* only = nullptr;  ///< null: all of them
  bool is_closed = false;                    ///< closed loop and nothing else
  std::uint32_t rate = 0;                    ///< offered, requests per second, and nothing else; 0: shares of the closed-loop rate
  std::uint32_t connections = 64;
  std::uint32_t seconds = 3;  ///< of each measurement
  std::uint32_t instances = 64;
  std::uint64_t blocks = 4'000'000;    ///< stored and removed while the index is filled
  std::uint32_t cache_blocks = 8'192;  ///< of one instance
  std::uint32_t beside = 500'000;      ///< blocks per second that are ingested beside queries; 0: not measured
  bool with_sweep = false;             ///< all shares of the closed-loop rate, not only a half
  bool with_neighbour = false;         ///< nginx in the same run
  std::string trace;                   ///< a Mooncake request trace; empty: requests made up by a seed
  std::string program;                 ///< the server; empty: the one of the same build
  std::uint32_t server_cpu = 0;
  std::uint32_t load_cpu = 1;
  std::uint32_t repeat = 1;
  std::string out;     ///< a page in Markdown; empty: none
  std::string commit;  ///< empty: ask git in the current folder
  bool as_json = false;
  bool with_yardstick = true;
};

}  // namespace kvc::perf
