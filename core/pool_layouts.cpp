#include "core/pool_layouts.hpp"

#include <algorithm>

namespace kvc::core {

pool_layouts::number pool_layouts::find(std::uint64_t kind, bool has_parts, std::uint32_t ranks) {
  if (const auto known = numbers_.find(kind); known != numbers_.end()) return known->second;
  std::size_t place = layouts_.size();
  if (place < max_layouts) {
    layouts_.emplace_back();
  } else {
    const auto idle = std::ranges::find(layouts_, 0U, &layout::users);
    if (idle == layouts_.end()) return none;
    place = static_cast<std::size_t>(idle - layouts_.begin());
    numbers_.erase(idle->kind);
    *idle = {};
  }
  layout& made = layouts_[place];
  made.kind = kind;
  made.has_parts = has_parts;
  made.ranks = ranks;
  made.is_settled = options_.settle.count() == 0;
  made.needed = needed_of(made);
  const auto fresh = static_cast<number>(place);
  numbers_.emplace(kind, fresh);
  return fresh;
}

std::uint32_t pool_layouts::needed_of(const layout& which) const noexcept {
  const auto seen = static_cast<std::uint32_t>(which.parts.size());
  if (!which.has_parts) return std::max(1U, options_.shards);
  if (seen > max_parts) return 0;
  // More parts than there should be: the registration is about something else.
  if (options_.shards != 0) return seen <= options_.shards ? options_.shards : 0;
  if (which.ranks != 0 && !which.has_finer_parts) return which.ranks;
  const bool has_all_ranks = which.ranks == 0 || which.ranks_seen.size() == which.ranks;
  return which.is_settled && has_all_ranks ? seen : 0;
}

bool pool_layouts::see(number which, const block_part& part, time_point now) {
  layout& in = layouts_[which];
  if (!in.has_parts || in.parts.size() > max_parts || !in.parts.insert(part.code()).second) return false;
  if (in.ranks != 0) in.ranks_seen.insert(part.tensor);
  in.has_finer_parts = in.has_finer_parts || part.layer != 0 || part.of != block_part::half::both || part.pipeline != 0;
  in.grown = now;
  in.is_settled = options_.settle.count() == 0;
  const std::uint32_t before = in.needed;
  in.needed = needed_of(in);
  return in.needed != before;
}

bool pool_layouts::pass_time(time_point now) {
  bool is_news = false;
  for (layout& each : layouts_) {
    if (each.is_settled || now - each.grown < options_.settle) continue;
    each.is_settled = true;
    const std::uint32_t before = each.needed;
    each.needed = needed_of(each);
    is_news = is_news || each.needed != before;
  }
  return is_news;
}

std::size_t pool_layouts::unsettled() const noexcept {
  return static_cast<std::size_t>(std::ranges::count(layouts_, false, &layout::is_settled));
}

void pool_layouts::forget() {
  layouts_.clear();
  numbers_.clear();
}

}  // namespace kvc::core
