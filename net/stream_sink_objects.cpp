// What a stream's events mean for the objects of stores, and what is found out about a store elsewhere for the stream's blocks.
#include <algorithm>
#include <bit>
#include <cassert>
#include <chrono>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "core/object_feed.hpp"
#include "core/pool_key.hpp"
#include "core/reconcile.hpp"
#include "net/log.hpp"
#include "net/stream_sink.hpp"

namespace kvc::net {
namespace {

constexpr std::size_t most_changes = 1'024;                     ///< answers of stores that wait, of at most 256 keys each; see take_changes
constexpr std::size_t pieces_per_answer = 16;                   ///< applied for one that comes when too many wait: two of the longest
constexpr std::size_t changes_per_turn = 32;                    ///< objects
constexpr std::chrono::milliseconds patience_with_others{200};  ///< of one batch
constexpr std::chrono::milliseconds pause_for_others{2};
constexpr std::size_t most_backends = 64;  ///< of one stream that are remembered; see core::event_applier::max_owners

}  // namespace

void stream_sink::attach(std::weak_ptr<index_inlet> inlet) {
  inlet_ = std::move(inlet);
  if (objects_ != nullptr) note_backend(object_source_.backend);
}

void stream_sink::detach() {
  for (const std::string& each : backends_) objects_->detach(each, inlet_);
}

void stream_sink::note_backend(const std::string& name) {
  if (backends_.contains(name) || backends_.size() == most_backends) return;
  if (objects_->attach(name, *lane_, inlet_)) backends_.insert(name);
}

asio::awaitable<void> stream_sink::keep_objects() {
  assert(row_->count == 1);
  const core::event_batch& batch = row_->all.front();
  const std::string* last = nullptr;
  for (const core::event& each : batch.events) {
    const std::string& name = core::backend_of(each, object_source_);
    if (last != nullptr && *last == name) continue;
    note_backend(name);
    last = &name;
  }
  core::object_tally tally;
  object_shelves::progress at;
  std::chrono::steady_clock::duration patience = patience_with_others;
  while (at.next_event < batch.events.size()) {
    const std::string& name = core::backend_of(batch.events[at.next_event], object_source_);
    const bool is_done = objects_->apply_some(batch, object_source_, at, tally, inlet_);
    if (at.are_others_behind) co_await let_others_catch_up(name, patience);
    if (!is_done && lane_->turns.is_over()) co_await lane_->turns.next();
  }
  lane_->counters.object_events.add(tally.stored + tally.removed);
  lane_->counters.refused_objects.add(tally.refused);
  note_refused(tally.refused);
}

/// Not without an end: they may be in the middle of a batch themselves, and wait for us.
asio::awaitable<void> stream_sink::let_others_catch_up(const std::string& backend, std::chrono::steady_clock::duration& patience) {
  asio::steady_timer pause(lane_->context);
  while (patience.count() > 0 && objects_->are_others_behind(backend, inlet_)) {
    const auto begun = std::chrono::steady_clock::now();
    pause.expires_after(pause_for_others);
    error_code woken;
    co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    if (woken) patience = {};  // we are asked to leave
    patience -= std::chrono::steady_clock::now() - begun;
  }
}

/// What is not in the table is missing for every probe, so it is not only counted.
void stream_sink::note_refused(std::uint64_t more) {
  const std::uint64_t before = refused_objects_;
  refused_objects_ += more;
  if (std::bit_width(before) == std::bit_width(refused_objects_)) return;
  log::warn(log::module::stream, "objects of a store not taken: bad key, or no room",
            {{"backend", object_source_.backend},
             {"instance", registration_.worker.instance},
             {"endpoint", registration_.endpoint},
             {"so_far", refused_objects_}});
}

/// Nothing is left out, as nobody would tell again of what has gone. Where too many wait, twice as many are applied as come; in the middle
/// of a batch they wait for its end.
void stream_sink::take_changes(changed_objects what) {
  changes_.push_back(std::move(what));
  for (std::size_t i = 0; i < pieces_per_answer && changes_.size() > most_changes; ++i) {
    if (apply_changes_some()) break;
  }
}

void stream_sink::tell_what_table_says(const changed_objects& which, std::size_t from, std::size_t count, core::event_batch& into) const {
  const std::optional<std::uint32_t> number = objects_->find(which.backend);
  if (!number) return;
  objects_->read(*number, [&](const core::object_table& table) {
    const std::uint32_t owner = table.find_owner(which.backend, which.tenant);
    for (std::size_t i = from; i < from + count; ++i) {
      const std::uint32_t object = owner == core::no_record ? core::no_record : table.find(owner, which.keys[i]);
      core::object_event event;
      event.scope.backend = which.backend;
      event.scope.tenant = which.tenant;
      event.scope.object_key = which.keys[i];
      if (object != core::no_record && table.is_doubted(object)) {
        // Doubted since: not to be believed before somebody has looked, who tells of it again. What the table has not is gone all the same:
        // an event may take the rest, and then nobody would know of it any more.
        event.what = core::object_event::change::removed;
        event.all_media = false;
        const core::media_mask known = core::media_of(table.replicas(object));
        for (const core::medium_id medium : {core::medium_id::cpu, core::medium_id::disk}) {
          event.scope.medium = medium;
          if ((known & core::mask_of(medium)) == 0) into.events.emplace_back(event);
        }
        continue;
      }
      event.what = core::object_event::change::updated;
      if (object != core::no_record) {
        // Where the key names a block it names it better: the table remembers no digests.
        const auto block = table.block_of(object);
        if (block && core::parse_pool_key(which.keys[i]).form == core::key_form::opaque) event.name = core::engine_hash{*block};
        table.each_replica(object, [&event](const core::replica_view& each) {
          if (each.state != core::replica_state::complete) return;
          const core::medium_id medium = each.kind == core::replica_kind::memory ? core::medium_id::cpu : core::medium_id::disk;
          event.replicas.push_back({medium, std::string(each.location), each.kind});
        });
      }
      into.events.emplace_back(std::move(event));
    }
  });
}

bool stream_sink::apply_changes_some() {
  if (is_in_between_ || changes_.empty()) return true;
  const changed_objects& first = changes_.front();
  const std::size_t some = std::min(changes_per_turn, first.keys.size() - next_change_);
  core::event_batch news;
  tell_what_table_says(first, next_change_, some, news);
  core::apply_tally tally;
  core::event_applier::progress at;
  while (!applier_.apply_some(news, at, settings_->blocks_per_turn, tally)) continue;  // no more than a few blocks per object
  next_change_ += some;
  if (next_change_ == first.keys.size()) {
    changes_.pop_front();
    next_change_ = 0;
  }
  lane_->counters.stored_blocks.add(tally.stored + tally.repeated + tally.moved);
  lane_->counters.removed_blocks.add(tally.removed);
  lane_->counters.orphaned_blocks.add(tally.orphaned);
  show_blocks();
  return changes_.empty();
}

}  // namespace kvc::net
