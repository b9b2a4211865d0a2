// Streams that are not whole: how many there are in each state, and which.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/stream_status.hpp"
#include "net/answer_writer.hpp"
#include "net/fleet_service.hpp"

namespace kvc::net {

/// A fleet's streams by state at one moment: each state is read once, so that numbers and names agree. One owner; the fleet outlives it.
class unwhole_streams {
 public:
  /// Most streams that are named: whoever registers many must not be able to make a balancer's question long.
  static constexpr std::size_t most_named = 16;

  explicit unwhole_streams(const fleet_view& fleet);

  [[nodiscard]] bool are_all_whole() const noexcept { return unwhole_ == 0; }

  /// Writes `streams`: how many there are, and how many in each state.
  void write_counts(answer_writer& out) const;
  /// Writes `not_whole`: who is not and how it is, the most troubled first, then by key; `most_named` of them.
  void write_named(answer_writer& out) const;

 private:
  struct named {
    const service_info* service;
    core::stream_state state;
  };

  std::size_t count_ = 0;
  std::size_t unwhole_ = 0;
  std::array<std::uint64_t, core::stream_state_count> by_state_{};
  std::vector<named> named_;
};

}  // namespace kvc::net
