#include "perf/ingest_frames.hpp"

#include <bit>
#include <memory>
#include <numeric>
#include <variant>

#include "core/event.hpp"
#include "core/medium.hpp"
#include "perf/sim_engine.hpp"
#include "perf/sim_generator.hpp"
#include "perf/sim_mix.hpp"
#include "perf/sim_tokens.hpp"
#include "perf/sim_trace.hpp"

namespace kvc::perf {
namespace {

constexpr std::uint64_t seed = 1;

std::unique_ptr<sim::request_source> source_of(const ingest_plan& plan) {
  if (plan.trace.empty()) return std::make_unique<sim::trace_generator>(seed);
  return std::make_unique<sim::trace_file>(plan.trace);
}

struct told_blocks {
  std::uint32_t stored = 0;
  std::uint32_t removed = 0;
};

told_blocks count(const core::event_batch& batch) {
  told_blocks told;
  for (const core::event& each : batch.events) {
    if (const auto* stored = std::get_if<core::stored_event>(&each)) told.stored += static_cast<std::uint32_t>(stored->hashes.size());
    if (const auto* removed = std::get_if<core::removed_event>(&each)) told.removed += static_cast<std::uint32_t>(removed->hashes.size());
  }
  return told;
}

/// Where MessagePack has `timestamp_s` as a double; 0: nowhere.
std::uint32_t place_of_time(std::string_view payload, double timestamp_s) {
  const auto found = payload.find('\xcb' + big_endian(timestamp_s));
  return found == std::string_view::npos ? 0 : static_cast<std::uint32_t>(found + 1);
}

}  // namespace

std::string big_endian(double value) {
  auto bits = std::bit_cast<std::uint64_t>(value);
  std::string bytes(sizeof(bits), '\0');
  for (std::size_t i = bytes.size(); i-- > 0; bits >>= 8) bytes[i] = static_cast<char>(bits & 0xff);
  return bytes;
}

void ingest_frames::append(std::uint32_t stream, std::string_view payload, std::uint32_t stored, std::uint32_t removed,
                           std::uint32_t time) {
  batches_.push_back({bytes_.size(), static_cast<std::uint32_t>(payload.size()), stream, stored + removed, time});
  bytes_.insert(bytes_.end(), payload.begin(), payload.end());
  stored_ += stored;
  removed_ += removed;
}

void ingest_frames::bring_near() const noexcept {
  constexpr std::size_t page_bytes = 4'096;
  volatile char unused = 0;
  for (std::size_t at = 0; at < bytes_.size(); at += page_bytes) unused = bytes_[at];
  static_cast<void>(unused);
}

std::uint64_t ingest_frames::held() const noexcept {
  return std::accumulate(held_.begin(), held_.end(), std::uint64_t{0});
}

boost::system::result<ingest_frames, std::string> frames_of_requests(const ingest_plan& plan, net::event_form form) {
  ingest_frames frames(plan.streams);
  std::vector<sim::engine> engines;
  for (std::uint32_t i = 0; i < plan.streams; ++i) {
    engines.emplace_back(sim::engine_shape{.block_size = ingest_block_tokens, .capacity = plan.cache_blocks, .secret = sim::mix(seed + i)});
  }
  const core::medium_table media;
  const auto source = source_of(plan);
  sim::trace_request request;
  sim::turn turn;
  std::vector<core::event_batch> told;
  std::string payload;
  for (std::uint64_t number = 0; frames.blocks() < plan.blocks && source->next(request); ++number) {
    sim::make_turn(request, number, ingest_block_tokens, turn);
    const auto stream = static_cast<std::uint32_t>(number % plan.streams);
    told.clear();
    engines[stream].serve(turn, &told);
    for (core::event_batch& batch : told) {
      batch.timestamp_s = 1'763'700'000.5 + static_cast<double>(request.timestamp_ms) / 1000;
      net::encode_batch(batch, media, {.form = form}, payload);
      const told_blocks blocks = count(batch);
      frames.append(stream, payload, blocks.stored, blocks.removed, place_of_time(payload, batch.timestamp_s));
    }
  }
  if (!source->error().empty()) return source->error();
  if (frames.blocks() == 0) return std::string("no request of the trace has a whole block");
  for (std::uint32_t i = 0; i < plan.streams; ++i) frames.set_held(i, engines[i].held());
  return frames;
}

ingest_frames frames_to_replay(std::uint32_t batches, net::event_form form) {
  constexpr std::uint32_t blocks = 64;
  constexpr std::uint32_t batches_of_chain = 16;
  const core::medium_table media;
  ingest_frames frames(1);
  std::string payload;
  for (std::uint32_t number = 0; number < batches; ++number) {
    core::stored_event stored;
    stored.scope.medium = core::medium_id::gpu;
    stored.scope.block_size = ingest_block_tokens;
    const std::uint64_t first = std::uint64_t{number} * blocks + 1;
    for (std::uint64_t i = 0; i < blocks; ++i) stored.hashes.emplace_back(sim::mix(first + i));
    if (number % batches_of_chain != 0) stored.parent = core::engine_hash{sim::mix(first - 1)};
    for (std::uint64_t i = 0; i < blocks * ingest_block_tokens; ++i) {
      stored.tokens.push_back(sim::scale(sim::mix(first * ingest_block_tokens + i), sim::vocabulary));
    }
    stored.has_tokens = true;
    core::event_batch batch;
    batch.timestamp_s = 1'763'700'000.5;
    batch.events.emplace_back(std::move(stored));
    net::encode_batch(batch, media, {.form = form}, payload);
    frames.append(0, payload, blocks, 0);
  }
  frames.set_held(0, frames.stored());
  return frames;
}

std::vector<std::vector<std::uint32_t>> prompts_to_ask(const ingest_plan& plan, std::size_t wanted, std::size_t tokens) {
  std::vector<std::vector<std::uint32_t>> prompts;
  const auto source = source_of(plan);
  sim::trace_request request;
  while (prompts.size() < wanted && source->next(request)) {
    if (request.input_length < tokens) continue;
    std::vector<std::uint32_t> prompt;
    sim::append_prompt(request, prompt);
    prompt.resize(tokens);
    prompts.push_back(std::move(prompt));
  }
  return prompts;
}

}  // namespace kvc::perf
