// POST /exist over HTTP: the real server on one CPU, load and a stand-in store on another.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "perf/bench_exist.hpp"
#include "perf/bench_load.hpp"
#include "perf/sim_mix.hpp"
#include "perf/sim_store_cluster.hpp"
#include "perf/sim_store_probe.hpp"

namespace kvc::perf {
namespace {

using steady = std::chrono::steady_clock;

constexpr std::size_t different_probes = 1'000;

sim::store_options store_of(const exist_load& load) {
  sim::store_options chosen;
  chosen.generation = sim::store_generation::array;
  chosen.objects = 0;
  chosen.object_bytes = 1;
  chosen.memory_objects = load.objects * 2;
  chosen.rules.capacity = chosen.memory_objects;
  chosen.rules.segments = 1;
  chosen.rules.lease = std::chrono::milliseconds(0);
  return chosen;
}

/// Sends one request; the body of its answer, which must be a good one.
std::string ask_once(std::uint16_t port, const std::string& request) {
  poller all;
  bool is_sent = false;
  load_stream stream(all, {.port = port}, [&]() -> std::optional<std::string_view> {
    if (std::exchange(is_sent, true)) return std::nullopt;
    return request;
  });
  stream.start();
  if (!poll_until(all, [&] { return stream.is_done(); })) throw std::runtime_error("the server is silent");
  if (stream.counts().failed > 0) throw std::runtime_error("a request failed: " + stream.counts().first_failure);
  return stream.last_body();
}

/// A server that knows all objects of a stand-in store, of which every other one is on SSD only.
class exist_bed {
 public:
  exist_bed(const bench_server::place& where, const exist_load& load) : load_(load), store_(store_of(load)), server_(where, {}) {
    const std::string wrong = store_.open();
    if (!wrong.empty()) throw std::runtime_error(wrong);
    const sim::store_options& chosen = store_.options();
    static_cast<void>(ask("/register", sim::store_publisher_body(chosen, "store", store_.endpoint(), store_.replay_endpoint())));
    static_cast<void>(ask("/stores", sim::store_executor_body(chosen, store_.url())));
    constexpr std::size_t at_once = 5'000;
    for (std::size_t first = 0; first < load.objects; first += at_once) put(first, std::min(load.objects, first + at_once));
    for (std::size_t first = 0; first < load.objects; first += keys_per_probe) await(first);
  }

  [[nodiscard]] const bench_server& server() const noexcept { return server_; }
  [[nodiscard]] std::uint64_t promoted() {
    return store_.at_home([](sim::store_world& world) { return world.storage.counts().promoted; });
  }

  /// Finished probes of random keys. The same for the same arguments.
  [[nodiscard]] std::vector<std::string> probes(bool with_prefetch) const {
    sim::dice random(with_prefetch ? 11 : 12);
    std::vector<std::string> requests;
    for (std::size_t i = 0; i < different_probes; ++i) {
      std::vector<std::string> keys;
      for (std::size_t j = 0; j < keys_per_probe; ++j) keys.push_back(exist_key(random.below(static_cast<std::uint32_t>(load_.objects))));
      requests.push_back(probe(keys, with_prefetch));
    }
    return requests;
  }

 private:
  [[nodiscard]] std::string probe(const std::vector<std::string>& keys, bool with_prefetch) const {
    return request_text("POST", "/exist", sim::exist_body(store_.options(), keys, with_prefetch));
  }

  std::string ask(std::string_view target, const std::string& body) { return ask_once(server_.port(), request_text("POST", target, body)); }

  void put(std::size_t first, std::size_t end) {
    store_.at_home([&](sim::store_world& world) {
      for (std::size_t i = first; i < end; ++i) {
        const std::string key = exist_key(i);
        const bool is_put = world.storage.put(key, 1, world.now()) && (i % 2 == 0 || world.storage.evict(key, world.now()));
        if (!is_put) throw std::runtime_error("the store has no room");
      }
    });
  }

