#include "perf/bench_coordinator_http.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "perf/bench_coordinator_texts.hpp"
#include "perf/bench_first_touch.hpp"
#include "perf/bench_load.hpp"
#include "perf/bench_sink.hpp"

namespace kvc::perf {
namespace {

using steady = std::chrono::steady_clock;

/// Nothing may go wrong in what is measured.
void check(load_stream& stream, std::string_view what) {
  const load_counts& counts = stream.counts();
  if (counts.failed > 0) throw std::runtime_error(std::string(what) + " failed: " + counts.first_failure);
}

/// The requests of a list, one after the other, `rounds` times.
class looped {
 public:
  looped(const std::vector<std::string>& requests, std::size_t count) : requests_(requests), left_(count) {}

  std::optional<std::string_view> operator()() {
    if (left_ == 0) return std::nullopt;
    --left_;
    const std::string& next = requests_[at_];
    at_ = at_ + 1 == requests_.size() ? 0 : at_ + 1;
    return next;
  }

 private:
  const std::vector<std::string>& requests_;
  std::size_t left_;
  std::size_t at_ = 0;
};

struct rates {
  double seconds = 0;
  double cpu_seconds = 0;
};

/// Sends `count` requests of the list in a circle and waits for all answers.
rates drive(const bench_server& server, const load_stream::shape& how, const std::vector<std::string>& requests, std::size_t count,
            std::string_view what) {
  poller all;
  all.look_before_sleep(std::chrono::milliseconds(1));
  load_stream stream(all, how, looped(requests, count));
  const double cpu = server.cpu_seconds();
  const auto began = steady::now();
  stream.start();
  if (!poll_until(all, [&] { return stream.is_done(); })) throw std::runtime_error(std::string(what) + ": the server is silent");
  const double seconds = std::chrono::duration<double>(steady::now() - began).count();
  check(stream, what);
  return {seconds, server.cpu_seconds() - cpu};
}

void add_rate(bench_report& report, const std::string& name, double count, const rates& took) {
  report.add(name + "_per_s", std::floor(count / took.seconds));
  if (took.cpu_seconds > 0) report.add(name + "_per_cpu_s", std::floor(count / took.cpu_seconds));
}

/// Has the memory ready that the server's tables will grow into; says what it costs where it is not.
void prepare_memory(bench_report& report) {
  constexpr std::size_t enough = std::size_t{512} << 20;
  const first_touch pages = touch_memory(enough);
  report.add("first_touch_of_2_mib_as_found_ms", pages.before_ms);
  report.add("first_touch_of_2_mib_ms", pages.after_ms);
}

double quantile_ms(std::vector<std::uint32_t>& samples, double part) {
  if (samples.empty()) return 0;
  std::ranges::sort(samples);
  const auto at = static_cast<std::size_t>(part * static_cast<double>(samples.size() - 1));
  return samples[at] / 1e6;
}

std::string registration(const std::string& id, std::uint16_t port) {
  return request_text("POST", "/instances",
                      R"({"instance_id":")" + id + R"(","ip":"127.0.0.1","http_port":)" + std::to_string(port) +
                          R"(,"metadata":{},"p2p_advertised_url":"","mq_port":0})");
}

std::string heartbeat(const std::string& id) {
  return request_text("PUT", "/instances/" + id + "/heartbeat");
}

/// Heartbeats one at a time, without end, to see how long the longest takes.
class heartbeat_probe {
 public:
  heartbeat_probe(poller& all, std::uint16_t port, const std::string& id)
      : request_(heartbeat(id)), stream_(all, {.port = port}, [this] { return std::optional<std::string_view>(request_); }) {}

  void start() { stream_.start(); }
  /// Figures so far, under `name`.
  void report(bench_report& into, const std::string& name) {
    check(stream_, "a heartbeat");
    auto& samples = stream_.counts().latencies_ns;
    into.add(name + "_p50_ms", quantile_ms(samples, 0.5));
    into.add(name + "_p99_ms", quantile_ms(samples, 0.99));
    into.add(name + "_longest_ms", quantile_ms(samples, 1));
  }

