// Keeps batches of ended processes out, and every batch from counting twice, where senders tell their incarnation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/ids.hpp"

namespace kvc::core {

/// The newest incarnation of each sender and which of its batches have come.
///
/// A higher incarnation is a newer process: from then on everything of older ones is stale, also what was only slow on the way. Within one
/// incarnation a number counts once. Batches may overtake each other: of the newest `window` numbers each is known to have come or not; what is
/// older than that counts as come. (Spec coordinator-api, section 9.)
/// Memory: at most `most` senders; the one silent longest is forgotten first, and its next batch is then taken as its first.
/// Pure; one lane.
class incarnation_fence {
 public:
  static constexpr std::uint64_t window = 64;

  enum class verdict : std::uint8_t { apply, duplicate, stale };

  struct counters {
    std::uint64_t applied = 0;
    std::uint64_t duplicates = 0;
    std::uint64_t stale = 0;
    std::uint64_t restarts = 0;   ///< newer incarnations
    std::uint64_t missing = 0;    ///< numbers skipped, less those that came late
    std::uint64_t late = 0;       ///< applied after a higher number
    std::uint64_t forgotten = 0;  ///< senders dropped because of the bound
  };

  /// `most` is at least 1.
  explicit incarnation_fence(std::size_t most = 65'536) : most_(most) {}

  /// A batch has come; it counts as applied when the answer says so.
  [[nodiscard]] verdict admit(std::string_view instance_id, std::uint64_t incarnation, seqno number);

  [[nodiscard]] const counters& counts() const noexcept { return counts_; }
  [[nodiscard]] std::size_t size() const noexcept { return senders_.size(); }

 private:
  struct sender {
    std::string instance_id;
    std::uint64_t incarnation = 0;
    std::uint64_t newest = 0;
    std::uint64_t seen = 0;  ///< bit i: number `newest` - i has come
  };
  using place = std::list<sender>::iterator;

  [[nodiscard]] verdict judge(sender& from, std::uint64_t incarnation, std::uint64_t number);

  std::size_t most_;
  std::list<sender> senders_;  ///< silent longest first
  std::unordered_map<std::string_view, place> by_id_;
  counters counts_;
};

}  // namespace kvc::core
