// What the numbers of event batches tell about batches that were lost on the way, where nothing but the number is sent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/ids.hpp"
#include "core/sender_table.hpp"

namespace kvc::core {

/// The newest number of each sender, and counts of what did not follow, of each and of all.
///
/// A sender counts its batches from 1, gives up the number of a batch that could not be sent, and begins with 1 again when it restarts,
/// without saying so. Nothing tells a repeated batch from a restart, so every batch is applied and the watch only counts. (Spec
/// coordinator-api, sections 3 and 9.) A sender that is heard of for the first time may begin with any number: we may be younger than it.
/// Memory: that of a `sender_table`; the first batch of a forgotten sender is its first again.
/// Pure; one lane.
class seqno_watch {
 public:
  enum class verdict : std::uint8_t { first, next, gap, repeat, restart };

  struct counters {
    std::uint64_t batches = 0;
    std::uint64_t gaps = 0;
    std::uint64_t missing = 0;   ///< numbers inside gaps
    std::uint64_t repeats = 0;   ///< the newest number once more
    std::uint64_t restarts = 0;  ///< a number below the newest
  };

  /// What is known of one sender: counts are since it was first heard of.
  struct sender {
    seqno newest{};
    std::uint64_t missing = 0;
    std::uint64_t repeats = 0;
    std::uint64_t restarts = 0;
  };

  using limits = sender_table<sender>::limits;

  seqno_watch() : seqno_watch(limits{}) {}
  explicit seqno_watch(const limits& with) : senders_(with) {}

  /// A batch has come. `number` is at least 1.
  verdict observe(std::string_view instance_id, seqno number);

  /// The newest number of a sender; absent when nothing is known of it.
  [[nodiscard]] std::optional<seqno> newest(std::string_view instance_id) const;
  /// Calls `visit(instance id, sender)` for the `most` senders heard of last.
  template <class Visit>
  void each_recent(std::size_t most, Visit visit) const {
    senders_.each_recent(most, visit);
  }
  [[nodiscard]] const counters& counts() const noexcept { return counts_; }
  [[nodiscard]] std::size_t size() const noexcept { return senders_.size(); }
  [[nodiscard]] std::uint64_t forgotten() const noexcept { return senders_.forgotten(); }  ///< senders, because of the bounds

 private:
  [[nodiscard]] verdict judge(sender& known, seqno number);

  sender_table<sender> senders_;
  counters counts_;
};

}  // namespace kvc::core
