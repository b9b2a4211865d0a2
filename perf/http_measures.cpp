#include "perf/http_measures.hpp"

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "perf/bench_load.hpp"
#include "perf/http_load.hpp"
#include "perf/http_neighbour.hpp"
#include "perf/http_questions.hpp"
#include "perf/http_stage.hpp"

namespace kvc::perf {
namespace {

constexpr std::chrono::milliseconds warm_up{300};

void check(const http_outcome& met, std::string_view what) {
  if (met.failed > 0) throw std::runtime_error(std::string(what) + " failed: " + met.first_failure);
  if (met.answered == 0) throw std::runtime_error(std::string(what) + ": no answer in time");
}

void add_latencies(bench_report& into, const std::string& name, const sim::quantiles& of) {
  into.add(name + "_ns_mean", of.mean());
  into.add(name + "_ns_p50", static_cast<double>(of.at(0.5)));
  into.add(name + "_ns_p90", static_cast<double>(of.at(0.9)));
  into.add(name + "_ns_p99", static_cast<double>(of.at(0.99)));
  into.add(name + "_ns_p999", static_cast<double>(of.at(0.999)));
  into.add(name + "_ns_max", static_cast<double>(of.largest()));
}

/// An open loop at `rate`.
void offer_load(bench_report& into, const std::string& name, http_load& load, double rate, std::chrono::seconds length) {
  const http_outcome met = load.run_open(rate, length);
  check(met, name);
  into.add(name + "_offered_per_s", rate);
  into.add(name + "_achieved_per_s", static_cast<double>(met.answered) / met.seconds);
  add_latencies(into, name, met.latency_ns);
}

/// The same; what the server's CPU would answer at this pace, at which requests come one by one; and how much of its time it was kept from
/// its CPU, which belongs to the machine in the tails.
void offer_load(bench_report& into, const std::string& name, const bench_server& server, http_load& load, double rate,
                std::chrono::seconds length) {
  const double waited = server.waited_ms();
  const double cpu = server.cpu_seconds();
  const auto began = std::chrono::steady_clock::now();
  offer_load(into, name, load, rate, length);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  const double used = server.cpu_seconds() - cpu;
  if (used > 0) into.add(name + "_per_cpu_s", into.find(name + "_achieved_per_s").value_or(0) * took.count() / used);
  into.add(name + "_server_waited_percent", (server.waited_ms() - waited) / (took.count() * 10));
}

/// Long requests are few; more connections than that would only queue.
std::uint32_t connections_for(const http_load_plan& plan, const http_workload_name& of) {
  constexpr std::uint32_t for_long = 2;
  return of.workload == http_workload::long_json ? std::min(plan.connections, for_long) : plan.connections;
}

/// One workload against one server.
class quiet_workload {
 public:
  quiet_workload(const http_load_plan& plan, const http_workload_name& of, const bench_server& server, const http_news& tell,
                 bench_report& into)
      : plan_(plan),
        name_(of.name),
        length_(plan.seconds),
        server_(server),
        tell_(tell),
        into_(into),
        requests_(http_questions(plan, of)),
        load_(server.port(), connections_for(plan, of), requests_) {}

  void run() {
    static_cast<void>(load_.run_closed(warm_up));
    if (plan_.rate != 0) return offer(plan_.rate, "open");
    const double most = saturate();
    if (plan_.is_closed) return;
    for (const int percent : http_sweep_percents) {
      if (plan_.with_sweep || percent == 50) offer(most * percent / 100, "at_" + std::to_string(percent) + "_percent");
    }
  }

 private:
  double saturate() {
    tell_(name_ + ", closed loop");
    const double cpu = server_.cpu_seconds();
    const http_outcome met = load_.run_closed(length_);
    const double used = server_.cpu_seconds() - cpu;
    check(met, name_);
    const auto answered = static_cast<double>(met.answered);
    into_.add(name_ + "_closed_per_s", answered / met.seconds);
    if (used > 0) into_.add(name_ + "_closed_per_cpu_s", answered / used);
    into_.add(name_ + "_closed_cpu_share", used / met.seconds);
    add_latencies(into_, name_ + "_closed", met.latency_ns);
    return answered / met.seconds;
  }

  void offer(double rate, const std::string& how) {
    tell_(name_ + ", " + std::to_string(static_cast<std::uint64_t>(rate)) + "/s offered");
    offer_load(into_, name_ + '_' + how, server_, load_, rate, length_);
  }

