#include "perf/sim_router.hpp"

#include <algorithm>

namespace kvc::sim {

router::router(routing_kind kind, std::uint32_t engines, std::uint32_t ranks_per_engine, double load_weight, std::uint64_t seed)
    : kind_(kind),
      ranks_per_engine_(ranks_per_engine),
      load_weight_(load_weight),
      dice_(seed),
      waiting_(std::size_t{engines} * ranks_per_engine, 0.0) {}

std::uint64_t router::told(std::size_t rank, const std::vector<answer_row>* rows) const noexcept {
  return rows == nullptr ? 0 : (*rows)[rank / ranks_per_engine_].ranks[rank % ranks_per_engine_];
}

std::size_t router::least_work(const turn& request, const std::vector<answer_row>* rows) const noexcept {
  const auto work = [&](std::size_t rank) {
    const std::uint64_t held = std::min<std::uint64_t>(told(rank, rows), request.prompt_tokens);
    return static_cast<double>(request.prompt_tokens - held) + load_weight_ * waiting_[rank];
  };
  std::size_t best = 0;
  double best_work = work(0);
  for (std::size_t rank = 1; rank < waiting_.size(); ++rank) {
    const double here = work(rank);
    if (here < best_work || (here == best_work && waiting_[rank] < waiting_[best])) {
      best = rank;
      best_work = here;
    }
  }
  return best;
}

std::size_t router::choose(const turn& request, const std::vector<answer_row>* rows) {
  if (request.timestamp_ms > now_ms_) {
    const double done = static_cast<double>(request.timestamp_ms - now_ms_) / 1000 * tokens_per_second;
    for (auto& each : waiting_) each = std::max(0.0, each - done);
    now_ms_ = request.timestamp_ms;
  }
  std::size_t chosen = 0;
  switch (kind_) {
    case routing_kind::random: chosen = dice_.below(static_cast<std::uint32_t>(waiting_.size())); break;
    case routing_kind::round_robin: chosen = next_++ % waiting_.size(); break;
    case routing_kind::conductor: chosen = least_work(request, rows); break;
  }
  const std::uint64_t held = std::min<std::uint64_t>(told(chosen, rows), request.prompt_tokens);
  waiting_[chosen] += static_cast<double>(request.tokens.size() - held);
  return chosen;
}

}  // namespace kvc::sim
