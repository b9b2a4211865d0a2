// What `kv-conductor-bench e2e` and `soak` are asked to do.
#pragma once

#include <cstdint>
#include <string>

namespace kvc::perf {

struct e2e_plan {
  std::string trace{};                  ///< a Mooncake request trace; empty: requests made up by a seed
  std::uint32_t requests = 2'000;       ///< of each way of routing
  std::uint32_t strict_requests = 300;  ///< of the run in which every answer must be exact; 0: leave it out
  std::uint32_t engines = 8;
  std::uint32_t cache_blocks = 4'096;  ///< of 64 tokens, of one engine
  std::uint32_t rate = 100'000;        ///< blocks per second while publish-to-queryable is measured
  std::uint64_t blocks = 500'000;      ///< of that measurement
  std::string program{};               ///< the server; empty: the one of the same build
  std::uint32_t server_cpu = 0;
  std::uint32_t load_cpu = 1;
  std::uint32_t repeat = 1;
  std::string out{};     ///< a page in Markdown; empty: none
  std::string commit{};  ///< empty: ask git in the current folder
  bool as_json = false;
};

struct soak_plan {
  std::uint32_t minutes = 60;
  std::uint32_t seeds = 0;  ///< so many and then the end, whatever the minutes say; 0: as many as fit
  std::uint64_t seed = 0;   ///< the first; 0: from the clock
  std::uint32_t fleets = 16;
  std::string program{};  ///< the server; empty: the one of the same build
};

}  // namespace kvc::perf