  const http_load_plan& plan_;
  std::string name_;
  std::chrono::seconds length_;
  const bench_server& server_;
  const http_news& tell_;
  bench_report& into_;
  std::vector<std::string> requests_;
  http_load load_;
};

/// nginx in the place of the server. At the rates that were offered to the server: what the kernel, the loopback and the load alone make of
/// the same pace, which is the least that can be asked of a tail on this machine.
class neighbour {
 public:
  neighbour(const http_load_plan& plan, const bench_server::place& where, std::string_view body, const http_news& tell, bench_report& into)
      : plan_(plan), tell_(tell), into_(into), nginx_(http_neighbour::find(), where.cpu, body) {}

  void saturate() {
    tell_("nginx, closed loop");
    http_load load(nginx_.port(), plan_.connections, requests_);
    static_cast<void>(load.run_closed(warm_up));
    const http_outcome met = load.run_closed(std::chrono::seconds(plan_.seconds));
    check(met, "nginx");
    const double rate = static_cast<double>(met.answered) / met.seconds;
    into_.add("nginx_closed_per_s", rate);
    add_latencies(into_, "nginx_closed", met.latency_ns);
    if (const auto ours = into_.find("healthz_closed_per_s")) into_.add("healthz_of_nginx", *ours / rate);
  }

  /// At every rate at which this workload was offered to the server.
  void follow(const http_workload_name& of) {
    const std::string name(of.name);
    follow(of, name + "_open");
    for (const int percent : http_sweep_percents) follow(of, name + "_at_" + std::to_string(percent) + "_percent");
  }

 private:
  void follow(const http_workload_name& of, const std::string& figures) {
    const auto rate = into_.find(figures + "_offered_per_s");
    if (!rate) return;
    tell_("nginx, " + std::to_string(static_cast<std::uint64_t>(*rate)) + "/s offered");
    http_load load(nginx_.port(), connections_for(plan_, of), requests_);
    static_cast<void>(load.run_closed(warm_up));
    offer_load(into_, "nginx_as_" + figures, load, *rate, std::chrono::seconds(plan_.seconds));
  }

  const http_load_plan& plan_;
  const http_news& tell_;
  bench_report& into_;
  std::vector<std::string> requests_{request_text("GET", "/healthz")};
  http_neighbour nginx_;
};

/// Null where nginx is not installed.
std::unique_ptr<neighbour> start_neighbour(const http_load_plan& plan, const bench_server::place& where, const bench_server& server,
                                           const http_news& tell, bench_report& into) {
  if (!plan.with_neighbour) return nullptr;
  if (http_neighbour::find().empty()) {
    tell("nginx is not installed here; going on without it");
    return nullptr;
  }
  bench_caller caller(server.port());
  return std::make_unique<neighbour>(plan, where, caller.call(request_text("GET", "/healthz")), tell, into);
}

}  // namespace

void measure_http_quiet(const http_load_plan& plan, const bench_server::place& where, const ingest_frames& frames, const http_news& tell,
                        bench_report& into) {
  tell("filling the index");
  http_stage scene(static_cast<int>(plan.load_cpu), where, frames, 0);
  scene.begin();
  scene.wait_until_applied(1);
  scene.check();
  into.add("index_entries", static_cast<double>(frames.held()));
  const std::unique_ptr<neighbour> nginx = start_neighbour(plan, where, scene.server(), tell, into);
  for (const http_workload_name& each : http_workloads) {
    if (plan.only != nullptr && plan.only != &each) continue;
    quiet_workload(plan, each, scene.server(), tell, into).run();
    if (!nginx) continue;
    if (each.workload == http_workload::healthz && plan.rate == 0) nginx->saturate();
    nginx->follow(each);
  }
}

void measure_http_beside(const http_load_plan& plan, const bench_server::place& where, const ingest_frames& frames, double rate,
                         bench_report& into) {
  const http_workload_name& asked = *find_http_workload("query_by_hash");
  const std::vector<std::string> requests = http_questions(plan, asked);
  http_stage scene(static_cast<int>(plan.load_cpu), where, frames, plan.beside);
  scene.begin();
  scene.wait_until_applied(0.25);                                            // the index has grown by then
  http_load load(scene.server().port(), plan.connections, requests, false);  // the publishers are on its CPU
  static_cast<void>(load.run_open(rate, warm_up));
  const std::uint64_t before = scene.applied_blocks();
  const double cpu = scene.server().cpu_seconds();
  const auto began = std::chrono::steady_clock::now();
  offer_load(into, "beside", scene.server(), load, rate, std::chrono::seconds(plan.seconds));
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  const double used = scene.server().cpu_seconds() - cpu;
  const std::uint64_t after = scene.applied_blocks();
  into.add("beside_cpu_share", used / seconds);
  into.add("beside_blocks_per_s", static_cast<double>(after - before) / seconds);
  if (after >= frames.blocks()) throw std::runtime_error("the events ended before the queries did; give --blocks more");
}

}  // namespace kvc::perf