 private:
  std::string request_;
  load_stream stream_;
};

/// `keys` in batches of 1,000.
std::vector<std::string> event_requests(const event_texts& texts, const std::vector<std::uint32_t>& order) {
  constexpr std::size_t batch = 1'000;
  std::vector<std::string> requests;
  for (std::size_t at = 0; at < order.size(); at += batch) {
    requests.push_back(texts.batch(at / batch + 1, std::span(order).subspan(at, std::min(batch, order.size() - at))));
  }
  return requests;
}

std::vector<std::uint32_t> numbers(std::size_t count) {
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0U);
  return order;
}

}  // namespace

void run_http_registry(const bench_server::place& where, bench_report& report) {
  constexpr std::size_t servers = 64;
  constexpr std::size_t beats = 400'000;
  const bench_server server(where, {"--no-coordinator-enable-startup-resync"});
  std::vector<std::string> registrations;
  std::vector<std::string> heartbeats;
  for (std::size_t i = 0; i < servers; ++i) {
    registrations.push_back(registration("mp-" + std::to_string(i), 9));
    heartbeats.push_back(heartbeat("mp-" + std::to_string(i)));
  }
  static_cast<void>(drive(server, {.port = server.port()}, registrations, servers, "a registration"));
  const rates took = drive(server, {.port = server.port(), .connections = 16, .window = 16}, heartbeats, beats, "a heartbeat");
  add_rate(report, "heartbeats", beats, took);
  poller all;
  load_stream alone(all, {.port = server.port()}, looped(heartbeats, 10'000));
  alone.start();
  static_cast<void>(poll_until(all, [&] { return alone.is_done(); }));
  check(alone, "a heartbeat");
  report.add("heartbeat_alone_p50_ms", quantile_ms(alone.counts().latencies_ns, 0.5));
  report.add("heartbeat_alone_p99_ms", quantile_ms(alone.counts().latencies_ns, 0.99));
}

void run_http_usage(const bench_server::place& where, bench_report& report) {
  constexpr std::size_t keys = 1'000'000;
  constexpr std::size_t passes = 3;
  constexpr std::size_t listings = 20'000;
  const event_texts texts(keys, 1'000);
  auto order = numbers(keys);
  const auto fresh = event_requests(texts, order);
  std::ranges::shuffle(order, std::mt19937_64(22));
  const auto known = event_requests(texts, order);

  prepare_memory(report);
  const bench_server server(where, {"--no-coordinator-enable-startup-resync", "--coordinator-eviction-check-interval", "0"});
  const load_stream::shape how{.port = server.port(), .connections = 4, .window = 2};
  const std::size_t before = server.resident_bytes();
  add_rate(report, "new_keys", keys, drive(server, how, fresh, fresh.size(), "a batch of new keys"));
  const std::size_t after = server.resident_bytes();
  report.add("bytes_per_key_all_in", static_cast<double>(after) / keys);
  report.add("bytes_per_key_grown", static_cast<double>(after - before) / keys);
  add_rate(report, "known_keys", passes * keys, drive(server, how, known, passes * known.size(), "a batch of known keys"));
  report.add("bytes_per_key_all_in_later", static_cast<double>(server.resident_bytes()) / keys);
  const std::vector<std::string> listing{request_text("GET", "/quota")};
  const rates took = drive(server, {.port = server.port(), .connections = 8, .window = 4}, listing, listings, "GET /quota");
  add_rate(report, "quota_listings", listings, took);
}

void run_http_eviction(const bench_server::place& where, bench_report& report) {
  constexpr std::size_t keys = 400'000;
  const event_texts texts(keys, 1);
  const auto stores = event_requests(texts, numbers(keys));
  const bench_server server(where, {"--no-coordinator-enable-startup-resync", "--coordinator-eviction-check-interval", "1"});
  const auto limit = [&](std::string_view gigabytes) {
    const std::vector<std::string> request{request_text("PUT", "/quota/tenant-0", R"({"limit_gb":)" + std::string(gigabytes) + "}")};
    static_cast<void>(drive(server, {.port = server.port()}, request, 1, "PUT /quota/tenant-0"));
  };
  poller all;
  deletion_sink sink(all);
  limit("1000000");
  static_cast<void>(drive(server, {.port = server.port(), .connections = 4}, stores, stores.size(), "a batch of new keys"));
  const std::vector<std::string> join{registration("mp-0", sink.port())};
  static_cast<void>(drive(server, {.port = server.port()}, join, 1, "a registration"));

  heartbeat_probe probe(all, server.port(), "mp-0");
  probe.start();
  const std::vector<std::string> request{request_text("PUT", "/quota/tenant-0", R"({"limit_gb":0})")};
  load_stream trigger(all, {.port = server.port()}, looped(request, 1));
  trigger.start();
  steady::time_point first{};
  const auto deadline = steady::now() + std::chrono::seconds(30);
  const bool is_heard = poll_until(all, [&] {
    if (sink.keys() > 0 && first == steady::time_point{}) first = steady::now();
    return sink.requests() > 0 && sink.requests() * 10'000 >= keys ? true : steady::now() > deadline;
  });
  if (!is_heard || sink.keys() != keys) {
    throw std::runtime_error("of " + std::to_string(keys) + " keys " + std::to_string(sink.keys()) + " were sent for deletion");
  }
  report.add("eviction_keys_sent", static_cast<double>(sink.keys()));
  report.add("eviction_sending_ms", std::chrono::duration<double, std::milli>(steady::now() - first).count());
  probe.report(report, "heartbeat_during_eviction");
}

void run_http_blend(const bench_server::place& where, bench_report& report) {
  constexpr std::size_t requests = 31'250;
  constexpr std::size_t rounds = 10;
  constexpr std::size_t prompt = 131'072;
  constexpr std::size_t queries = 100;
  const blend_texts texts;
  prepare_memory(report);
  const bench_server server(where, {"--no-coordinator-enable-startup-resync"});
  const std::size_t before = server.resident_bytes();
  rates in_all;
  for (std::size_t round = 0; round < rounds; ++round) {
    // Made and sent in turns: all of them at once would be 2 GB.
    std::vector<std::string> some;
    for (std::size_t i = 0; i < requests / rounds; ++i) some.push_back(texts.publication(round * (requests / rounds) + i));
    static_cast<void>(touch_memory(std::size_t{64} << 20));  // making requests takes a while, and a host may not wait so long
    const rates took = drive(server, {.port = server.port(), .connections = 4, .window = 2}, some, some.size(), "POST /blend/fingerprints");
    in_all.seconds += took.seconds;
    in_all.cpu_seconds += took.cpu_seconds;
  }
  constexpr double chunks = static_cast<double>(requests * blend_texts::chunks_per_request);
  add_rate(report, "published_chunks", chunks, in_all);
  report.add("bytes_per_chunk_grown", static_cast<double>(server.resident_bytes() - before) / chunks);

  const std::vector<std::string> join{registration("mp-0", 9)};
  static_cast<void>(drive(server, {.port = server.port()}, join, 1, "a registration"));
  for (const bool is_known : {false, true}) {
    const std::string name = is_known ? "match_half_found" : "match_none_found";
    const std::vector<std::string> asked{texts.match(prompt, is_known)};
    poller all;
    load_stream alone(all, {.port = server.port()}, looped(asked, queries));
    const double cpu = server.cpu_seconds();
    alone.start();
    static_cast<void>(poll_until(all, [&] { return alone.is_done(); }));
    check(alone, "POST /blend/match");
    const bool has_found = alone.last_body().find("cur_st") != std::string::npos;
    if (has_found != is_known) throw std::runtime_error("matches are not those that were published: " + alone.last_body().substr(0, 200));
    report.add(name + "_p50_ms", quantile_ms(alone.counts().latencies_ns, 0.5));
    report.add(name + "_cpu_ms", (server.cpu_seconds() - cpu) * 1e3 / queries);

    poller both;
    load_stream beside(both, {.port = server.port()}, looped(asked, queries));
    heartbeat_probe probe(both, server.port(), "mp-0");
    probe.start();
    beside.start();
    static_cast<void>(poll_until(both, [&] { return beside.is_done(); }));
    check(beside, "POST /blend/match");
    report.add(name + "_beside_heartbeats_p50_ms", quantile_ms(beside.counts().latencies_ns, 0.5));
    probe.report(report, is_known ? "heartbeat_during_half_found" : "heartbeat_during_none_found");
  }
}

}  // namespace kvc::perf
