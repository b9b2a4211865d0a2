#include "tests/support/large_fleet.hpp"

#include <algorithm>
#include <optional>
#include <ostream>
#include <sstream>
#include <utility>

#include "core/block_hasher.hpp"
#include "core/quiescence.hpp"
#include "tests/support/index_comparison.hpp"

namespace kvc::test {

using namespace kvc::core;

large_fleet::large_fleet(std::uint64_t seed, std::uint64_t content, const large_shape& shape, std::shared_ptr<catalog> all,
                         std::uint32_t first_worker)
    : random_(content), shape_(shape), is_alone_(all == nullptr), hired_(first_worker) {
  real_ = is_alone_ ? std::make_unique<real_subject>() : std::make_unique<real_subject>(std::move(all));
  while (prompts_.size() < (shape_.prompts + 1) / 2) (void)prompt();
  random_.seed(seed);
  has_common_names_ = chance(60);
  has_one_medium_ = chance(50);
  twins_ = chance(50) ? 4 : 0;
  wild_ = chance(50) ? 3 : 0;
  while (staff_.size() < shape_.workers) hire();
}

medium_id large_fleet::random_medium() {
  if (has_one_medium_ || chance(80)) return medium_id::gpu;
  return chance(70) ? medium_id::cpu : medium_id::disk;
}

local_hash large_fleet::random_block() {
  return local_hash{shape_.letters == 0 ? 1 + below(1'000'000'007) : 1 + below(shape_.letters)};
}

void large_fleet::keep_within(std::shared_ptr<index_budget> budget, std::size_t first_lane) {
  // What is gone is an orphan's parent no more. With names that move, and with orphans given up, the model would not be an upper bound.
  wild_ = 0;
  while (!staff_.empty()) dismiss(staff_.size() - 1);
  budget_ = std::move(budget);
  first_lane_ = first_lane;
  while (staff_.size() < shape_.workers) hire();
}

bool large_fleet::make_parts() {
  return real_->make_parts(*budget_, first_lane_, 1 + below(chance(50) ? 10 : 2'000), evicted_);
}

void large_fleet::relieve() {
  if (chance(50)) budget_->begin_round();
  while (make_parts() && is_alone_) continue;  // else others have parts to make
}

void large_fleet::step() {
  if (budget_ && chance(is_alone_ ? 10 : 60)) relieve();
  const std::size_t who = below(staff_.size());
  const std::uint64_t dice = below(100);
  if (dice < 40) {
    store(who);
  } else if (dice < 72) {
    remove(who);
  } else if (dice < 94) {
    decode(who);
  } else if (dice < 96) {
    clear(who);
  } else if (dice < 97) {
    last_ = "replaced a worker";
    dismiss(who);
    hire();
  } else if (dice < 99) {
    follow_trunk();
  } else if (!is_alone_ || budget_ || chance(70)) {
    behead();
  } else {
    pass_on();
  }
}

void large_fleet::compare(const placed_model& model, std::size_t partition, int queries, std::ostream& out) {
  const auto seen = real_->view(partition);
  compare_members(seen.get(), model, partition, out);
  for (int i = 0; i < queries; ++i) compare_query(seen.get(), model, partition, query(), random_media(), out);
}

void large_fleet::compare_books(std::ostream& out) {
  const auto expect = [&out](std::uint64_t got, std::uint64_t wanted, worker_id who, const char* what) {
    if (got != wanted) out << "\n  worker " << who.get() << ' ' << what << ": " << got << ", model " << wanted;
  };
  for (int i = 0; i < 12; ++i) {
    const worker_id who = staff_[below(staff_.size())].number;
    expect(real_->names(who), model_.names(who), who, "names");
    expect(real_->orphans(who), model_.orphans(who), who, "orphans");
    for (const medium_id medium : {medium_id::gpu, medium_id::cpu, medium_id::disk}) {
      expect(real_->held_on(who, medium), model_.held_on(who, medium), who, "held");
    }
    compare_names(who, out);
  }
}

/// What the worker's names for a prompt mean, one by one and as a prompt.
void large_fleet::compare_names(worker_id who, std::ostream& out) {
  if (prompts_.empty()) return;
  const std::size_t home = random_home();
  const names all = names_of({.number = who}, home, query());
  const engine_hash one = all[below(all.size())];
  if (real_->worker(who).meaning_of(one) != model_.meaning(who, one, std::nullopt))
    out << "\n  worker " << who.get() << " means another block";
  const auto seen = real_->view(home);
  if (!seen) return;
  std::vector<seq_hash> wanted;
  for (const engine_hash each : all) {
    const auto meant = model_.meaning(who, each, home);
    if (!meant) break;
    wanted.push_back(*meant);
  }
  std::vector<seq_hash> got;
  std::size_t budget = all.size();
  real_->worker(who).follow(*seen->partition, all, got, budget);
  if (got != wanted) out << "\n  worker " << who.get() << " follows a prompt to " << got.size() << ", model " << wanted.size();
}

std::string large_fleet::difference() {
  std::ostringstream out;
  if (budget_) {
    for (std::size_t home = 0; home < partitions; ++home) compare_depths(model_, home, 4, out);
    return out.str();
  }
  compare_books(out);
  for (std::size_t home = 0; home < partitions; ++home) compare(model_, home, 4, out);
  return out.str();
}

void large_fleet::compare_depths(const placed_model& model, std::size_t partition, int queries, std::ostream& out) {
  for (int i = 0; i < queries; ++i) {
    const chain asked = query();
    match_result answer;
    real_->match(partition, asked, chance(30), all_media, answer);
    for (const worker_depth& row : answer.workers) {
      const auto usable = model.usable(partition, row.worker, asked);
      const auto expect = [&](std::uint32_t depth, media_mask among) {
        const std::uint32_t truth = strict_model::depth(usable, among);
        if (depth > truth) out << "\n  worker " << row.worker.get() << ": " << depth << ", truth " << truth;
      };
      expect(row.any, all_media);
      for (std::size_t medium = 0; medium < max_media; ++medium) expect(row.on[medium], mask_of(static_cast<medium_id>(medium)));
    }
  }
}

bool large_fleet::ends_empty() {
  std::vector<std::shared_ptr<const partition_view>> homes;
  for (std::size_t home = 0; home < partitions; ++home) homes.push_back(real_->view(home));
  while (!staff_.empty()) dismiss(staff_.size() - 1);
  (void)collect_retired();
  return real_->bytes_of_names() == 0 && std::ranges::all_of(homes, [](const auto& each) {
           return !each || (each->partition->index().blocks() == 0 && each->partition->index().bytes_in_use() == 0);
         });
}

void large_fleet::hire() {
  worker_traits traits;
  traits.instance = "instance-" + std::to_string(hired_ % 7);
  traits.rank = hired_;
  traits.copy_counting = chance(40);
  traits.max_orphans = budget_ || chance(80) ? 65'536 : below(40);
  const worker_id number{++hired_};
  traits_.emplace(number, traits);
  real_->add(number, traits);
  model_.add_worker(number, traits);
  model_.join(number, 0);
  staff_.push_back({.number = number});
}

void large_fleet::dismiss(std::size_t which) {
  real_->drop(staff_[which].number);
  model_.drop_worker(staff_[which].number);
  traits_.erase(staff_[which].number);
  staff_.erase(staff_.begin() + static_cast<std::ptrdiff_t>(which));
  (void)collect_retired();
}

/// One of the prompts kept, or another that begins like one of them.
const large_fleet::chain& large_fleet::prompt() {
  if (!prompts_.empty() && chance(80)) return prompts_[below(prompts_.size())];
  chain made;
  if (!prompts_.empty() && chance(75)) {
    const chain& other = prompts_[below(prompts_.size())];
    const std::size_t kept = chance(50) ? other.size() - below(std::min<std::size_t>(other.size(), 20)) : 1 + below(other.size());
    made.assign(other.begin(), other.begin() + static_cast<std::ptrdiff_t>(kept));
  }
  const std::size_t room = shape_.longest - std::min(shape_.longest - 1, made.size());
  for (std::size_t more = 1 + below(chance(50) ? room : std::min<std::size_t>(room, 12)); more > 0; --more) made.push_back(random_block());
  if (prompts_.size() < shape_.prompts) return prompts_.emplace_back(std::move(made));
  return prompts_[below(prompts_.size())] = std::move(made);
}

large_fleet::names large_fleet::names_of(const engine& who, std::size_t home, const chain& of) {
  const std::uint64_t seed = 7'000 + home + (has_common_names_ ? 0 : 10 * (who.number.get() % 3)) + (chance(twins_) ? 5 : 0);
  std::vector<seq_hash> rolled;
  roll_from_root(of, seed, rolled);
  names made;
  // The sequence hash of a first block is its local hash whatever the seed, and must not be its name: such names stand in several
  // partitions.
  for (const seq_hash each : rolled) made.emplace_back(each.get() ^ (seed << 32));
  if (chance(wild_)) made[below(made.size())] = engine_hash{1 + below(6)};  // such names move
  return made;
}

large_fleet::names large_fleet::part(const names& of, std::size_t begin, std::size_t end) {
  return {of.begin() + static_cast<std::ptrdiff_t>(begin), of.begin() + static_cast<std::ptrdiff_t>(end)};
}

void large_fleet::tell(const engine& who, const store_step& step) {
  if (chance(70)) {
    for (unsigned ahead = static_cast<unsigned>(below(2)); ahead <= 4; ++ahead) {
      real_->worker(who.number).blocks().expect(ahead, step.how == link::parent ? &step.parent : nullptr, step.names);
    }
  }
  real_->store(who.number, step);
  model_.store(who.number, step);
}

void large_fleet::tell_removal(const engine& who, const names& gone, medium_id medium) {
  if (gone.empty()) return;
  if (chance(70)) {
    for (unsigned ahead = 1; ahead <= 4; ++ahead) real_->worker(who.number).blocks().expect(ahead, nullptr, gone);
  }
  real_->worker(who.number).remove(gone, medium);
  for (const engine_hash each : gone) model_.remove(who.number, each, medium);
}

/// The blocks of a chain from `start` to before `end`.
void large_fleet::store_part(const engine& who, std::size_t home, medium_id medium, const chain& of, std::size_t start, std::size_t end) {
  const names all = names_of(who, home, of);
  store_step step{.partition = home,
                  .medium = medium,
                  .how = start == 0 ? link::root : link::parent,
                  .parent = {},
                  .names = part(all, start, end),
                  .locals = {}};
  if (start != 0) step.parent = all[start - 1];
  step.locals.assign(of.begin() + static_cast<std::ptrdiff_t>(start), of.begin() + static_cast<std::ptrdiff_t>(end));
  tell(who, step);
}

void large_fleet::store(std::size_t which) {
  const engine& who = staff_[which];
  const std::size_t home = random_home();
  const medium_id medium = random_medium();
  const chain of = prompt();
  const std::size_t end = chance(60) ? of.size() : 1 + below(of.size());
  std::size_t start = 0;
  if (chance(50)) start = chance(70) ? std::min(model_.usable(home, who.number, of).size(), end - 1) : below(end);
  last_ = "stores " + std::to_string(start) + " to " + std::to_string(end);
  const std::uint64_t dice = below(100);
  if (dice >= 6) {
    store_part(who, home, medium, of, start, end);
    return;
  }
  store_step step{
      .partition = home, .medium = medium, .how = dice < 2 ? link::standard : link::by_name, .parent = {}, .names = {}, .locals = {}};
  if (step.how == link::standard) {
    std::vector<seq_hash> rolled;
    roll_from_root(of, test_seed, rolled);
    for (std::size_t i = start; i < end; ++i) step.names.emplace_back(rolled[i].get());
  } else {
    step.names = part(names_of(who, home, of), start, end);
  }
  tell(who, step);
}

void large_fleet::remove(std::size_t which) {
  const engine& who = staff_[which];
  const std::size_t home = random_home();
  const medium_id medium = random_medium();
  const chain of = prompt();
  const names all = names_of(who, home, of);
  const std::size_t begin = chance(40) ? 0 : below(all.size());
  const std::size_t end = chance(50) ? all.size() : begin + 1 + below(all.size() - begin);
  names gone = part(all, begin, end);
  const std::uint64_t dice = below(100);
  if (dice < 45) {
    std::ranges::reverse(gone);  // as engines evict: the end first
  } else if (dice < 60) {
    std::ranges::shuffle(gone, random_);
    gone.resize(1 + below(gone.size()));
  } else if (dice < 75) {
    std::size_t kept = 0;  // holes
    const std::size_t stride = 2 + below(9);
    for (std::size_t i = 0; i < gone.size(); i += stride) gone[kept++] = gone[i];
    gone.resize(kept);
  }
  last_ = "removes " + std::to_string(gone.size()) + " of " + std::to_string(begin) + " to " + std::to_string(end);
  tell_removal(who, gone, medium);
}

/// An answer, block by block, and what makes room for it.
void large_fleet::decode(std::size_t which) {
  engine& who = staff_[which];
  if (who.in_hand.empty() || chance(30)) {
    who.in_hand = prompt();
    store_part(who, 0, medium_id::gpu, who.in_hand, 0, who.in_hand.size());
  }
  const chain old = prompt();
  const names going = names_of(who, 0, old);
  std::size_t last = going.size();
  const std::uint64_t blocks = 1 + below(30);
  last_ = "decodes " + std::to_string(blocks);
  for (std::uint64_t i = 0; i < blocks; ++i) {
    who.in_hand.push_back(random_block());
    store_part(who, 0, medium_id::gpu, who.in_hand, who.in_hand.size() - 1, who.in_hand.size());
    if (last > 0 && chance(60)) tell_removal(who, part(going, last - 1, last), medium_id::gpu);
    if (last > 0) --last;
  }
  if (who.in_hand.size() > 2 * shape_.longest) who.in_hand.clear();
  if (chance(20) && !who.in_hand.empty()) prompts_[below(prompts_.size())] = who.in_hand;
}

/// Many in turn take a chain a little further than the one before, or less far.
void large_fleet::follow_trunk() {
  const chain of = prompt();
  std::size_t end = 1 + below(of.size());
  const bool grows = chance(70);
  last_ = "many follow a trunk from " + std::to_string(end);
  for (int i = 0; i < 40 && end > 0 && end <= of.size(); ++i) {
    store_part(staff_[below(staff_.size())], 0, medium_id::gpu, of, 0, end);
    end = grows ? end + 1 + below(3) : end - std::min<std::size_t>(end, 1 + below(3));
  }
}

/// Nearly all lose the beginning of a chain and keep what is behind it.
void large_fleet::behead() {
  const chain of = prompt();
  const std::size_t blocks = 1 + below(std::min<std::size_t>(of.size(), 40));
  last_ = "takes a beginning of " + std::to_string(blocks) + " from nearly all";
  for (const engine& each : staff_) {
    if (chance(90)) tell_removal(each, part(names_of(each, 0, of), 0, blocks), medium_id::gpu);
  }
}

void large_fleet::clear(std::size_t which) {
  const media_mask media = random_media();
  const auto only = chance(30) ? std::optional<std::size_t>(random_home()) : std::nullopt;
  last_ = "clears";
  real_->clear(staff_[which].number, media, only, 1 + below(200));
  model_.clear(staff_[which].number, media, only);
}

/// Everybody is told and loaded again, into an index of its own.
void large_fleet::pass_on() {
  last_ = "exchanges the index for one loaded from its dump";
  auto next = std::make_unique<real_subject>();
  for (const engine& each : staff_) {
    next->add(each.number, traits_.at(each.number));
    next->worker(each.number).load(real_->worker(each.number).dump(1 + below(700)));
  }
  real_ = std::move(next);
}

/// A prompt, one that parts from it, or one that goes on behind it.
large_fleet::chain large_fleet::query() {
  if (prompts_.empty()) return {random_block()};
  chain made = prompts_[below(prompts_.size())];
  if (chance(40)) made[below(made.size())] = random_block();
  if (chance(30)) made.resize(1 + below(made.size()));
  if (chance(30)) made.push_back(random_block());
  return made;
}

}  // namespace kvc::test
