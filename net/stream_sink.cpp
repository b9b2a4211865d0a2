#include "net/stream_sink.hpp"

#include <bit>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <string>

#include "net/log.hpp"

namespace kvc::net {
namespace {

core::member member_of(const service_info& service) {
  core::member who;
  who.id = service.worker;
  who.key = service.registration.worker;
  who.shared_pool = service.registration.shared;
  who.status = service.status;
  who.media_seen = std::make_shared<std::atomic<core::media_mask>>(core::media_mask{0});
  return who;
}

core::event_applier::options options_of(lane& home, const service_info& service, const stream_settings& settings) {
  core::event_applier::options with;
  with.max_orphans = settings.max_orphans;
  with.lane = home.names;
  if (service.numbers) with.next_worker = [numbers = service.numbers] { return numbers->next(); };
  return with;
}

}  // namespace

stream_sink::stream_sink(lane& home, const service_info& service, core::catalog& catalog, core::medium_table& media,
                         const stream_settings& settings)
    : lane_(&home),
      settings_(&settings),
      status_(service.status),
      registration_(service.registration),
      decoder_(service.registration.type, media, service.registration.partition.salt),
      applier_(service.registration, member_of(service), catalog, options_of(home, service, settings)),
      media_(&media) {}

void stream_sink::reject(std::optional<core::seqno> number, std::string_view what, error_code why) {
  core::stream_status::add(status_->rejected, 1);
  const std::uint64_t so_far = status_->rejected.load(std::memory_order_relaxed);
  if (!std::has_single_bit(so_far)) return;
  log::warn(log::module::stream, "rejected",
            {{"what", what},
             {"instance", registration_.worker.instance},
             {"dp_rank", registration_.worker.rank.get()},
             {"endpoint", registration_.endpoint},
             {"seqno", number ? std::to_string(number->get()) : std::string("none")},
             {"reason", why.message()},
             {"rejected_so_far", so_far}});
}

asio::awaitable<bool> stream_sink::apply(core::seqno number, std::span<const std::byte> payload) {
  const auto begun = std::chrono::steady_clock::now();
  if (const auto failed = decoder_.decode(payload, batch_)) {
    lane_->counters.bad_batches.add();
    reject(number, "batch", failed);
    co_return false;
  }
  core::apply_tally tally;
  core::event_applier::progress at;
  is_in_between_ = true;
  while (!applier_.apply_some(batch_, at, settings_->blocks_per_turn, tally)) {
    co_await asio::post(asio::use_awaitable);
  }
  is_in_between_ = false;
  count(tally);
  const auto took = std::chrono::steady_clock::now() - begun;
  lane_->counters.apply_batch.observe_ns(static_cast<std::uint64_t>(std::chrono::nanoseconds(took).count()));
  co_return true;
}

void stream_sink::count(const core::apply_tally& tally) {
  core::lane_counters& counters = lane_->counters;
  bool has_whole_clear = false;
  for (const core::event& each : batch_.events) {
    if (std::holds_alternative<core::stored_event>(each)) {
      counters.stored_events.add();
    } else if (std::holds_alternative<core::removed_event>(each)) {
      counters.removed_events.add();
    } else if (std::holds_alternative<core::cleared_event>(each)) {
      counters.cleared_events.add();
      has_whole_clear = has_whole_clear || applier_.clears_everything(std::get<core::cleared_event>(each), batch_);
    }
  }
  counters.batches.add();
  counters.bad_events.add(batch_.rejected_events);
  counters.stored_blocks.add(tally.stored + tally.repeated + tally.moved);
  counters.removed_blocks.add(tally.removed);
  counters.unknown_removals.add(tally.unknown_removals);
  counters.orphaned_blocks.add(tally.orphaned);
  counters.joined_blocks.add(tally.joined);
  counters.dropped_orphans.add(tally.dropped_orphans);
  counters.skipped_blocks.add(tally.skipped);
  counters.reblocked_pages.add(tally.reblocked_pages);
  counters.reblocked_blocks.add(tally.reblocked);
  counters.uncounted_blocks.add(tally.uncounted);
  counters.unplaced_events.add(tally.unplaced);
  counters.decoded.add(batch_.counts);

  core::stream_status& status = *status_;
  core::stream_status::add(status.batches, 1);
  core::stream_status::add(status.events, batch_.events.size());
  core::stream_status::add(status.rejected, batch_.rejected_events);
  core::stream_status::add(status.unknown_removals, tally.unknown_removals);
  core::stream_status::add(status.skipped, tally.skipped);
  core::stream_status::add(status.reblocked_pages, tally.reblocked_pages);
  core::stream_status::add(status.unplaced, tally.unplaced);
  status.decoded.add(batch_.counts);
  for (const core::unknown_word& each : batch_.counts.unknown) note_unknown(each);
  if (batch_.rank && *batch_.rank != registration_.worker.rank) note_other_rank();
  if (has_whole_clear && applier_.names() == 0 && applier_.orphans() == 0) ++barriers_;
  show_blocks();
}

void stream_sink::note_unknown(const core::unknown_word& word) {
  core::name_counts& known = status_->unknown_words[static_cast<std::size_t>(word.kind)];
  const std::size_t before = known.size();
  known.add(word.text, word.times);
  if (known.size() == before) return;  // each word is worth one line
  log::warn(log::module::stream, "unknown word",
            {{"kind", core::to_string(word.kind)},
             {"word", known.name(before)},
             {"instance", registration_.worker.instance},
             {"dp_rank", registration_.worker.rank.get()},
             {"endpoint", registration_.endpoint}});
}

void stream_sink::note_other_rank() {
  core::stream_status::add(status_->rank_mismatches, 1);
  const std::uint64_t so_far = status_->rank_mismatches.load(std::memory_order_relaxed);
  if (!std::has_single_bit(so_far)) return;
  log::warn(log::module::stream, "batch names another rank",
            {{"instance", registration_.worker.instance},
             {"dp_rank", registration_.worker.rank.get()},
             {"endpoint", registration_.endpoint},
             {"batch_rank", batch_.rank->get()},
             {"so_far", so_far}});
}

void stream_sink::show_blocks() {
  const std::size_t known = media_->size();
  for (std::size_t i = 0; i < known; ++i) {
    status_->blocks[i].store(applier_.held_on(static_cast<core::medium_id>(i)), std::memory_order_relaxed);
  }
  status_->orphans.store(applier_.orphans(), std::memory_order_relaxed);
  status_->uncounted.store(applier_.uncounted(), std::memory_order_relaxed);
}

bool stream_sink::evict_some(core::eviction_pass& pass, std::size_t& budget, const std::function<void()>& before_first) {
  if (is_in_between_) return true;
  core::apply_tally tally;
  const bool is_done = applier_.evict_some(pass, budget, before_first, tally);
  if (tally.removed != 0) {
    core::stream_status::add(status_->evicted, tally.removed);
    show_blocks();
  }
  return is_done;
}

asio::awaitable<void> stream_sink::drop_all() {
  core::apply_tally tally;
  is_in_between_ = true;
  while (!applier_.drop_some(settings_->blocks_per_turn, tally)) {
    show_blocks();
    co_await asio::post(asio::use_awaitable);
  }
  is_in_between_ = false;
  lane_->counters.removed_blocks.add(tally.removed);
  show_blocks();
}

}  // namespace kvc::net
