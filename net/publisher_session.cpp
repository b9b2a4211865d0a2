#include "net/publisher_session.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace kvc::net {
namespace {

constexpr std::size_t least_head = 2;
constexpr std::size_t least_room = 4'096;       // less is not worth a system call
constexpr std::size_t most_at_once = 65'536;    // of what nobody knows the end of; no other was found to be better
constexpr std::size_t sure_bytes = 1 << 20;     // so much is made room for as soon as it is announced
constexpr std::size_t cheap_to_move = 16'384;   // before a rest
constexpr std::size_t beside_payload = 65'536;  // topic, number, and their heads

}  // namespace

publisher_session::publisher_session(chunk_pool& pool, std::string_view prefix, std::uint64_t max_frame_bytes)
    : pool_(&pool), max_frame_bytes_(max_frame_bytes), prefix_(prefix) {
  for (const std::byte each : zmtp::greeting()) to_send_ += static_cast<char>(each);
}

publisher_session::step publisher_session::next(publisher_message& into) {
  into.clear();
  if (!memory_) return step::starved;
  switch (phase_) {
    case phase::greeting:
      if (const step done = greet(); phase_ == phase::greeting) return done;
      [[fallthrough]];
    case phase::shaking: return shake();
    case phase::open: break;
  }
  return is_skipping_ ? skip() : read(into);
}

publisher_session::step publisher_session::greet() {
  switch (zmtp::judge_greeting(bytes())) {
    case zmtp::greeted::unfinished: return starve(zmtp::greeting_bytes);
    case zmtp::greeted::as_older: return step::older;
    case zmtp::greeted::badly: return break_off(errc::not_understood);
    case zmtp::greeted::well: break;
  }
  zmtp::append_ready(to_send_);
  begin_ += zmtp::greeting_bytes;
  phase_ = phase::shaking;
  return step::starved;
}

publisher_session::step publisher_session::shake() {
  const zmtp::frame_head head = zmtp::read_head(bytes());
  if (head.is_wrong) return break_off(errc::not_understood);
  if (head.bytes == 0) return starve(zmtp::longest_head);
  if (!head.is_command || head.size > zmtp::longest_command) return break_off(errc::not_understood);
  const std::size_t whole = head.bytes + static_cast<std::size_t>(head.size);
  if (held() < whole) return starve(whole);
  const auto said = zmtp::read_command(bytes().subspan(head.bytes, static_cast<std::size_t>(head.size)));
  if (!said || said->name != "READY" || !zmtp::is_publisher(said->data)) return break_off(errc::not_understood);
  zmtp::append_subscription(to_send_, prefix_);
  begin_ += whole;
  needed_ = least_head;
  phase_ = phase::open;
  return step::agreed;
}

publisher_session::step publisher_session::read(publisher_message& into) {
  std::size_t at = begin_;
  std::size_t count = 0;
  for (;;) {
    const std::span<const std::byte> rest(memory_.data() + at, end_ - at);
    const zmtp::frame_head head = zmtp::read_head(rest);
    if (head.is_wrong) return break_off(errc::not_understood);
    if (head.bytes == 0) return starve(at - begin_ + (rest.size() < least_head ? least_head : zmtp::longest_head));
    if (head.size > max_frame_bytes_) return break_off(errc::message_too_large);
    const auto size = static_cast<std::size_t>(head.size);
    const std::size_t to_end = at - begin_ + head.bytes + size;
    if (head.is_command) {
      if (count != 0 || size > zmtp::longest_command) return break_off(errc::not_understood);
      if (rest.size() < head.bytes + size) return starve(to_end);
      obey(rest.subspan(head.bytes, size));
      at = begin_ += to_end;
      continue;
    }
    if (count == publisher_message::most_frames) {
      begin_ = at + head.bytes;
      left_to_skip_ = head.size;
      skips_more_ = head.has_more;
      is_skipping_ = true;
      return skip();
    }
    if (to_end > max_frame_bytes_ + beside_payload) return break_off(errc::message_too_large);
    if (rest.size() < head.bytes + size) return starve(to_end);
    into.frames_[count++] = rest.subspan(head.bytes, size);
    at += head.bytes + size;
    if (!head.has_more) break;
  }
  begin_ = at;
  needed_ = least_head;
  into.count_ = count;
  into.memory_ = memory_;
  return step::message;
}

publisher_session::step publisher_session::skip() noexcept {
  for (;;) {
    const auto passed = static_cast<std::size_t>(std::min<std::uint64_t>(left_to_skip_, held()));
    begin_ += passed;
    left_to_skip_ -= passed;
    if (left_to_skip_ > 0) return starve(1);
    if (!skips_more_) break;
    const zmtp::frame_head head = zmtp::read_head(bytes());
    if (head.is_wrong || head.is_command) return break_off(errc::not_understood);
    if (head.bytes == 0) return starve(held() < least_head ? least_head : zmtp::longest_head);
    if (head.size > max_frame_bytes_) return break_off(errc::message_too_large);
    begin_ += head.bytes;
    left_to_skip_ = head.size;
    skips_more_ = head.has_more;
  }
  is_skipping_ = false;
  needed_ = least_head;
  return step::misshapen;
}

void publisher_session::obey(std::span<const std::byte> body) {
  const auto said = zmtp::read_command(body);
  if (!said || said->name != "PING") return;  // whatever else a peer may know to say changes nothing
  const auto context = zmtp::ping_context(said->data);
  if (context && to_send_.empty()) zmtp::append_pong(to_send_, *context);  // one that waits answers for all
}

std::span<std::byte> publisher_session::room() {
  if (begin_ == end_) {
    const bool is_usual = memory_ && memory_.capacity() == chunk_pool::usual_bytes;
    if (!is_usual) memory_ = pool_->take();
    if (memory_.is_lone()) begin_ = end_ = 0;
  }
  // A long message is believed as it comes: so much at first, and each time that is full, twice what there is.
  const bool is_full = memory_.capacity() - end_ < std::min(least_room, memory_.capacity() / 2);
  if (is_full || memory_.capacity() - begin_ < std::min(needed_, sure_bytes)) move(std::min(needed_, std::max(2 * held(), sure_bytes)));
  const std::size_t free = memory_.capacity() - end_;
  const std::size_t missing = needed_ > held() ? needed_ - held() : 0;
  return {memory_.data() + end_, std::min(free, missing >= least_room ? missing : most_at_once)};
}

void publisher_session::move(std::size_t bytes) {
  const std::size_t there = held();
  const std::size_t wanted = std::max(bytes, there) + least_room;
  if (memory_.is_lone() && memory_.capacity() >= wanted) {
    std::memmove(memory_.data(), memory_.data() + begin_, there);
  } else {
    chunk_share next = wanted <= chunk_pool::usual_bytes ? pool_->take() : pool_->take_apart(wanted);
    std::memcpy(next.data(), memory_.data() + begin_, there);
    memory_ = std::move(next);
  }
  begin_ = 0;
  end_ = there;
}

void publisher_session::rest() noexcept {
  if (!memory_) return;
  if (begin_ == end_) {
    memory_.reset();
    begin_ = end_ = 0;
    return;
  }
  if (held() > cheap_to_move || memory_.capacity() < chunk_pool::usual_bytes) return;
  try {
    chunk_share small = pool_->take_apart(held() + least_room);
    std::memcpy(small.data(), memory_.data() + begin_, held());
    end_ = held();
    begin_ = 0;
    memory_ = std::move(small);
  } catch (const std::bad_alloc&) {
    // It stays where it is.
  }
}

}  // namespace kvc::net
