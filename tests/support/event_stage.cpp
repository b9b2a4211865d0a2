#include "tests/support/event_stage.hpp"

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <utility>
#include <variant>

#include "core/block_hasher.hpp"
#include "core/quiescence.hpp"

namespace kvc::test {

using namespace kvc::core;

namespace {

constexpr std::uint32_t models_apart = 1'000;  ///< numbers of workers between those of two models
constexpr std::size_t few_partitions = 2;

}  // namespace

event_stage::event_stage(std::uint64_t seed, const plan& with) : random_(seed), plan_(with) {
  budget_ = std::make_unique<index_budget>(catalog_, with.has_budget ? 3'000 + below(30'000) : 0, lanes_.size());
  for (int i = 0; i < 3; ++i) enlist(any_registration());
}

std::string event_stage::name_of(const registration& who) {
  return who.worker.instance + "/" + std::to_string(who.worker.rank.get());
}

event_stage::stream* event_stage::any_stream() {
  if (streams_.empty()) return nullptr;
  return &std::next(streams_.begin(), static_cast<std::ptrdiff_t>(below(streams_.size())))->second;
}

registration event_stage::any_registration() {
  registration made;
  const std::uint64_t instance = below(4);
  made.worker = {.tenant = instance < 3 ? "default" : "other",
                 .instance = "i" + std::to_string(instance),
                 .rank = dp_rank{static_cast<std::uint32_t>(chance(50) ? 0 : below(3))},
                 .kind = publisher_class::engine};
  made.partition = {.tenant = made.worker.tenant,
                    .model = "m",
                    .lora = chance(80) ? "" : "a",
                    .salt = chance(85) ? "" : "s",
                    .block_size = chance(80) ? 2U : 3U};
  made.type = std::vector{publisher_type::vllm, publisher_type::vllm, publisher_type::sglang, publisher_type::tensorrt_llm,
                          publisher_type::standard}[below(5)];
  made.copy_counting = counts_copies(made.type) != chance(20);
  made.medium = chance(85) ? medium_id::gpu : medium_id::cpu;
  made.hash_seed = made.type == publisher_type::standard || chance(90) ? test_seed : 7;
  return made;
}

void event_stage::enlist(registration wanted) {
  const bool is_accepted = catalog_.accepts(wanted.partition, wanted.hash_seed);
  stream made;
  made.from = wanted;
  made.lane = below(lanes_.size());
  if (const auto old = streams_.find(wanted.worker); old != streams_.end()) made.lane = old->second.lane;
  made.status = std::make_shared<stream_status>();
  made.has_few_partitions = chance(15);
  event_habits habits;
  habits.is_tidy = plan_.is_tidy;
  habits.has_pages = plan_.is_tidy && plan_.has_pages && wanted.type != publisher_type::standard && chance(60);
  habits.has_groups = chance(40);
  habits.has_own_names = chance(30);
  habits.events = made.has_few_partitions ? 1 : 5;
  habits.ranks = static_cast<unsigned>(below(4));
  if (habits.ranks == 0 && !habits.has_pages && chance(40)) made.max_orphans = below(4);
  const member who{.id = *numbers_.next(),
                   .key = shared_key(wanted.worker),
                   .shared_pool = false,
                   .status = made.status,
                   .media_seen = std::make_shared<std::atomic<media_mask>>(media_mask{0})};
  event_applier::options with;
  with.lane = lanes_[made.lane];
  with.next_worker = [this] { return numbers_.next(); };
  if (made.has_few_partitions) with.max_partitions = few_partitions;
  with.max_orphans = made.max_orphans;
  try {
    made.applier = std::make_unique<event_applier>(wanted, who, catalog_, with);
  } catch (const std::invalid_argument&) {
    if (is_accepted) wrong("refused: " + name_of(wanted));
    return;
  }
  if (!is_accepted) wrong("accepted under another seed: " + name_of(wanted));
  note("enlists ", name_of(wanted), ", type ", to_string(wanted.type), ", adapter '", wanted.partition.lora, "', salt '",
       wanted.partition.salt, "', size ", wanted.partition.block_size, ", seed ", wanted.hash_seed,
       wanted.copy_counting ? ", counts copies" : "", ", medium ", static_cast<unsigned>(wanted.medium), habits.has_pages ? ", pages" : "",
       ", lane ", made.lane, made.has_few_partitions ? ", few partitions" : "", made.max_orphans < 4 ? ", few wait" : "");
  made.says = std::make_unique<random_events>(random_, wanted, habits);
  dismiss(wanted.worker);
  made.model = std::make_unique<told_model>(wanted, blocks_, partitions_, models_++ * models_apart, made.max_orphans);
  streams_.emplace(wanted.worker, std::move(made));
}

