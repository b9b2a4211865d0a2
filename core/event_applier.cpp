#include "core/event_applier.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>
#include <variant>

namespace kvc::core {
namespace {

/// Blocks that are stored in the time it takes to join a partition, or to leave one: a new index and another view of them all.
constexpr std::size_t blocks_per_change = 64;

const event_scope& scope_of(const event& what) {
  return std::visit([](const auto& each) -> const event_scope& { return each.scope; }, what);
}

applier_options of_one_worker(const event_applier::options& all, std::shared_ptr<orphan_line> orphans) {
  return {.max_orphans = all.max_orphans,
          .orphans = std::move(orphans),
          .lane = all.lane,
          .max_partitions = all.max_partitions,
          .recipe = all.recipe,
          .pool_settle = all.pool_settle,
          .pool_mixed = all.pool_mixed,
          .pool_wake = all.pool_wake};
}

}  // namespace

event_applier::event_applier(const registration& from, const member& who, catalog& partitions, options limits)
    : member_(who),
      catalog_(&partitions),
      limits_(std::move(limits)),
      orphans_(std::make_shared<orphan_line>(limits_.max_orphans)),
      home_(std::make_unique<worker_applier>(from, who, partitions, of_one_worker(limits_, orphans_))),
      own_backend_(from.backend_id),
      batches_(unheard(from)),
      events_(unheard(from)) {
  (void)home_->take_membership_changes();  // no event's
}

void event_applier::begin_anew() {
  own_backend_ = home_->from().backend_id;
  batches_ = events_ = unheard(home_->from());
  has_had_others_ = false;
}

dp_rank event_applier::rank_of(const event_scope& scope, const event_batch& batch) {
  const dp_rank registered = home_->from().worker.rank;
  if (home_->from().worker.kind == publisher_class::pool) return registered;
  const std::optional<dp_rank>& said = scope.rank ? scope.rank : batch.rank;
  rank_speaker& speaker = scope.rank ? events_ : batches_;
  if (!said) {
    has_own_ = true;
    return registered;
  }
  if (*said == dp_rank{0}) {
    if (speaker.is_believed) return *said;
    speaker.said_0 = true;
    return registered;
  }
  if (*said != registered) {
    if (!batches_.is_believed || !events_.is_believed) {
      batches_.is_believed = events_.is_believed = true;
      give_to_rank_0();
    }
    return *said;
  }
  if (!speaker.is_believed) {
    speaker.is_believed = true;
    give_to_rank_0();
  }
  has_own_ = true;
  return registered;
}

std::optional<hash_recipe> event_applier::recipe() const {
  const bool has_all = std::ranges::all_of(others_, [](const auto& each) { return each.second->recipe().has_value(); });
  return has_all ? home_->recipe() : std::nullopt;
}

void event_applier::give_to_rank_0() {
  const bool may_mean_own = (batches_.said_0 && !batches_.is_believed) || (events_.said_0 && !events_.is_believed);
  const bool has_said_0 = batches_.said_0 || events_.said_0;
  const owner of_0{dp_rank{0}, {}};
  if (!has_said_0 || may_mean_own || has_own_ || home_->from().worker.rank == of_0.rank || others_.contains(of_0)) return;
  registration as = home_->from();
  auto made = make(as);
  if (!made) return;
  as.worker.rank = of_0.rank;
  home_->become(shared_key(as.worker));
  others_.emplace(of_0, std::exchange(home_, std::move(made)));
}

worker_applier* event_applier::applier_of(const event_scope& scope, const event_batch& batch, bool may_open) {
  if (!limits_.next_worker) return home_.get();
  owner whose{rank_of(scope, batch), {}};
  if (home_->from().worker.kind == publisher_class::pool && scope.backend && *scope.backend != own_backend_) {
    if (own_backend_.empty()) {
      own_backend_ = *scope.backend;
    } else {
      whose.backend = *scope.backend;
    }
  }
  if (whose.backend.empty() && whose.rank == home_->from().worker.rank) return home_.get();
  if (const auto known = others_.find(whose); known != others_.end()) return known->second.get();
  return may_open ? open(whose) : nullptr;
}

worker_applier* event_applier::open(const owner& whose) {
  registration as = home_->from();
  as.worker.rank = whose.rank;
  auto made = make(as);
  return made ? others_.emplace(whose, std::move(made)).first->second.get() : nullptr;
}

std::unique_ptr<worker_applier> event_applier::make(const registration& as) {
  if (owners() >= max_owners) return nullptr;
  const std::optional<worker_id> number = limits_.next_worker();
  if (!number) return nullptr;
  member who = member_;
  who.id = *number;
  who.key = shared_key(as.worker);
  try {
    auto made = std::make_unique<worker_applier>(as, who, *catalog_, of_one_worker(limits_, orphans_));
    if (made->pool() != nullptr) made->pool()->pass_time(now_);
    return made;
  } catch (const std::invalid_argument&) {  // the partition has been given up and opened again under another seed
    return nullptr;
  }
}

std::optional<std::size_t> event_applier::apply(const event_batch& batch, progress& at, std::size_t budget, apply_tally& tally) {
  const event& what = batch.events[at.next_event];
  if (const auto* moved = std::get_if<object_event>(&what)) {
    worker_applier* const keeper = applier_of(moved->scope, batch, moved->what == object_event::change::stored);
    if (keeper != nullptr) {
      keeper->move(*moved, tally);
      return 1 + keeper->take_membership_changes() * blocks_per_change;
    }
    ++tally.unplaced;
    if (moved->what == object_event::change::stored) ++tally.beyond_owners;
    return 1;
  }
  const std::uint64_t blocks_before = tally.reblocked + tally.removed;  // a name may stand for any number of blocks
  const auto* const stored = std::get_if<stored_event>(&what);
  worker_applier* const worker = applier_of(scope_of(what), batch, stored != nullptr);
  if (stored != nullptr) {
    std::size_t changes = 0;
    if (worker != nullptr) {
      if (!worker->store_some(*stored, at.next_name, tally)) return std::nullopt;
      changes = worker->take_membership_changes();
    } else {
      tally.skipped += stored->hashes.size();
      tally.beyond_owners += stored->hashes.size();
    }
    return std::max<std::size_t>(stored->hashes.size(), tally.reblocked + tally.removed - blocks_before) + 1 + changes * blocks_per_change;
  }
  if (const auto* removed = std::get_if<removed_event>(&what)) {
    if (worker != nullptr) {
      if (!worker->remove_some(*removed, at.next_name, tally)) return std::nullopt;
    } else {
      tally.unknown_removals += removed->hashes.size();
    }
    return std::max<std::size_t>(removed->hashes.size(), tally.reblocked + tally.removed - blocks_before) + 1;
  }
  const auto& cleared = std::get<cleared_event>(what);
  if (worker != nullptr && !worker->clear_some(cleared, budget, tally)) return std::nullopt;
  if (clears_everything(cleared, batch) && names() == 0 && orphans() == 0) ++tally.whole_clears;
  return 1;
}

/// The four events behind the one that is applied, in whichever batch they are. Each passes through all steps of lane_blocks::expect while
/// those before it are applied.
class event_applier::approach_line {
 public:
  approach_line(const event_applier& whose, std::span<const event_batch> batches, const progress& at) noexcept
      : whose_(&whose), batches_(batches), batch_(at.next_batch), event_(at.next_event + 1) {
    for (std::size_t i = 0; i + 1 < next_.size(); ++i) {  // nothing was applied before these
      next_[i] = one_more();
      whose_->expect(1, next_[i]);
    }
  }

