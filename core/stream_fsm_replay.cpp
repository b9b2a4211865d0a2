// The part of stream_fsm that asks for batches: recovery of what is missing.
#include <algorithm>
#include <utility>

#include "core/batch_digest.hpp"
#include "core/stream_fsm.hpp"

namespace kvc::core {
namespace {

constexpr std::size_t max_told_ranges = 16;  ///< lost ranges of one recovery that are worth a line each
constexpr std::size_t most_unsent = 60;      ///< idle checks for which a request that cannot be sent keeps live batches waiting

}  // namespace

void stream_fsm::recover(seqno from, std::optional<seqno> to, time_point now) {
  recovery_from_ = from;
  recovery_to_ = to;
  if (!can_replay(now)) {
    if (to) {
      lose(to->get() - from.get() + 1);
      tell({.what = fact::kind::lost, .from = from, .to = to});
      cursor_.applied(*to);
      must_catch_up_ = false;
      is_settled_ = true;  // before the batch behind it can be found by anyone: its stream is incomplete, not still joining
    }
    recovery_to_.reset();
    return decide_after_recovery(now);
  }
  recovery_.emplace(from, to, rules_.replay, has_answered_);
  recovery_lost_ = 0;
  recovery_listed_ = 0;
  give_up_at_ = now + rules_.longest_replay;
  has_overlap_ = overlap().has_value();
  perform(recovery_->start(), now);
}

seqno stream_fsm::request_from() const {
  if (!recovery_) return compared_ ? compared_->number : suspect_->number;
  const auto known = overlap();
  return known ? known->number : recovery_->request_from();
}

/// A publisher that drops its last batch and then has nothing to say would leave us wrong for ever. One short question.
void stream_fsm::check_tail(time_point now) {
  is_tail_unchecked_ = false;
  is_tail_check_ = true;
  next_tail_check_ = now + rules_.tail_check;
  recovery_.emplace(cursor_.next(), std::nullopt, replay_fsm::limits{.attempts = 1, .max_requests = rules_.replay.max_requests});
  recovery_from_ = cursor_.next();
  recovery_lost_ = 0;
  recovery_listed_ = 0;
  give_up_at_ = now + rules_.longest_replay;
  has_overlap_ = overlap().has_value();
  perform(recovery_->start(), now);
}

/// How long the next batch of the answer may take, whatever else comes meanwhile. A look at the tail must not hold up live batches for
/// long.
void stream_fsm::set_patience(time_point now) {
  const bool is_short = (is_tail_check_ && recovery_->applied_count() == 0) || recovery_->is_second_look() || recovery_->is_complete();
  wake_at_ = std::min(now + (is_short ? std::min(rules_.replay_timeout, rules_.idle_check) : rules_.replay_timeout), give_up_at_);
}

void stream_fsm::perform(replay_fsm::action what, time_point now) {
  take_losses();
  switch (what) {
    case replay_fsm::action::request: phase_ = phase::replay_request; return;
    case replay_fsm::action::apply: phase_ = phase::reply_in_hand; return;
    case replay_fsm::action::ignore:
      in_reply_.reset();
      phase_ = phase::replay_reply;
      return;
    case replay_fsm::action::finish:
      if (is_distrusted_ && recovery_->applied_count() != 0) return disbelieve(recovery_from_, now);  // nothing has shown that it is ours
      if (!recovery_->was_answered()) return finish_recovery(replay_outcome::unanswered, now);
      return finish_recovery(recovery_->lost_count() == 0 && recovery_->has_ended() ? replay_outcome::complete : replay_outcome::partial,
                             now);
  }
}

/// Counts what the recovery has given up since the last look.
void stream_fsm::take_losses() {
  lose(recovery_->lost_count() - std::exchange(recovery_lost_, recovery_->lost_count()));
  const auto& ranges = recovery_->lost();
  for (; recovery_listed_ < std::min(ranges.size(), max_told_ranges); ++recovery_listed_) {
    tell({.what = fact::kind::lost, .from = ranges[recovery_listed_].from, .to = ranges[recovery_listed_].to});
  }
}

void stream_fsm::count_recovery(replay_outcome how) {
  ++totals_.replays;
  ++totals_.outcomes[static_cast<std::size_t>(how)];
  tell({.what = fact::kind::replay_ended,
        .from = recovery_from_,
        .to = recovery_to_,
        .applied = recovery_->applied_count(),
        .lost = recovery_->lost_count(),
        .outcome = how});
}

void stream_fsm::finish_recovery(replay_outcome how, time_point now) {
  const bool was_idle_look = std::exchange(is_tail_check_, false) && recovery_->applied_count() == 0 && recovery_->lost_count() == 0;
  const bool is_ours = how != replay_outcome::unanswered && how != replay_outcome::foreign;
  if (!was_idle_look || how == replay_outcome::foreign) count_recovery(how);
  if (is_ours && !recovery_to_ && recovery_->applied_count() != 0 && !is_endpoint_proven_) is_uncompared_ = true;
  if (recovery_to_) cursor_.applied(*recovery_to_);
  if (recovery_->is_end_proven()) is_tail_unchecked_ = false;
  if (was_idle_look && how != replay_outcome::complete) {  // too short a question to tell that nobody is there
    is_tail_unchecked_ = true;
    next_tail_check_ = now + rules_.replay_pause;
  } else if (!is_ours) {
    no_replay_before_ = now + rules_.replay_pause;
  } else {
    must_catch_up_ = false;
    was_interrupted_ = false;
    has_answered_ = true;
  }
  if (is_ours || cursor_.newest_applied()) is_settled_ = true;
  recovery_.reset();
  recovery_to_.reset();
  in_reply_.reset();
  decide_after_recovery(now);
}

/// The live batch in hand is next, unless a copy of it has come by the replay.
void stream_fsm::decide_after_recovery(time_point now) {
  if (std::exchange(is_held_unreadable_, false)) held_.reset();
  if (begins_anew()) return;
  if (!held_) return listen(now);
  if (*held_ < cursor_.next()) return drop_duplicate(now);
  must_catch_up_ = false;
  phase_ = phase::live_in_hand;
}

/// What was being asked for will be asked for again, when it is known who answers.
void stream_fsm::interrupt() {
  if (recovery_) {
    count_recovery(replay_outcome::interrupted);
    has_answered_ = has_answered_ || recovery_->was_answered();
  }
  was_interrupted_ = was_interrupted_ || held_ || (recovery_ && !is_tail_check_);
  is_tail_check_ = false;
  must_catch_up_ = true;
  recovery_.reset();
  recovery_to_.reset();
  in_reply_.reset();
  held_.reset();
  is_held_contradicted_ = false;
  compared_.reset();
  is_held_unreadable_ = false;
}

void stream_fsm::on_requested(bool is_sent, time_point now) {
  if (is_sent) {
    unsent_ = 0;
    phase_ = is_verifying() ? phase::verify_reply : phase::replay_reply;
    wake_at_ = now + rules_.replay_timeout;
    if (recovery_) set_patience(now);
    return;
  }
  // A want of sockets of ours, or of an address, says nothing about the publisher: it is not held against it, unless it lasts. A row of
  // requests is not over before one was sent, so that an endpoint that cannot be had at all holds up its stream once.
  const bool is_only_looking = is_tail_check_ && recovery_->applied_count() == 0;  // no live batch waits for that
  const bool has_time = unsent_ < most_unsent && (!recovery_ || now < give_up_at_);
  if (has_time && !is_only_looking) {
    ++unsent_;
    ask_at_ = now + rules_.idle_check;
    return;
  }
  if (is_verifying()) return end_verifying(false, now);
  perform(recovery_->abandon(), now);
}

void stream_fsm::on_reply(seqno number, std::span<const std::byte> bytes, time_point now) {
  if (is_verifying()) return on_proof(number, bytes, now);
  if (held_ == number && !is_held_unreadable_) {
    compare_held(bytes);
  } else if (const auto known = recent_under(number)) {
    if (known->fingerprint != batch_digest(bytes)) return disbelieve(number, now);
    if (known->is_live) prove();
  } else if (is_distrusted_ && !has_witness() && number >= recovery_->request_from()) {
    return disbelieve(number, now);
  }
  if (const auto before = overlap(); before && number == before->number) {
    recovery_->on_batch_before();
    return on_reply_noise(now);
  }
  in_reply_ = number;
  reply_bytes_ = bytes;
  const auto what = recovery_->on_batch(number);
  perform(what == replay_fsm::action::request && now >= give_up_at_ ? recovery_->abandon() : what, now);
  if (what == replay_fsm::action::ignore) on_reply_noise(now);
}

void stream_fsm::on_reply_end(time_point now) {
  if (!is_verifying()) return perform(recovery_->on_end(), now);
  end_unknown(now);
}

void stream_fsm::on_reply_noise(time_point now) {
  // Replies that are there already come without a wait, so nothing but this look ends a flood of them.
  if (now >= wake_at_) on_reply_silence(now);
}

void stream_fsm::on_reply_silence(time_point now) {
  if (is_verifying()) return end_verifying(false, now);
  const bool is_only_looking = is_tail_check_ && recovery_->applied_count() == 0;
  perform(now < give_up_at_ && !is_only_looking ? recovery_->on_silence() : recovery_->abandon(), now);
}

}  // namespace kvc::core
