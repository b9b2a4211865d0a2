#include "core/replay_fsm.hpp"

#include <cstdint>
#include <limits>
#include <utility>

namespace kvc::core {
namespace {

constexpr std::size_t max_listed_ranges = 1'024;

}  // namespace

replay_fsm::replay_fsm(seqno from, std::optional<seqno> to, limits with, bool has_answered)
    : next_(from), to_(to), limits_(with), has_answered_before_(has_answered) {}

replay_fsm::action replay_fsm::start() {
  return is_complete() ? action::finish : ask_again();
}

replay_fsm::action replay_fsm::ask_again() {
  ++requests_;
  ++fruitless_;
  has_begun_ = false;
  return action::request;
}

replay_fsm::action replay_fsm::give_up() {
  if (to_ && next_ <= *to_) lose(next_, *to_);
  return action::finish;
}

void replay_fsm::lose(seqno from, seqno to) {
  lost_count_ += to.get() - from.get() + 1;
  if (lost_.size() < max_listed_ranges) {
    lost_.push_back({from, to});
  } else {
    lost_.back().to = to;  // the list stays bounded; its last range then also spans batches that did come
  }
  next_ = seqno{to.get() + 1};
}

replay_fsm::action replay_fsm::on_batch(seqno number) {
  answered_ = true;
  const bool is_first = !std::exchange(has_begun_, true);
  const bool is_proven = is_first || skipped_ != 0 || fruitless_ >= limits_.attempts || requests_ >= limits_.max_requests;
  if (is_complete()) return number > *to_ ? action::finish : action::ignore;
  if (number < next_) return action::ignore;
  const bool is_hole = number > next_;
  if (is_hole && !is_proven) return ask_again();
  if (to_ && number > *to_) return give_up();  // newer than asked for: the live stream has it
  if (is_hole) lose(next_, seqno{number.get() - 1});
  fruitless_ = 0;
  skipped_ = 0;
  ended_ = false;
  ++applied_;
  next_ = seqno{number.get() + 1};
  return action::apply;
}

replay_fsm::action replay_fsm::on_end() {
  answered_ = true;
  ended_ = true;
  is_last_empty_ = fruitless_ != 0;
  if (is_complete()) return action::finish;
  if (!to_) {
    if (is_last_empty_ || has_looked_twice_ || requests_ >= limits_.max_requests) return action::finish;
    has_looked_twice_ = true;
    return ask_again();
  }
  // The range is not full. If this answer brought something, its tail may have been dropped on the way: ask for the rest. If it brought
  // nothing, the publisher has nothing more.
  if (fruitless_ == 0 && requests_ < limits_.max_requests) return ask_again();
  return give_up();
}

replay_fsm::action replay_fsm::on_silence() {
  if (is_complete() || is_second_look()) return action::finish;
  if (requests_ >= limits_.max_requests) return give_up();
  if (fruitless_ < limits_.attempts) return ask_again();
  // Who has answered is there: the next batch may be one that cannot be transported. An answer with what stands behind it would prove that.
  const bool may_have_more = to_ ? answered_ || has_answered_before_ : applied_ != 0;
  const std::size_t most_skipped = to_ ? limits_.attempts : 1;
  const bool is_last_number = request_from().get() == std::numeric_limits<std::uint64_t>::max();
  if (!may_have_more || skipped_ == most_skipped || is_last_number || (to_ && request_from() == *to_)) return give_up();
  ++skipped_;
  return ask_again();
}

}  // namespace kvc::core
