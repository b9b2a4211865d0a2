// The part of stream_fsm that asks who it is: who came back, and whether the replay endpoint is that of the publisher we hear.
#include <algorithm>
#include <chrono>
#include <utility>

#include "core/batch_digest.hpp"
#include "core/stream_fsm.hpp"

namespace kvc::core {

/// Whether another publisher can have started, and published all the numbers up to our cursor, while we could not hear: then its next
/// batch continues our count as if nothing had happened. An old stream's count is out of reach, so a short break costs it nothing.
bool stream_fsm::could_succeed_unseen(std::chrono::nanoseconds absence) const {
  if (!cursor_.newest_applied()) return false;
  const double needed_s = static_cast<double>(cursor_.newest_applied()->get()) / rules_.fastest_publisher;
  return needed_s <= std::chrono::duration<double>(absence).count();
}

void stream_fsm::on_standing(time_point when) {
  if (is_connected_ && !away_since_) stood_at_ = std::max(stood_at_, when);
}

void stream_fsm::end_absence(time_point now) {
  stood_at_ = now;
  if (!away_since_) return;
  const auto absence = now - *std::exchange(away_since_, std::nullopt);
  may_be_another_ = may_be_another_ || could_succeed_unseen(absence);
  const bool makes_stale = rules_.stale_after.count() != 0 && !rules_.expects_idle && absence >= rules_.stale_after;
  was_long_away_ = was_long_away_ || (makes_stale && cursor_.newest_applied());
  if (rules_.has_replay) return;
  if (may_be_another_) return go_on_unproven();
  if (was_long_away_) keep_unproven();
}

/// Somebody is there, and whether it is the publisher of what we hold nobody can tell.
void stream_fsm::go_on_unproven() {
  may_be_another_ = false;
  was_long_away_ = false;
  was_interrupted_ = false;
  wants_fresh_transport_ = true;  // what waits may be of either
  is_another_life_ = true;
  held_.reset();
  ++totals_.unproven;
  tell({.what = fact::kind::unproven, .from = cursor_.newest_applied().value_or(seqno{})});
  doubt();
}

/// The next number will tell, as no other publisher can have come as far. Until then what is held stays, and is not vouched for: an idle
/// engine must not lose its blocks because a network was away.
void stream_fsm::keep_unproven() {
  was_long_away_ = false;
  ++kept_unproven_;
  ++totals_.unproven;
  tell({.what = fact::kind::unproven, .from = cursor_.newest_applied().value_or(seqno{})});
}

/// Who came back is the one that went.
void stream_fsm::recognise() {
  suspect_.reset();
  before_break_.reset();
  has_broken_again_ = false;
  was_long_away_ = false;
  totals_.unproven -= std::exchange(kept_unproven_, 0);
}

/// The endpoint has shown a batch that was heard live.
void stream_fsm::prove() {
  is_endpoint_proven_ = true;
  must_begin_anew_ = must_begin_anew_ || was_lost_in_distrust_;
  is_distrusted_ = false;
  is_uncompared_ = false;
  holds_unproven_ = false;
  may_be_another_ = false;
  recognise();
}

void stream_fsm::on_proof(seqno number, std::span<const std::byte> bytes, time_point now) {
  const known_batch wanted = compared_ ? *compared_ : *suspect_;
  if (number < wanted.number) return on_reply_noise(now);
  const bool is_same = number == wanted.number && batch_digest(bytes) == wanted.fingerprint;
  if (!compared_) return is_same ? end_verifying(true, now) : end_unknown(now);
  if (number == wanted.number && !is_same) return contradict();
  if (is_same && !before_break_) prove();
  drop_duplicate(now);
}

/// Whoever answered does not have the batch that was asked for.
void stream_fsm::end_unknown(time_point now) {
  if (compared_) return drop_duplicate(now);  // that is no proof of anything
  if (is_distrusted_) return end_verifying(false, now);
  end_unproven("it does not know the last batch any more", now);
}

void stream_fsm::end_verifying(bool was_answered, time_point now) {
  if (compared_) {
    if (++unanswered_proofs_ >= rules_.replay.attempts) return drop_duplicate(now);
    phase_ = phase::verify_request;
    return;
  }
  if (was_answered) {
    has_answered_ = true;
    unanswered_proofs_ = 0;
    if (suspect_->is_live) {
      prove();
    } else {  // it is who it was, which is not yet to say that it is who we hear
      may_be_another_ = false;
      recognise();
    }
    must_catch_up_ = true;  // what it published while it could not be heard, should no live batch come that tells
  } else if (has_answered_) {
    // It could prove itself, and does not: better to read it once more than to believe what may be gone.
    if (++unanswered_proofs_ >= rules_.replay.attempts) return end_unproven("it does not answer for the last batch", now);
    phase_ = phase::verify_request;
    return;
  } else {
    no_replay_before_ = now + rules_.replay_pause;
    if (may_be_another_ || was_interrupted_) {
      go_on_unproven();
    } else if (was_long_away_) {
      keep_unproven();
    }
    has_broken_again_ = false;
    suspect_.reset();  // to ask again after each pause would keep live batches waiting for ever, and the batch leaves the endpoint's buffer
    must_catch_up_ = false;  // nobody will say what was missed: a hole before the next live batch does, or the doubt has to do
  }
  if (begins_anew()) return;
  phase_ = phase::listening;
  decide(now);
}

/// The publisher is another one. What has come meanwhile, and the batch in hand, may be of either.
void stream_fsm::end_unproven(const char* because, time_point now) {
  unanswered_proofs_ = 0;
  tell({.what = fact::kind::restarted, .from = before_break_->number, .because = because});
  held_.reset();
  is_held_unreadable_ = false;
  wants_fresh_transport_ = true;
  begin_generation(reason::restart);
  wake_at_ = now + rules_.idle_check;
}

/// The batch before the one that is wanted, when it is known: asked for as well, so that the answer shows whose it is. Who never marks
/// the end of an answer also says nothing at all when there is nothing; so there is an answer, and silence behind it is its end.
std::optional<stream_fsm::known_batch> stream_fsm::overlap() const {
  const bool is_next = last_ && last_->number.get() + 1 == recovery_->request_from().get();
  return is_next && last_->is_sound ? last_ : std::nullopt;
}

/// Of the batches applied last, the one of this number.
std::optional<stream_fsm::known_batch> stream_fsm::recent_under(seqno number) const {
  const auto end = recent_.begin() + static_cast<std::ptrdiff_t>(std::min(recent_count_, recent_.size()));
  const auto at = std::find_if(recent_.begin(), end, [&](const known_batch& each) { return each.number == number && each.is_sound; });
  return at != end ? std::optional(*at) : std::nullopt;
}

/// The answer has the number of the live batch in hand. Another batch is no proof yet that it is a stranger's: the one in hand may have
/// been spoilt on the way, which shows when it is its turn.
void stream_fsm::compare_held(std::span<const std::byte> replayed) {
  if (batch_digest(replayed) == batch_digest(held_bytes_)) return prove();
  is_held_contradicted_ = true;
}

/// Whether the live batch in hand, which is behind all that is asked for, has to tell whose answer it is: nothing before it is known.
bool stream_fsm::has_witness() const {
  return held_ && recovery_to_ && !is_held_unreadable_ && !is_endpoint_proven_ && !has_overlap_;
}

/// Whether all that the endpoint has may be asked for, with no live batch that would tell whose it is.
bool stream_fsm::may_ask_for_all() const {
  return !is_distrusted_ || (last_ && last_->is_sound && last_->number.get() + 1 == cursor_.next().get());
}

/// What a replay brought is not to be believed for its number alone: the live batch in hand has the number of a batch that it brought.
void stream_fsm::compare_duplicate(time_point now) {
  const known_batch live{*held_, batch_digest(held_bytes_)};
  if (const auto known = recent_under(live.number)) {
    if (known->fingerprint != live.fingerprint) return contradict();
    if (!before_break_) {
      prove();
    } else {  // it may have waited when the connection broke: it tells whose batches we hold, and nothing of who comes back
      is_uncompared_ = false;
      holds_unproven_ = false;
    }
  } else if (std::exchange(is_uncompared_, false) && is_connected_ && can_replay(now)) {
    // It is further back than we remember; an endpoint that is far ahead of our publisher would have us drop all it says for long.
    compared_ = live;
    phase_ = phase::verify_request;
    return;
  }
  drop_duplicate(now);
}

/// A replay brought another batch under the number of the one in hand: whichever can be read was published by who we hear.
void stream_fsm::contradict() {
  compared_.reset();
  unanswered_proofs_ = 0;
  is_held_contradicted_ = true;
  phase_ = phase::live_in_hand;
}

void stream_fsm::drop_duplicate(time_point now) {
  if (compared_) unanswered_proofs_ = 0;
  compared_.reset();
  is_held_contradicted_ = false;
  ++totals_.duplicates;
  held_.reset();
  if (begins_anew()) return;
  listen(now);
}

/// The endpoint is another publisher's. It may come to be ours, which a batch of ours in its answer tells, and nothing else.
void stream_fsm::distrust(seqno number, time_point now) {
  if (!std::exchange(is_distrusted_, true)) {
    distrusted_at_ = now;
    tell({.what = fact::kind::foreign, .from = number});
  }
  is_endpoint_proven_ = false;
  is_uncompared_ = false;
  has_answered_ = false;  // who answered is not who could prove anything
  unanswered_proofs_ = 0;
  no_replay_before_ = now + rules_.replay_pause;
}

/// The publisher has begun anew, or broken: who answered for somebody else a moment ago may have been its next life, which a fast restart
/// lets answer before the end of the last one is seen here.
void stream_fsm::forgive(time_point now) {
  if (!is_distrusted_ || now - distrusted_at_ >= rules_.replay_pause) return;
  is_distrusted_ = false;
  no_replay_before_ = now;
}

/// Whether the endpoint that was taken for a stranger's has turned out to be ours, after something was given up that it has: it was the
/// publisher's next life, or has come to be its own. What was lost is read, and what may be of the life before leaves.
bool stream_fsm::begins_anew() {
  if (!must_begin_anew_) return false;
  tell({.what = fact::kind::restarted,
        .from = cursor_.newest_applied().value_or(seqno{}),
        .because = "the endpoint taken for another's is its own"});
  begin_generation(reason::restart);
  return true;
}

/// The answer shows another batch than the one we know under its number. Nothing of this recovery counts.
void stream_fsm::disbelieve(seqno number, time_point now) {
  if (before_break_ && !is_distrusted_) return end_unproven("it shows another batch under the last number", now);
  distrust(number, now);
  if (recovery_->applied_count() != 0 || holds_unproven_) {  // what it brought is somebody else's, and no longer told from the rest
    count_recovery(replay_outcome::foreign);
    if (std::exchange(is_held_unreadable_, false)) held_.reset();
    return begin_generation(reason::foreign);
  }
  (void)recovery_->abandon();
  take_losses();
  finish_recovery(replay_outcome::foreign, now);
}

/// What a replay brought is somebody else's. The live batch in hand could be read, and is what is known: it is applied anew, to nothing.
void stream_fsm::disown(time_point now) {
  if (before_break_) return end_unproven("a replay brought another batch than it sent", now);  // one of them is of another life
  ++totals_.replays;
  ++totals_.outcomes[static_cast<std::size_t>(replay_outcome::foreign)];
  distrust(*held_, now);
  begin_generation(reason::foreign);
}

}  // namespace kvc::core
