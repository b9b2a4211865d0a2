// Where a stream stands, and what the next sequence number means.
#pragma once

#include <cstdint>
#include <optional>

#include "core/ids.hpp"

namespace kvc::core {

/// Watches the seqnos of one publisher incarnation.
///
/// Two marks are kept: the newest batch applied, from whatever source, and the newest one seen live. A live stream is ordered, so a live
/// seqno at or below the newest live one proves that the publisher has started over; one that is only at or below the newest applied one
/// has been covered by a replay already. (kv-events.md sections 1, 7 and 11.) Pure; one lane.
class stream_cursor {
 public:
  /// What a live batch means.
  struct verdict {
    enum class kind : std::uint8_t {
      contiguous,  ///< apply it
      gap,         ///< [missing_from, missing_to] should come first
      duplicate,   ///< applied already by a replay: drop it
      restart,     ///< another incarnation: forget everything, `reset`, observe again
    };
    kind what = kind::contiguous;
    seqno missing_from{};  ///< for gap: first missing
    seqno missing_to{};    ///< for gap: last missing
  };

  /// `first`: the seqno a publisher of this type starts with (0; Mooncake's master starts with 1).
  explicit stream_cursor(seqno first = seqno{0}) : first_(first) {}

  /// Looks at a live batch; does not count it as applied.
  [[nodiscard]] verdict observe_live(seqno batch);

  /// `batch` is in the index, or given up as lost. Never moves back.
  void applied(seqno batch);

  /// A new incarnation: nothing applied, nothing seen.
  void reset() { *this = stream_cursor(first_); }

  /// The seqno that should come next.
  [[nodiscard]] seqno next() const { return applied_ ? seqno{applied_->get() + 1} : first_; }
  [[nodiscard]] const std::optional<seqno>& newest_applied() const { return applied_; }

 private:
  seqno first_;
  std::optional<seqno> applied_;
  std::optional<seqno> newest_live_;
};

}  // namespace kvc::core
