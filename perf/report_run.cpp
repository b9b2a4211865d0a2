#include "perf/report_run.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "perf/bench_fresh.hpp"
#include "perf/bench_machine.hpp"
#include "perf/bench_output.hpp"
#include "perf/e2e_run.hpp"
#include "perf/http_run.hpp"
#include "perf/ingest_run.hpp"
#include "perf/report_figures.hpp"
#include "perf/report_html.hpp"
#include "perf/report_plots.hpp"
#include "perf/report_shapes.hpp"

namespace kvc::perf {
namespace {

class report_maker {
 public:
  report_maker(const report_plan& plan, const std::string& command) : plan_(plan), command_(command), machine_(describe_machine()) {
    if (!plan.commit.empty()) machine_.commit = plan.commit;
  }

  /// All figures. False: `fault` says why not.
  bool gather() {
    return source(from_.ingest, plan_.ingest, "ingest", [this] { return run_ingest(intake()); }) &&
           source(from_.http, plan_.http, "http", [this] { return run_http(load()); }) &&
           (plan_.only_scale || source(from_.e2e, plan_.e2e, "e2e", [this] { return run_e2e(play()); })) && shapes();
  }

  [[nodiscard]] const report_sources& from() const noexcept { return from_; }
  [[nodiscard]] const std::string& fault() const noexcept { return fault_; }

  bool write() {
    const auto plots = make_plots(from_, plan_);
    for (const report_plot& each : plots) {
      if (!write_file("report-" + each.name + ".svg", write_svg(each.what))) return false;
    }
    return write_file("report.html", report_html(plots, from_, plan_));
  }

 private:
  void tell(const std::string& what) const { std::fprintf(stderr, "report: %s\n", what.c_str()); }

  [[nodiscard]] std::string note(const std::string& commit, const std::string& command, const std::string& date) const {
    return machine_.cpu + ", " + std::to_string(machine_.cores) + " cores; " + machine_.build + "; commit " + commit + ", " + date + "; " +
           command;
  }

  template <class Measure>
  bool source(report_source& into, const std::string& file, const std::string& name, Measure measure) {
    if (!file.empty()) {
      tell("reading " + file);
      std::ifstream in(file, std::ios::binary);
      std::ostringstream text;
      text << in.rdbuf();
      auto figures = read_figures(text.str());
      if (!in || !figures) {
        fault_ = file + ": " + (figures ? "cannot be read" : figures.error());
        return false;
      }
      into.figures = std::move(*figures);
      const auto label = [&text](std::string_view of, const std::string& otherwise) {
        const std::string found = read_label(text.str(), of);
        return found.empty() ? otherwise : found;
      };
      into.note = note(label("commit", machine_.commit), label("command", "kv-conductor-bench " + name), label("date", machine_.date));
      return true;
    }
    tell("measuring " + name);
    // In a process of its own, since it stays on the CPU that the load was put on.
    const auto measured = measure_fresh([&] {
      const auto summary = measure();
      if (!summary) throw std::runtime_error(summary.error());
      return *read_figures(summary->json({}));
    });
    if (!measured) {
      fault_ = name + ": " + measured.error();
      return false;
    }
    into.figures = *measured;
    into.note = note(machine_.commit, command_, machine_.date);
    return true;
  }

  bool shapes() {
    auto measured = measure_report_shapes(plan_, [this](const std::string& what) { tell(what); });
    if (!measured) {
      fault_ = measured.error();
      return false;
    }
    from_.shapes.figures = std::move(*measured);
    from_.shapes.note = note(machine_.commit, command_, machine_.date);
    tell("scale check");
    const auto checked = measure_fresh([this] { return measure_report_check(plan_.is_quick ? 500'000 : plan_.check_entries); });
    if (!checked) {
      fault_ = "scale check: " + checked.error();
      return false;
    }
    for (const bench_figure& each : checked->figures()) from_.shapes.figures.add(each.name, each.value);
    return true;
  }

  [[nodiscard]] ingest_plan intake() const {
    ingest_plan plan;
    plan.trace = plan_.trace;
    plan.dialect = find_ingest_dialect("vllm_map");
    plan.with_yardstick = false;
    if (plan_.is_quick) {
      plan.streams = 2;
      plan.idle_streams = 8;
      plan.idle_seconds = 1;
      plan.cache_blocks = 2'000;
      plan.blocks = 20'000;
      plan.replay_batches = 20;
      plan.idle_queries = 20;
    }
    return plan;
  }

  [[nodiscard]] http_load_plan load() const {
    http_load_plan plan;
    plan.trace = plan_.trace;
    plan.program = plan_.program;
    plan.with_sweep = true;
    plan.with_yardstick = false;
    plan.only = find_http_workload("query_by_hash");
    if (plan_.is_quick) {
      plan.connections = 4;
      plan.seconds = 1;
      plan.instances = 4;
      plan.blocks = 40'000;
      plan.cache_blocks = 1'000;
      plan.beside = 5'000;
    }
    return plan;
  }

  [[nodiscard]] e2e_plan play() const {
    e2e_plan plan;
    plan.trace = plan_.trace;
    plan.program = plan_.program;
    if (plan_.is_quick) {
      plan.requests = 40;
      plan.strict_requests = 10;
      plan.engines = 2;
      plan.cache_blocks = 1'000;
      plan.blocks = 20'000;
      plan.rate = 20'000;
    }
    return plan;
  }

  bool write_file(const std::string& name, const std::string& text) {
    const std::filesystem::path path = std::filesystem::path(plan_.folder) / name;
    std::ofstream file(path, std::ios::binary);
    file << text << std::flush;
    if (!file) fault_ = "cannot write " + path.string();
    return static_cast<bool>(file);
  }

  const report_plan& plan_;
  std::string command_;
  bench_machine machine_;
  report_sources from_;
  std::string fault_;
};

}  // namespace

boost::system::result<std::string, std::string> run_report(const report_plan& plan, const std::string& command) {
  if (!plan.only_scale) {
    // Half an hour is not to be measured for nothing.
    std::error_code unseen;
    std::filesystem::create_directories(plan.folder, unseen);
    const std::string page = (std::filesystem::path(plan.folder) / "report.html").string();
    if (!can_be_written(page))
      return boost::system::result<std::string, std::string>(boost::system::in_place_error, "cannot write " + page);
  }
  report_maker maker(plan, command);
  if (!maker.gather() || (!plan.only_scale && !maker.write())) {
    // The variant's two sides are texts, so the side is named.
    return boost::system::result<std::string, std::string>(boost::system::in_place_error, maker.fault());
  }
  return boost::system::result<std::string, std::string>(boost::system::in_place_value, scale_text(maker.from(), plan));
}

}  // namespace kvc::perf
