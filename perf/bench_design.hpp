// What a benchmark mode needs of an index, so that one mode drives every design. Templates: nothing virtual stands inside the timed part.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/ids.hpp"
#include "core/match.hpp"
#include "perf/bench_fleet.hpp"
#include "perf/bench_positional.hpp"
#include "perf/bench_workload.hpp"

namespace kvc::perf {

/// Which index is measured.
enum class bench_design : std::uint8_t {
  runs,        ///< ours, as the server has it
  positional,  ///< the article's per-block design, a reference
};

[[nodiscard]] constexpr std::string_view to_string(bench_design design) noexcept {
  return design == bench_design::runs ? "runs" : "positional";
}

/// What to measure with.
struct bench_setup {
  bench_design design = bench_design::runs;
  std::uint32_t stride = bench_positional::default_stride;  ///< of the positional design
};

/// An index that modes can drive: events of one worker by one thread, queries by any, answers into memory that is reused.
template <class Design>
concept drivable = requires(Design index, const Design& view, const bench_op& op, const core::engine_hash* parent,
                            std::span<const core::engine_hash> names, std::span<const core::local_hash> locals,
                            typename Design::answer& into, bench_sums& sums) {
  Design(std::uint32_t{}, std::size_t{}, bench_setup{});  // workers, lanes
  { index.apply(op) } -> std::same_as<std::size_t>;       // blocks touched
  index.store(std::uint32_t{}, parent, names, locals);
  index.remove(std::uint32_t{}, names);
  view.query(locals, into);
  Design::count(into, sums);
  { view.lane_of(std::uint32_t{}) } -> std::same_as<std::size_t>;
  { view.entries() } -> std::same_as<std::uint64_t>;
  { view.dropped() } -> std::same_as<std::uint64_t>;  // blocks of stores that the design could not place
};

/// Ours: `bench_fleet`, and the one place that names the type of its answers.
class runs_design : public bench_fleet {
 public:
  using answer = core::match_levels;

  runs_design(std::uint32_t workers, std::size_t lanes, const bench_setup&) : bench_fleet(workers, lanes) {}
  [[nodiscard]] std::uint64_t dropped() const noexcept { return 0; }
};

/// The reference.
class positional_design : public bench_positional {
 public:
  using answer = positional_answer;

  positional_design(std::uint32_t, std::size_t lanes, const bench_setup& setup) : bench_positional(setup.stride), lanes_(lanes) {}

  std::size_t apply(const bench_op& op) {
    if (op.kind == bench_kind::store) {
      store(op.worker, op.has_parent ? &op.parent : nullptr, op.names, op.locals);
    } else {
      remove(op.worker, op.names);
    }
    return op.names.size();
  }
  static void count(const answer& found, bench_sums& sums) {
    sums.pairs += found.found.size();
    for (const positional_reach& each : found.found) sums.depth_sum += each.depth;
  }
  [[nodiscard]] std::size_t lane_of(std::uint32_t worker) const noexcept { return worker % lanes_; }

 private:
  std::size_t lanes_;
};

static_assert(drivable<runs_design> && drivable<positional_design>);

/// Calls `mode.template operator()<Design>()` for the chosen design.
template <class Mode>
void with_design(bench_design design, Mode&& mode) {
  if (design == bench_design::runs) {
    mode.template operator()<runs_design>();
  } else {
    mode.template operator()<positional_design>();
  }
}

}  // namespace kvc::perf
