#include "perf/sim_options.hpp"

namespace kvc::sim {

std::string_view help_text() noexcept {
  return R"(kv-conductor-sim: plays requests through simulated engines and holds the conductor's answers against the truth

Every engine has a prefix cache like vLLM's, tells of what it stores and evicts on a real publisher socket with a
replay buffer, and is registered over HTTP. Before each request the conductor is asked which engine holds how much
of the prompt; the answer for every engine and rank is compared with what the engine really holds.

Usage: kv-conductor-sim [flags]
       kv-conductor-sim mp [flags]    stand-in MP servers for the fleet coordinator; `mp --help` teaches them
       kv-conductor-sim store [flags] a stand-in store for probes and prefetches; `store --help` teaches them

Requests
  --trace FILE           a Mooncake request trace (JSON lines); without it requests are generated
  --requests N           how many to play; 0 = the whole trace (default 2000)
  --speed X              follow the trace's clock X times faster; 0 = as fast as possible (default 0)
  --seed N               fixes generated requests, random routing and engine secrets (default 1)

Engines
  --engines N            instances, 1 to 1024 (default 8)
  --ranks N              data-parallel ranks per instance, each a cache and a publisher, 1 to 64 (default 1)
  --block-size N         tokens per block (default 64)
  --cache-blocks N       blocks that one rank can hold (default 16384)
  --event-form FORM      how events are written: map (vLLM since June 2026), array (before), or any other form of vLLM, SGLang
                         and TensorRT-LLM; a wrong one is answered with their names (default map)
  --hash-form FORM       int or bytes (32-byte digests) (default int)
  --engine-host ADDRESS  where engines listen, as the server reaches it (default 127.0.0.1)

Asking
  --server HOST:PORT     the conductor (default 127.0.0.1:13333)
  --routing KIND         conductor, random or roundrobin (default conductor)
  --load-weight W        with --routing conductor the engine with the least work wins: tokens left to compute plus
                         W times the tokens waiting there; 0 = the longest match wins, load decides ties (default 1)
  --clients N            requests in flight at once, not with --strict (default 4)
  --wire FORM            json or msgpack (default json)
  --tenant, --model      identity of the fleet (default: default, sim-model)

Chaos, instead of requests
  --chaos SEED           draws a small fleet and what goes wrong with it from SEED: every event form (changing in the middle of
                         streams), drops, duplicates, delays, damage, poison events, restarts, replays that are short, lossy,
                         late or never given, publishers that connect (the server binds), several ranks on one port, stores.
                         Once all is quiet every answer must be right, or its stream must say that it is incomplete and
                         differ by no more than what was lost for good
  --seeds N              so many seeds, from SEED on (default 1)
  --minutes N            as many seeds as fit into N minutes
  --clients N            fleets at once (default 4)
  --watch-pid PID        with --minutes: the memory of this process, the server's, must stay flat

Run
  --strict               before each question wait until the conductor has applied everything published; any
                         difference between answer and truth is told and makes the exit code 1
  --plain                a line now and then instead of a picture that refreshes itself
  --json FILE            write the summary as JSON, too
  --keep                 do not unregister at the end
  --serve                after the run keep the engines up until TERM or Ctrl-C

Examples
  kv-conductor-sim --strict --requests 200 --engines 3
  kv-conductor-sim --trace conversation_trace.jsonl --requests 0 --routing random --wire msgpack
  kv-conductor-sim --chaos 1 --seeds 100 --clients 16
  kv-conductor-sim --speed 20 --ranks 2 --serve

Exit code: 0 fine; 1 a difference in a strict or a chaos run, or the run could not be finished; 2 wrong flags.
)";
}

}  // namespace kvc::sim
