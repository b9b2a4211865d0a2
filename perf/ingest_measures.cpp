#include "perf/ingest_measures.hpp"

#include <algorithm>
#include <fstream>
#include <span>
#include <stdexcept>
#include <sys/resource.h>

#include "perf/bench_clock.hpp"
#include "perf/bench_first_touch.hpp"
#include "perf/bench_memory.hpp"
#include "perf/ingest_asker.hpp"
#include "perf/ingest_board.hpp"
#include "perf/ingest_delays.hpp"
#include "perf/ingest_process.hpp"
#include "perf/ingest_publisher.hpp"
#include "perf/ingest_server.hpp"

namespace kvc::perf {
namespace {

/// CPU of the server's threads: all of the process but the one that watches.
std::int64_t server_cpu_ns() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto ns = [](const timeval& of) { return std::int64_t{of.tv_sec} * 1'000'000'000 + std::int64_t{of.tv_usec} * 1'000; };
  return ns(used.ru_utime) + ns(used.ru_stime) - static_cast<std::int64_t>(bench_cpu_ns());
}

/// Milliseconds that the calling thread was ready to run and had to wait for its CPU, since it began. The load's CPU is shared with nobody
/// but the load, so much of it means that the machine was busy with something else.
double waited_ms() {
  std::ifstream file("/proc/thread-self/schedstat");
  std::uint64_t ran = 0;
  std::uint64_t waited = 0;
  file >> ran >> waited;
  return static_cast<double>(waited) / 1e6;
}

/// The part of the batches after which figures of a steady state begin: the caches of the engines are full, and the index, which grew with
/// them, has the memory it needs.
std::size_t begin_of_steady(const ingest_frames& frames) {
  return frames.batches().size() / 4;
}

/// The publishers' process and the board; the server is made by the measurement.
class stage {
 public:
  explicit stage(const ingest_load& load)
      : cpus_(choose_ingest_cpus()), load_(load), publishers_(cpus_.load, [this] { ingest_publisher(*board_, load_).run(); }) {
    raise_file_limit();
    wait_for("publishers", [this] {
      if (publishers_.has_ended()) throw std::runtime_error("the publishers have ended");
      return board_->is_bound.load();
    });
  }
  ~stage() { board_->is_over = true; }

  [[nodiscard]] ingest_board& board() noexcept { return *board_; }

  std::unique_ptr<ingest_server> serve(const ingest_side& side, bool is_discarded = false) {
    auto server = is_discarded ? make_discarding_server(*board_, side, cpus_.server, cpus_.load)
                               : make_indexing_server(*board_, side, cpus_.server, cpus_.load);
    wait_until_heard(*board_, *server, side.streams);
    return server;
  }

 private:
  shared_board board_;
  ingest_cpus cpus_;
  ingest_load load_;
  ingest_process publishers_;
};

std::uint64_t first_number_of(const ingest_dialect& dialect) {
  return dialect.type == core::publisher_type::mooncake ? 1 : 0;
}

ingest_load load_of(const ingest_frames& frames, const ingest_dialect& dialect, double rate, std::uint32_t batch_weight = 0) {
  return {.frames = &frames,
          .streams = frames.streams(),
          .first_number = first_number_of(dialect),
          .blocks_per_s = rate,
          .batch_weight = batch_weight};
}

/// Watches until the first `batches` of the frames are done with.
class finish_line {
 public:
  finish_line(const ingest_frames& frames, std::size_t batches, const ingest_board& board, const ingest_server& server)
      : server_(server), last_(frames.streams()) {
    for (std::uint32_t i = 0; i < frames.streams(); ++i) last_[i] = board.next_number[i] - 1;
    for (const ingest_batch& each : std::span(frames.batches()).first(batches)) ++last_[each.stream];
  }

  [[nodiscard]] bool is_reached() const {
    std::uint64_t number = 0;
    for (std::uint32_t i = 0; i < last_.size(); ++i) {
      if (!server_.newest(i, number) || number < last_[i]) return false;
    }
    return true;
  }

 private:
  const ingest_server& server_;
  std::vector<std::uint64_t> last_;
};

/// The index holds what the engines do, and nothing was lost, refused or passed over on the way.
void check(const ingest_frames& frames, const ingest_server& server) {
  if (server.held() != frames.held()) {
    throw std::runtime_error("the engines hold " + std::to_string(frames.held()) + " blocks, the index " + std::to_string(server.held()));
  }
  if (server.faults() != 0) throw std::runtime_error("streams are not whole");
  if (server.rejected() != 0) throw std::runtime_error("events were rejected or blocks passed over");
}

}  // namespace

bench_report measure_ingest_idle(const ingest_plan& plan) {
  const std::chrono::seconds silence{plan.idle_seconds};
  const std::chrono::seconds settling = std::min(silence, std::chrono::seconds(3));
  const ingest_dialect& dialect = *find_ingest_dialect("vllm_map");
  stage scene({.streams = plan.idle_streams, .first_number = first_number_of(dialect)});
  ingest_side side{.streams = plan.idle_streams,
                   .dialect = &dialect,
                   .receive_high_water = plan.receive_high_water,
                   .is_transport_free = plan.is_transport_free};
  const std::size_t before = anonymous_bytes();
  const auto server = scene.serve(side);
  ingest_nap(settling);
  const std::size_t after = anonymous_bytes();
  const std::int64_t cpu = server_cpu_ns();
  const std::int64_t start = ingest_now();
  ingest_nap(silence);
  const double passed = static_cast<double>(ingest_now() - start);
  bench_report report;
  report.add("idle_streams", plan.idle_streams);
  report.add("idle_cpu_percent", static_cast<double>(std::max<std::int64_t>(server_cpu_ns() - cpu, 0)) * 100 /
                                     passed);  // its parts are told at different moments
  report.add("idle_bytes_per_stream", static_cast<double>(after - std::min(before, after)) / plan.idle_streams);
  return report;
}

