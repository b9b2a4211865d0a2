#include "core/depth_merge.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace kvc::core {
namespace {

constexpr media_mask device_and_host = mask_of(medium_id::gpu) | mask_of(medium_id::cpu);

}  // namespace

void depth_merge::begin(const match_scope& scope, match_result& out) {
  scope_ = &scope;
  out_ = &out;
  out.clear();
  active_.clear();
  pools_ = runner{};
  pools_reach_ = true;
}

bool depth_merge::step(runner& who, worker_depth& depth, media_mask held, std::uint32_t end) noexcept {
  if (held == 0) return false;
  depth.any = end;
  who.device_or_host = who.device_or_host && (held & device_and_host) != 0;
  if (who.device_or_host) depth.device_or_host = end;
  who.alone &= held;
  for (unsigned rest = who.alone; rest != 0; rest &= rest - 1) depth.on[static_cast<std::size_t>(std::countr_zero(rest))] = end;
  return true;
}

/// Turns holders into one mask per worker, sorted; returns what the shared pools hold. Private pools count for their instance's workers.
media_mask depth_merge::gather(const holder_list& holders) {
  here_.clear();
  media_mask pooled = 0;
  bool sorted = true;
  for (const holder& each : holders) {
    const media_mask medium = mask_of(each.medium) & scope_->media;
    if (medium == 0) continue;
    const worker_id worker{each.worker};
    if (std::ranges::binary_search(scope_->pools, worker)) {
      pooled |= medium;
      continue;
    }
    const auto lent = std::ranges::lower_bound(scope_->private_pools, worker, {}, &private_pool::pool);
    if (lent != scope_->private_pools.end() && lent->pool == worker) {
      for (const worker_id user : lent->users) here_.push_back({user.get(), medium});
      sorted = false;
    } else if (sorted && !here_.empty() && here_.back().worker == each.worker) {
      here_.back().held |= medium;
    } else {
      here_.push_back({each.worker, medium});
    }
  }
  if (sorted) return pooled;
  std::ranges::sort(here_, {}, &worker_media::worker);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < here_.size(); ++i) {
    if (kept != 0 && here_[kept - 1].worker == here_[i].worker) {
      here_[kept - 1].held |= here_[i].held;
    } else {
      here_[kept++] = here_[i];
    }
  }
  here_.resize(kept);
  return pooled;
}

bool depth_merge::advance(const holder_list& holders, std::uint32_t end) {
  const media_mask pooled = gather(holders);
  match_result& out = *out_;
  const runner pools_before = pools_;
  const worker_depth pools_depth_before = out.pools_alone;
  const bool pools_reached_before = pools_reach_;
  pools_reach_ = pools_reach_ && step(pools_, out.pools_alone, pooled, end);

  next_.clear();
  auto running = active_.begin();
  auto holding = here_.begin();
  while (running != active_.end() || holding != here_.end()) {
    if (holding == here_.end() || (running != active_.end() && running->worker < holding->worker)) {
      if (step(*running, out.workers[running->row], pooled, end)) next_.push_back(*running);
      ++running;
    } else if (running == active_.end() || holding->worker < running->worker) {
      if (pools_reached_before) {  // first block of its own: until here the pools carried it, or this is the first position
        runner joined = pools_before;
        joined.worker = holding->worker;
        joined.row = static_cast<std::uint32_t>(out.workers.size());
        out.workers.push_back(pools_depth_before);
        out.workers.back().worker = worker_id{holding->worker};
        if (step(joined, out.workers.back(), holding->held | pooled, end)) next_.push_back(joined);
      }
      ++holding;
    } else {
      if (step(*running, out.workers[running->row], holding->held | pooled, end)) next_.push_back(*running);
      ++running;
      ++holding;
    }
  }
  std::swap(active_, next_);
  return !active_.empty() || pools_reach_;
}

void depth_merge::finish() { std::ranges::sort(out_->workers, {}, &worker_depth::worker); }

}  // namespace kvc::core
