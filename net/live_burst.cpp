#include "net/live_burst.hpp"

#include "net/payload_reach.hpp"

namespace kvc::net {

bool live_burst::receive(live_socket& from) {
  if (!take(from)) return false;
  mark(from, end_ - 1);
  return true;
}

void live_burst::receive_more(live_socket& from, std::size_t most) {
  const std::size_t first_new = end_;
  while (size() < most && has_room() && take(from)) {
  }
  // All at once: what is asked of the transport for each is a thirtieth of a small batch.
  if (first_new != end_ && !from.are_of_same_connection(all_[end_ - 1].message)) mark(from, first_new);
}

bool live_burst::take(live_socket& from) {
  assert(has_room());
  arrival& next = all_[end_];
  next.failed = from.try_receive(next.message);
  if (next.failed == errc::would_block) return false;
  next.is_other_connection = false;
  if (!next.failed) {
    const auto read = read_live(next.message);
    if (read) {
      next.batch = *read;
      bring_payload_near(read->payload);
      bytes_ += read->payload.size();
    } else {
      next.failed = read.error();
    }
  }
  ++end_;
  return true;
}

void live_burst::mark(live_socket& from, std::size_t first_new) {
  for (std::size_t i = first_new; i < end_; ++i) {
    const live_message& each = all_[i].message;
    all_[i].is_other_connection = each.size() != 0 && !from.is_of_same_connection(each);
  }
}

void live_burst::finish() noexcept {
  for (std::size_t i = first_; i < told_; ++i) all_[i].message.clear();  // what they lie in may be wanted for those that come
  first_ = told_;
  if (first_ != end_) return;
  first_ = told_ = end_ = 0;
  bytes_ = 0;
}

void live_burst::drop_untold() noexcept {
  for (std::size_t i = told_; i < end_; ++i) all_[i].message.clear();
  end_ = told_;
}

void live_burst::clear() noexcept {
  for (arrival& each : all_) each.message.clear();
  first_ = told_ = end_ = 0;
  bytes_ = 0;
}

}  // namespace kvc::net
