#include "net/live_burst.hpp"

#include "net/payload_reach.hpp"

namespace kvc::net {

bool live_burst::receive(zmq_socket& from) {
  assert(has_room());
  arrival& next = all_[end_];
  const error_code failed = from.try_receive(next.message);
  if (failed == errc::would_block) return false;
  next.failed = failed;
  next.is_other_connection = !failed && !from.is_of_same_connection(next.message);
  if (!failed) {
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

void live_burst::finish() noexcept {
  first_ = told_;
  if (first_ != end_) return;
  first_ = told_ = end_ = 0;
  bytes_ = 0;
}

void live_burst::drop_untold() noexcept {
  end_ = told_;
}

void live_burst::clear() noexcept {
  for (arrival& each : all_) each.message.clear();
  first_ = told_ = end_ = 0;
  bytes_ = 0;
}

}  // namespace kvc::net
