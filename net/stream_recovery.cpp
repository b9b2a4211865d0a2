// The recovering half of stream_listener: replays, proof of incarnation, restart.
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "core/block_hasher.hpp"
#include "net/log.hpp"
#include "net/stream_listener.hpp"

namespace kvc::net {
namespace {

/// How long a replay endpoint that never answered is left alone; gaps found meanwhile count as lost at once instead of stalling the stream.
constexpr std::chrono::seconds silent_replay_pause{30};

/// No recovery takes longer, whatever the publisher sends.
constexpr std::chrono::minutes longest_recovery{5};

}  // namespace

bool stream_listener::can_replay() const { return replay_ && clock::now() >= no_replay_before_; }

asio::awaitable<void> stream_listener::recover(core::seqno from, std::optional<core::seqno> to) {
  core::stream_status& status = *service_.status;
  if (!can_replay()) {
    if (to) {
      note_lost(to->get() - from.get() + 1);
      cursor_.applied(*to);
    }
    co_return;
  }
  set_state(core::stream_state::recovering);
  core::stream_status::add(status.replays, 1);
  lane_->counters.replays.add();

  using action = core::replay_fsm::action;
  core::replay_fsm machine(from, to, {.attempts = settings_->replay_attempts});
  const auto give_up_at = clock::now() + longest_recovery;
  std::uint64_t lost_before = 0;
  std::size_t taken_this_turn = 0;
  action next = machine.start();
  while (next != action::finish) {
    if (next == action::request) {
      if (const auto failed = replay_->request(machine.request_from())) {
        log::warn(log::module::stream, "replay request failed",
                  {{"instance", service_.registration.worker.instance},
                   {"dp_rank", service_.registration.worker.rank.get()},
                   {"endpoint", service_.registration.replay_endpoint},
                   {"reason", failed.message()}});
        next = machine.on_silence();
        if (next == action::request) next = machine.on_silence();  // a refused request costs no time: do not spin
        continue;
      }
    }
    const auto now = clock::now();
    const auto patience = now < give_up_at ? now + settings_->replay_timeout : now;
    const replay_client::reply reply = co_await replay_->next(patience);
    if (stopping_ || reply.what == replay_client::reply::kind::stopped) co_return;
    switch (reply.what) {
      case replay_client::reply::kind::batch:
        next = machine.on_batch(reply.number);
        note_lost(machine.lost_count() - std::exchange(lost_before, machine.lost_count()));
        if (next == action::apply) {
          const bool is_applied = co_await sink_.apply(reply.number, reply.payload);
          if (stopping_) co_return;
          if (!is_applied) note_lost(1);
          watch_connection();  // from a disconnect on, replies may be another incarnation's and prove nothing
          note_applied(reply.number, reply.payload);
          if (machine.is_complete()) next = action::finish;
        }
        break;
      case replay_client::reply::kind::end: next = machine.on_end(); break;
      case replay_client::reply::kind::silence: next = clock::now() < give_up_at ? machine.on_silence() : machine.abandon(); break;
      case replay_client::reply::kind::unreadable:
        lane_->counters.bad_frames.add();
        sink_.reject({}, "replay reply", make_error_code(errc::bad_frame_count));
        next = action::ignore;
        break;
      case replay_client::reply::kind::stopped: break;
    }
    // Replies that are there already come without a wait, so neither the deadline nor the lane's other work would get a turn by itself.
    if (next != action::finish && clock::now() >= give_up_at) next = machine.abandon();
    if (++taken_this_turn >= settings_->batches_per_turn) {
      taken_this_turn = 0;
      co_await asio::post(asio::use_awaitable);
      if (stopping_) co_return;
    }
  }
  replay_->finish();
  note_lost(machine.lost_count() - lost_before);
  if (to) cursor_.applied(*to);
  if (machine.was_answered()) {
    must_catch_up_ = false;
    has_answered_ = true;
  } else {
    no_replay_before_ = clock::now() + silent_replay_pause;
    core::stream_status::add(status.replays_failed, 1);
    lane_->counters.replays_failed.add();
  }
  log::info(log::module::stream, "replay finished",
            {{"instance", service_.registration.worker.instance},
             {"dp_rank", service_.registration.worker.rank.get()},
             {"from_seqno", from.get()},
             {"answered", machine.was_answered()},
             {"applied", machine.applied_count()},
             {"lost", machine.lost_count()}});
  for (const auto& range : machine.lost()) {
    log::warn(log::module::stream, "batches lost",
              {{"instance", service_.registration.worker.instance},
               {"dp_rank", service_.registration.worker.rank.get()},
               {"from_seqno", range.from.get()},
               {"to_seqno", range.to.get()}});
  }
  if (machine.was_answered() || cursor_.newest_applied()) {
    settle();
  } else {
    set_state(core::stream_state::joining);
  }
}

asio::awaitable<void> stream_listener::verify_incarnation() {
  if (!cursor_.newest_applied()) {  // nothing to prove; but what is queued may be of the one that went
    must_verify_ = false;
    must_catch_up_ = true;
    socket_.reset();
    co_return;
  }
  // Before it is back, an answer may come from the very process that is about to go.
  if (service_.status->connection.load(std::memory_order_relaxed) != core::connection_state::connected) co_return;
  if (!can_replay()) co_return;  // cannot be proven: the seqnos alone must tell
  if (!proof_) {
    co_await restart_afresh("it was away while it was read for the first time");
    co_return;
  }
  for (std::size_t attempt = 0; attempt < settings_->replay_attempts; ++attempt) {
    const bool is_same = co_await is_proven();
    if (stopping_ || !must_verify_) {
      if (!stopping_ && !is_same) co_await restart_afresh("it does not know the last batch any more");
      co_return;
    }
    if (!has_answered_) break;
  }
  if (has_answered_) {  // it could prove itself and does not: better to read it once more than to believe what may be gone
    co_await restart_afresh("it does not answer for the last batch");
  } else {
    no_replay_before_ = clock::now() + silent_replay_pause;
  }
}

/// Asks once for the batch of the proof. `must_verify_` is cleared when there was an answer; the result is its meaning.
asio::awaitable<bool> stream_listener::is_proven() {
  const core::seqno last = proof_->number;
  if (replay_->request(last)) co_return false;
  const auto deadline = clock::now() + settings_->replay_timeout;
  for (;;) {
    const replay_client::reply reply = co_await replay_->next(deadline);
    if (stopping_ || reply.what == replay_client::reply::kind::stopped) co_return false;
    const bool is_noise = reply.what == replay_client::reply::kind::unreadable ||
                          (reply.what == replay_client::reply::kind::batch && reply.number < last);
    if (is_noise && clock::now() < deadline) {  // replies that are there already do not wait, so the deadline is looked at here
      co_await asio::post(asio::use_awaitable);
      if (stopping_) co_return false;
      continue;
    }
    replay_->finish();
    if (is_noise || reply.what == replay_client::reply::kind::silence) co_return false;
    has_answered_ = true;
    must_verify_ = false;
    co_return reply.what == replay_client::reply::kind::batch && reply.number == last && core::digest(reply.payload) == proof_->digest;
  }
}

asio::awaitable<void> stream_listener::restart_afresh(std::string_view because) {
  co_await restart(because);
  if (!stopping_) socket_.reset();
}

asio::awaitable<void> stream_listener::restart(std::string_view because) {
  core::stream_status& status = *service_.status;
  log::warn(log::module::stream, "publisher restarted",
            {{"instance", service_.registration.worker.instance},
             {"dp_rank", service_.registration.worker.rank.get()},
             {"last_seqno", cursor_.newest_applied() ? cursor_.newest_applied()->get() : 0},
             {"because", because}});
  core::stream_status::add(status.restarts, 1);
  core::stream_status::add(status.generation, 1);
  lane_->counters.restarts.add();
  set_state(core::stream_state::recovering);
  co_await sink_.drop_all();
  cursor_.reset();
  proof_.reset();
  status.last_seqno.store(core::stream_status::no_seqno, std::memory_order_relaxed);
  status.missing.store(0, std::memory_order_relaxed);
  status.evicted.store(0, std::memory_order_relaxed);
  must_verify_ = false;
  must_catch_up_ = true;
  no_replay_before_ = {};  // another process may answer where its predecessor did not
}

}  // namespace kvc::net
