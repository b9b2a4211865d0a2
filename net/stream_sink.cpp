#include "net/stream_sink.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <chrono>
#include <string>

#include "net/log.hpp"

namespace kvc::net {
namespace {

constexpr std::size_t longest_logged_topic = 256;
/// Blocks applied before the clock is asked whether the turn is over.
constexpr std::size_t blocks_between_looks = 256;
/// The medium of a pool's blocks whose parts lie on several.
constexpr std::string_view mixed_media = "MIXED";

core::member member_of(const service_info& service) {
  core::member who;
  who.id = service.worker;
  who.key = core::shared_key(service.registration.worker);
  who.shared_pool = service.registration.shared;
  who.status = service.status;
  who.media_seen = std::make_shared<std::atomic<core::media_mask>>(core::media_mask{0});
  return who;
}

core::event_applier::options options_of(lane& home, const service_info& service, const stream_settings& settings, core::medium_table& media,
                                        const std::shared_ptr<lane_bell>& news) {
  core::event_applier::options with;
  with.max_orphans = settings.max_orphans;
  with.lane = home.names;
  with.recipe = service.recipe;
  if (service.numbers) with.next_worker = [numbers = service.numbers] { return numbers->next(); };
  with.pool_settle = settings.pool_settle;
  with.pool_mixed = [&media] { return media.intern(mixed_media); };
  with.pool_wake = [news] { news->ring(); };  // engines tell on their lanes
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
      news_(std::make_shared<lane_bell>(home.context)),
      applier_(service.registration, member_of(service), catalog, options_of(home, service, settings, media, news_)),
      asker_(home),
      media_(&media),
      objects_(service.objects),
      object_source_{service.registration.backend_id.empty() ? service.registration.worker.instance : service.registration.backend_id,
                     service.registration.partition.tenant} {}

void stream_sink::reject(std::optional<core::seqno> number, std::string_view what, error_code why) {
  core::stream_status::add(status_->rejected, 1);
  // Without the events, which come several at a time: the line of a batch would be left out when they have taken the count past its turn.
  const std::uint64_t so_far = ++messages_rejected_;
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

error_code stream_sink::read(std::span<const std::byte> payload) {
  if (!row_) row_ = lane_->batch_rows.borrow();
  assert(!row_->is_full());
  if (row_->count == 0) {
    applier_.approach();
    decoder_.hash_by(objects_ == nullptr ? applier_.recipe() : std::nullopt);
  }
  const error_code failed = decoder_.decode(payload, row_->all[row_->count]);
  if (!failed) ++row_->count;
  return failed;
}

bool stream_sink::takes_another() const noexcept {
  if (objects_ != nullptr || applier_.is_pool() || !row_ || row_->count == 0 || row_->is_full()) return false;
  const auto& last = row_->all[row_->count - 1].events;
  return std::ranges::none_of(last, [](const core::event& each) { return std::holds_alternative<core::cleared_event>(each); });
}

void stream_sink::reject_batch(core::seqno number, error_code why) {
  lane_->counters.bad_batches.add();
  core::stream_status::add(status_->bad_batches, 1);
  reject(number, "batch", why);
  if (row_ && row_->count == 0) put_row_back();  // it may be long until the next one
}

bool stream_sink::begin(std::chrono::steady_clock::time_point& now) {
  begun_ = now;
  at_ = {};
  tally_ = {};
  is_in_between_ = true;
  applier_.pass_time(begun_);
  do {
    is_applied_ = applier_.apply_some(row_->batches(), at_, piece(), tally_);
  } while (!is_applied_ && !lane_->turns.is_over());
  if (objects_ != nullptr || !is_applied_ || !applier_.catch_up_some(piece(), tally_)) return false;
  asker_.ask(applier_);
  end_batches(now);
  return true;
}

asio::awaitable<void> stream_sink::finish(std::chrono::steady_clock::time_point& now) {
  while (!is_applied_) {
    if (lane_->turns.is_over()) co_await lane_->turns.next();
    is_applied_ = applier_.apply_some(row_->batches(), at_, piece(), tally_);
  }
  while (!applier_.catch_up_some(piece(), tally_)) {
    if (lane_->turns.is_over()) co_await lane_->turns.next();
  }
  asker_.ask(applier_);
  if (objects_ != nullptr) co_await keep_objects();
  end_batches(now);
}

void stream_sink::end_batches(std::chrono::steady_clock::time_point& now) {
  is_in_between_ = false;
  count(row_->batches(), tally_);
  now = std::chrono::steady_clock::now();
  const auto taken_ns = static_cast<std::uint64_t>(std::chrono::nanoseconds(now - begun_).count());
  lane_->counters.apply_batch.observe_ns(taken_ns, row_->count);  // none of them counts before all have been applied
  put_row_back();
}

void stream_sink::put_row_back() {
  if (!row_) return;
  row_->clear(lane_->lists);
  lane_->batch_rows.give_back(std::move(row_));
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

eviction_part stream_sink::evict_some(core::eviction_pass& pass, std::size_t& budget, const std::function<void()>& before_first) {
  is_awaited_ = is_in_between_;
  if (is_in_between_) return eviction_part::not_now;
  core::apply_tally tally;
  const bool is_done = applier_.evict_some(pass, budget, before_first, tally);
  if (tally.removed + tally.dropped_orphans != 0) {
    ++losses_;
    core::stream_status::add(status_->evicted, tally.removed);
    core::stream_status::add(status_->dropped_orphans, tally.dropped_orphans);
    lane_->counters.dropped_orphans.add(tally.dropped_orphans);
    show_blocks();
  }
  return is_done ? eviction_part::through : eviction_part::more;
}

asio::awaitable<std::uint64_t> stream_sink::drop_all() {
  core::apply_tally tally;
  put_row_back();  // what something thrown has left there
  ++losses_;
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
