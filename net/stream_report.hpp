// A stream's status as members of an answer.
#pragma once

#include <chrono>
#include <cstdint>

#include "core/stream_status.hpp"
#include "net/answer_writer.hpp"

namespace kvc::net {

/// Writes `lag_ms`: null when no batch has ever been applied. `last_applied_ns` is steady clock.
void write_lag(answer_writer& out, std::int64_t last_applied_ns, std::chrono::steady_clock::time_point now);

/// Writes `delay_ms`: null for core::stream_status::no_delay.
void write_delay(answer_writer& out, std::int64_t delay_ms);

/// Writes the members of a stream into the object that is open: states, counters, what its events were, and what was not understood of
/// them.
void write_stream(answer_writer& out, const core::stream_status& status, std::chrono::steady_clock::time_point now);

/// The member `pool` of a pool's stream: what has become of its objects.
void write_pool(answer_writer& out, const core::stream_status& status);

}  // namespace kvc::net
