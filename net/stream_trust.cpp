#include "net/stream_trust.hpp"

#include <algorithm>
#include <atomic>

#include "net/stream_report.hpp"

namespace kvc::net {
namespace {

template <class Number>
Number now_of(const std::atomic<Number>& value) {
  return value.load(std::memory_order_relaxed);
}

}  // namespace

void stream_trust::add_doubts(const core::stream_status& status) {
  missing_ += now_of(status.missing);
  unproven_ += now_of(status.unproven);
  const core::stream_state state = now_of(status.state);
  if (core::severity_of(state) <= severity_) return;
  severity_ = core::severity_of(state);
  state_ = core::to_string(state);
}

void stream_trust::add_hearing(const core::stream_status& status) {
  newest_ns_ = std::max(newest_ns_, now_of(status.last_applied_ns));
  delay_ms_ = std::max(delay_ms_, now_of(status.delay_ms));
  generation_ += now_of(status.generation);
  has_streams_ = true;
  are_connected_ = are_connected_ && now_of(status.connection) == core::connection_state::connected;
}

void stream_trust::write_heard(answer_writer& out) const {
  write_delay(out, delay_ms_);
  out.member("unproven_absences", unproven_);
  out.member("connected", has_streams_ && are_connected_);
  out.member("generation", generation_);
}

}  // namespace kvc::net
