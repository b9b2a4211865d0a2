// What a stream's events mean for the objects of stores, and what is found out about a store elsewhere for the stream's blocks.
#include "core/object_feed.hpp"
#include "net/stream_sink.hpp"

namespace kvc::net {
namespace {

constexpr std::size_t most_aside = 64;     ///< batches that wait; what comes then is found again by the next look at the store
constexpr std::size_t most_backends = 64;  ///< of one stream that are remembered; see core::event_applier::max_owners

}  // namespace

void stream_sink::note_backend(const std::string& name) {
  if (backends_.contains(name) || backends_.size() == most_backends) return;
  const std::optional<std::uint32_t> number = objects_->open(name);
  if (!number) return;
  backends_.insert(name);
  objects_->attach(*number, *lane_, inlet_);
}

asio::awaitable<void> stream_sink::keep_objects() {
  const std::string* last = nullptr;
  for (const core::event& each : batch_.events) {
    const std::string& name = core::backend_of(each, object_source_);
    if (last != nullptr && *last == name) continue;
    note_backend(name);
    last = &name;
  }
  core::object_tally tally;
  object_shelves::progress at;
  while (!objects_->apply_some(batch_, object_source_, at, tally)) {
    if (lane_->turns.is_over()) co_await lane_->turns.next();
  }
  lane_->counters.object_events.add(tally.stored + tally.removed);
  lane_->counters.refused_objects.add(tally.refused);
}

void stream_sink::take_aside(core::event_batch batch) {
  if (!is_in_between_) {
    apply_aside(batch);
    show_blocks();
  } else if (aside_.size() < most_aside) {
    aside_.push_back(std::move(batch));
  }
}

void stream_sink::apply_waiting() {
  for (; !aside_.empty(); aside_.pop_front()) apply_aside(aside_.front());
}

void stream_sink::apply_aside(const core::event_batch& batch) {
  core::apply_tally tally;
  core::event_applier::progress at;
  while (!applier_.apply_some(batch, at, settings_->blocks_per_turn, tally)) continue;
  lane_->counters.stored_blocks.add(tally.stored + tally.repeated + tally.moved);
  lane_->counters.removed_blocks.add(tally.removed);
  lane_->counters.orphaned_blocks.add(tally.orphaned);
}

}  // namespace kvc::net
