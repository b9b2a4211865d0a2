#include "perf/micro_codec.hpp"

#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "core/event.hpp"
#include "net/event_codec.hpp"
#include "net/event_encode.hpp"
#include "net/msgpack_tape.hpp"
#include "perf/micro_library.hpp"
#include "perf/micro_timer.hpp"
#include "perf/sim_dialect.hpp"
#include "perf/sim_mix.hpp"
#include "perf/sim_tokens.hpp"

namespace kvc::perf {
namespace {

constexpr std::uint64_t blocks_stored = 64;
constexpr std::uint64_t blocks_removed = 8;
constexpr std::uint32_t block_tokens = 16;
constexpr std::uint64_t objects = 16;

core::event_batch blocks_batch() {
  core::stored_event stored;
  stored.scope.medium = core::medium_id::gpu;
  stored.scope.block_size = block_tokens;
  stored.parent = core::engine_hash{sim::mix(0)};
  for (std::uint64_t i = 1; i <= blocks_stored; ++i) stored.hashes.emplace_back(sim::mix(i));
  for (std::uint64_t i = 0; i < blocks_stored * block_tokens; ++i)
    stored.tokens.push_back(sim::scale(sim::mix(1'000 + i), sim::vocabulary));
  stored.has_tokens = true;
  core::event_batch batch;
  batch.timestamp_s = 1'763'700'000.5;
  batch.events.emplace_back(std::move(stored));
  for (std::uint64_t i = 0; i < blocks_removed; ++i) {
    core::removed_event removed;
    removed.scope.medium = core::medium_id::gpu;
    removed.hashes.emplace_back(sim::mix(9'000 + i));
    batch.events.emplace_back(std::move(removed));
  }
  return batch;
}

core::event_batch objects_batch() {
  core::event_batch batch;
  batch.timestamp_s = 1'763'700'000.5;
  for (std::uint64_t i = 0; i < objects; ++i) {
    core::object_event one;
    one.scope.model = "bench";
    one.scope.block_size = block_tokens;
    one.scope.medium = core::medium_id::cpu;
    one.scope.object_key = "bench@1@0@" + std::to_string(sim::mix(i));
    one.replicas.push_back({.medium = core::medium_id::cpu, .location = "10.0.0.1:50051"});
    one.name = core::engine_hash{sim::mix(i + 1)};
    one.parent = core::engine_hash{sim::mix(i)};
    batch.events.emplace_back(std::move(one));
  }
  return batch;
}

std::uint64_t blocks_of(const core::event_batch& batch) {
  std::uint64_t blocks = 0;
  for (const core::event& each : batch.events) {
    if (const auto* stored = std::get_if<core::stored_event>(&each)) blocks += stored->hashes.size();
    if (const auto* removed = std::get_if<core::removed_event>(&each)) blocks += removed->hashes.size();
    if (std::holds_alternative<core::object_event>(each)) ++blocks;
  }
  return blocks;
}

void measure_form(const sim::form_traits& form, const micro_plan& plan, bench_report& report) {
  core::medium_table media;
  std::string payload;
  net::encode_batch(form.has_tokens ? blocks_batch() : objects_batch(), media, {.form = form.form}, payload);
  const auto bytes = std::as_bytes(std::span(payload));

  net::spare_lists spare;  // as a lane has
  net::event_decoder decoder(core::publisher_type::automatic, media, "", &spare);
  core::event_batch decoded;
  const std::string name(form.name);
  if (decoder.decode(bytes, decoded) || decoded.rejected_events != 0 || decoded.events.empty()) {
    throw std::runtime_error("the decoder refuses " + name);
  }
  const auto events = static_cast<double>(decoded.events.size());
  const auto blocks = static_cast<double>(blocks_of(decoded));
  report.add(name + "_bytes", static_cast<double>(payload.size()));
  report.add(name + "_events", events);
  report.add(name + "_blocks", blocks);
  net::msgpack_tape tape;
  std::string copy(payload.size(), '\0');
  micro_rounds all(plan.milliseconds);
  all.add("decode", [&] {
    if (decoder.decode(bytes, decoded)) throw std::runtime_error("the decoder changed its mind");
    micro_keep(decoded);
    spare.take_back(decoded.events);
  });
  all.add("scan", [&] {
    if (tape.parse(bytes)) throw std::runtime_error("the reader refuses what the writer wrote");
    micro_keep(tape);
  });
  all.add("library", [&] { micro_keep(library_msgpack(payload)); });
  all.add("copy", [&] {
    std::memcpy(copy.data(), payload.data(), payload.size());
    micro_keep(copy[0]);
  });
  for (const auto& [what, ns] : all.run()) {
    report.add(name + '_' + what + "_ns_per_event", ns / events);
    report.add(name + '_' + what + "_ns_per_block", ns / blocks);
  }
}

}  // namespace

bench_report measure_codec(const micro_plan& plan) {
  bench_report report;
  for (const sim::form_traits& each : sim::all_forms()) {
    if (plan.form.empty() || plan.form == each.name) measure_form(each, plan, report);
  }
  return report;
}

}  // namespace kvc::perf