  /// Another event is about to be applied: the first of the line, but for the one that the line was made for.
  void step() noexcept {
    next_.back() = one_more();
    for (std::size_t i = next_.size(); i-- > 0;) whose_->expect(static_cast<unsigned>(next_.size() - i), next_[i]);
    // One by one: `shift_left` moves them as bytes, which waits for the stores of a moment ago.
    for (std::size_t i = 1; i < next_.size(); ++i) next_[i - 1] = next_[i];
  }

 private:
  [[nodiscard]] const event* one_more() noexcept {
    for (; batch_ < batches_.size(); ++batch_, event_ = 0) {
      if (event_ < batches_[batch_].events.size()) return &batches_[batch_].events[event_++];
    }
    return nullptr;
  }

  const event_applier* whose_;
  std::span<const event_batch> batches_;
  std::size_t batch_;
  std::size_t event_;
  std::array<const event*, 4> next_{};  ///< nearest first
};

bool event_applier::apply_some(std::span<const event_batch> batches, progress& at, std::size_t budget, apply_tally& tally) {
  std::size_t spent = 0;
  approach_line coming(*this, batches, at);
  for (; at.next_batch < batches.size(); ++at.next_batch) {
    const event_batch& batch = batches[at.next_batch];
    while (at.next_event < batch.events.size()) {
      if (spent >= budget) return false;
      coming.step();
      const auto touched = apply(batch, at, budget - spent, tally);
      if (!touched) return false;
      spent += *touched;
      ++at.next_event;
      at.next_name = 0;
    }
    at.next_event = 0;
  }
  return true;
}

void event_applier::approach() const noexcept {
  home_->blocks().expect(0, nullptr, {});
}

void event_applier::expect(unsigned step, const event* which) const noexcept {
  if (which == nullptr) return;
  // Names of other groups are changed before they are looked up: for one event it would cost more than it saves. Whose events they are
  // does not matter: the stream's workers share the names of the lane.
  if (const auto* stored = std::get_if<stored_event>(which)) {
    if (stored->scope.group != 0 || stored->hashes.empty()) return;
    home_->blocks().expect(step, stored->parent ? &*stored->parent : nullptr, stored->hashes);
  } else if (const auto* removed = std::get_if<removed_event>(which)) {
    if (removed->scope.group == 0 && !removed->hashes.empty()) home_->blocks().expect(step, nullptr, removed->hashes);
  }
}

void event_applier::pass_time(std::chrono::steady_clock::time_point now) {
  if (!is_pool()) return;
  now_ = now;
  for (const auto& [whose, each] : others_) each->pool()->pass_time(now);
  home_->pool()->pass_time(now);
}

bool event_applier::catch_up_some(std::size_t budget, apply_tally& tally) {
  if (!is_pool()) return true;
  for (const auto& [whose, each] : others_) {
    if (!each->pool()->catch_up_some(budget, tally)) return false;
  }
  return home_->pool()->catch_up_some(budget, tally);
}

bool event_applier::take_questions(std::vector<name_question>& into, std::size_t most) {
  if (!is_pool()) return false;
  bool is_more = home_->pool()->take_questions(into, most);
  for (const auto& [whose, each] : others_) is_more = each->pool()->take_questions(into, most) || is_more;
  return is_more;
}

void event_applier::answer(const name_question& asked) {
  if (is_pool()) return;
  home_->answer(asked);
  for (const auto& [whose, each] : others_) each->answer(asked);
}

void event_applier::follow(const partition& home, std::span<const engine_hash> names, std::vector<seq_hash>& blocks,
                           std::size_t& budget) const {
  if (is_pool()) return;
  home_->follow(home, names, blocks, budget);
  for (const auto& [whose, each] : others_) each->follow(home, names, blocks, budget);
}

void event_applier::names_of(const partition_key& home, std::span<const seq_hash> blocks, std::vector<named_block>& into) const {
  if (!is_pool()) return;
  home_->pool()->names_of(home, blocks, into);
  for (const auto& [whose, each] : others_) each->pool()->names_of(home, blocks, into);
}

pool_joiner::figures event_applier::pooled() const noexcept {
  pool_joiner::figures sum;
  const auto add = [&sum](const worker_applier& worker) {
    if (worker.pool() == nullptr) return;
    const pool_joiner::figures one = worker.pool()->now();
    sum.objects += one.objects;
    sum.waiting += one.waiting;
    sum.doubtful += one.doubtful;
    sum.incomplete += one.incomplete;
    sum.unsure += one.unsure;
    sum.joined += one.joined;
    sum.dropped += one.dropped;
  };
  add(*home_);
  for (const auto& [whose, each] : others_) add(*each);
  return sum;
}

bool event_applier::drop_some(std::size_t budget, apply_tally& tally) {
  for (const auto& [whose, each] : others_) {
    if (!each->drop_some(budget, tally)) return false;
  }
  if (!home_->drop_some(budget, tally)) return false;
  // Whoever comes back after it may speak for others.
  for (const auto& [whose, each] : others_) each->leave();
  has_had_others_ = has_had_others_ || !others_.empty();
  others_.clear();
  batches_.said_0 = events_.said_0 = has_own_ = false;
  return true;
}

bool event_applier::evict_some(eviction_pass& pass, std::size_t& budget, const std::function<void()>& before_first, apply_tally& tally) {
  // A worker that is done with the pass says so again at once.
  for (const auto& [whose, each] : others_) {
    if (!each->evict_some(pass, budget, before_first, tally)) return false;
  }
  return home_->evict_some(pass, budget, before_first, tally);
}

void event_applier::leave() {
  home_->leave();
  for (const auto& [whose, each] : others_) each->leave();
}

std::optional<event_applier::owner> event_applier::next_owner(const std::optional<owner>& last, std::optional<dp_rank> only) const {
  const owner first{home_->from().worker.rank, {}};
  const auto is_wanted = [&only](const owner& whose) { return !only || whose.rank == *only; };
  if (!last && is_wanted(first)) return first;
  auto next = !last || *last == first ? others_.begin() : others_.upper_bound(*last);
  while (next != others_.end() && !is_wanted(next->first)) ++next;
  if (next == others_.end()) return std::nullopt;
  return next->first;
}

const lane_blocks& event_applier::blocks_of(const owner& whose) const {
  const auto found = others_.find(whose);
  return found == others_.end() ? home_->blocks() : found->second->blocks();
}

std::uint64_t event_applier::held_on(medium_id medium) const noexcept {
  std::uint64_t held = home_->blocks().held_on(medium);
  for (const auto& [whose, each] : others_) held += each->blocks().held_on(medium);
  return held;
}

std::size_t event_applier::names() const noexcept {
  std::size_t known = home_->blocks().names();
  for (const auto& [whose, each] : others_) known += each->blocks().names();
  return known;
}

std::size_t event_applier::bytes() const noexcept {
  std::size_t kept = home_->blocks().bytes();
  for (const auto& [whose, each] : others_) kept += each->blocks().bytes();
  return kept;
}

std::size_t event_applier::waiting_bytes() const noexcept {
  std::size_t kept = home_->blocks().waiting_bytes();
  for (const auto& [whose, each] : others_) kept += each->blocks().waiting_bytes();
  return kept;
}

std::size_t event_applier::orphans() const noexcept {
  std::size_t waiting = home_->orphans();
  for (const auto& [whose, each] : others_) waiting += each->orphans();
  return waiting;
}

std::size_t event_applier::uncounted() const noexcept {
  std::size_t tracked = home_->uncounted();
  for (const auto& [whose, each] : others_) tracked += each->uncounted();
  return tracked;
}

}  // namespace kvc::core
