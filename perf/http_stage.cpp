#include "perf/http_stage.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "perf/bench_load.hpp"
#include "perf/ingest_publisher.hpp"
#include "perf/sim_conductor.hpp"

namespace kvc::perf {
namespace {

const std::string& engine_prefix() {
  static const std::string prefix = "engine-";
  return prefix;
}

}  // namespace

http_stage::http_stage(int load_cpu, const bench_server::place& where, const ingest_frames& frames, double blocks_per_s) : frames_(frames) {
  raise_file_limit();
  const ingest_load load{.frames = &frames, .streams = frames.streams(), .blocks_per_s = blocks_per_s};
  publishers_ = std::make_unique<ingest_process>(load_cpu, [this, load] { ingest_publisher(*board_, load).run(); });
  wait_for("publishers", [this] {
    if (publishers_->has_ended()) throw std::runtime_error("the publishers have ended");
    return board_->is_bound.load();
  });
  server_ = std::make_unique<bench_server>(where, std::vector<std::string>{"--no-coordinator-enable-startup-resync"});
  caller_ = std::make_unique<bench_caller>(server_->port());
  register_all();
  be_heard();
}

http_stage::~http_stage() {
  board_->is_over = true;
}

void http_stage::register_all() {
  for (std::uint32_t i = 0; i < frames_.streams(); ++i) {
    const ingest_board::endpoints& from = board_->where[i];
    const std::string body = R"({"type":"vLLM","modelname":"bench","block_size":16,"dp_rank":0,"instance_id":")" + engine_prefix() +
                             std::to_string(i) + R"(","endpoint":")" + from.live.data() + R"(","replay_endpoint":")" + from.replay.data() +
                             "\"}";
    caller_->call(request_text("POST", "/register", body));
  }
}

std::vector<std::uint64_t> http_stage::applied() {
  std::vector<sim::stream_row> rows;
  std::string wrong;
  if (!sim::read_services(caller_->call(request_text("GET", "/services")), "default", rows, wrong)) throw std::runtime_error(wrong);
  std::vector<std::uint64_t> counts(frames_.streams());
  for (const sim::stream_row& each : rows) {
    if (each.missing != 0) throw std::runtime_error("the server has lost batches of " + each.instance);
    counts.at(std::stoul(each.instance.substr(engine_prefix().size()))) = each.applied;
  }
  return counts;
}

void http_stage::be_heard() {
  wait_for("the first batch of every stream", [this] {
    for (const std::uint64_t count : applied()) {
      if (count == 0) return false;
    }
    return true;
  });
  board_->is_heard = true;
  wait_for("the publishers to be quiet", [this] { return board_->is_quiet.load(); });
  wait_for("what was sent to be heard", [this] {
    const auto counts = applied();
    for (std::uint32_t i = 0; i < counts.size(); ++i) {
      if (counts[i] != board_->next_number[i]) return false;
    }
    return true;
  });
}

void http_stage::wait_until_applied(double share) {
  const auto wanted = static_cast<std::uint64_t>(share * static_cast<double>(frames_.blocks()));
  wait_for("events to be applied", [&] {
    ingest_nap(std::chrono::milliseconds(20));  // asking takes the server's time
    return applied_blocks() >= wanted;
  });
}

std::uint64_t http_stage::applied_blocks() {
  std::vector<std::uint64_t> left = applied();
  for (std::uint32_t i = 0; i < left.size(); ++i) left[i] -= std::min<std::uint64_t>(left[i], board_->next_number[i]);
  std::uint64_t blocks = 0;
  for (const ingest_batch& each : frames_.batches()) {
    if (left[each.stream] == 0) continue;
    --left[each.stream];
    blocks += each.blocks;
  }
  return blocks;
}

void http_stage::check() {
  const std::string_view view = caller_->call(request_text("GET", "/global_view"));
  constexpr std::string_view name = "\"entries\":";
  std::uint64_t held = 0;
  for (std::size_t at = view.find(name); at != std::string_view::npos; at = view.find(name, at + 1)) {
    held += std::stoull(std::string(view.substr(at + name.size(), 20)));
  }
  if (held == frames_.held()) return;
  throw std::runtime_error("the engines hold " + std::to_string(frames_.held()) + " blocks, the index " + std::to_string(held));
}

}  // namespace kvc::perf
