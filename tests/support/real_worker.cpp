#include "tests/support/real_worker.hpp"

#include <array>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/snapshot_loader.hpp"

namespace kvc::test {

using namespace kvc::core;

partition_key partition_number(std::size_t number) {
  return {
      .tenant = "default", .model = "model", .lora = number == 0 ? "" : "adapter-" + std::to_string(number), .salt = "", .block_size = 1};
}

real_worker::real_worker(worker_id worker, const worker_traits& traits, catalog& catalog, std::shared_ptr<lane_names> lane)
    : member_{.id = worker,
              .key = shared_key({.tenant = "default",
                                 .instance = traits.instance,
                                 .rank = dp_rank{traits.rank},
                                 .kind = traits.is_pool ? publisher_class::pool : publisher_class::engine}),
              .shared_pool = traits.is_shared,
              .status = std::make_shared<stream_status>(),
              .media_seen = std::make_shared<std::atomic<media_mask>>(media_mask{0})},
      catalog_(&catalog),
      blocks_({.worker = worker, .copy_counting = traits.copy_counting, .max_orphans = traits.max_orphans, .lane = std::move(lane)}) {}

const std::shared_ptr<partition>& real_worker::home(std::size_t number) {
  auto& kept = homes_[number];
  if (!kept) kept = catalog_->join(partition_number(number), test_seed, member_).value();
  return kept;
}

void real_worker::store(const store_step& step) {
  constexpr std::array links{store_link::root, store_link::parent, store_link::standard, store_link::by_name};
  store_command command;
  command.home = home(step.partition);
  command.medium = step.medium;
  command.link = links[static_cast<std::size_t>(step.how)];
  command.parent = step.parent;
  command.names = step.names;
  command.locals = step.locals;
  // A few orphans at a time, so that every order of joining and telling is met.
  const bool has_locals = command.link == store_link::root || command.link == store_link::parent;
  while (!command.names.empty()) {
    std::size_t joins = ++stores_ % 3 + 1;
    const auto done = blocks_.store_some(command, joins, tally_);
    while (!blocks_.join_some(joins, tally_)) joins = 1;
    if (done.names == command.names.size()) return;
    if (has_locals) {
      command.link = store_link::parent;
      command.parent = command.names[done.names - 1];
      command.locals = command.locals.subspan(done.names);
    }
    command.names = command.names.subspan(done.names);
  }
}

void real_worker::remove(engine_hash name, medium_id medium, const removal_step& from) {
  const auto home = from.partition ? homes_.find(*from.partition) : homes_.end();
  blocks_.remove({&name, 1}, medium, {.home = home == homes_.end() ? nullptr : home->second.get(), .is_explicit = from.is_explicit},
                 tally_);
}

void real_worker::clear(media_mask which, std::optional<std::size_t> only, std::size_t budget) {
  const auto scoped = only ? homes_.find(*only) : homes_.end();
  if (only && scoped == homes_.end()) return;  // never been there
  std::vector<const partition*> scope;
  if (only) scope.push_back(scoped->second.get());
  while (!blocks_.clear_some(which, scope, budget, tally_)) continue;
}

std::uint64_t real_worker::evict(eviction_pass& pass, std::size_t slice) {
  apply_tally gone;
  for (bool is_done = false; !is_done;) {
    std::size_t left = slice;
    is_done = blocks_.evict_some(
        pass, left, [] {}, gone);
  }
  return gone.removed;
}

worker_dump real_worker::dump(std::size_t budget) const {
  worker_dump made;
  dump_cursor at;
  bool is_done = false;
  while (!is_done) is_done = blocks_.dump_some(at, budget, made.slices.emplace_back());
  for (const auto& each : at.homes()) made.homes.push_back(each->key());
  return made;
}

void real_worker::load(const worker_dump& from) {
  snapshot_loader loader(blocks_);
  for (const partition_key& key : from.homes) {
    std::size_t number = 0;
    while (partition_number(number) != key) ++number;
    loader.add_home(home(number));
  }
  for (const dump_slice& each : from.slices) {
    if (const error_code failed = loader.load(each, tally_)) throw std::runtime_error(failed.message());
  }
  loader.finish(tally_);
}

void real_worker::leave() {
  catalog_->leave(member_.id);
  clear(all_media, std::nullopt, 3);
}

}  // namespace kvc::test
