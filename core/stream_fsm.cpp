#include "core/stream_fsm.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "core/batch_digest.hpp"

namespace kvc::core {
namespace {

constexpr std::size_t max_facts = 64;
constexpr std::uint64_t most_lost = std::uint64_t{1} << 48;  ///< more than were ever published: sums of a numbering gone mad must not wrap
constexpr int tail_patience = 5;                             ///< idle checks before a dropped last batch is looked for
constexpr int looks_at_rest = 60;  ///< times longer between looks at a connection on which nothing depends: its end is told without one

}  // namespace

stream_fsm::step stream_fsm::next() const {
  if (forget_ != reason::none) return step::forget;
  switch (phase_) {
    case phase::listening: return step::listen;
    case phase::live_in_hand: return step::apply_live;
    case phase::verify_request:
    case phase::replay_request: return step::request;
    case phase::verify_reply:
    case phase::replay_reply: return step::read_reply;
    case phase::reply_in_hand: return step::apply_reply;
  }
  return step::listen;
}

stream_state stream_fsm::state() const {
  if (is_silent_) return stream_state::stale;
  // To compare what nobody doubts yet takes nothing away.
  const bool is_in_doubt = is_held_contradicted_ || (is_verifying() && !compared_);
  const bool is_to_leave = forget_ == reason::restart || forget_ == reason::failure || forget_ == reason::foreign;
  if (is_in_doubt || is_to_leave) return stream_state::recovering;
  const bool is_only_looking = is_tail_check_ && recovery_ && recovery_->applied_count() == 0;
  if (recovery_ && !is_only_looking) return is_settled_ ? stream_state::recovering : stream_state::catching_up;
  if (!is_settled_) return stream_state::joining;
  if (must_catch_up_ && (is_connected_ || was_interrupted_)) return stream_state::recovering;
  if (totals_.missing != 0 || totals_.unproven != 0 || is_evicted_) return stream_state::incomplete;
  return before_break_ && is_connected_ ? stream_state::recovering : stream_state::whole;
}

std::uint64_t stream_fsm::behind() const {
  std::optional<seqno> newest = held_;
  if (recovery_to_ && (!newest || *newest < *recovery_to_)) newest = recovery_to_;
  if (!newest || *newest < cursor_.next()) return 0;
  return newest->get() - cursor_.next().get() + 1;
}

void stream_fsm::on_live(seqno number, std::span<const std::byte> bytes, time_point now) {
  held_bytes_ = bytes;
  last_sign_ = now;
  is_silent_ = false;
  if (wants_fresh_transport_) return listen(now);  // it may be of a publisher that has gone; what is still there will be asked for
  held_ = number;
  decide(now);
}

/// What to do with the live batch in hand, if there is one.
void stream_fsm::decide(time_point now) {
  phase_ = phase::listening;
  if (!held_) return listen(now);
  // Without a connection it is from before the break. Who has not been asked, or did not answer, may be after all where it leaves a hole.
  const bool is_unproven_hole = before_break_ && *held_ > cursor_.next();
  if ((suspect_ || is_unproven_hole) && is_connected_ && can_replay(now)) {
    if (!suspect_) suspect_ = before_break_;
    phase_ = phase::verify_request;
    return;
  }
  if (suspect_ && has_broken_again_ && !is_connected_) {  // not even from before the break, perhaps: it is asked for when it is known
    interrupt();
    return listen(now);
  }
  using verdict = stream_cursor::verdict::kind;
  const auto seen = cursor_.observe_live(*held_);
  switch (seen.what) {
    case verdict::contiguous:
      must_catch_up_ = false;
      if (is_connected_ && !suspect_) recognise();
      phase_ = phase::live_in_hand;
      return;
    case verdict::duplicate: return compare_duplicate(now);
    case verdict::restart:
      // Sent twice, or late: a new incarnation has other times in its batches.
      if (was_applied({*held_, batch_digest(held_bytes_)})) return drop_duplicate(now);
      tell({.what = fact::kind::restarted, .from = cursor_.newest_applied().value_or(seqno{}), .because = "the sequence went back"});
      if (suspect_ && !is_connected_) {  // it came before the break: whoever published it has gone as well, and more of it may wait
        held_.reset();
        wants_fresh_transport_ = true;
      }
      forgive(now);
      return begin_generation(reason::restart);
    case verdict::gap:
      if (suspect_ && !is_connected_) {  // whoever answers now may be another one; it is asked for when that is known
        interrupt();
        return listen(now);
      }
      if (before_break_ && is_connected_) {
        tell({.what = fact::kind::restarted, .from = before_break_->number, .because = "it was away, and left a hole nobody explains"});
        forgive(now);
        return begin_generation(reason::restart);
      }
      if (cursor_.newest_applied()) {
        ++totals_.gaps;
        tell({.what = fact::kind::gap, .from = seen.missing_from, .to = seen.missing_to});
      }
      return recover(seen.missing_from, seen.missing_to, now);
  }
}

void stream_fsm::listen(time_point now) {
  phase_ = phase::listening;
  // Connected, and nothing to find out: only the end of the connection is to be noticed.
  const bool is_at_rest = is_connected_ && (!rules_.has_replay || (!suspect_ && !must_catch_up_));
  const bool will_check_tail = rules_.has_replay && is_tail_unchecked_ && rules_.tail_check.count() != 0;
  wake_at_ = now + rules_.idle_check * (!is_at_rest ? 1 : will_check_tail ? tail_patience : looks_at_rest);
  if (is_at_rest && will_check_tail) wake_at_ = std::max({wake_at_, next_tail_check_, no_replay_before_});
}

void stream_fsm::on_quiet(time_point now) {
  listen(now);
  look_at_silence(now);
  if (wants_fresh_transport_) return;  // an answer would come beside a connection that is about to be given up, and be taken for its own
  if (!is_connected_ || !can_replay(now)) return;
  if (suspect_) {
    phase_ = phase::verify_request;
  } else if (must_catch_up_ && may_ask_for_all()) {
    recover(cursor_.next(), std::nullopt, now);
  } else if (is_tail_unchecked_ && rules_.tail_check.count() != 0 && now >= next_tail_check_) {
    check_tail(now);
  }
}

void stream_fsm::look_at_silence(time_point now) {
  if (is_connected_) last_sign_ = now;
  if (rules_.expects_idle || rules_.stale_after.count() == 0) return;
  const auto silence = now - last_sign_;
  is_silent_ = silence >= rules_.stale_after;
  const bool may_evict = rules_.evict_after.count() != 0 && silence >= std::max(rules_.evict_after, rules_.stale_after);
  if (!may_evict || !holds_) return;
  tell({.what = fact::kind::silence_evicts, .from = cursor_.newest_applied().value_or(seqno{})});
  begin_generation(reason::silence);
}

void stream_fsm::on_connection(bool is_connected, std::uint64_t disconnects, time_point now) {
  if (is_connected) {
    last_sign_ = now;
    is_silent_ = false;
  }
  const bool has_turned = std::exchange(is_connected_, is_connected) != is_connected;
  const bool has_broken = disconnects != std::exchange(disconnects_, disconnects);
  if (is_connected && (has_turned || has_broken)) no_replay_before_ = now;  // whoever comes back may be asked at once
  if (has_broken) last_sign_ = now;                                         // it has stood until now
  if (has_broken && !away_since_) away_since_ = stood_at_;
  if (is_connected) end_absence(now);
  // There may be something to find out now. Not at once: a publisher that starts opens its sockets one after the other.
  if ((has_turned || has_broken) && phase_ == phase::listening) wake_at_ = std::min(wake_at_, now + rules_.idle_check / 2);
  if (!has_broken) return;
  // The last batch before the first break counts: what came since may be another publisher's.
  is_endpoint_proven_ = false;
  forgive(now);
  if (last_) {
    if (!before_break_) before_break_ = last_;
    has_broken_again_ = suspect_.has_value();
    if (rules_.has_replay) suspect_ = before_break_;
  } else {
    must_catch_up_ = true;
    wants_fresh_transport_ = true;   // nothing could tell the batches that wait from those of a successor
    if (cursor_.newest_applied()) {  // what was given up was of the life that is over, and nothing is held
      interrupt();
      return begin_generation(reason::unheard);
    }
  }
  if (recovery_ || is_verifying()) {
    interrupt();
    listen(now);
  }
}

bool stream_fsm::takes_followers() const {
  return phase_ == phase::live_in_hand && forget_ == reason::none && !wants_fresh_transport_ && !suspect_ && !is_held_contradicted_;
}

void stream_fsm::remember(const known_batch& what) {
  cursor_.applied(what.number);
  last_ = what;
  recent_[recent_count_++ % recent_.size()] = *last_;
  is_tail_unchecked_ = true;  // from a replay as well: what stood behind it may have been dropped on the way
}

void stream_fsm::on_applied(const applied_batch& what, time_point now, std::span<const std::span<const std::byte>> followers) {
  assert(followers.empty() || (what.is_readable && takes_followers()));
  if (phase_ == phase::live_in_hand && std::exchange(is_held_contradicted_, false)) {
    if (what.is_readable) return disown(now);
    if (*held_ < cursor_.next()) {
      is_uncompared_ = !is_endpoint_proven_;  // it told nothing: the next one has to
      return drop_duplicate(now);
    }
  }
  const seqno number = phase_ == phase::reply_in_hand ? *in_reply_ : *held_;
  if (phase_ == phase::live_in_hand && !what.is_readable && !are_copies_unreadable_ && can_replay(now)) {
    if (suspect_) {  // whoever answers now may be another one; it is asked for when that is known
      interrupt();
      return listen(now);
    }
    is_held_unreadable_ = true;
    return recover(number, number, now);
  }
  if (!what.is_readable) {
    lose(1);
    tell({.what = fact::kind::lost, .from = number, .to = number});
  }
  const bool is_live = phase_ != phase::reply_in_hand;
  remember({number, batch_digest(is_live ? held_bytes_ : reply_bytes_), is_live, what.is_readable});
  for (std::size_t i = 0; i < followers.size(); ++i) {
    const seqno follower{number.get() + 1 + i};
    [[maybe_unused]] const auto seen = cursor_.observe_live(follower);
    assert(seen.what == stream_cursor::verdict::kind::contiguous);
    remember({follower, batch_digest(followers[i])});
  }
  holds_ = true;
  if (what.left_nothing) {
    totals_.missing = 0;
    totals_.unproven = 0;
    kept_unproven_ = 0;
    is_evicted_ = false;
    holds_unproven_ = false;
    was_lost_in_distrust_ = false;
    must_begin_anew_ = false;
  }
  if (phase_ == phase::reply_in_hand) {
    in_reply_.reset();
    holds_unproven_ = holds_unproven_ || !is_endpoint_proven_;
    if (!what.is_readable) are_copies_unreadable_ = true;
    phase_ = phase::replay_reply;
    set_patience(now);
    if (recovery_->is_complete() && !has_witness()) {
      perform(replay_fsm::action::finish, now);
    } else if (now >= give_up_at_) {
      perform(recovery_->abandon(), now);
    }
    return;
  }
  held_.reset();
  is_settled_ = true;
  listen(now);
}

bool stream_fsm::was_applied(const known_batch& which) const {
  const auto end = recent_.begin() + static_cast<std::ptrdiff_t>(std::min(recent_count_, recent_.size()));
  const auto is_it = [&](const known_batch& each) { return each.number == which.number && each.fingerprint == which.fingerprint; };
  return std::find_if(recent_.begin(), end, is_it) != end;
}

void stream_fsm::lose(std::uint64_t batches) {
  if (batches == 0) return;
  was_lost_in_distrust_ = was_lost_in_distrust_ || is_distrusted_;
  totals_.missing = std::min(totals_.missing + std::min(batches, most_lost), most_lost);
  totals_.lost = std::min(totals_.lost + std::min(batches, most_lost), most_lost);
  doubt();
}

/// What was missed may have removed what is held.
void stream_fsm::doubt() {
  if (rules_.after_loss == loss_policy::keep || !holds_ || forget_ != reason::none) return;
  forget_ = reason::doubt;
  tell({.what = fact::kind::doubted, .from = cursor_.newest_applied().value_or(seqno{})});
}

void stream_fsm::begin_generation(reason why) {
  forget_ = why;
  ++totals_.generation;
  if (why == reason::restart) ++totals_.restarts;
  totals_.missing = 0;
  totals_.unproven = 0;
  kept_unproven_ = 0;
  is_another_life_ = true;
  may_be_another_ = false;
  was_long_away_ = false;
  is_endpoint_proven_ = false;
  is_uncompared_ = false;
  was_lost_in_distrust_ = false;
  must_begin_anew_ = false;
  cursor_.reset();
  last_.reset();
  suspect_.reset();
  before_break_.reset();
  has_broken_again_ = false;
  compared_.reset();
  is_held_contradicted_ = false;
  recovery_.reset();
  recovery_to_.reset();
  recent_count_ = 0;
  is_tail_check_ = false;
  is_tail_unchecked_ = false;
  was_interrupted_ = false;
  must_catch_up_ = true;
  is_settled_ = false;
  is_evicted_ = false;
  are_copies_unreadable_ = false;
  phase_ = phase::listening;
}

void stream_fsm::on_failure() {
  const seqno from = cursor_.newest_applied().value_or(seqno{});
  held_.reset();
  in_reply_.reset();
  is_held_unreadable_ = false;
  wants_fresh_transport_ = false;
  begin_generation(reason::failure);
  tell({.what = fact::kind::failed, .from = from});  // last, since it takes memory, the want of which may be what went wrong
}

void stream_fsm::on_forgotten(time_point now) {
  const reason why = std::exchange(forget_, reason::none);
  holds_ = false;
  holds_unproven_ = false;
  if (why == reason::doubt) {  // goes on with what was in hand
    if (phase_ == phase::listening) listen(now);
    return;
  }
  is_evicted_ = false;  // what was taken meanwhile was of the generation before
  decide(now);
}

void stream_fsm::tell(const fact& what) {
  if (facts_.size() < max_facts) facts_.push_back(what);
}

std::vector<stream_fsm::fact> stream_fsm::take_facts() {
  return std::exchange(facts_, {});
}

}  // namespace kvc::core
