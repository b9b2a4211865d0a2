#include "core/eviction.hpp"

#include <algorithm>
#include <utility>

#include "core/budget.hpp"
#include "core/run_store.hpp"

namespace kvc::core {
namespace {

constexpr std::uint64_t kept_percent = 95;  ///< what is left after eviction, so that it does not begin again at once
constexpr std::uint32_t rounds_after_giving_up = 30;
constexpr std::uint64_t rest_room = 64;          ///< a rest ends when the index has grown by this part of its budget
constexpr std::int64_t least_given = 4;          ///< a pass that gave less than this part of what it asked for has asked for too old ones
constexpr std::size_t tenants_told_apart = 256;  ///< of the counters, which are never forgotten
constexpr std::uint32_t oldest_age = run::condemned - 1;

std::uint32_t sooner(std::uint32_t age) noexcept {
  return age - (age + 3) / 4;
}  // 1 becomes 0

}  // namespace

eviction_pass::account* eviction_pass::account_of(const partition* home) const {
  const auto found = by_home_.find(home);
  return found == by_home_.end() ? nullptr : found->second;
}

void eviction_pass::spare(std::uint32_t age) noexcept {
  std::uint32_t oldest = oldest_spared_.load(std::memory_order_relaxed);
  while ((oldest == nothing_spared || oldest < age) && !oldest_spared_.compare_exchange_weak(oldest, age, std::memory_order_relaxed))
    continue;
}

bool eviction_pass::condemns(run& in, account& of) {
  if (!in.is_leaf()) return false;
  std::uint32_t seen = in.recency.load(std::memory_order_relaxed);
  if ((seen & run::condemned) != 0) return true;
  if (of.excess.load(std::memory_order_relaxed) <= 0) return false;
  if (seen == 0) {  // made before its partition was told of any round: nothing is known, so it counts as new
    in.note_use(round_);
    seen = round_;
  }
  const std::uint32_t age = seen > round_ ? 0 : round_ - seen;  // rounds go on while a pass does
  if (age < least_age_) {
    spare(age);
    return false;
  }
  // Whoever loses has lost to another judge, who has paid, or to a user.
  if (!in.recency.compare_exchange_strong(seen, seen | run::condemned, std::memory_order_relaxed)) return (seen & run::condemned) != 0;
  of.excess.fetch_sub(static_cast<std::int64_t>(run_store::bytes_of(in)), std::memory_order_relaxed);
  return true;
}

bool eviction_pass::condemns_lone_block(account& of) {
  if (of.excess.load(std::memory_order_relaxed) <= 0) return false;
  if (least_age_ > 0) {
    spare(0);
    return false;
  }
  of.excess.fetch_sub(static_cast<std::int64_t>(bytes_per_lone_block), std::memory_order_relaxed);
  return true;
}

void eviction_pass::note_evicted(account& of, std::uint64_t blocks) noexcept {
  of.blocks.fetch_add(blocks, std::memory_order_relaxed);
  blocks_.fetch_add(blocks, std::memory_order_relaxed);
}

index_budget::index_budget(const catalog& partitions, std::uint64_t bytes, std::size_t lanes)
    : catalog_(&partitions), bytes_(bytes), lane_bytes_(lanes), waiting_bytes_(lanes), least_age_(oldest_age) {}

void index_budget::begin_round() {
  if (bytes_ == 0) return;
  const std::lock_guard lock(changing_);
  if (round_ < oldest_age) ++round_;  // once a second for 68 years; recency ends there, the budget does not
  const auto view = catalog_->view().get();
  for (const auto& [key, each] : view->partitions) each->partition->index().runs().begin_round(round_);
}

std::uint64_t index_budget::measure(const catalog_view& view, std::map<std::string, std::uint64_t>& by_tenant) const {
  std::uint64_t used = 0;
  for (const auto& [key, each] : view.partitions) {
    const std::uint64_t bytes = each->partition->index().bytes_in_use();
    by_tenant[key.tenant] += bytes;
    used += bytes;
  }
  for (const auto& each : lane_bytes_) used += each.load(std::memory_order_relaxed);
  return used;
}

index_budget::news index_budget::look() {
  if (bytes_ == 0) return news::none;
  const std::lock_guard lock(changing_);
  if (pass_) {
    if (!close_pass()) return news::none;
  }
  auto view = catalog_->view().get();
  std::map<std::string, std::uint64_t> by_tenant;
  const std::uint64_t used = measure(*view, by_tenant);
  used_.store(used, std::memory_order_relaxed);
  if (!is_evicting_) {
    if (used <= bytes_ || is_resting(used)) return news::none;
    const std::uint32_t age = std::max<std::uint32_t>(least_age_, 1);
    least_age_ = age > oldest_age / 2 ? oldest_age : age * 2;
    open_pass(std::move(view), by_tenant, used);
    is_evicting_ = true;
    totals_.blocks = 0;
    totals_.passes = 0;
    return news::begins;
  }
  if (used <= percent_of(bytes_, kept_percent)) return end(news::ends);
  if (least_age_ == eviction_pass::nothing_spared) {
    // What comes from now on has ages that nobody has looked at: the next pass finds the oldest ones.
    least_age_ = oldest_age;
    quiet_until_ = round_ + rounds_after_giving_up;
    quiet_up_to_ = used + bytes_ / rest_room;
    return end(used <= bytes_ ? news::ends : news::gives_up);
  }
  open_pass(std::move(view), by_tenant, used);
  return news::none;
}

bool index_budget::is_resting(std::uint64_t used) const noexcept {
  return round_ < quiet_until_ && used <= quiet_up_to_;
}

index_budget::news index_budget::end(news what) {
  is_evicting_ = false;
  return what;
}

/// Draws the consequences of the pass under way. False while lanes are at it.
bool index_budget::close_pass() {
  if (std::ranges::find(pass_->is_done_, false) != pass_->is_done_.end()) return false;
  for (const auto& each : pass_->accounts_) {
    if (each->blocks.load(std::memory_order_relaxed) == 0) continue;
    const bool is_named = totals_.by_tenant.size() < tenants_told_apart || totals_.by_tenant.contains(each->tenant);
    std::uint64_t& told = totals_.by_tenant[is_named ? each->tenant : std::string()];
    told += each->blocks.exchange(0, std::memory_order_relaxed);  // once, whatever is thrown behind it
  }
  totals_.blocks += pass_->blocks();
  ++totals_.passes;
  judge_pass();
  pass_.reset();
  return true;
}

/// Which age the next pass asks for, or that there is nothing to ask for.
void index_budget::judge_pass() noexcept {
  const eviction_pass& made = *pass_;
  // A pass that asked nobody for any, and found some that waited, tells nothing of ages.
  if (made.accounts_.empty() && made.given_up_.load(std::memory_order_relaxed) != 0) return;
  std::int64_t left = 0;
  for (const auto& each : made.accounts_) left += std::max<std::int64_t>(each->excess.load(std::memory_order_relaxed), 0);
  // What went may have made leaves of what stands before it; only when that is too little, younger ones must.
  if (made.blocks() != 0 && made.asked_ - left >= made.asked_ / least_given) return;
  const std::uint32_t spared = made.oldest_spared_.load(std::memory_order_relaxed);
  if (spared != eviction_pass::nothing_spared) {
    least_age_ = sooner(spared);
  } else if (made.blocks() == 0 && !made.has_passed_over_.load(std::memory_order_relaxed)) {
    least_age_ = spared;
  }
}

void index_budget::open_pass(std::shared_ptr<const catalog_view> view, const std::map<std::string, std::uint64_t>& by_tenant,
                             std::uint64_t used) {
  std::vector<std::uint64_t> wanted;
  std::uint64_t indexed = 0;
  for (const auto& [tenant, bytes] : by_tenant) {
    wanted.push_back(bytes);
    indexed += bytes;
  }
  // What waits goes by itself. What else lanes keep beside the index goes with it, in proportion.
  std::uint64_t waiting = 0;
  for (const auto& each : waiting_bytes_) waiting += each.load(std::memory_order_relaxed);
  const std::uint64_t held = used - std::min(used, waiting);
  const std::uint64_t room = percent_of(bytes_, kept_percent);
  const double kept = held <= room ? 1 : static_cast<double>(room) / static_cast<double>(held);
  const auto shares = fair_shares(wanted, static_cast<std::uint64_t>(static_cast<double>(indexed) * kept));
  auto next = std::make_shared<eviction_pass>();
  next->number_ = ++last_pass_;
  next->round_ = round_;
  next->least_age_ = least_age_;
  next->gives_up_waiting_ = waiting != 0;
  next->is_done_.assign(lane_bytes_.size(), false);
  std::map<std::string, eviction_pass::account*> over;
  std::size_t i = 0;
  for (const auto& [tenant, bytes] : by_tenant) {
    const std::uint64_t share = shares[i++];
    if (bytes <= share) continue;
    auto& opened = *next->accounts_.emplace_back(std::make_unique<eviction_pass::account>());
    opened.tenant = tenant;
    opened.excess.store(static_cast<std::int64_t>(bytes - share), std::memory_order_relaxed);
    next->asked_ += static_cast<std::int64_t>(bytes - share);
    over.emplace(tenant, &opened);
  }
  for (const auto& [key, each] : view->partitions) {
    if (const auto found = over.find(key.tenant); found != over.end()) next->by_home_.emplace(each->partition.get(), found->second);
  }
  next->catalog_ = std::move(view);
  pass_ = std::move(next);
}

std::shared_ptr<eviction_pass> index_budget::pass_for(std::size_t lane) const {
  if (bytes_ == 0) return nullptr;
  const std::lock_guard lock(changing_);
  return pass_ && !pass_->is_done_[lane] ? pass_ : nullptr;
}

bool index_budget::finish(std::size_t lane, const eviction_pass& pass) {
  const std::lock_guard lock(changing_);
  if (pass_.get() != &pass) return false;
  pass_->is_done_[lane] = true;
  return std::ranges::find(pass_->is_done_, false) == pass_->is_done_.end();
}

index_budget::totals index_budget::so_far() const {
  const std::lock_guard lock(changing_);
  return totals_;
}

}  // namespace kvc::core
