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
  --rate N           only this many requests per second, open loop, also beside events
  --sweep            10, 25, 50, 75, 90 and 100 % of the closed loop's rate in place of a half
  --connections N    keep-alive, one request at a time on each (default 64; query_long: 2)
  --seconds N        of each measurement (default 3)
  --instances N      of the fleet (default 64); --cache-blocks N that one of them can hold (default 8192)
  --blocks N         stored and removed while the index is filled (default 4000000)
  --beside N         blocks per second that are ingested beside queries (default 500000; 0: leave it out)
  --nginx            also nginx, one worker on the server's CPU that returns the body of /healthz, as fast as it answers and at every
                     rate that was offered to the server; skipped where there is none
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

constexpr std::string_view codec_help = R"(Usage: kv-conductor-bench codec [flags]

Decodes the same blocks written in every form of events, and beside it what it takes to scan the bytes with our reader, to
parse them with msgpack-c, and to copy them. CPU nanoseconds per event and per block, in cache, least of five rounds.

  --form NAME        one form, e.g. vllm_map (default: every one)
  --milliseconds N   that one figure is measured for (default 200)
  --repeat N         medians of N runs (default 1)
  --out FILE.md      write a page, too; --commit TEXT is what it says was measured (default: what git says)
  --json             for programs
  --no-yardstick     leave out the constants of the machine
)";

constexpr std::string_view json_help = R"(Usage: kv-conductor-bench json [flags]

Reads bodies of queries with our one-pass reader, with the reader for everything else (Boost.JSON's scanner), and with
Boost.JSON to a value; and writes an answer of 64 rows. CPU nanoseconds, in cache, least of five rounds.

  --milliseconds N   that one figure is measured for (default 200)
  --repeat N         medians of N runs (default 1)
  --out FILE.md      write a page, too; --commit TEXT is what it says was measured (default: what git says)
  --json             for programs
  --no-yardstick     leave out the constants of the machine
)";

constexpr std::string_view e2e_help = R"(Usage: kv-conductor-bench e2e [flags]

Plays the same requests through simulated engines once per way of routing (by the conductor's answers, in turn, at random),
each time against a real server of its own: prompt tokens saved, rows that agree with what the engines hold, latency. Then a
run in which every event is waited for and every row must be exact, and how long it takes from publishing to queryable.

  --trace FILE.jsonl     requests of a Mooncake trace (default: made up by a seed)
  --requests N           of each way of routing (default 2000); --strict-requests N (default 300; 0: leave it out)
  --engines N            (default 8); --cache-blocks N of 64 tokens that one can hold (default 4096)
  --rate N               blocks per second while publish to queryable is measured (default 100000); --blocks N (default 500000)
  --server FILE          the server (default: the kv-conductor of the same build)
  --server-cpu N, --load-cpu N   (default 0 and 1)
  --repeat N             medians of N runs (default 1)
  --out FILE.md          write a page, too; --commit TEXT is what it says was measured (default: what git says)
  --json                 for programs
)";

constexpr std::string_view soak_help = R"(Usage: kv-conductor-bench soak [flags]

Starts a server and sends it seeded fleets that go wrong, seed after seed; news every few seconds. Exit code 0: every answer
was right or said to be incomplete, the server's memory was flat (by samples of the second half, the first is for warming
up), and it stopped when it was asked to. A failed seed S is repeated by kv-conductor-sim --chaos S.

  --minutes N      (default 60); --seeds N: so many seeds in place of minutes
  --seed N         first seed (default: the time, which is printed)
  --fleets N       at once (default 16)
  --server FILE    the server (default: the kv-conductor of the same build)
)";

constexpr std::string_view report_help = R"(Usage: kv-conductor-bench report FOLDER [flags]
       kv-conductor-bench report --scale [flags]

Writes FOLDER/report.html, one page with plots inside, and each plot as FOLDER/report-NAME.svg. Results of other commands are
read where they are named and measured where they are not. Memory, time per query, recovery and the scale check are always
measured: some minutes and some 4 GiB.

  --ingest FILE.json   results of: kv-conductor-bench ingest --json
  --http FILE.json     of: kv-conductor-bench http --sweep --json
  --e2e FILE.json      of: kv-conductor-bench e2e --json
  --trace FILE.jsonl   requests for what is measured now (default: made up by a seed)
  --server FILE        the server (default: the kv-conductor of the same build)
  --commit TEXT        what was measured (default: what git says); --remark TEXT: a sentence for the page
  --quick              everything small: to see that it works, not to believe it
  --scale              print the scale model and write nothing

The scale model: what one node carries and how many nodes a fleet needs.
  --cores N, --memory-gib N   of a node (default 32 and 128)
  --engine-blocks N           that an engine holds (default 10000); --engine-events N blocks per second (default 50)
  --engine-queries N          per second (default 1)
  --check-entries N           of the measured point the model is held against (default 50000000)
)";

}  // namespace

std::string server_help(bench_command command) {
  switch (command) {
    case bench_command::codec: return std::string(codec_help);
    case bench_command::json: return std::string(json_help);
    case bench_command::http: return std::string(http_help);
    case bench_command::e2e: return std::string(e2e_help);
    case bench_command::soak: return std::string(soak_help);
    case bench_command::report: return std::string(report_help);
    default: return {};
  }
}

}  // namespace kvc::perf
