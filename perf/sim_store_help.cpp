#include "perf/sim_store_options.hpp"

namespace kvc::sim {

std::string_view store_help_text() noexcept {
  return R"(kv-conductor-sim store: a stand-in Mooncake master and store, and a check of what the conductor believes of it

The store keeps objects, each the state of one block of a prompt, in the memory of its segments, on the SSDs of their
clients and on a shared disk. It is used: objects are put in two phases, read, removed, copied, moved; what is cold leaves
memory for SSD. Its publisher tells of that over ZeroMQ, or keeps silent, just as the generation does. Its master
answers on the admin routes: where keys lie (GET /batch_query_keys, 1 to 128 keys), look-ups (GET /query_key) that grant
a lease and, at the threshold, bring what is only on SSD back to memory, who leads (GET /leader), counters (GET /metrics).

Without --conductor the store is only there, with its addresses on the first lines. With it the store registers its
publishers and itself, has its keys probed while it is used, and at the end holds the conductor's answers against what
it has.

Usage: kv-conductor-sim store [flags]

Store
  --conductor HOST:PORT    the conductor; --server means the same (default: none)
  --host ADDRESS           where everything listens, as the conductor reaches it (default 127.0.0.1)
  --port N                 admin interface of the first master, the others follow; 0 = free ones (default 0)
  --events-port N          publisher of the first master, the others follow; 0 = free ones (default 0)
  --masters N              masters, of which one leads, 1 to 8 (default 1)
  --backend NAME           what the store calls itself in events (default mooncake)
  --tenant NAME            whose objects they are (default default)
  --model NAME             whose state they are (default sim-model)
  --block-size N           tokens of an object (default 16)
  --objects N              put before anything else (default 1000)
  --object-bytes N         size of an object (default 2097152)
  --memory N               objects that fit into memory (default 500)
  --segments N             memory is so many clients' (default 2)
  --disk-share X           share of the objects that are put to the shared disk as well, 0 to 1 (default 0.1)
  --no-offload             what leaves memory is gone

Events
  --generation NAME        array   objects with all replicas, by position; every change but lost segments and clients;
                                   numbers from 0, with a replay
                           master  envelopes, one per object and medium; puts, removals and the loss of the last replica
                                   only; numbers from 1, no replay (default)
                           branch  with model, block size and digest; removals by medium, and clears
                           later   the master's, with keys only
  --end-marker PLACE       of a replay, where builds differ: payload or number (default payload)
  --keys FORM              decimal (sequence hashes), connector (vLLM's), text (commas, escapes and all) or mixed (default
                           decimal)

Promotion
  --threshold N            look-ups before an object is promoted (default 2)
  --queue N                promotions at one time; more are refused (default 64)
  --watermark X            share of memory over which promotions are refused and counted (default 0.95)
  --copy X                 seconds a promotion takes (default 0.02)
  --lease X                seconds that a look-up keeps an object from being evicted (default 5)

Pace
  --seconds X              how long to use the store; 0 = until TERM or Ctrl-C (default 10)
  --events-per-s N         things done to objects (default 200)
  --turns N                instead of --seconds: N turns, one after the other, as fast as they go
  --seed N                 fixes objects, choices and faults (default 1)

Faults
  --faults LIST            all, none, or words with commas between them (default none):
                             hang        a request is never answered
                             error       a request is answered 500
                             garbage     a request is answered 200 with something that is not JSON
                             partial     an answer about several keys leaves every other one out
                             slow        an answer comes late (--slow X seconds, default 0.5)
                             ignore      a look-up is answered and does not count
                             late        a promotion takes --late-copy X seconds (default 3)
                             revoke      a promotion is begun and given up
                             rival       a client writes the object while it is being promoted
                             vanish      the object is deleted while it is being promoted
                             pressure    for some turns memory is short: promotions are refused
                             leader      another master leads, after a turn in which none does (with --masters)
                             drop        events are lost on the way
                             segment     a segment is unmounted, and nothing is told
                             client      a client dies with memory and SSD, and nothing is told
                             clear       everything is removed
  --fault-rate X           share of occasions at which one happens, 0 to 1 (default 0.1)

End
  --demo                   instead of a run: show a prompt on SSD becoming a hit in memory because somebody asked; with
                           --seconds 0 the store stays until TERM or Ctrl-C
  --keep                   stay registered
  --json FILE              write the summary as JSON, too

By hand: POST /sim/ACTION?key=KEY on a master, with ACTION one of put, put_again, evict, remove, remove_all, pressure, relief,
depose, elect (?master=N).

Examples
  kv-conductor-sim store --port 9003 --events-port 5557 --seconds 0
  kv-conductor-sim store --conductor 127.0.0.1:13333 --generation array --masters 2
  kv-conductor-sim store --conductor 127.0.0.1:13333 --faults all --fault-rate 0.2 --seed 7

Exit code: 0 the conductor agrees; 1 it does not, or the run could not be finished; 2 wrong flags.
)";
}

}  // namespace kvc::sim
