// Keeps batches of ended processes out, and every batch from counting twice, where senders tell their incarnation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/ids.hpp"
#include "core/sender_table.hpp"

namespace kvc::core {

/// The newest incarnation of each sender and which of its batches have come.
///
/// A higher incarnation is a newer process: from then on everything of older ones is stale, also what was only slow on the way. Within one
/// incarnation a number counts once. Batches may overtake each other: of the newest `window` numbers each is known to have come or not;
/// what is older than that counts as come. (Spec coordinator-api, section 9.) Memory: that of a `sender_table`; the next batch of a
/// forgotten sender is taken as its first. Pure; one lane.
class incarnation_fence {
 public:
  static constexpr std::uint64_t window = 64;

  enum class verdict : std::uint8_t { apply, duplicate, stale };

  struct counters {
    std::uint64_t applied = 0;
    std::uint64_t duplicates = 0;
    std::uint64_t stale = 0;
    std::uint64_t restarts = 0;  ///< newer incarnations
    std::uint64_t skipped = 0;   ///< numbers that had not come when a higher one did
    std::uint64_t late = 0;      ///< of these, applied since
  };

 private:
  struct state {
    std::uint64_t incarnation = 0;
    std::uint64_t first = 0;  ///< number heard of this incarnation; those below it were never skipped
    std::uint64_t newest = 0;
    std::uint64_t seen = 0;  ///< bit i: number `newest` - i has come
  };

 public:
  using limits = sender_table<state>::limits;

  incarnation_fence() : incarnation_fence(limits{}) {}
  explicit incarnation_fence(const limits& with) : senders_(with) {}

  /// A batch has come; it counts as applied when the answer says so.
  [[nodiscard]] verdict admit(std::string_view instance_id, std::uint64_t incarnation, seqno number);
  /// What was admitted could not be applied to its end: it counts as skipped, and is applied when it comes again.
  void take_back(std::string_view instance_id, std::uint64_t incarnation, seqno number) noexcept;

  [[nodiscard]] const counters& counts() const noexcept { return counts_; }
  [[nodiscard]] std::size_t size() const noexcept { return senders_.size(); }
  [[nodiscard]] std::uint64_t forgotten() const noexcept { return senders_.forgotten(); }  ///< senders, because of the bounds

 private:
  [[nodiscard]] verdict judge(state& from, std::uint64_t incarnation, std::uint64_t number);

  sender_table<state> senders_;
  counters counts_;
};

}  // namespace kvc::core