  /// Until the server knows all keys of a probe.
  void await(std::size_t first) {
    std::vector<std::string> keys;
    for (std::size_t i = first; i < std::min(load_.objects, first + keys_per_probe); ++i) keys.push_back(exist_key(i));
    const auto deadline = steady::now() + std::chrono::seconds(60);
    for (;;) {
      const auto told = sim::read_exist(ask_once(server_.port(), probe(keys, false)), keys.size(), false);
      if (told && std::ranges::all_of(told->exists, [](std::int64_t each) { return each == 1; })) return;
      if (steady::now() > deadline) throw std::runtime_error("the server does not learn of all objects");
      // A publisher that falls silent after a batch that was lost would be noticed, but later.
      store_.at_home([](sim::store_world& world) { world.publishers[0]->beat(); });
    }
  }

  const exist_load load_;
  sim::store_cluster store_;
  bench_server server_;
};

void check(load_stream& stream) {
  if (stream.counts().failed > 0) throw std::runtime_error("a probe failed: " + stream.counts().first_failure);
}

double quantile_ms(std::vector<std::uint32_t>& samples, double part) {
  if (samples.empty()) return 0;
  std::ranges::sort(samples);
  return samples[static_cast<std::size_t>(part * static_cast<double>(samples.size() - 1))] / 1e6;
}

/// The requests of several lists in turns, each list in a circle.
auto in_turns(const std::vector<const std::vector<std::string>*>& lists, std::size_t count) {
  return [lists, count, at = std::size_t{0}]() mutable -> std::optional<std::string_view> {
    if (at == count) return std::nullopt;
    const auto& list = *lists[at % lists.size()];
    const std::string& next = list[at / lists.size() % list.size()];
    ++at;
    return next;
  };
}

}  // namespace

void run_exist_rate(const bench_server::place& where, const exist_load& load, bench_report& report) {
  exist_bed bed(where, load);
  const auto requests = bed.probes(false);
  const load_stream::shape how{.port = bed.server().port(), .connections = 8, .window = 4};
  {
    poller all;
    load_stream stream(all, how, in_turns({&requests}, load.probes));
    const double cpu = bed.server().cpu_seconds();
    const auto began = steady::now();
    stream.start();
    if (!poll_until(all, [&] { return stream.is_done(); })) throw std::runtime_error("the server is silent");
    const double seconds = std::chrono::duration<double>(steady::now() - began).count();
    check(stream);
    const auto count = static_cast<double>(load.probes);
    report.add("probes_per_s", std::floor(count / seconds));
    const double used = bed.server().cpu_seconds() - cpu;
    if (used > 0) report.add("probes_per_cpu_s", std::floor(count / used));
  }
  poller all;
  load_stream alone(all, {.port = bed.server().port()}, in_turns({&requests}, load.probes / 10));
  alone.start();
  if (!poll_until(all, [&] { return alone.is_done(); })) throw std::runtime_error("the server is silent");
  check(alone);
  report.add("probe_p50_ms", quantile_ms(alone.counts().latencies_ns, 0.5));
  report.add("probe_p99_ms", quantile_ms(alone.counts().latencies_ns, 0.99));
}

void run_exist_prefetch(const bench_server::place& where, const exist_load& load, bench_report& report) {
  exist_bed bed(where, load);
  const auto plain = bed.probes(false);
  const auto wanting = bed.probes(true);
  poller all;
  load_stream stream(all, {.port = bed.server().port()}, in_turns({&plain, &wanting}, load.probes / 5));
  stream.start();
  if (!poll_until(all, [&] { return stream.is_done(); })) throw std::runtime_error("the server is silent");
  check(stream);
  std::vector<std::uint32_t> without;
  std::vector<std::uint32_t> with;
  const auto& samples = stream.counts().latencies_ns;  // of one connection: in the order of sending
  for (std::size_t i = 0; i < samples.size(); ++i) (i % 2 == 0 ? without : with).push_back(samples[i]);
  const double without_p99 = quantile_ms(without, 0.99);
  const double with_p99 = quantile_ms(with, 0.99);
  report.add("plain_p50_ms", quantile_ms(without, 0.5));
  report.add("plain_p99_ms", without_p99);
  report.add("prefetch_p50_ms", quantile_ms(with, 0.5));
  report.add("prefetch_p99_ms", with_p99);
  if (without_p99 > 0) report.add("prefetch_p99_ratio", with_p99 / without_p99);
  report.add("promoted", static_cast<double>(bed.promoted()));
}

}  // namespace kvc::perf
