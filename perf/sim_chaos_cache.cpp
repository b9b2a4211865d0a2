#include "perf/sim_chaos_cache.hpp"

#include <algorithm>

namespace kvc::sim {

bool chaos_cache::holds(std::uint32_t block, place_mask where) const {
  return owns(block, where) || ((where & 2U) != 0 && blocks_[block].is_covered);
}

bool chaos_cache::owns(std::uint32_t block, place_mask where) const {
  const auto& copies = blocks_[block].copies;
  return ((where & 1U) != 0 && copies[0] > 0) || ((where & 2U) != 0 && copies[1] > 0);
}

void chaos_cache::store(std::uint32_t block, std::size_t place, std::uint64_t number) {
  entry& which = blocks_[block];
  which.copies[place] = counts_copies_ ? which.copies[place] + 1 : 1;
  which.told.push_back(number);
}

void chaos_cache::remove(std::uint32_t block, place_mask where, std::uint64_t number) {
  entry& which = blocks_[block];
  for (std::size_t place = 0; place < places; ++place) {
    if ((where >> place & 1U) == 0 || which.copies[place] == 0) continue;
    which.copies[place] = counts_copies_ ? which.copies[place] - 1 : 0;
  }
  which.told.push_back(number);
}

void chaos_cache::clear(place_mask where, std::uint64_t number) {
  was_cleared_ = was_cleared_ || (where & 1U) != 0;
  for (entry& each : blocks_) {
    for (std::size_t place = 0; place < places; ++place) {
      if ((where >> place & 1U) != 0) each.copies[place] = 0;
    }
    if ((where & 2U) != 0) each.is_covered = false;
    if (!each.told.empty()) each.told.push_back(number);
  }
}

std::uint64_t chaos_cache::held_on(std::size_t place) const {
  return static_cast<std::uint64_t>(std::ranges::count_if(blocks_, [place](const entry& each) { return each.copies[place] > 0; }));
}

void chaos_cache::cover(std::uint32_t block, std::span<const std::uint64_t> numbers) {
  entry& which = blocks_[block];
  which.is_covered = true;
  which.told.insert(which.told.end(), numbers.begin(), numbers.end());
  std::ranges::iter_swap(which.told.begin(), std::ranges::min_element(which.told));
}

void chaos_cache::move(std::uint32_t block, place_mask to, std::uint64_t number) {
  entry& which = blocks_[block];
  for (std::size_t place = 0; place < places; ++place) which.copies[place] = to >> place & 1U;
  which.told.push_back(number);
}

chaos_cache::bounds chaos_cache::depth(const chaos_text::path& prompt, place_mask where, const doubts& about) const {
  if (about.is_of_two_lives) return {.least = 0, .most = static_cast<std::uint32_t>(prompt.size())};
  bounds found;
  bool is_sure = true;
  for (const std::uint32_t block : prompt) {
    const std::vector<std::uint64_t>& told = blocks_[block].told;
    bool is_doubtful = false;
    bool is_old = false;
    if (const chaos_losses* losses = about.losses) {
      is_doubtful = std::ranges::any_of(told, [losses](std::uint64_t number) { return losses->may_include(number); });
      is_old = about.drops_stale && !losses->numbers.empty() && !told.empty() && told.front() < *losses->numbers.rbegin();
    }
    if (!holds(block, where) && (!is_doubtful || about.only_less)) break;
    ++found.most;
    is_sure = is_sure && !is_doubtful && !is_old;
    if (is_sure) ++found.least;
  }
  return found;
}

}  // namespace kvc::sim
