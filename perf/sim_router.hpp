// Decides which rank gets a request.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "perf/sim_answer.hpp"
#include "perf/sim_mix.hpp"
#include "perf/sim_options.hpp"
#include "perf/sim_tokens.hpp"

namespace kvc::sim {

/// Work a rank gets done, in tokens per second of the trace's clock: the order of magnitude of one large GPU node's prefill.
inline constexpr double tokens_per_second = 8'192;

/// A router with a simple idea of load: every routed token waits at its rank until the rank's share of time has passed.
///
/// Asking the conductor, it picks the rank with the least work for this request: tokens of the prompt the rank does not hold, plus
/// `load_weight` times the tokens waiting there; ties go to the least load, then to the lowest number. With a weight of 0 this is "the
/// longest match wins". A weight above 0 matters because popular prompts share their first blocks: by matches alone, the first rank that
/// ever served one would get every later request, too.
/// Thread-safety: none; one owner.
class router {
 public:
  /// `ranks_per_engine` and the fleet's size as in the options; `seed` fixes random choices.
  router(routing_kind kind, std::uint32_t engines, std::uint32_t ranks_per_engine, double load_weight, std::uint64_t seed);

  /// The rank for a request, numbered instance by instance. `rows` is the conductor's answer, or null when there is none; then the choice
  /// is by load alone. The rank's load grows by the work that the answer promises.
  [[nodiscard]] std::size_t choose(const turn& request, const std::vector<answer_row>* rows);

  /// Tokens waiting at a rank.
  [[nodiscard]] double waiting(std::size_t rank) const noexcept { return waiting_[rank]; }

 private:
  [[nodiscard]] std::uint64_t told(std::size_t rank, const std::vector<answer_row>* rows) const noexcept;
  [[nodiscard]] std::size_t least_work(const turn& request, const std::vector<answer_row>* rows) const noexcept;

  routing_kind kind_;
  std::uint32_t ranks_per_engine_;
  double load_weight_;
  dice dice_;
  std::vector<double> waiting_;
  std::size_t next_ = 0;
  std::uint64_t now_ms_ = 0;
};

}  // namespace kvc::sim
