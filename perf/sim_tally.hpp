// What a run has seen so far: counts, latencies, and how the conductor's answers compare with the truth. No sockets, no clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "perf/sim_answer.hpp"
#include "perf/sim_engine.hpp"
#include "perf/sim_quantiles.hpp"

namespace kvc::sim {

/// Differences kept in detail; the rest is only counted.
inline constexpr std::size_t max_kept_differences = 20;

/// One number of one answer that is not what the engine holds.
struct difference {
  std::uint64_t request = 0;
  std::string where;            ///< instance and member, e.g. `sim-3 DP[0]`
  std::uint64_t predicted = 0;  ///< tokens
  std::uint64_t actual = 0;     ///< tokens
};

/// Running totals of a run. Thread-safety: none; one owner.
struct tally {
  std::uint64_t requests = 0;  ///< served
  std::uint64_t queries = 0;   ///< answered
  std::uint64_t failed_queries = 0;
  std::uint64_t batches = 0;  ///< published
  std::uint64_t events = 0;   ///< published
  std::uint64_t stored_blocks = 0;
  std::uint64_t removed_blocks = 0;
  std::uint64_t prompt_tokens = 0;
  std::uint64_t saved_tokens = 0;         ///< prompt tokens found cached with the routing in use
  std::uint64_t saved_tokens_random = 0;  ///< the same requests, routed at random over equal engines
  std::uint64_t answers = 0;              ///< rows of instances compared
  std::uint64_t exact_answers = 0;        ///< rows in which every number was right
  std::uint64_t differences = 0;
  std::vector<difference> first_differences;
  quantiles latency_us;     ///< of answered queries, as the client saw them
  quantiles stale_blocks;   ///< |predicted - actual| per rank and query
  quantiles stale_batches;  ///< published and not yet applied, sampled per rank
};

/// Compares an answer with what the ranks hold (`actual_blocks`, rank by rank, instance after instance) and counts what it finds.
/// Every member is compared: longest_matched, each DP, GPU, and that nothing is claimed for other media.
/// Returns the number of differences. Pure but for the tally.
std::size_t compare(const std::vector<answer_row>& rows, const std::vector<std::uint32_t>& actual_blocks, std::uint32_t block_size,
                    std::uint64_t request, tally& into);

/// One line for people about a difference.
[[nodiscard]] std::string to_string(const difference& what);

}  // namespace kvc::sim