void event_stage::dismiss(const worker_key& whom) {
  const auto found = streams_.find(whom);
  if (found == streams_.end()) return;
  note("dismisses ", name_of(found->second.from));
  found->second.applier->leave();
  found->second.model->leave();
  if (found->second.told) found->second.told->is_disturbed = true;
  leaving_.push_back(std::move(found->second));
  streams_.erase(found);
}

void event_stage::go_on_leaving() {
  for (auto each = leaving_.begin(); each != leaving_.end();) {
    const bool has_gone = chance(2) || each->applier->drop_some(1 + below(5), each->tally);
    if (has_gone && each->told && chance(80)) go_on_dumping(*each);  // a dump may outlive it, or end first
    each = has_gone ? leaving_.erase(each) : std::next(each);
  }
}

void event_stage::step() {
  const std::uint64_t what = below(100);
  stream* const who = any_stream();
  if (what < 3 || who == nullptr) {
    enlist(any_registration());
  } else if (what < 6) {
    registration changed = any_registration();
    changed.worker = who->from.worker;
    changed.partition.tenant = changed.worker.tenant;
    enlist(changed);
  } else if (what < 8) {
    dismiss(registration(who->from).worker);
  } else if (what < 11) {
    drop(*who);
  } else if (what < 18) {
    go_on_dumping(*who);
  } else {
    speak(*who);
  }
  go_on_leaving();
  evict(nullptr);
  if (chance(5)) budget_->begin_round();
}

/// In place of tokens their hashes, as a decoder has them made, until something comes that asks for another recipe.
void event_stage::hash_tokens(std::optional<hash_recipe>& by, event_batch& batch) {
  for (event& each : batch.events) {
    auto* const stored = std::get_if<stored_event>(&each);
    if (stored == nullptr || !by) continue;
    const event_scope& scope = stored->scope;
    const bool is_of_size = scope.block_size == 0 || scope.block_size == by->block_size;
    const bool fits = stored->tokens.size() == stored->hashes.size() * by->block_size || stored->tokens.empty();
    if (!is_of_size || scope.lora || scope.salt || !fits) {
      by.reset();
    } else if (!stored->tokens.empty()) {
      hash_blocks(stored->tokens, by->block_size, by->seed, stored->locals);
      stored->tokens.clear();
    }
  }
}

/// Some batches in a row, all of them read before the first is applied; a clear ends the row.
void event_stage::speak(stream& who) {
  const auto is_clear = [](const event& each) { return std::holds_alternative<cleared_event>(each); };
  std::optional<hash_recipe> by = chance(60) ? who.applier->recipe() : std::nullopt;
  std::vector<event_batch> row;
  std::vector<event_batch> decoded;
  std::vector<bool> has_room;
  std::ptrdiff_t clears = 0;
  for (std::uint64_t left = who.has_few_partitions ? 1 : 1 + below(3); left != 0 && clears == 0; --left) {
    const event_batch& batch = row.emplace_back(who.says->next());
    note(name_of(who.from), " says, ", batch.rank ? "rank " + std::to_string(batch.rank->get()) : "no rank", by ? ", hashed" : "");
    for (const event& each : batch.events) {
      note("  ", random_events::text(each));
      const auto* const stored = std::get_if<stored_event>(&each);
      has_room.push_back(stored == nullptr || catalog_.accepts(who.model->key_of(stored->scope), who.from.hash_seed));
    }
    hash_tokens(by, decoded.emplace_back(batch));
    clears = std::ranges::count_if(batch.events, is_clear);
  }
  if (who.told) who.told->is_disturbed = true;
  const bool is_left = chance(2);
  const std::uint64_t beyond_before = who.tally.beyond_partitions;
  const std::uint64_t clears_before = who.tally.whole_clears;
  event_applier::progress at;
  while (!who.applier->apply_some(decoded, at, 1 + below(6), who.tally)) {
    who.applier->answer({});
    if (chance(30)) beside(&who);
    if (is_left && chance(50)) return drop(who, true);
  }
  if (who.tally.beyond_partitions != beyond_before) has_room.front() = false;
  auto room = has_room.begin();
  for (const event_batch& batch : row) {
    for (const event& each : batch.events) who.model->apply(each, batch, *room++);
  }
  applied_ += has_room.size();
  if (who.tally.whole_clears == clears_before || clears != 1 || !is_clear(row.back().events.back())) return;
  for (const auto& [rank, number] : who.model->workers()) {
    if (blocks_.names(number) + blocks_.orphans(number) != 0) wrong("not everything was cleared, at " + name_of(who.from));
  }
  who.is_exact = true;
}

