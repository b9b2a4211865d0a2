// How the kernel finds out that the host of a peer is dead.
#pragma once

namespace kvc::net {

/// When a connection on which nothing comes is probed, and when it is given up.
///
/// Problem: a peer whose host died sends no reset; only silence tells. The kernel's probes find out as soon as libzmq's heartbeats would,
/// and cost nothing in between: libzmq looks through the timers of all its connections for each heartbeat. But connections on which
/// something came last at the same time are probed at the same time, to a quarter of a second, and the kernel's queue for packets to this
/// host has room for 1,000 (net.core.netdev_max_backlog); what it drops is always the same, until healthy connections are given up. Story:
/// not all connections have the same rhythm. All seconds; pure.
struct probe_rhythm {
  int after_s;     ///< of silence, the first probe; as often again while they are answered
  int interval_s;  ///< between probes that are not
  int count;       ///< of those, until the connection is given up: after 20 to 22 s, whatever the rhythm

  static constexpr unsigned rhythms = 8;

  /// `turn`: grows from socket to socket of a kind.
  [[nodiscard]] static constexpr probe_rhythm of(unsigned turn) noexcept {
    constexpr int soonest_s = 5;
    constexpr int given_up_after_s = 22;
    constexpr int unanswered = 3;
    const int after_s = soonest_s + static_cast<int>(turn % rhythms);
    return {.after_s = after_s, .interval_s = (given_up_after_s - after_s) / unanswered, .count = unanswered};
  }
};

}  // namespace kvc::net
