// What a stream's machine has counted, and what of it is worth telling.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/ids.hpp"
#include "core/stream_status.hpp"

namespace kvc::core {

/// Counts of one stream since it began.
struct stream_totals {
  std::uint64_t generation = 1;
  std::uint64_t missing = 0;   ///< lost in this generation
  std::uint64_t unproven = 0;  ///< absences in this generation after which nothing told whether it was the same publisher
  std::uint64_t lost = 0;      ///< in all
  std::uint64_t gaps = 0;
  std::uint64_t duplicates = 0;
  std::uint64_t replays = 0;  ///< ended
  std::uint64_t restarts = 0;
  std::array<std::uint64_t, replay_outcome_count> outcomes{};

  friend bool operator==(const stream_totals&, const stream_totals&) = default;
};

/// A fact worth a line in the log.
struct stream_fact {
  enum class kind : std::uint8_t { gap, replay_ended, lost, doubted, unproven, restarted, failed, silence_evicts, foreign };
  kind what{};
  seqno from{};                   ///< gap, replay_ended, lost: of the range; foreign: the batch that tells; else: last applied
  std::optional<seqno> to = {};   ///< absent: without end
  std::uint64_t applied = 0;      ///< replay_ended
  std::uint64_t lost = 0;         ///< replay_ended
  replay_outcome outcome{};       ///< replay_ended
  std::string_view because = {};  ///< restarted; static
};

}  // namespace kvc::core
