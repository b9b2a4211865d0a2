// How far what one row tells can be trusted: the streams behind it, taken together.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/stream_status.hpp"
#include "net/answer_writer.hpp"

namespace kvc::net {

/// What the streams of a row come to; each is to be added once. One owner.
class stream_trust {
 public:
  /// Counts what the stream lacks, and its state. Reads only; for streams whose blocks count in the row, whoever has registered them.
  void add_doubts(const core::stream_status& status);
  /// Counts how the stream is heard. For streams of the row's own.
  void add_hearing(const core::stream_status& status);

  /// The state of the most troubled one; without one `unknown`.
  [[nodiscard]] std::string_view state() const noexcept { return state_; }
  [[nodiscard]] bool is_whole() const noexcept { return severity_ == 0; }
  /// Batches lost for good.
  [[nodiscard]] std::uint64_t missing() const noexcept { return missing_; }
  /// When a batch was last applied, steady clock; 0: never.
  [[nodiscard]] std::int64_t newest_ns() const noexcept { return newest_ns_; }

  static constexpr std::size_t heard_members = 4;
  /// Writes the `heard_members` members `delay_ms`, `unproven_absences`, `connected` and `generation` into the object that is open.
  void write_heard(answer_writer& out) const;

 private:
  std::string_view state_ = "unknown";
  int severity_ = -1;
  std::uint64_t missing_ = 0;
  std::uint64_t unproven_ = 0;
  std::int64_t newest_ns_ = 0;
  std::int64_t delay_ms_ = core::stream_status::no_delay;  ///< the greatest
  std::uint64_t generation_ = 0;                           ///< the sum, so that it rises when any of them begins anew
  bool has_streams_ = false;
  bool are_connected_ = true;
};

}  // namespace kvc::net
