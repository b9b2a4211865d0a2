#include "perf/sim_mp_options.hpp"

namespace kvc::sim {

std::string_view mp_help_text() noexcept {
  return R"(kv-conductor-sim mp: stand-ins for LMCache MP servers, and a check of what the fleet coordinator believes

The servers share one storage, as a fleet shares a bucket. Each registers itself, sends heartbeats, stores, looks up and
deletes objects and tells of it in numbered batches, lists its keys in pages when the coordinator starts, deletes what it
is asked to delete and reports that, and serves prefetches. Quotas are set so that there is something to evict. At the end
the coordinator's usage is held against a model fed with exactly what the coordinator has acknowledged.

Usage: kv-conductor-sim mp [flags]

Fleet
  --coordinator HOST:PORT  the coordinator (default 127.0.0.1:9300); --server means the same
  --host ADDRESS           where the servers listen, as the coordinator reaches them (default 127.0.0.1)
  --servers N              stand-in servers in this process, 1 to 256 (default 3)
  --salts N                tenants, each with a quota (default 4)
  --quota N                of each tenant, in objects; 0 = a limit of 0 bytes (default 500)
  --object-bytes N         size of an object (default 2097152)
  --preload N              objects in the storage that only a listing can tell of (default 1000)
  --model NAME             model of all keys (default sim-model)

Pace
  --seconds X              how long to tell events; 0 = until TERM or Ctrl-C (default 10)
  --events-per-s N         of all servers together (default 1000)
  --flush-interval X       seconds between two batches of a server (default 1)
  --heartbeat-interval X   seconds (default 5)
  --turns N                instead of --seconds: N turns of every server, one after the other, as fast as they go
  --plans N                with --turns: go on until N deletion requests have come
  --events ROUTE           quota (POST /quota/events), events (POST /events, with an incarnation) or mixed (default quota)
  --seed N                 fixes keys, sizes, choices and faults (default 1)

Faults
  --faults LIST            all, none, or words with commas between them (default none):
                             refuse      for some turns the registered port is one where nobody listens
                             hang        a request is never answered
                             error       a request is answered 500
                             garbage     a request is answered 200 with something that is not JSON
                             partial     a deletion half done, `ok: false`; a listing with a broken entry that leads nowhere
                             slow        an answer comes late (--slow X seconds, default 0.5)
                             drop, repeat, delay
                                         a batch of events is lost, sent twice, or overtaken by the next one
                             restart     a server comes back under another identity
                             deregister  a server leaves in the middle of a deletion
  --fault-rate X           share of occasions at which one happens, 0 to 1 (default 0.1)

End
  --drain                  set all quotas to 0 and compare the order in which keys are evicted with the order of use
  --keep                   do not deregister
  --json FILE              write the summary as JSON, too

Batches are posted one at a time, so that the order in which the coordinator applies them is known. Start the coordinator
anew for each run, or with an empty ledger: the model knows nothing of others.

Examples
  kv-conductor-sim mp --servers 8 --events-per-s 5000 --seconds 60
  kv-conductor-sim mp --faults all --fault-rate 0.2 --seed 7 --drain
  kv-conductor-sim mp --faults refuse,hang --seconds 0

Exit code: 0 the coordinator agrees; 1 it does not, or the run could not be finished; 2 wrong flags.
)";
}

}  // namespace kvc::sim
