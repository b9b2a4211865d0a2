#include "perf/ingest_run.hpp"

#include <cstdio>
#include <optional>
#include <utility>
#include <vector>

#include "perf/bench_fresh.hpp"
#include "perf/bench_run.hpp"
#include "perf/ingest_measures.hpp"

namespace kvc::perf {
namespace {

/// Offered rates of the sweep, in hundredths of the saturation rate of the same run.
constexpr std::uint32_t sweep[] = {25, 50, 75, 90, 100, 110};

class ingest_run {
 public:
  explicit ingest_run(const ingest_plan& plan) : plan_(plan) {}

  /// Everything once. False: `fault` says why.
  bool run(std::uint32_t number) {
    report_ = {};
    number_ = number;
    if (plan_.dialect == nullptr) return each_dialect() && yardstick();
    if (wants(ingest_idle) && !measure("idle streams", "", [this] { return measure_ingest_idle(plan_); })) return false;
    if (wants(ingest_saturation) && !(saturate(*plan_.dialect, "") && sweep_rates() && half_rate())) return false;
    if (wants(ingest_replay) && !replay()) return false;
    if (wants(ingest_queries) && !queries()) return false;
    return yardstick();
  }

  [[nodiscard]] const bench_report& report() const noexcept { return report_; }
  [[nodiscard]] const std::string& fault() const noexcept { return fault_; }

 private:
  [[nodiscard]] bool wants(std::uint8_t mode) const noexcept { return (plan_.modes & mode) == mode; }

  /// Measures in a process of its own and takes the figures over, their names behind `prefix`.
  bool measure(const std::string& what, const std::string& prefix, const std::function<bench_report()>& work) {
    std::fprintf(stderr, "run %u of %u: %s\n", number_, plan_.repeat, what.c_str());
    const std::string stolen = (prefix.empty() ? what.substr(0, what.find(' ')) + '_' : "") + "stolen_share";
    const auto measured = measure_quietly(work, plan_.most_stolen, stolen);
    if (!measured) {
      fault_ = what + ": " + measured.error();
      return false;
    }
    for (const bench_figure& each : measured->figures()) report_.add(prefix + each.name, each.value);
    return true;
  }

  bool prepare(net::event_form form) {
    if (form_ == form) return true;
    auto made = frames_of_requests(plan_, form);
    if (!made) {
      fault_ = made.error();
      return false;
    }
    frames_.emplace(std::move(*made));
    form_ = form;
    return true;
  }

  bool saturate(const ingest_dialect& dialect, const std::string& prefix) {
    if (!prepare(dialect.form)) return false;
    report_.add(prefix + "blocks", static_cast<double>(frames_->blocks()));
    report_.add(prefix + "batches", static_cast<double>(frames_->batches().size()));
    report_.add(prefix + "bytes_per_block", static_cast<double>(frames_->bytes()) / static_cast<double>(frames_->blocks()));
    const bool is_done = measure("discarding " + std::string(dialect.name), prefix + "discard_",
                                 [&] { return measure_ingest_rate(plan_, *frames_, {.dialect = &dialect, .is_discarded = true}); }) &&
                         measure("saturation " + std::string(dialect.name), prefix + "ingest_",
                                 [&] { return measure_ingest_rate(plan_, *frames_, {.dialect = &dialect}); });
    if (!is_done) return false;
    saturation_ = *report_.find(prefix + "ingest_blocks_per_s");
    report_.add(prefix + "ratio_to_discard", saturation_ / *report_.find(prefix + "discard_blocks_per_s"));
    report_.add(prefix + "cpu_ratio",
                *report_.find(prefix + "discard_cpu_ns_per_block") / *report_.find(prefix + "ingest_cpu_ns_per_block"));
    return true;
  }

  bool each_dialect() {
    for (const ingest_dialect& each : ingest_dialects()) {
      if (!saturate(each, std::string(each.name) + '_')) return false;
    }
    return true;
  }

  bool offer(std::uint32_t percent, const std::string& name, std::uint32_t batch_weight = 0) {
    const double rate = saturation_ * percent / 100;
    const std::string prefix = name + '_';
    report_.add(prefix + "offered_per_s", rate);
    const ingest_rate how{.dialect = plan_.dialect, .blocks_per_s = rate, .batch_weight = batch_weight};
    return measure(name, prefix, [&] { return measure_ingest_rate(plan_, *frames_, how); });
  }

  bool sweep_rates() {
    if (!wants(ingest_sweep)) return true;
    for (const std::uint32_t percent : sweep) {
      if (!offer(percent, "at_" + std::to_string(percent) + "_percent")) return false;
    }
    return true;
  }

  bool half_rate() { return !wants(ingest_latency) || (offer(50, "half") && offer(50, "even_half", plan_.batch_weight)); }

  bool replay() {
    const ingest_frames history = frames_to_replay(plan_.replay_batches, net::event_form::vllm_map);
    return measure("replay", "", [&] { return measure_ingest_replay(plan_, history); });
  }

  bool queries() {
    if (!prepare(net::event_form::vllm_map)) return false;
    if (!measure("queries", "", [this] { return measure_ingest_queries(plan_, *frames_); })) return false;
    const auto busy = report_.find("busy_query_ns_p99");
    const auto idle = report_.find("idle_query_ns_p99");
    if (busy && idle) report_.add("query_p99_above_idle_ns", *busy - *idle);
    return true;
  }

  bool yardstick() {
    if (!plan_.with_yardstick) return true;
    return measure("yardstick", "", [] {
      bench_report machine;
      add_yardstick(machine);
      return machine;
    });
  }

  const ingest_plan& plan_;
  std::optional<ingest_frames> frames_;
  std::optional<net::event_form> form_;
  bench_report report_;
  double saturation_ = 0;
  std::uint32_t number_ = 0;
  std::string fault_;
};

}  // namespace

boost::system::result<bench_summary, std::string> run_ingest(const ingest_plan& plan) {
  ingest_run run(plan);
  std::vector<bench_report> runs;
  for (std::uint32_t number = 1; number <= plan.repeat; ++number) {
    if (!run.run(number)) return run.fault();
    runs.push_back(run.report());
  }
  return bench_summary(runs);
}

}  // namespace kvc::perf
