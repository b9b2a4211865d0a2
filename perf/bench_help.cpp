#include "perf/bench_options.hpp"
#include "perf/bench_readers.hpp"

namespace kvc::perf {
namespace {

constexpr std::string_view program_help = R"(kv-conductor-bench: measures the service and its parts, makes workloads, and reports

  kv-conductor-bench index FILE.kvwl [flags]     one mode: figures as a table or as JSON
  kv-conductor-bench index-table DIR [flags]     all modes and workloads: a page of figures beside their bars
  kv-conductor-bench codec [flags]               decoding events, every form
  kv-conductor-bench json [flags]                reading requests and writing answers
  kv-conductor-bench ingest [flags]              events over real sockets, beside discarding them
  kv-conductor-bench http [flags]                the whole server over HTTP, at a fixed rate or as fast as it answers
  kv-conductor-bench e2e [flags]                 simulated engines, the server and routing, from end to end
  kv-conductor-bench coordinator [flags]         the fleet coordinator, its tables or over HTTP
  kv-conductor-bench exist [flags]               probes for objects of stores, and the memory of their table
  kv-conductor-bench soak [flags]                hours of chaos: answers exact, memory flat
  kv-conductor-bench report FOLDER [flags]       a page with plots, and the scale model
  kv-conductor-bench make KIND OUT.kvwl [flags]  a workload file

`kv-conductor-bench COMMAND --help` teaches the flags. Measure a release build (cmake --preset release).
)";

constexpr std::string_view index_head = R"(Usage: kv-conductor-bench index [FILE.kvwl] [flags]

  --mode MODE      what is measured (default sequential):
)";

constexpr std::string_view index_tail =
    R"(  --design DESIGN  runs, our index (default); or positional, the published per-block design with jump search, for
                   comparison: modes sequential, saturation, memory, deep and ragged
  --stride N       positions that the positional design jumps over (default 64)
  --reserve MIB    memory that is taken and touched before anything is measured, as by the service's index_reserve (default 0)
  --repeat N       run N times, each in a process of its own: medians, least and greatest (default 1)
  --quiet SHARE    make a run again, up to 8 times in all, in which a virtual machine's host took more than this share of the
                   CPUs (0 to 1; `stolen_share` tells it); if none is that quiet, the quietest counts
  --json           for programs: medians at the top, `min` and `max` beside them
  --no-yardstick   leave out the constants of the machine

Where operations are replayed in order, the next four events are known while one is applied, as within a batch, whether
queries come in between or not.

Times are nanoseconds. touch32 and touch512 (a prefetched random update in so many MiB), miss (a dependent cache miss),
compare and compare_cold (two hashes compared, in cache and out of it) are constants of this machine from the same run:
carry event_touches, query_mean_misses and query_p99_misses from machine to machine, not nanoseconds.
)";

constexpr std::string_view table_help = R"(Usage: kv-conductor-bench index-table DIR [flags]

Replays m1, m2, m3, m4, s64 and s256.kvwl of DIR as far as they are there, measures all shapes, and writes a page in
Markdown: every bar with its figure and whether it is met, the workloads, the positional design beside ours, the machine.
With all files and --repeat 5 it takes about half an hour on a quiet machine, and some 16 GiB.

  --repeat N       runs of each; figures are medians (default 5)
  --quiet SHARE    make runs again in which the host took more than this share of the CPUs, as in `index`
  --reserve MIB    memory that each run takes and touches first, as by the service's index_reserve (default 0)
  --out FILE.md    write there (default: standard output)
  --commit TEXT    what was measured (default: what git says in the current folder)
  --no-reference   leave out the positional design, which takes most of the time
)";

constexpr std::string_view ingest_head = R"(Usage: kv-conductor-bench ingest [flags]

Engines publish over PUB sockets on the loopback, from a process on one CPU; the service's own intake, one lane and all
other threads of its process, has another CPU to itself. Frames are written before anything is measured, and the same frames
over the same sockets are received and thrown away for comparison. At the end the index must hold exactly what the engines do.

  --mode MODE        all (default): everything; idle: streams on which nothing happens; saturation; sweep: offered rates;
                     latency: publish to queryable at half the saturation rate, batches due by their blocks alone (half_) and
                     by themselves as well (even_half_), see --batch-weight; replay; queries: beside events (some 300 with
                     the default --blocks, whose p99 is the worst three; with --blocks 24000000 over a thousand)
  --trace FILE.jsonl requests of a Mooncake trace (default: made up by a seed)
  --dialect FORM     how events are written (default vllm_map); all: every form in turn, saturation only. Forms:
)";

constexpr std::string_view ingest_tail = R"(
  --streams N        engines that publish, 1 to 1024 (default 8)
  --idle-streams N   streams of mode idle (default 1000); --idle-seconds N of silence (default 10)
  --cache-blocks N   blocks of 16 tokens that one engine can hold (default 32768)
  --blocks N         stored and removed blocks of one measurement (default 4000000)
  --replay-batches N batches of 64 blocks that are replayed (default 10000)
  --batch-weight N   blocks whose time a batch takes beside that of its own: where answers come in many batches of a few
                     blocks, by blocks alone they are due sooner than anybody can take them (default 64, as measured)
  --query-rate N     queries per second beside events (default 500)
  --high-water N     messages that one socket of the server keeps (default: the service's)
  --transport WHERE  libzmq's threads of the server run on the CPU of its lane: lane (default); or on every CPU: free, as in
                     the service
  --reserve MIB      memory that the server takes and touches first, as by its setting index_reserve (default 0)
  --repeat N         medians of N runs, every measurement in processes of its own (default 1)
  --quiet SHARE      make measurements again in which the host took more than this share of the CPUs, as in `index`
  --out FILE.md      write a page, too; --commit TEXT is what it says was measured (default: what git says)
  --json             for programs
  --no-yardstick     leave out the constants of the machine
)";

