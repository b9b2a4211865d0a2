// What a stream's batches came to: counted on its lane, shown in its status, told in the log.
#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <map>
#include <numeric>
#include <variant>

#include "net/log.hpp"
#include "net/stream_sink.hpp"

namespace kvc::net {
namespace {

constexpr double longest_delay_s = 1e9;         ///< beyond it one of the clocks is wrong
constexpr double longest_told_delay_s = 3'600;  ///< of what is summed up over streams: one wrong clock must not hide the others

}  // namespace

void stream_sink::count(std::span<const core::event_batch> batches, const core::apply_tally& tally) {
  core::lane_counters& counters = lane_->counters;
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

  core::stream_status& status = *status_;
  core::stream_status::add(status.dropped_orphans, tally.dropped_orphans);
  core::stream_status::add(status.unknown_removals, tally.unknown_removals);
  core::stream_status::add(status.skipped, tally.skipped);
  core::stream_status::add(status.reblocked_pages, tally.reblocked_pages);
  if (tally.unplaced != 0 && !applier_.is_pool()) note_objects_of_no_store(tally.unplaced);
  core::stream_status::add(status.unplaced, tally.unplaced);
  note_bound("partitions of a worker", core::event_applier::default_max_partitions, tally.beyond_partitions, beyond_partitions_);
  note_bound("ranks and backends of a stream", core::event_applier::max_owners, tally.beyond_owners, beyond_owners_);
  note_bound("blocks of another size than registered, of a worker", core::reblocker::bounds{}.pages, tally.beyond_pages, beyond_pages_);

  count_contents(batches);
  barriers_ += tally.whole_clears;
  note_delays(batches);
  show_blocks();
}

void stream_sink::count_contents(std::span<const core::event_batch> batches) {
  // Small batches come many at a time, and what all lanes and readers see is changed once for all of them.
  core::event_tally decoded;
  std::array<std::uint64_t, core::event_kind_count> by_kind{};
  std::uint64_t joined = 0;
  std::uint64_t rejected = 0;
  const bool speaks_for_all_ranks = registration_.type == core::publisher_type::tensorrt_llm;  // from one port: nothing to be warned of
  for (const core::event_batch& batch : batches) {
    for (const core::event& each : batch.events) ++by_kind[each.index()];
    joined += batch.joined_events;
    rejected += batch.rejected_events;
    decoded.add(batch.counts);
    for (const core::unknown_word& each : batch.counts.unknown) note_unknown(each);
    if (batch.rank && *batch.rank != registration_.worker.rank && !speaks_for_all_ranks) note_other_rank(*batch.rank);
  }
  const auto of_kind = [&](core::event_kind kind) { return by_kind[static_cast<std::size_t>(kind)]; };

  core::lane_counters& counters = lane_->counters;
  counters.stored_events.add(of_kind(core::event_kind::stored));
  counters.removed_events.add(of_kind(core::event_kind::removed) + joined);  // only removals are joined
  counters.cleared_events.add(of_kind(core::event_kind::cleared));
  counters.batches.add(batches.size());
  counters.bad_events.add(rejected);
  counters.decoded.add(decoded);

  core::stream_status& status = *status_;
  core::stream_status::add(status.batches, batches.size());
  core::stream_status::add(status.events, std::accumulate(by_kind.begin(), by_kind.end(), joined));
  core::stream_status::add(status.rejected, rejected);
  status.decoded.add(decoded);
}

void stream_sink::note_delays(std::span<const core::event_batch> batches) {
  const std::chrono::duration<double> ours = std::chrono::system_clock::now().time_since_epoch();
  for (const core::event_batch& each : batches) {
    if (each.timestamp_s <= 0) continue;
    const double seconds = std::clamp(ours.count() - each.timestamp_s, 0.0, longest_delay_s);
    status_->delay_ms.store(static_cast<std::int64_t>(seconds * 1e3), std::memory_order_relaxed);
    // What a replay brings was published long ago: joining a stream would look like a service that cannot keep up.
    if (status_->state.load(std::memory_order_relaxed) != core::stream_state::whole || seconds > longest_told_delay_s) continue;
    lane_->counters.batch_delay.observe_ns(static_cast<std::uint64_t>(seconds * 1e9));
  }
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
             {"tenant", registration_.worker.tenant},
             {"dp_rank", registration_.worker.rank.get()},
             {"endpoint", registration_.endpoint}});
}

