#include "net/stream_report.hpp"

#include <algorithm>
#include <atomic>

namespace kvc::net {
namespace {

using core::stream_status;
using time_point = std::chrono::steady_clock::time_point;

template <class Number>
Number now_of(const std::atomic<Number>& value) {
  return value.load(std::memory_order_relaxed);
}

/// What its events were, and what was not understood of them; only what there was.
void write_decoded(answer_writer& out, const stream_status& status) {
  out.key("decoded");
  out.object();
  for (std::size_t i = 0; i < core::event_dialect_count; ++i) {
    std::uint64_t sum = 0;
    for (const core::lane_counter& each : status.decoded.events[i]) sum += each.get();
    if (sum != 0) out.member(core::to_string(static_cast<core::event_dialect>(i)), sum);
  }
  out.end_object();
  out.key("rejected_events");
  out.object();
  for (std::size_t i = 1; i < core::reject_reason_count; ++i) {
    const std::uint64_t times = status.decoded.rejected[i].get();
    if (times != 0) out.member(core::to_string(static_cast<core::reject_reason>(i)), times);
  }
  out.end_object();
  out.key("unknown_words");
  out.object();
  for (std::size_t i = 0; i < core::word_kind_count; ++i) {
    const core::name_counts& words = status.unknown_words[i];
    out.key(core::to_string(static_cast<core::word_kind>(i)));
    out.object();
    for (std::size_t w = 0; w < words.size(); ++w) out.member(words.name(w), words.times(w));
    if (words.others() != 0) out.member(" others", words.others());  // no word has a blank
    out.end_object();
  }
  out.end_object();
}

}  // namespace

void write_lag(answer_writer& out, std::int64_t last_applied_ns, time_point now) {
  out.key("lag_ms");
  if (last_applied_ns == 0) return out.nothing();
  const auto now_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(now.time_since_epoch()).count();
  out.number(static_cast<std::uint64_t>(std::max<std::int64_t>(0, now_ns - last_applied_ns) / 1'000'000));
}

void write_delay(answer_writer& out, std::int64_t delay_ms) {
  out.key("delay_ms");
  if (delay_ms == stream_status::no_delay) return out.nothing();
  out.number(static_cast<std::uint64_t>(delay_ms));
}

void write_stream(answer_writer& out, const stream_status& status, time_point now) {
  out.member("state", core::to_string(now_of(status.state)));
  out.member("connection", core::to_string(now_of(status.connection)));
  const std::uint64_t last_seqno = status.last_seqno.load(std::memory_order_acquire);  // what it stands for must be seen too
  out.key("last_seqno");
  if (last_seqno == stream_status::no_seqno) {
    out.nothing();
  } else {
    out.number(last_seqno);
  }
  write_lag(out, now_of(status.last_applied_ns), now);
  write_delay(out, now_of(status.delay_ms));
  out.member("lag_batches", now_of(status.behind));
  out.member("batches", now_of(status.batches));
  out.member("events", now_of(status.events));
  out.member("rejected", now_of(status.rejected));
  out.member("bad_messages", now_of(status.bad_messages));
  out.member("bad_batches", now_of(status.bad_batches));
  out.member("other_topics", now_of(status.other_topics));
  out.member("stale_batches", now_of(status.stale_batches));
  out.member("gaps", now_of(status.gaps));
  out.member("replays", now_of(status.replays));
  out.member("replays_failed", now_of(status.replays_failed));
  out.key("replays_by_outcome");
  out.object(core::replay_outcome_count);
  for (std::size_t i = 0; i < core::replay_outcome_count; ++i) {
    out.member(core::to_string(static_cast<core::replay_outcome>(i)), now_of(status.replays_by_outcome[i]));
  }
  out.end_object();
  out.member("restarts", now_of(status.restarts));
  out.member("failures", now_of(status.failures));
  out.member("missing", now_of(status.missing));
  out.member("unproven_absences", now_of(status.unproven));
  out.member("lost", now_of(status.lost));
  out.member("doubted_blocks", now_of(status.doubted));
  out.member("evicted", now_of(status.evicted));
  out.member("orphans", now_of(status.orphans));
  out.member("dropped_orphans", now_of(status.dropped_orphans));
  out.member("unknown_removals", now_of(status.unknown_removals));
  out.member("rank_mismatches", now_of(status.rank_mismatches));
  out.member("skipped_blocks", now_of(status.skipped));
  out.member("reblocked_pages", now_of(status.reblocked_pages));
  out.member("uncounted_blocks", now_of(status.uncounted));
  out.member("unplaced_events", now_of(status.unplaced));
  write_decoded(out, status);
}

void write_pool(answer_writer& out, const stream_status& status) {
  out.key("pool");
  out.object(6);
  out.member("objects", now_of(status.pool_objects));
  out.member("waiting", now_of(status.pool_waiting));
  out.member("doubtful", now_of(status.pool_doubtful));
  out.member("incomplete", now_of(status.pool_incomplete));
  out.member("joined", now_of(status.pool_joined));
  out.member("dropped", now_of(status.pool_dropped));
  out.end_object();
}

}  // namespace kvc::net