constexpr std::string_view coordinator_help = R"(Usage: kv-conductor-bench coordinator [flags]

Measures the tables of the fleet coordinator by themselves, or with --http the whole server: a fresh one for each mode, in
a process of its own with one lane on one CPU, and load over loopback from another CPU.

  --mode MODE      registry, usage, eviction, blend, or all (default)
  --http           over HTTP
  --server FILE    the server (default: the kv-conductor of the same build)
  --server-cpu N   where the server runs (default 0)
  --load-cpu N     where the load comes from (default 1)
  --repeat N       run N times: medians, least and greatest (default 1)
  --json           for programs
  --no-yardstick   leave out the constants of the machine

Rates `_per_s` are by the clock, `_per_cpu_s` by the CPU time that the server has used, in the kernel too: where the two
differ much, the load or others on the machine were what was measured.
)";

constexpr std::string_view exist_help = R"(Usage: kv-conductor-bench exist [flags]

Probes of 128 keys of 64 characters (POST /exist). The server is a process of its own with one lane on one CPU; the load
and a stand-in store, whose publisher tells the server of its objects and whose master promotes them, have another.

  --mode MODE      memory: the table alone; rate: probes without prefetch, pipelined, and one at a time; prefetch: one at a
                   time with and without prefetch in turns, half of the objects on SSD only; all (default)
  --objects N      in the table of mode memory (default 5000000)
  --stored N       in the stand-in store (default 100000)
  --probes N       of mode rate; the others take a part of them (default 200000)
  --server FILE    the server (default: the kv-conductor of the same build)
  --server-cpu N   where the server runs (default 0)
  --load-cpu N     where the load comes from (default 1)
  --repeat N       run N times, each in a process of its own: medians, least and greatest (default 1)
  --json           for programs
  --no-yardstick   leave out the constants of the machine

`probes_per_s` is by the clock, `probes_per_cpu_s` by the CPU time that the server has used, in the kernel too: where the
two differ much, the load or others on the machine were what was measured.
)";

constexpr std::string_view make_help = R"(Usage: kv-conductor-bench make conversations OUT.kvwl [flags]
       kv-conductor-bench make agents OUT.kvwl [flags]
       kv-conductor-bench make trace FILE.jsonl OUT.kvwl [flags]

Plays requests through engines with LRU prefix caches and writes what an index hears: queries, stores, removals. The same
flags give the same file on every machine.

  conversations    chats that grow turn by turn behind one system prompt
  agents           tasks that ask many short branches of one trunk at once
  trace            a Mooncake request trace (JSON lines)

All kinds
  --workers N        engines, 1 to 65536 (default 64)
  --cache-blocks N   blocks that one engine can hold (default 16384)
  --requests N       requests; with trace 0 = all (default 100000; trace: all)
  --route KIND       random: any engine; affine: what belongs together goes to one engine (default random)
  --seed N           fixes everything that is random (default 1)

conversations: --system-blocks N (default 64), --turn-blocks N per turn on average (16), --answer-blocks N per answer on
  average (4), --new SHARE of requests that begin a chat (0.3), --chats N remembered (4096)
agents: --system-blocks N (default 32), --turn-blocks N that a trunk grows by from fan to fan on average (8),
  --branch-blocks N on average (3), --fan-out N branches per fan (64), --fans N per task at most (6), --tasks N at once (32)
trace: --block-size N tokens, a divisor of 512 (default 64), --copies N of the trace with texts of their own (1)
)";

}  // namespace

std::string bench_help(bench_command command) {
  switch (command) {
    case bench_command::index: {
      std::string text(index_head);
      for (const bench_mode& mode : bench_modes()) {
        text += "                     " + std::string(mode.name) + std::string(12 - mode.name.size(), ' ') + std::string(mode.about) +
                (mode.replay == nullptr ? " (no file)\n" : "\n");
      }
      return text + std::string(index_tail);
    }
    case bench_command::index_table: return std::string(table_help);
    case bench_command::ingest: {
      std::string text(ingest_head);
      std::size_t column = 0;
      for (const ingest_dialect& each : ingest_dialects()) {
        text += (column == 0 ? std::string(21, ' ') : std::string(", ")) + std::string(each.name);
        column += each.name.size() + 2;
        if (column < 80) continue;
        text += ",\n";
        column = 0;
      }
      return text + std::string(ingest_tail);
    }
    case bench_command::coordinator: return std::string(coordinator_help);
    case bench_command::exist: return std::string(exist_help);
    case bench_command::make: return std::string(make_help);
    case bench_command::help: return std::string(program_help);
    default: return server_help(command);
  }
}

}  // namespace kvc::perf
