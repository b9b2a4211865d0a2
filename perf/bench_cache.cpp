#include "perf/bench_cache.hpp"

#include <algorithm>
#include <ranges>

namespace kvc::perf {

bench_cache::bench_cache(std::uint32_t worker, std::uint32_t capacity) : worker_(worker), capacity_(std::max(capacity, 1U)), slots_(1) {}

void bench_cache::unlink(std::uint32_t which) noexcept {
  slots_[slots_[which].older].newer = slots_[which].newer;
  slots_[slots_[which].newer].older = slots_[which].older;
}

void bench_cache::link_newest(std::uint32_t which) noexcept {
  const std::uint32_t newest = slots_[ring].older;
  slots_[which].older = newest;
  slots_[which].newer = ring;
  slots_[newest].newer = which;
  slots_[ring].older = which;
}

void bench_cache::take_in(const cached_request& request, std::size_t first, std::size_t last, bench_writer& out) {
  if (first == last) return;
  evicted_.clear();
  for (std::size_t i = first; i < last; ++i) {
    std::uint32_t place = 0;
    if (places_.size() < capacity_) {
      place = static_cast<std::uint32_t>(slots_.size());
      slots_.emplace_back();
    } else {
      place = slots_[ring].newer;  // the oldest
      unlink(place);
      places_.erase(slots_[place].name);
      evicted_.emplace_back(slots_[place].name);
    }
    slots_[place].name = request.names[i].get();
    places_.emplace(slots_[place].name, place);
    in_use_.push_back(place);
  }
  if (!evicted_.empty()) out.remove(worker_, evicted_);
  const core::engine_hash* parent = first == 0 ? nullptr : &request.names[first - 1];
  out.store(worker_, parent, request.names.subspan(first, last - first), request.locals.subspan(first, last - first));
}

std::size_t bench_cache::serve(const cached_request& request, bench_writer& out) {
  in_use_.clear();
  // Hits are taken into use first, so that the request cannot push out what it is about to read.
  const std::size_t room = std::min<std::size_t>(capacity_, request.names.size());
  while (in_use_.size() < room) {
    const auto found = places_.find(request.names[in_use_.size()].get());
    if (found == places_.end()) break;
    unlink(found->second);
    in_use_.push_back(found->second);
  }
  const std::size_t hits = std::min(in_use_.size(), request.prompt_blocks);
  const std::size_t prompt_end = std::min(request.prompt_blocks, room);
  if (in_use_.size() < prompt_end) take_in(request, in_use_.size(), prompt_end, out);
  while (in_use_.size() < room) take_in(request, in_use_.size(), in_use_.size() + 1, out);
  for (const std::uint32_t place : std::views::reverse(in_use_)) link_newest(place);
  return hits;
}

}  // namespace kvc::perf
