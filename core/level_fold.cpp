#include "core/level_fold.hpp"

#include <algorithm>

namespace kvc::core {
namespace {

// What is known of an instance.
constexpr std::uint8_t unseen = 0;
constexpr std::uint8_t seen = 1;    ///< some member of it was reached
constexpr std::uint8_t picked = 2;  ///< it is in the answer

bool is_shallower(const match_levels::reach& left, const match_levels::reach& right) noexcept {
  return left.depth < right.depth;
}

bool is_better(const instance_reach& left, const instance_reach& right) noexcept {
  return left.depth != right.depth ? left.depth > right.depth : left.instance < right.instance;
}

bool is_wanted(const fold_bounds& bounds, std::uint32_t instance) noexcept {
  return bounds.wanted.empty() || bounds.wanted[instance] != 0;
}

}  // namespace

void level_fold::run(const slot_table& slots, const member_map& members, match_levels& levels, const fold_bounds& bounds,
                     std::vector<instance_reach>& chosen, match_result& rows) {
  chosen.clear();
  rows.clear();
  reached_.clear();
  has_member_.assign(members.size(), 0);
  instances_.assign(members.instances().size(), unseen);
  descend(slots, members, levels, bounds, chosen);
  choose(members, bounds, chosen);

  missing_ = 0;
  for (const instance_reach& each : chosen) {
    const member_map::instance& of = members.instances()[each.instance];
    instances_[each.instance] = picked;
    missing_ += of.last - of.first;
  }
  std::erase_if(reached_, [this](const reached& each) { return instances_[each.instance] != picked; });
  missing_ -= reached_.size();
  find_other_members(slots, members, levels);

  std::ranges::sort(reached_, {}, &reached::worker);
  for (const reached& each : reached_) {
    worker_depth& row = rows.workers.emplace_back();
    row.worker = each.worker;
    row.any = each.depth;
    if (each.medium == medium_id::gpu || each.medium == medium_id::cpu) row.device_or_host = each.depth;
    row.on[static_cast<std::size_t>(each.medium)] = each.depth;
  }
}

/// Collects instances from the deepest level upwards until no other can be among those asked for.
void level_fold::descend(const slot_table& slots, const member_map& members, match_levels& levels, const fold_bounds& bounds,
                         std::vector<instance_reach>& chosen) {
  std::ranges::sort(levels.levels, {}, &match_levels::level::depth);  // few, and as a rule sorted
  std::ranges::make_heap(levels.reaches, is_shallower);
  levels_left_ = levels.levels.size();
  reaches_left_ = levels.reaches.size();
  // The order depends on whether any has to be left out. With a floor only one more than asked for tells; without, it is a precondition.
  const std::size_t enough = bounds.least == 0 || bounds.most == fold_bounds::any_number ? bounds.most : bounds.most + 1;
  // Cells change places while queries run, so a worker may be seen twice: its deeper cell, which comes first, was right at some moment.
  auto visit = [&](std::uint32_t slot, std::uint32_t depth) {
    const slot_owner who = slots.owner(slot);
    if (!levels.counts(who.medium)) return;
    const member_map::seat* const seat = members.find(who.worker);
    if (seat == nullptr || has_member_[seat->member] != 0 || !is_wanted(bounds, seat->instance)) return;
    has_member_[seat->member] = 1;
    reached_.push_back({who.worker, seat->instance, depth, who.medium});
    if (instances_[seat->instance] != unseen) return;
    instances_[seat->instance] = seen;
    chosen.push_back({seat->instance, depth});
  };
  const auto deepest_level = [&] { return levels_left_ == 0 ? 0U : levels.levels[levels_left_ - 1].depth; };
  const auto deepest_reach = [&] { return reaches_left_ == 0 ? 0U : levels.reaches.front().depth; };
  while (chosen.size() < enough) {
    const std::uint32_t depth = std::max(deepest_level(), deepest_reach());
    if (depth == 0 || depth < bounds.least) return;
    while (deepest_level() == depth) levels.each_of(levels.levels[--levels_left_], visit);
    while (deepest_reach() == depth) {
      std::ranges::pop_heap(levels.reaches.begin(), levels.reaches.begin() + static_cast<std::ptrdiff_t>(reaches_left_), is_shallower);
      const match_levels::reach& next = levels.reaches[--reaches_left_];
      visit(next.slot, next.depth);
    }
  }
}

/// Brings what was collected into order and cuts it to what was asked for.
void level_fold::choose(const member_map& members, const fold_bounds& bounds, std::vector<instance_reach>& chosen) {
  if (chosen.size() > bounds.most) {
    std::ranges::partial_sort(chosen, chosen.begin() + static_cast<std::ptrdiff_t>(bounds.most), is_better);
    chosen.resize(bounds.most);
    return;
  }
  if (bounds.least != 0) {
    std::ranges::sort(chosen, {}, &instance_reach::instance);
    return;
  }
  std::ranges::sort(chosen, is_better);
  for (std::uint32_t i = 0; i < members.instances().size() && chosen.size() < bounds.most; ++i) {
    if (instances_[i] == unseen && is_wanted(bounds, i)) chosen.push_back({i, 0});
  }
}

/// Looks through what `descend` left for members of the picked instances.
void level_fold::find_other_members(const slot_table& slots, const member_map& members, const match_levels& levels) {
  auto visit = [&](std::uint32_t slot, std::uint32_t depth) {
    if (missing_ == 0) return;
    const slot_owner who = slots.owner(slot);
    if (!levels.counts(who.medium)) return;
    const member_map::seat* const seat = members.find(who.worker);
    if (seat == nullptr || has_member_[seat->member] != 0 || instances_[seat->instance] != picked) return;
    has_member_[seat->member] = 1;
    reached_.push_back({who.worker, seat->instance, depth, who.medium});
    --missing_;
  };
  for (std::size_t i = levels_left_; missing_ != 0 && i != 0; --i) levels.each_of(levels.levels[i - 1], visit);
  for (std::size_t i = 0; missing_ != 0 && i < reaches_left_; ++i) visit(levels.reaches[i].slot, levels.reaches[i].depth);
}

}  // namespace kvc::core
