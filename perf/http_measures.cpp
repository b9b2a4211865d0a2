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

/// An open loop at `rate`, and how much of its time the server was kept from its CPU: what belongs to the machine in the tails.
void offer_load(bench_report& into, const std::string& name, const bench_server& server, http_load& load, double rate,
                std::chrono::seconds length) {
  const double waited = server.waited_ms();
  const http_outcome met = load.run_open(rate, length);
  const double share = (server.waited_ms() - waited) / (met.seconds * 10);
  check(met, name);
  into.add(name + "_offered_per_s", rate);
  into.add(name + "_achieved_per_s", static_cast<double>(met.answered) / met.seconds);
  into.add(name + "_server_waited_percent", share);
  add_latencies(into, name, met.latency_ns);
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

void measure_neighbour(const http_load_plan& plan, const bench_server::place& where, const bench_server& server, const http_news& tell,
                       bench_report& into) {
  const std::string program = http_neighbour::find();
  if (program.empty()) return tell("nginx is not installed here; going on without it");
  const std::vector<std::string> requests{request_text("GET", "/healthz")};
  bench_caller caller(server.port());
  const std::string body(caller.call(requests.front()));
  const http_neighbour nginx(program, where.cpu, body);
  http_load load(nginx.port(), plan.connections, requests);
  tell("nginx, closed loop");
  static_cast<void>(load.run_closed(warm_up));
  const http_outcome met = load.run_closed(std::chrono::seconds(plan.seconds));
  check(met, "nginx");
  const double rate = static_cast<double>(met.answered) / met.seconds;
  into.add("nginx_closed_per_s", rate);
  add_latencies(into, "nginx_closed", met.latency_ns);
  if (const auto ours = into.find("healthz_closed_per_s")) into.add("healthz_of_nginx", *ours / rate);
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
  for (const http_workload_name& each : http_workloads) {
    if (plan.only != nullptr && plan.only != &each) continue;
    quiet_workload(plan, each, scene.server(), tell, into).run();
    if (each.workload == http_workload::healthz && plan.with_neighbour) measure_neighbour(plan, where, scene.server(), tell, into);
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
