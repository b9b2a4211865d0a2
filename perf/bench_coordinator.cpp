#include "perf/bench_coordinator.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/evictor.hpp"
#include "core/mp_registry.hpp"
#include "core/quota.hpp"
#include "core/usage.hpp"
#include "core/usage_listing.hpp"
#include "perf/bench_clock.hpp"
#include "perf/bench_memory.hpp"

namespace kvc::perf {
namespace {

constexpr std::size_t key_count = 1'000'000;
constexpr std::size_t batch = 1'000;

/// CPU time of this thread over one stretch of work: what others do on the machine is no pause of ours.
class stopwatch {
 public:
  [[nodiscard]] double seconds() const { return static_cast<double>(bench_cpu_ns() - start_) / 1e9; }

 private:
  std::uint64_t start_ = bench_cpu_ns();
};

/// Keys as they come: a 32-byte hash, the rank of eight, one of 1,000 salts, texts kept by the caller.
struct key_source {
  std::string model = "meta-llama/Llama-3.1-70B-Instruct";
  std::vector<std::string> salts;
  std::vector<std::array<char, 32>> hashes;

  explicit key_source(std::size_t salt_count) {
    for (std::size_t i = 0; i < salt_count; ++i) salts.push_back("tenant-" + std::to_string(i));
    std::mt19937_64 random(21);
    hashes.resize(key_count);
    for (auto& each : hashes) {
      for (std::size_t at = 0; at < each.size(); at += 8) {
        const std::uint64_t word = random();
        std::memcpy(each.data() + at, &word, 8);
      }
    }
  }

  [[nodiscard]] core::object_key operator[](std::size_t i) const {
    const auto rank = static_cast<std::int64_t>(i % 8);
    return {.hash = {hashes[i].data(), hashes[i].size()},
            .model = model,
            .kv_rank = std::int64_t{8} << 24 | rank << 16 | std::int64_t{8} << 8 | rank,
            .object_group = 0,
            .salt = salts[i / 8 % salts.size()]};
  }
};

/// Applies one event per key, batch by batch, and reports events per second and the longest batch.
void time_events(core::usage_ledger& ledger, const key_source& keys, const std::vector<std::uint32_t>& order, core::usage_event::kind what,
                 const std::string& name, bench_report& report) {
  std::vector<core::usage_event> events(batch);
  double in_all = 0;
  double longest = 0;
  for (std::size_t at = 0; at < order.size(); at += batch) {
    for (std::size_t i = 0; i < batch; ++i) events[i] = {.what = what, .key = keys[order[at + i]], .bytes = 2'097'152};
    const stopwatch watch;
    ledger.apply(events);
    const double took = watch.seconds();
    in_all += took;
    longest = std::max(longest, took);
  }
  report.add(name + "_per_s", std::floor(static_cast<double>(order.size()) / in_all));
  report.add(name + "_longest_batch_us", longest * 1e6);
}

}  // namespace

void run_coordinator_registry(bench_report& report) {
  constexpr std::size_t servers = 1'000;
  constexpr std::size_t beats = 2'000'000;
  core::mp_registry registry({});
  const core::mp_registry::time_point now{};
  std::vector<std::string> ids;
  for (std::size_t i = 0; i < servers; ++i) {
    ids.push_back(core::made_up_instance_id(i, i));
    (void)registry.add(
        {.instance_id = ids.back(), .ip = "10.0.0.1", .http_port = 8'080, .metadata = {}, .p2p_advertised_url = {}, .mq_port = 0}, now, {});
  }
  const stopwatch watch;
  std::size_t heard = 0;
  for (std::size_t i = 0; i < beats; ++i) heard += registry.heartbeat(ids[i * 7 % servers], now) ? 1 : 0;
  report.add("heartbeats_per_s", std::floor(static_cast<double>(heard) / watch.seconds()));
}

void run_coordinator_usage(bench_report& report) {
  using kind = core::usage_event::kind;
  const key_source keys(1'000);
  std::vector<std::uint32_t> order(key_count);
  for (std::size_t i = 0; i < key_count; ++i) order[i] = static_cast<std::uint32_t>(i);
  const std::size_t before = anonymous_bytes();
  core::usage_ledger ledger;
  time_events(ledger, keys, order, kind::store, "new_keys", report);
  report.add("bytes_per_key_resident", static_cast<double>(anonymous_bytes() - before) / key_count);
  report.add("bytes_per_key_counted", static_cast<double>(ledger.memory_bytes()) / key_count);
  std::ranges::shuffle(order, std::mt19937_64(22));
  time_events(ledger, keys, order, kind::store, "known_keys", report);
  time_events(ledger, keys, order, kind::lookup, "lookups", report);
  core::quota_table quotas;
  for (const std::string& salt : keys.salts) (void)quotas.set(salt, 1e9);
  constexpr int listings = 1'000;
  const stopwatch watch;
  std::uint64_t sum = 0;
  for (int i = 0; i < listings; ++i) core::each_usage_row(ledger, quotas, [&](const core::usage_row& row) { sum += row.used_bytes; });
  asm volatile("" : : "r"(sum) : "memory");
  report.add("listing_1000_salts_us", watch.seconds() * 1e6 / listings);
  time_events(ledger, keys, order, kind::remove, "removals", report);
}

void run_coordinator_eviction(bench_report& report) {
  constexpr std::size_t evicted = 400'000;
  constexpr std::size_t budget = 2'000;
  const key_source keys(1);
  core::usage_ledger ledger;
  for (std::size_t i = 0; i < evicted; ++i) (void)ledger.store(keys[i * 7 % key_count], 1'000);
  for (std::size_t i = 0; i < evicted; ++i)
    (void)ledger.lookup(keys[i * 1'597 % evicted * 7 % key_count]);  // an order unlike that of memory
  const core::quota_table quotas;
  core::evictor planner(ledger, quotas, {});
  std::vector<double> slices;
  const auto timed = [&](auto work) {
    const stopwatch slice;
    const bool more = work();
    slices.push_back(slice.seconds());
    return more;
  };
  const auto add = [&](const std::string& name) {
    report.add(name + "_ms", std::accumulate(slices.begin(), slices.end(), 0.0) * 1e3);
    report.add(name + "_longest_slice_ms", *std::ranges::max_element(slices) * 1e3);
    slices.clear();
  };
  planner.begin();
  while (!timed([&] { return planner.step(budget); })) {
  }
  add("plan_400k");
  const auto pieces = planner.take_pieces({});
  std::size_t read = 0;
  for (const auto& piece : pieces) {
    std::optional<std::size_t> from = 0;
    while (timed([&] {
      from = planner.visit_keys(piece.id, *from, {.keys = budget},
                                [&](const core::object_key& key) { read += static_cast<unsigned char>(key.hash.front()); });
      return from.has_value();
    })) {
    }
  }
  add("read_400k");
  asm volatile("" : : "r"(read) : "memory");
  for (const auto& piece : pieces) {
    timed([&] {
      planner.failed(piece.id);
      return true;
    });
  }
  add("release_400k");
  report.add("planned_keys", static_cast<double>(planner.counters().planned));
}

}  // namespace kvc::perf
