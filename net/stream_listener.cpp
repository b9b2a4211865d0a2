#include "net/stream_listener.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <exception>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "net/payload_reach.hpp"
#include "net/stream_rules_of.hpp"

namespace kvc::net {
namespace {

constexpr std::size_t steps_per_batch = 2;  ///< received, applied
constexpr std::chrono::seconds longest_lookup_pause{5};
constexpr std::chrono::milliseconds shortest_binding_pause{20};

/// What the stream holds cannot be trusted. Takes no memory.
class broken_stream final : public std::exception {
 public:
  explicit broken_stream(const char* why) noexcept : why_(why) {}
  [[nodiscard]] const char* what() const noexcept override { return why_; }

 private:
  const char* why_;
};

}  // namespace

stream_listener::stream_listener(lane& home, zmq_engine& engine, core::catalog& catalog, core::medium_table& media,
                                 const stream_settings& settings, std::shared_ptr<const service_info> service)
    : lane_(&home),
      settings_(&settings),
      engine_(&engine),
      service_(std::move(service)),
      sink_(home, *service_, catalog, media, settings),
      machine_(stream_rules_of(service_->registration, settings), clock::now()),
      news_(home.counters, *service_),
      lookup_pause_(std::min<std::chrono::milliseconds>(longest_lookup_pause, 5 * settings.idle_check)),
      lookup_(home.context.get_executor()),
      failures_(settings.idle_check),
      binding_(shortest_binding_pause, settings.idle_check),
      pause_(home.context),
      ended_(home.context, asio::steady_timer::time_point::max()) {}

stream_listener::~stream_listener() {
  assert(lane_->context.get_executor().running_in_this_thread() || lane_->context.stopped());
}

asio::awaitable<void> stream_listener::tell(std::weak_ptr<stream_listener> self, std::shared_ptr<dump_turn> turn) {
  const bool is_new = !turn->owner || turn->is_last_of_owner;
  turn->is_first_of_owner = false;
  turn->is_last_of_owner = true;
  turn->is_last = true;
  turn->seqno.reset();
  turn->slice.clear();
  const auto alive = self.lock();
  if (!alive) co_return;
  const core::event_applier& workers = alive->sink_.workers();
  if (is_new) {
    const auto next = workers.next_owner(turn->owner, turn->only_rank);
    if (!next) co_return;
    turn->owner = next;
    turn->cursor.emplace(turn->only);
    turn->is_first_of_owner = true;
  }
  turn->is_last_of_owner = workers.blocks_of(*turn->owner).dump_some(*turn->cursor, alive->settings_->blocks_per_turn, turn->slice);
  turn->is_last = turn->is_last_of_owner && !workers.next_owner(turn->owner, turn->only_rank);
  const std::uint64_t generation = alive->machine_.so_far().generation;
  if (!turn->generation) {
    turn->generation = generation;
    turn->losses = alive->sink_.losses();
  }
  const bool is_same = *turn->generation == generation && turn->losses == alive->sink_.losses();
  const bool is_settled = is_same && !alive->sink_.is_in_between() && !alive->stopping_;
  if (is_settled) turn->seqno = alive->machine_.newest_applied();
}

void stream_listener::answer(const core::name_question& asked) {
  if (!stopping_) sink_.answer(asked);
}

void stream_listener::catch_up() {
  if (stopping_ || sink_.catch_up(clock::now()) || will_catch_up_) return;
  // The rest later: others of the lane come first.
  asio::post(lane_->context, [whose = self_] {
    const auto alive = whose.lock();
    if (!alive) return;
    alive->will_catch_up_ = false;
    alive->beside([&alive] { alive->catch_up(); });
  });
  will_catch_up_ = true;  // not before, since the post may throw
}

void stream_listener::take_changes(changed_objects what) {
  if (stopping_) return;
  beside([&] {
    sink_.take_changes(std::move(what));
    apply_changes();
  });
}

void stream_listener::lose_track() {
  sink_.forget_changes();
  failed_beside_ = "more objects of its store have changed than it could be told of";
}

void stream_listener::apply_changes() {
  if (stopping_ || will_apply_changes_) return;
  const bool is_done = sink_.apply_changes_some();
  catch_up();
  if (is_done) return;
  asio::post(lane_->context, [whose = self_] {
    const auto alive = whose.lock();
    if (!alive) return;
    alive->will_apply_changes_ = false;
    alive->beside([&alive] { alive->apply_changes(); });
  });
  will_apply_changes_ = true;
}

eviction_part stream_listener::evict_some(core::eviction_pass& pass, std::size_t& budget) {
  if (stopping_) {
    pass.note_passed_over();  // what it holds goes by itself
    return eviction_part::through;
  }
  eviction_part done = eviction_part::through;
  try {
    // First told, then done: nobody may see less than there was from a stream that calls itself whole.
    done = sink_.evict_some(pass, budget, [this] {
      machine_.on_evicted();
      news_.show(machine_);
    });
  } catch (...) {
    failed_beside_ = "an eviction was not finished";
    throw;
  }
  if (service_->status->evicted.load(std::memory_order_relaxed) != 0) machine_.on_evicted();  // a clear may have come in between
  return done;
}

asio::awaitable<void> stream_listener::listen() {
  using step = core::stream_fsm::step;
  steps_this_turn_ = 0;
  for (;;) {
    const asio::cancellation_state cancellation = co_await asio::this_coro::cancellation_state;
    if (stopping_ || cancellation.cancelled() != asio::cancellation_type::none) co_return;
    if (failed_beside_ != nullptr) throw broken_stream(std::exchange(failed_beside_, nullptr));
    const step next = machine_.next();
    if (!socket_ && next != step::forget) {
      co_await come_by_socket();
      if (stopping_) co_return;
      news_.show(machine_);
      continue;
    }
    if (replay_pass_ && (next == step::listen || next == step::apply_live)) end_replay();  // not to forget: more of the answer may follow
    switch (next) {
      case step::listen:
        if (is_quiet_ || !hear_at_once()) co_await hear();
        break;
      case step::apply_live:
        if (!apply_live_at_once()) co_await apply_rest();
        break;
      case step::request: co_await ask(); break;
      case step::read_reply: co_await hear_reply(); break;
      case step::apply_reply:
        if (!apply_reply_at_once()) co_await apply_rest();
        break;
      case step::forget: co_await forget(); break;
    }
    if (stopping_) co_return;
    news_.show(machine_);
    if (machine_.take_is_another_life()) service_->recipe->reset();
    const bool wants_fresh_transport = machine_.take_wants_fresh_transport();
    if (std::exchange(wants_another_socket_, false) || wants_fresh_transport) {
      drop_transport();
      continue;
    }
    const bool is_long = ++steps_this_turn_ >= steps_per_batch * settings_->batches_per_turn || lane_->turns.is_over(now_);
    // Who waits for the end of a batch stands before us in the lane's queue, and would find the next one begun.
    if (sink_.take_awaited() || is_long) {
      steps_this_turn_ = 0;
      co_await lane_->turns.next();
    }
  }
}

asio::awaitable<void> stream_listener::forget() {
  news_.show(machine_);  // before the first block goes
  const std::uint64_t dropped = co_await sink_.drop_all();
  if (machine_.is_doubting()) {
    core::stream_status::add(service_->status->doubted, dropped);
  } else {
    sink_.begin_anew();
  }
  now_ = clock::now();
  machine_.on_forgotten(now_);
  if (sink_.has_changes()) apply_changes();
}

asio::awaitable<void> stream_listener::ask() {
  end_replay();
  if (const auto now = clock::now(); machine_.ask_at() > now) {
    co_await rest(std::chrono::ceil<std::chrono::milliseconds>(machine_.ask_at() - now));
    if (stopping_) co_return;
    now_ = clock::now();
    breaks_.on_look(look(now_).disconnects);  // whoever is asked after a break has to prove itself first
    tell_connection(now_);
    if (machine_.next() != core::stream_fsm::step::request) co_return;
  }
  error_code failed = co_await find_replay();
  if (stopping_ || failed == errc::cancelled) co_return;
  if (!failed) {
    replay_pass_.emplace(co_await lane_->replays.enter(asking_));
    if (stopping_) co_return;
    failed = replay_->request(machine_.request_from());
  }
  if (failed) {
    news_.cannot_ask(failed);
  } else {
    news_.has_asked();
  }
  now_ = clock::now();
  machine_.on_requested(!failed, now_);
}

void stream_listener::end_replay() noexcept {
  if (replay_) replay_->finish();
  replay_pass_.reset();
}

std::size_t stream_listener::gather() {
  const std::size_t steps_left = steps_per_batch * settings_->batches_per_turn - steps_this_turn_;
  const std::size_t most = std::min(live_burst::most_messages, (steps_left + 1) / steps_per_batch);
  burst_->receive_more(*socket_, most);
  const std::size_t there = std::min(most, burst_->size());
  std::size_t together = 1;
  while (together < there) {
    const live_burst::arrival& next = (*burst_)[together];
    const bool follows = !next.failed && !next.is_other_connection && next.batch.number.get() == live_number_.get() + together;
    if (!follows || !core::is_topic_wanted(service_->registration.topic, next.batch.topic)) break;
    ++together;
  }
  return together;
}

bool stream_listener::apply_live_at_once() {
  is_reply_applied_ = false;
  barriers_before_ = sink_.barriers();
  const std::size_t together = machine_.takes_followers() ? gather() : 1;
  if (const error_code failed = sink_.read((*burst_)[0].batch.payload)) {
    sink_.reject_batch(live_number_, failed);
    note_applied(false);
    return true;
  }
  for (std::size_t i = 1; i < together && sink_.takes_another(); ++i) {
    if (sink_.read((*burst_)[i].batch.payload)) break;  // its turn comes by itself, and says what is wrong with it
    burst_->tell();
    steps_this_turn_ += steps_per_batch;
  }
  if (!sink_.begin(now_)) return false;
  note_applied(true);
  return true;
}

bool stream_listener::apply_reply_at_once() {
  is_reply_applied_ = true;
  barriers_before_ = sink_.barriers();
  bring_payload_near(reply_.payload);
  if (const error_code failed = sink_.read(reply_.payload)) {
    sink_.reject_batch(reply_.number, failed);
    note_applied(false);
    return true;
  }
  if (!sink_.begin(now_)) return false;
  note_applied(true);
  return true;
}

asio::awaitable<void> stream_listener::apply_rest() {
  co_await sink_.finish(now_);
  note_applied(true);
}

void stream_listener::note_applied(bool is_readable) {
  core::stream_fsm::applied_batch done;
  done.is_readable = is_readable;
  done.left_nothing = sink_.barriers() != barriers_before_;
  std::array<std::span<const std::byte>, live_burst::most_messages> followers;
  std::size_t count = 0;
  if (!is_reply_applied_) {
    for (std::size_t i = 1; i < burst_->in_hand(); ++i) followers[count++] = (*burst_)[i].batch.payload;
  }
  machine_.on_applied(done, now_, std::span(followers).first(count));
  news_.note_applied(machine_, now_);
  if (sink_.has_changes()) apply_changes();
}

}  // namespace kvc::net
