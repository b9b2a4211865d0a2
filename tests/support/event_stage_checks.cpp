// How event_stage compares answers, counts and dumps with what they are to be.
#include <algorithm>
#include <array>
#include <memory>
#include <ostream>
#include <utility>

#include "core/block_hasher.hpp"
#include "core/quiescence.hpp"
#include "core/snapshot_loader.hpp"
#include "tests/support/event_stage.hpp"
#include "tests/support/strict_model.hpp"

namespace kvc::test {

using namespace kvc::core;

namespace {

constexpr std::array media_asked{medium_id::gpu, medium_id::cpu, medium_id::disk};

const member* find_member(const partition_view& home, const std::shared_ptr<stream_status>& status, std::uint32_t rank) {
  const auto found =
      std::ranges::find_if(home.members, [&](const member& each) { return each.status == status && each.key->rank.get() == rank; });
  return found == home.members.end() ? nullptr : &*found;
}

bool is_same(const worker_depth& left, const worker_depth& right) {
  return left.any == right.any && left.device_or_host == right.device_or_host && left.on == right.on;
}

}  // namespace

std::vector<std::vector<local_hash>> event_stage::queries(std::uint32_t block_size, std::uint64_t seed) const {
  std::vector<std::vector<local_hash>> all;
  for (std::uint32_t number = 0; number < 1U << longest_chain; ++number) {
    words chain;
    for (std::size_t i = 0; i < longest_chain; ++i) chain.push_back(number >> i & 1U);
    std::vector<local_hash> query;
    hash_blocks(tokens_of(chain, 0, block_size), block_size, seed, query);
    all.push_back(std::move(query));
  }
  return all;
}

std::string event_stage::difference() {
  std::ostringstream out;
  const auto view = catalog_.view().get();
  for (const auto& [key, home] : view->partitions) homes_.insert(home->partition);
  for (const auto& [key, number] : partitions_.all()) compare(key.first, number, key.second, out);
  for (const auto& [key, each] : streams_) compare_counts(each, out);
  return std::exchange(failures_, {}) + out.str();
}

void event_stage::compare(const partition_key& key, std::size_t number, std::uint64_t seed, std::ostream& out) {
  const auto view = catalog_.view().get();
  const partition_view* const home = view->find(key);
  const bool is_there = home != nullptr && home->partition->seed() == seed;
  const std::string where = "\n  partition '" + key.tenant + "|" + key.lora + "|" + key.salt + "|" + std::to_string(key.block_size) + "', ";
  bool are_all_exact = true;
  for (const auto& [who, each] : streams_) {
    are_all_exact = are_all_exact && each.is_exact;
    for (const auto& [rank, worker] : each.model->workers()) {
      if (each.from.hash_seed != seed) continue;
      const member* const seen = is_there ? find_member(*home, each.status, rank) : nullptr;
      const std::string whose = where + name_of(each.from) + " rank " + std::to_string(rank) + ": ";
      if (seen == nullptr) {
        for (const auto& query : queries(key.block_size, seed)) {
          if (each.is_exact && blocks_.has_row(number, worker, all_media, query)) {
            out << whose << "is no member";
            break;
          }
        }
        continue;
      }
      for (const auto& query : queries(key.block_size, seed)) {
        const auto usable = blocks_.usable(number, worker, query);
        match_result by_local;
        match_result by_sequence;
        home->partition->index().match(query, home->scope, by_local);
        std::vector<seq_hash> rolled;
        roll_from_root(query, seed, rolled);
        home->partition->index().match(rolled, home->scope, by_sequence);
        const worker_depth& got = by_local.of(seen->id);
        if (!is_same(got, by_sequence.of(seen->id))) out << whose << "two answers";
        const auto check = [&](std::uint32_t depth, unsigned among) {
          const std::uint32_t wanted = strict_model::depth(usable, static_cast<media_mask>(among));
          if (depth == wanted || (depth < wanted && !each.is_exact)) return;
          out << whose << "on media " << among << ' ' << depth << ", model " << wanted << (each.is_exact ? "" : ", evicted");
        };
        check(got.any, all_media);
        check(got.device_or_host, mask_of(medium_id::gpu) | mask_of(medium_id::cpu));
        for (const medium_id medium : media_asked) check(got.on[static_cast<std::size_t>(medium)], mask_of(medium));
      }
    }
  }
  if (!is_there) return;
  for (const member& each : home->members) {
    const bool is_ours = std::ranges::any_of(streams_, [&](const auto& of) {
      return of.second.status == each.status && of.second.model->workers().contains(each.key->rank.get());
    });
    if (!is_ours) out << where << "a member nobody knows: " << each.key->instance << '/' << each.key->rank.get();
  }
  if (!leaving_.empty()) return;
  const std::size_t held = home->partition->index().count_held();
  const std::size_t wanted = blocks_.distinct_blocks(number);
  if (held > wanted || (held < wanted && are_all_exact)) out << where << "distinct blocks " << held << ", model " << wanted;
}

void event_stage::compare_counts(const stream& who, std::ostream& out) const {
  const auto check = [&](std::uint64_t got, std::uint64_t wanted, const char* what) {
    if (got == wanted || (got < wanted && !who.is_exact)) return;
    out << "\n  " << name_of(who.from) << ' ' << what << ": " << got << ", model " << wanted << (who.is_exact ? "" : ", evicted");
  };
  std::uint64_t names = 0;
  std::uint64_t orphans = 0;
  for (const auto& [rank, worker] : who.model->workers()) {
    names += blocks_.names(worker);
    orphans += blocks_.orphans(worker);
  }
  check(who.applier->names(), names, "names");
  if (who.is_exact && !who.says->habits().has_pages) check(who.applier->orphans(), orphans, "orphans");
  for (const medium_id medium : media_asked) {
    std::uint64_t held = 0;
    for (const auto& [rank, worker] : who.model->workers()) held += blocks_.held_on(worker, medium);
    check(who.applier->held_on(medium), held, "held");
  }
  if (who.applier->uncounted() != who.model->tracked()) {
    out << "\n  " << name_of(who.from) << " tracked: " << who.applier->uncounted() << ", model " << who.model->tracked();
  }
}

void event_stage::go_on_dumping(stream& who, bool is_busy) {
  if (!who.told) {
    std::vector<event_applier::owner> all;
    for (auto each = who.applier->next_owner({}, {}); each; each = who.applier->next_owner(each, {})) all.push_back(*each);
    who.told = std::make_unique<dump>();
    who.told->owner = all[below(all.size())];
  }
  who.told->is_disturbed = who.told->is_disturbed || is_busy;
  if (!who.applier->blocks_of(who.told->owner).dump_some(who.told->at, 1 + below(6), who.told->slices.emplace_back())) return;
  check_dump(who);
  who.told.reset();
}

/// Loaded again it answers as the stream does; where something came in between, it can be loaded.
void event_stage::check_dump(stream& who) {
  ++dumps_;
  const dump& told = *who.told;
  const std::string whose = name_of(who.from) + " rank " + std::to_string(told.owner.rank.get()) + ": ";
  catalog other;
  const member loaded{.id = worker_id{1},
                      .key = shared_key(who.from.worker),
                      .shared_pool = false,
                      .status = {},
                      .media_seen = std::make_shared<std::atomic<media_mask>>(media_mask{0})};
  lane_blocks blocks({.worker = loaded.id, .copy_counting = who.from.copy_counting, .max_orphans = who.max_orphans});
  apply_tally tally;
  {
    snapshot_loader loader(blocks);
    for (const auto& home : told.at.homes()) loader.add_home(other.join(home->key(), home->seed(), loaded).value());
    for (const dump_slice& each : told.slices) {
      if (loader.load(each, tally)) return wrong(whose + "a dump cannot be loaded");
    }
    loader.finish(tally);
  }
  if (told.is_disturbed) return;
  const lane_blocks& real = who.applier->blocks_of(told.owner);
  if (blocks.names() != real.names() || blocks.orphans() != real.orphans()) {
    wrong(whose + "a dump has " + std::to_string(blocks.names()) + " names and " + std::to_string(blocks.orphans()) +
          " that wait, and not " + std::to_string(real.names()) + " and " + std::to_string(real.orphans()));
  }
  const auto view = catalog_.view().get();
  for (const auto& home : told.at.homes()) {
    const partition_view* const here = view->find(home->key());
    if (here == nullptr || here->partition != home) continue;
    const member* const seen = find_member(*here, who.status, told.owner.rank.get());
    if (seen == nullptr) continue;
    const auto there = other.view().get();
    const partition_view& copy = *there->find(home->key());
    for (const auto& query : queries(home->key().block_size, home->seed())) {
      match_result answer;
      match_result answer_of_copy;
      home->index().match(query, here->scope, answer);
      copy.partition->index().match(query, copy.scope, answer_of_copy);
      if (!is_same(answer.of(seen->id), answer_of_copy.of(loaded.id))) wrong(whose + "a dump answers otherwise");
    }
  }
}

std::string event_stage::left_behind() {
  std::ostringstream out;
  if (const auto view = catalog_.view().get(); !view->partitions.empty()) out << "\n  partitions: " << view->partitions.size();
  for (const auto& lane : lanes_) {
    if (lane->names() != 0) out << "\n  names: " << lane->names();
  }
  for (const auto& each : homes_) {
    if (const auto home = each.lock()) out << "\n  a partition is kept: '" << home->key().lora << "', blocks " << home->index().blocks();
  }
  return out.str();
}

}  // namespace kvc::test
