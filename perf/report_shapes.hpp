// What the report measures by itself: memory, time per query, recovery.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <boost/system/result.hpp>

#include "perf/bench_report.hpp"
#include "perf/report_plan.hpp"

namespace kvc::perf {

/// How large the shapes are.
struct report_shape {
  std::vector<std::uint32_t> fleets;     ///< workers, for memory
  std::vector<std::uint32_t> depths;     ///< blocks of a prompt, for queries
  std::uint32_t ragged_holders = 1'024;  ///< that each end somewhere else
  std::vector<std::uint32_t> gaps;       ///< batches of 64 blocks that are replayed
};

/// What the plan asks for: small ones when it is quick.
[[nodiscard]] report_shape shape_of(const report_plan& plan);

/// How much of every chain all workers have in common, in hundredths.
inline constexpr std::array report_shared_percents{0, 50, 100};

/// Figures `memory_SHARED_FLEET_bytes` per (worker, block), `query_even_DEPTH_ns`, `query_many_DEPTH_ns`, `query_ragged_DEPTH_ns` (one
/// holder, 16 whole ones, many that end somewhere else; medians, warm), `replay_GAP_s`; each measured in a process of its own. Progress
/// goes to `tell`. No other thread may be running. Error: a sentence.
[[nodiscard]] boost::system::result<bench_report, std::string> measure_report_shapes(const report_plan& plan,
                                                                                     const std::function<void(const std::string&)>& tell);

/// An index with `entries` (worker, block) pairs in chains of 16,384 blocks that nobody shares: `check_entries`, `check_bytes_per_entry`,
/// `check_store_ns` per block. Call it in a process of its own.
[[nodiscard]] bench_report measure_report_check(std::uint64_t entries);

}  // namespace kvc::perf
