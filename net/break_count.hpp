// Which breaks of a connection a stream knows of by the time it reads a message.
#pragma once

#include <cstdint>
#include <utility>

namespace kvc::net {

/// The transport tells at once that a connection has broken; what came over it may still wait to be read.
///
/// Problem: who learns of a break too early takes what still waits for what the next connection brought, and whoever that comes from for
/// the publisher of today: a publisher that restarted twice in a row was put together from both. Story: a break is told when the first
/// message from behind it is read, or when nothing waits any more. Where it has to be told before (an answer to a replay may be a
/// successor's), it is told again then. `told` grows with each; by how much says nothing. One owner; pure.
class break_count {
 public:
  /// A message came over another connection than the one before it. `breaks`: how many the transport has told of so far, at every call.
  void on_other_connection(std::uint64_t breaks) noexcept {
    const bool is_first_behind = std::exchange(is_unheard_, false);
    if (breaks <= passed_) return;
    // Only one lies between two messages that follow each other; the connection that came last may have broken as well. The first message
    // behind breaks that were passed in silence came over the connection behind those, so that any other lies behind it: it is told now,
    // and again when it is passed.
    if (!is_first_behind) ++passed_;
    ++told_;
  }
  /// Nothing waits to be read.
  void on_drained(std::uint64_t breaks) noexcept {
    if (breaks <= passed_) return;
    passed_ = breaks;
    is_unheard_ = true;
    ++told_;
  }
  /// Something may wait, and it matters now.
  void on_look(std::uint64_t breaks) noexcept {
    if (breaks <= passed_ || breaks == looked_) return;
    looked_ = breaks;
    ++told_;
  }
  /// What waited has been thrown away, and the transport counts from 0 again.
  void on_fresh_transport(std::uint64_t breaks) noexcept {
    on_drained(breaks);
    passed_ = 0;
    looked_ = 0;
    is_unheard_ = true;
  }

  /// Whether the transport has told of breaks from behind which nothing has been read.
  [[nodiscard]] bool is_behind(std::uint64_t breaks) const noexcept { return breaks > passed_; }
  [[nodiscard]] std::uint64_t told() const noexcept { return told_; }

 private:
  std::uint64_t passed_ = 0;  ///< breaks that lie before everything that still waits
  std::uint64_t looked_ = 0;  ///< of the last look that told of one
  std::uint64_t told_ = 0;
  bool is_unheard_ = true;  ///< nothing has been read yet of the first connection, or of that behind breaks passed in silence
};

}  // namespace kvc::net
