#include "net/stream_sink.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <string>

#include <boost/asio/post.hpp>

#include "core/bring_near.hpp"
#include "net/log.hpp"

namespace kvc::net {
namespace {

constexpr std::size_t longest_logged_topic = 256;
constexpr double longest_delay_s = 1e9;         ///< beyond it one of the clocks is wrong
constexpr double longest_told_delay_s = 3'600;  ///< of what is summed up over streams: one wrong clock must not hide the others
/// Blocks applied before the clock is asked whether the turn is over.
constexpr std::size_t blocks_between_looks = 256;
/// The medium of a pool's blocks whose parts lie on several.
constexpr std::string_view mixed_media = "MIXED";

/// What a thread of the transport has written lies far from the lane, and by itself the CPU asks ahead only to the end of a page.
void ask_for(std::span<const std::byte> payload) noexcept {
  constexpr std::size_t cache_line = 64;
  constexpr std::size_t most = 16'384;  // more than most batches, and little beside a second-level cache
  const std::size_t asked_for = std::min(payload.size(), most);
  for (std::size_t at = 0; at < asked_for; at += cache_line) core::bring_within_reach(&payload[at]);
}

core::member member_of(const service_info& service) {
  core::member who;
  who.id = service.worker;
  who.key = core::shared_key(service.registration.worker);
  who.shared_pool = service.registration.shared;
  who.status = service.status;
  who.media_seen = std::make_shared<std::atomic<core::media_mask>>(core::media_mask{0});
  return who;
}

using news_call = std::shared_ptr<std::weak_ptr<std::function<void()>>>;

core::event_applier::options options_of(lane& home, const service_info& service, const stream_settings& settings, core::medium_table& media,
                                        const news_call& news) {
  core::event_applier::options with;
  with.max_orphans = settings.max_orphans;
  with.lane = home.names;
  with.recipe = service.recipe;
  if (service.numbers) with.next_worker = [numbers = service.numbers] { return numbers->next(); };
  with.pool_settle = settings.pool_settle;
  with.pool_mixed = [&media] { return media.intern(mixed_media); };
  // Engines tell on their lanes; who is told is looked up on ours.
  with.pool_wake = [&home, news] {
    asio::post(home.context, [news] {
      if (const auto call = news->lock()) (*call)();
    });
  };
  return with;
}

}  // namespace

stream_sink::stream_sink(lane& home, const service_info& service, core::catalog& catalog, core::medium_table& media,
                         const stream_settings& settings)
    : lane_(&home),
      settings_(&settings),
      status_(service.status),
      registration_(service.registration),
      decoder_(service.registration.type, media, service.registration.partition.salt, &home.lists,
               !service.registration.partition.lora.empty()),
      applier_(service.registration, member_of(service), catalog, options_of(home, service, settings, media, news_)),
      asker_(home),
      media_(&media),
      objects_(service.objects),
      object_source_{service.registration.backend_id.empty() ? service.registration.worker.instance : service.registration.backend_id,
                     service.registration.partition.tenant} {}

void stream_sink::reject(std::optional<core::seqno> number, std::string_view what, error_code why) {
  core::stream_status::add(status_->rejected, 1);
  const std::uint64_t so_far = status_->rejected.load(std::memory_order_relaxed);
  if (!std::has_single_bit(so_far)) return;
  log::warn(log::module::stream, "rejected",
            {{"what", what},
             {"instance", registration_.worker.instance},
             {"tenant", registration_.worker.tenant},
             {"dp_rank", registration_.worker.rank.get()},
             {"endpoint", registration_.endpoint},
             {"seqno", number ? std::to_string(number->get()) : std::string("none")},
             {"reason", why.message()},
             {"rejected_so_far", so_far}});
}

void stream_sink::reject_message(std::optional<core::seqno> number, std::string_view what, error_code why) {
  lane_->counters.bad_frames.add();
  core::stream_status::add(status_->bad_messages, 1);
  reject(number, what, why);
}

void stream_sink::note_other_topic(std::string_view topic) {
  lane_->counters.other_topics.add();
  core::stream_status::add(status_->other_topics, 1);
  const std::uint64_t so_far = status_->other_topics.load(std::memory_order_relaxed);
  if (!std::has_single_bit(so_far)) return;
  log::warn(log::module::stream, "message of another topic",
            {{"wanted", registration_.topic},
             {"topic", topic.substr(0, longest_logged_topic)},
             {"instance", registration_.worker.instance},
             {"tenant", registration_.worker.tenant},
             {"dp_rank", registration_.worker.rank.get()},
             {"endpoint", registration_.endpoint},
             {"so_far", so_far}});
}

std::size_t stream_sink::piece() const noexcept {
  return std::min(settings_->blocks_per_turn, blocks_between_looks);
}

std::optional<bool> stream_sink::begin(core::seqno number, std::span<const std::byte> payload,
                                       std::chrono::steady_clock::time_point& now) {
  ask_for(payload);
  applier_.approach();
  if (const auto failed = decoder_.decode(payload, batch_)) {
    lane_->counters.bad_batches.add();
    core::stream_status::add(status_->bad_batches, 1);
    reject(number, "batch", failed);
    return false;
  }
  begun_ = now;
  at_ = {};
  tally_ = {};
  is_in_between_ = true;
  applier_.pass_time(begun_);
  is_applied_ = applier_.apply_some(batch_, at_, piece(), tally_);
  if (objects_ != nullptr || !is_applied_ || !applier_.catch_up_some(piece(), tally_)) return std::nullopt;
  asker_.ask(applier_);
  end_batch(now);
  return true;
}

asio::awaitable<void> stream_sink::finish(std::chrono::steady_clock::time_point& now) {
  while (!is_applied_) {
    if (lane_->turns.is_over()) co_await lane_->turns.next();
    is_applied_ = applier_.apply_some(batch_, at_, piece(), tally_);
  }
  while (!applier_.catch_up_some(piece(), tally_)) {
    if (lane_->turns.is_over()) co_await lane_->turns.next();
  }
  asker_.ask(applier_);
  if (objects_ != nullptr) co_await keep_objects();
  end_batch(now);
}

void stream_sink::end_batch(std::chrono::steady_clock::time_point& now) {
  is_in_between_ = false;
  count(tally_);
  lane_->lists.take_back(batch_.events);
  now = std::chrono::steady_clock::now();
  lane_->counters.apply_batch.observe_ns(static_cast<std::uint64_t>(std::chrono::nanoseconds(now - begun_).count()));
}

bool stream_sink::catch_up(std::chrono::steady_clock::time_point now) {
  if (is_in_between_ || !applier_.is_pool()) return true;
  core::apply_tally tally;
  applier_.pass_time(now);
  const bool is_done = applier_.catch_up_some(piece(), tally);
  asker_.ask(applier_);
  lane_->counters.stored_blocks.add(tally.stored + tally.repeated + tally.moved);
  lane_->counters.removed_blocks.add(tally.removed);
  show_blocks();
  return is_done;
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
  counters.removed_events.add(batch_.joined_events);  // only removals are joined
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
  core::stream_status::add(status.events, batch_.events.size() + batch_.joined_events);
  core::stream_status::add(status.rejected, batch_.rejected_events);
  core::stream_status::add(status.dropped_orphans, tally.dropped_orphans);
  core::stream_status::add(status.unknown_removals, tally.unknown_removals);
  core::stream_status::add(status.skipped, tally.skipped);
  core::stream_status::add(status.reblocked_pages, tally.reblocked_pages);
  if (tally.unplaced != 0 && !applier_.is_pool()) note_objects_of_no_store(tally.unplaced);
  core::stream_status::add(status.unplaced, tally.unplaced);
  status.decoded.add(batch_.counts);
  for (const core::unknown_word& each : batch_.counts.unknown) note_unknown(each);
  if (batch_.rank && *batch_.rank != registration_.worker.rank) note_other_rank();
  note_bound("partitions of a worker", core::event_applier::default_max_partitions, tally.beyond_partitions, beyond_partitions_);
  note_bound("ranks and backends of a stream", core::event_applier::max_owners, tally.beyond_owners, beyond_owners_);
  note_bound("blocks of another size than registered, of a worker", core::reblocker::bounds{}.pages, tally.beyond_pages, beyond_pages_);
  if (has_whole_clear && applier_.names() == 0 && applier_.orphans() == 0) ++barriers_;
  note_delay();
  show_blocks();
}

void stream_sink::note_delay() {
  if (batch_.timestamp_s <= 0) return;
  const std::chrono::duration<double> ours = std::chrono::system_clock::now().time_since_epoch();
  const double seconds = std::clamp(ours.count() - batch_.timestamp_s, 0.0, longest_delay_s);
  status_->delay_ms.store(static_cast<std::int64_t>(seconds * 1e3), std::memory_order_relaxed);
  // What a replay brings was published long ago: joining a stream would look like a service that cannot keep up.
  if (status_->state.load(std::memory_order_relaxed) != core::stream_state::whole || seconds > longest_told_delay_s) return;
  lane_->counters.batch_delay.observe_ns(static_cast<std::uint64_t>(seconds * 1e9));
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

void stream_sink::note_other_rank() {
  core::stream_status::add(status_->rank_mismatches, 1);
  const std::uint64_t so_far = status_->rank_mismatches.load(std::memory_order_relaxed);
  if (!std::has_single_bit(so_far)) return;
  log::warn(log::module::stream, "batch names another rank",
            {{"instance", registration_.worker.instance},
             {"tenant", registration_.worker.tenant},
             {"dp_rank", registration_.worker.rank.get()},
             {"endpoint", registration_.endpoint},
             {"batch_rank", batch_.rank->get()},
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

asio::awaitable<std::uint64_t> stream_sink::drop_all() {
  core::apply_tally tally;
  is_in_between_ = true;
  while (!applier_.drop_some(settings_->blocks_per_turn, tally)) {
    show_blocks();
    co_await lane_->turns.next();
  }
  for (const std::string& each : backends_) {
    while (!objects_->forget_some(each, settings_->blocks_per_turn)) co_await lane_->turns.next();
  }
  next_change_ = 0;  // the others are as good as before: what they bring is what the table says when it is their turn
  is_in_between_ = false;
  lane_->counters.removed_blocks.add(tally.removed);
  show_blocks();
  shares_.clear();  // its ranks have gone with their blocks
  status_->ranks.clear();
  co_return tally.removed;
}

}  // namespace kvc::net