bench_report measure_ingest_rate(const ingest_plan& plan, const ingest_frames& frames, const ingest_rate& how) {
  stage scene(load_of(frames, *how.dialect, how.blocks_per_s, how.batch_weight));
  const ingest_side side{.streams = frames.streams(),
                         .dialect = how.dialect,
                         .receive_high_water = plan.receive_high_water,
                         .is_transport_free = plan.is_transport_free};
  reserve_memory(plan.reserve_mib);  // here, behind the publishers, which are a process of their own
  const auto server = scene.serve(side, how.is_discarded);
  const finish_line finish(frames, frames.batches().size(), scene.board(), *server);
  const finish_line grown(frames, begin_of_steady(frames), scene.board(), *server);
  const core::latency_histogram* const delays = server->delays();
  const bool with_lag = how.blocks_per_s > 0 && delays != nullptr;
  ingest_delays before;
  ingest_delays growing;
  if (with_lag) before = ingest_delays::of(*delays);
  const std::int64_t cpu = server_cpu_ns();
  scene.board().may_go = true;
  wait_for("the index to grow", [&] { return grown.is_reached(); });
  if (with_lag) growing = ingest_delays::of(*delays);
  wait_for("the last batch", [&] { return finish.is_reached(); });
  const double passed = static_cast<double>(ingest_now() - scene.board().first_sent_ns);
  const double used = static_cast<double>(server_cpu_ns() - cpu);
  if (!how.is_discarded) check(frames, *server);
  bench_report report;
  const auto blocks = static_cast<double>(frames.blocks());
  report.add("blocks_per_s", blocks * 1e9 / passed);
  report.add("stored_per_s", static_cast<double>(frames.stored()) * 1e9 / passed);
  report.add("batches_per_s", static_cast<double>(frames.batches().size()) * 1e9 / passed);
  report.add("cpu_ns_per_block", used / blocks);
  report.add("cpu_share", used / passed);
  report.add("publish_s", static_cast<double>(scene.board().last_sent_ns - scene.board().first_sent_ns) / 1e9);
  if (with_lag) {
    ingest_delays::of(*delays).since(growing).add_to(report, "lag_ns");
    growing.since(before).add_to(report, "growing_lag_ns");
  }
  return report;
}

bench_report measure_ingest_replay(const ingest_plan& plan, const ingest_frames& history) {
  const ingest_dialect& dialect = *find_ingest_dialect("vllm_map");
  ingest_load load = load_of(history, dialect, 0);
  load.is_history = true;
  stage scene(load);
  const ingest_side side{
      .streams = 1, .dialect = &dialect, .receive_high_water = plan.receive_high_water, .is_transport_free = plan.is_transport_free};
  reserve_memory(plan.reserve_mib);
  const auto server = scene.serve(side);
  const std::int64_t end = ingest_now();
  wait_for("the stream to ask whether that was all", [&] { return server->faults() == 0; });
  check(history, *server);
  bench_report report;
  report.add("replay_batches", static_cast<double>(history.batches().size()));
  report.add("replay_blocks", static_cast<double>(history.stored()));
  report.add("replays", static_cast<double>(server->replays()));
  report.add("replay_s", static_cast<double>(end - scene.board().replay_asked_ns) / 1e9);
  return report;
}

bench_report measure_ingest_queries(const ingest_plan& plan, const ingest_frames& frames) {
  constexpr std::size_t prompt_tokens = 4'096;
  constexpr std::size_t prompts = 256;
  const std::vector<std::string> questions = ingest_questions(prompts_to_ask(plan, prompts, prompt_tokens));
  if (questions.empty()) throw std::runtime_error("no prompt of the trace has 4,096 tokens");
  const ingest_dialect& dialect = *find_ingest_dialect("vllm_map");
  stage scene(load_of(frames, dialect, 0));
  ingest_side side{.streams = frames.streams(),
                   .dialect = &dialect,
                   .receive_high_water = plan.receive_high_water,
                   .is_transport_free = plan.is_transport_free};
  side.with_http = true;
  reserve_memory(plan.reserve_mib);
  const auto server = scene.serve(side);
  const finish_line grown(frames, begin_of_steady(frames), scene.board(), *server);
  const finish_line finish(frames, frames.batches().size(), scene.board(), *server);
  const std::uint16_t port = scene.board().http_port;
  bench_report report;
  scene.board().may_go = true;
  wait_for("the index to grow", [&] { return grown.is_reached(); });
  std::vector<std::uint32_t> busy = ask_at_rate(port, questions, plan.query_rate, [&] { return finish.is_reached(); });
  report.add("busy_blocks_per_s",
             static_cast<double>(frames.blocks()) * 1e9 / static_cast<double>(ingest_now() - scene.board().first_sent_ns));
  check(frames, *server);
  std::uint32_t asked = 0;
  std::vector<std::uint32_t> idle = ask_at_rate(port, questions, plan.query_rate, [&] { return asked++ == plan.idle_queries; });
  report.add("queries_waited_ms", waited_ms());
  report.add("busy_queries", static_cast<double>(busy.size()));
  report.add("idle_queries", static_cast<double>(idle.size()));
  report.add_latencies("busy_query_ns", busy);
  report.add_latencies("idle_query_ns", idle);
  return report;
}

}  // namespace kvc::perf