/// What others may do in the middle of a batch.
void event_stage::beside(const stream* busy) {
  if (chance(30)) evict(busy);
  stream* const other = any_stream();
  if (other != nullptr && chance(30)) go_on_dumping(*other, other == busy);
  if (chance(30)) go_on_leaving();
}

/// `has_failed`: in the middle of a batch.
void event_stage::drop(stream& who, bool has_failed) {
  note("drops all of ", name_of(who.from), has_failed ? ", in the middle" : "");
  if (who.told) who.told->is_disturbed = true;
  while (!who.applier->drop_some(1 + below(6), who.tally)) {
    if (chance(30)) beside(&who);
  }
  who.model->drop();
  if (has_failed || chance(50)) {
    who.applier->begin_anew();
    who.model->begin_anew();
  }
  who.is_exact = true;
  if (who.applier->owners() != 1 || who.applier->names() + who.applier->orphans() + who.applier->uncounted() != 0)
    wrong("something is left of " + name_of(who.from));
}

void event_stage::take_stock() {
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
    std::uint64_t bytes = lanes_[lane]->bytes_in_use();
    std::uint64_t waiting = 0;
    for (const auto& [key, each] : streams_) {
      if (each.lane != lane) continue;
      bytes += each.applier->bytes();
      waiting += each.applier->waiting_bytes();
    }
    budget_->note_lane(lane, bytes, waiting);
  }
  (void)budget_->look();
}

void event_stage::evict(const stream* busy) {
  if (budget_->bytes() == 0) return;
  take_stock();
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
    const auto pass = budget_->pass_for(lane);
    if (!pass) continue;
    bool is_done = true;
    for (auto& [key, each] : streams_) {
      if (each.lane != lane || each.pass == pass->number()) continue;
      is_done = false;
      if (&each == busy) continue;  // in the middle of a batch
      std::size_t left = 1 + below(12);
      const std::uint64_t removed_before = each.tally.removed + each.tally.dropped_orphans;
      const auto warned = [&each] { each.is_exact = false; };
      if (each.applier->evict_some(*pass, left, warned, each.tally)) each.pass = pass->number();
      const std::uint64_t gone = each.tally.removed + each.tally.dropped_orphans - removed_before;
      if (gone == 0) continue;
      note(name_of(each.from), " gives up ", gone);
      evicted_ += gone;
      if (each.is_exact) wrong("nobody was told that blocks go, of " + name_of(each.from));
      if (each.told) each.told->is_disturbed = true;
    }
    if (std::ranges::any_of(leaving_, [lane](const stream& each) { return each.lane == lane; })) pass->note_passed_over();
    if (is_done && budget_->finish(lane, *pass)) (void)budget_->look();
  }
}

void event_stage::end() {
  while (!streams_.empty()) dismiss(worker_key(streams_.begin()->first));
  while (!leaving_.empty()) go_on_leaving();
  for (int i = 0; i < 3; ++i) evict(nullptr);  // a pass keeps the partitions that were there when it began
  (void)collect_retired();
}

}  // namespace kvc::test
