// What a stream's machine keeps to: fixed when the stream begins.
#pragma once

#include <chrono>

#include "core/ids.hpp"
#include "core/registration.hpp"
#include "core/replay_fsm.hpp"

namespace kvc::core {

/// See stream_fsm. Zero durations: as their comments say.
struct stream_rules {
  seqno first{0};          ///< the first seqno of publishers of this type
  bool has_replay = true;  ///< there is an endpoint to ask for missing batches
  replay_fsm::limits replay;
  std::chrono::nanoseconds replay_timeout = std::chrono::seconds(5);  ///< longest silence inside an answer; above 0
  std::chrono::nanoseconds longest_replay = std::chrono::minutes(5);  ///< no recovery takes longer, whatever the publisher sends
  std::chrono::nanoseconds replay_pause = std::chrono::seconds(30);   ///< how long an endpoint that never answered is left alone
  std::chrono::nanoseconds idle_check = std::chrono::seconds(1);      ///< how long to wait for a batch before looking around; above 0
  std::chrono::nanoseconds stale_after = std::chrono::seconds(30);    ///< of silence; 0: silence never makes a stream stale
  std::chrono::nanoseconds evict_after{0};                            ///< of silence, not before it is stale; 0: the blocks stay
  std::chrono::nanoseconds tail_check = std::chrono::seconds(10);     ///< shortest time between two looks for a dropped last batch; 0: none
  double fastest_publisher = 10'000;                                  ///< batches/s; engines publish one per step, some hundred at most
  bool expects_idle = false;                                          ///< silence means nothing
  loss_policy after_loss = loss_policy::drop;
};

/// The first seqno of publishers of this type: Mooncake's master begins with 1, everybody else with 0 (kv-events.md section 0.9). So does
/// Mooncake's older publisher, which is the one that has a replay (section 7).
[[nodiscard]] constexpr seqno first_seqno(publisher_type type, bool has_replay) noexcept {
  return seqno{type == publisher_type::mooncake && !has_replay ? 1U : 0U};
}

}  // namespace kvc::core
