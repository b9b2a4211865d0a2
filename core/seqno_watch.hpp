// What the numbers of event batches tell about batches that were lost on the way, where nothing but the number is sent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/ids.hpp"

namespace kvc::core {

/// The newest number of each sender, and counts of what did not follow.
///
/// A sender counts its batches from 1, gives up the number of a batch that could not be sent, and begins with 1 again when it restarts, without
/// saying so. Nothing tells a repeated batch from a restart, so every batch is applied and the watch only counts. (Spec coordinator-api, sections 3
/// and 9.) A sender that is heard of for the first time may begin with any number: we may be younger than it.
/// Memory: at most `most` senders; the one that has been silent longest is forgotten first.
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
    std::uint64_t forgotten = 0; ///< senders dropped because of the bound
  };

  /// `most` is at least 1.
  explicit seqno_watch(std::size_t most = 65'536) : most_(most) {}

  /// A batch has come. `number` is at least 1.
  verdict observe(std::string_view instance_id, seqno number);

  /// The newest number of a sender; absent when nothing is known of it.
  [[nodiscard]] std::optional<seqno> newest(std::string_view instance_id) const;
  [[nodiscard]] const counters& counts() const noexcept { return counts_; }
  [[nodiscard]] std::size_t size() const noexcept { return senders_.size(); }

 private:
  struct sender {
    std::string instance_id;
    seqno newest{};
  };
  using place = std::list<sender>::iterator;

  [[nodiscard]] verdict judge(seqno newest, seqno number);

  std::size_t most_;
  std::list<sender> senders_;  ///< silent longest first
  std::unordered_map<std::string_view, place> by_id_;
  counters counts_;
};

}  // namespace kvc::core