void stream_sink::note_other_rank(core::dp_rank said) {
  core::stream_status::add(status_->rank_mismatches, 1);
  const std::uint64_t so_far = status_->rank_mismatches.load(std::memory_order_relaxed);
  if (!std::has_single_bit(so_far)) return;
  log::warn(log::module::stream, "batch names another rank",
            {{"instance", registration_.worker.instance},
             {"tenant", registration_.worker.tenant},
             {"dp_rank", registration_.worker.rank.get()},
             {"endpoint", registration_.endpoint},
             {"batch_rank", said.get()},
             {"so_far", so_far}});
}

/// A store whose registration does not say so is heard, and none of its blocks ever counts.
void stream_sink::note_objects_of_no_store(std::uint64_t more) {
  const std::uint64_t before = status_->unplaced.load(std::memory_order_relaxed);
  if (std::bit_width(before) == std::bit_width(before + more)) return;
  log::warn(log::module::stream, "objects of a store on a stream that is registered as an engine's",
            {{"remedy", "register it with type Mooncake"},
             {"instance", registration_.worker.instance},
             {"tenant", registration_.worker.tenant},
             {"dp_rank", registration_.worker.rank.get()},
             {"endpoint", registration_.endpoint},
             {"so_far", before + more}});
}

/// What is left out for want of room is missed by every query from then on, so it is not only counted.
void stream_sink::note_bound(std::string_view what, std::size_t limit, std::uint64_t more, std::uint64_t& so_far) {
  const std::uint64_t before = so_far;
  so_far += more;
  if (std::bit_width(before) == std::bit_width(so_far)) return;
  log::warn(log::module::stream, "blocks skipped for want of room",
            {{"bound", what},
             {"limit", limit},
             {"instance", registration_.worker.instance},
             {"tenant", registration_.worker.tenant},
             {"dp_rank", registration_.worker.rank.get()},
             {"endpoint", registration_.endpoint},
             {"so_far", so_far}});
}

void stream_sink::show_blocks() {
  const std::size_t known = media_->size();
  for (std::size_t i = 0; i < known; ++i) {
    status_->blocks[i].store(applier_.held_on(static_cast<core::medium_id>(i)), std::memory_order_relaxed);
  }
  if (applier_.owners() > 1) show_shares(known);
  if (applier_.is_pool()) show_pool();
  status_->orphans.store(applier_.orphans(), std::memory_order_relaxed);
  status_->uncounted.store(applier_.uncounted(), std::memory_order_relaxed);
}

void stream_sink::show_pool() {
  const core::pool_joiner::figures now = applier_.pooled();
  const auto show = [](std::atomic<std::uint64_t>& where, std::uint64_t what) { where.store(what, std::memory_order_relaxed); };
  show(status_->pool_objects, now.objects);
  show(status_->pool_waiting, now.waiting);
  show(status_->pool_doubtful, now.doubtful);
  show(status_->pool_incomplete, now.incomplete);
  show(status_->pool_joined, now.joined);
  show(status_->pool_dropped, now.dropped);
}

void stream_sink::show_shares(std::size_t media) {
  // Backends of a pool share their rank, so sums are made before they are shown.
  std::map<core::dp_rank, std::array<std::uint64_t, core::max_media>> sums;
  applier_.visit_others([&](core::dp_rank rank, const core::lane_blocks& blocks) {
    auto& sum = sums[rank];
    for (std::size_t i = 0; i < media; ++i) sum[i] += blocks.held_on(static_cast<core::medium_id>(i));
  });
  for (const auto& [rank, sum] : sums) {
    if (rank == registration_.worker.rank) continue;
    auto& share = shares_[rank];
    if (!share) share = status_->ranks.add(rank);
    for (std::size_t i = 0; i < media; ++i) share->blocks[i].store(sum[i], std::memory_order_relaxed);
  }
}

}  // namespace kvc::net
