// What can go wrong between a publisher and whoever listens, how likely it is, and how often it happened.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "perf/sim_mix.hpp"

namespace kvc::sim {

enum class fault : std::uint8_t {
  drop,             ///< a live batch never arrives
  duplicate,        ///< a live batch arrives twice
  delay,            ///< live batches are held back; replays overtake them
  truncate,         ///< a live payload lacks its end
  corrupt,          ///< a live payload is no MessagePack
  frames,           ///< a live message lacks a frame, or has a seqno of the wrong size
  noise,            ///< a message that is no batch comes in between
  poison_event,     ///< an event nobody can make sense of, in a good batch
  poison_batch,     ///< a batch that its publisher wrote wrong: its replay is no better
  lost_number,      ///< a batch that could not be written: its number is used up
  restart,          ///< the process dies and comes back with nothing
  reconnect,        ///< the live connection breaks; the process lives on
  reply_lost,       ///< a replay leaves a batch out
  reply_delayed,    ///< a replay pauses
  request_ignored,  ///< a replay is asked for and not given
  trimmed,          ///< a replay is asked for what is kept no longer
};
inline constexpr std::size_t fault_count = 16;

[[nodiscard]] std::string_view to_string(fault what) noexcept;

/// How often each has happened.
struct fault_counts {
  std::array<std::uint64_t, fault_count> times{};

  void add(fault what) noexcept { ++times[static_cast<std::size_t>(what)]; }
  void add(const fault_counts& other) noexcept;
};

/// How likely each is, in thousandths: per batch published, or per batch replayed, or per request.
struct fault_chances {
  std::array<std::uint32_t, fault_count> per_mille{};

  [[nodiscard]] bool strikes(fault what, dice& random) const {
    const std::uint32_t chance = per_mille[static_cast<std::size_t>(what)];
    return chance != 0 && random.below(1000) < chance;
  }
};

/// Some faults, drawn; a publisher suffers from few at a time, so that each is seen alone as well as with others.
[[nodiscard]] fault_chances draw_chances(dice& random);

}  // namespace kvc::sim
