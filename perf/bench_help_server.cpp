// The help of the commands that measure the whole server.
#include "perf/bench_readers.hpp"

namespace kvc::perf {
namespace {

constexpr std::string_view http_help = R"(Usage: kv-conductor-bench http [flags]

Starts the server with one lane on one CPU, fills its index with the blocks of a fleet by real events, and loads it over
loopback from another CPU: first as fast as it answers (a closed loop), then at half of that rate (an open loop: requests are
due at a fixed rate whatever became of those before, and latency begins when a request was due), and /query_by_hash once more
while events are ingested on the same lane.

  --workload NAME    all (default); healthz; query_by_hash: 128 hashes; query_msgpack, query_json: 4,096 tokens;
                     query_long: 131,072 tokens as JSON
  --closed           the closed loop only
  --rate N           only this many requests per second, open loop
  --sweep            10, 25, 50, 75, 90 and 100 % of the closed loop's rate in place of a half
  --connections N    keep-alive, one request at a time on each (default 64; query_long: 2)
  --seconds N        of each measurement (default 3)
  --instances N      of the fleet (default 64); --cache-blocks N that one of them can hold (default 8192)
  --blocks N         stored and removed while the index is filled (default 4000000)
  --beside N         blocks per second that are ingested beside queries (default 500000; 0: leave it out)
  --nginx            also nginx, one worker on the server's CPU that returns the body of /healthz; skipped where there is none
  --trace FILE.jsonl requests of a Mooncake trace (default: made up by a seed)
  --server FILE      the server (default: the kv-conductor of the same build)
  --server-cpu N, --load-cpu N   (default 0 and 1)
  --repeat N         medians of N runs (default 1)
  --out FILE.md      write a page, too; --commit TEXT is what it says was measured (default: what git says)
  --json             for programs
  --no-yardstick     leave out the constants of the machine

`closed_cpu_share` tells how much of its core the server used: where it is well below 1, the load or others on the machine
were what was measured, and `closed_per_cpu_s` is what the server can do.
)";

}  // namespace

std::string server_help(bench_command command) {
  switch (command) {
    case bench_command::http:
      return std::string(http_help);
    default:
      return {};
  }
}

}  // namespace kvc::perf
