// A list that is asked for in ever smaller parts when a server refuses the whole of it.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>

namespace kvc::net {

/// Whether an answer of this status may be because of one entry of a list: not one about the call as such, as who may make it, or when.
[[nodiscard]] constexpr bool may_be_for_an_entry(unsigned status) noexcept {
  const bool is_about_the_call = status == 401 || status == 403 || status == 405 || status == 407 || status == 408 || status == 429;
  return status == 500 || (status / 100 == 4 && !is_about_the_call);
}

/// Which parts of a list of entries are asked for, and in which order.
///
/// Problem: many wishes are made one call, and a server that refuses the call for one of them refuses them all. So what is refused is asked
/// for again in halves, behind all that has not been asked for yet, until who is to blame stands alone. Bounds: `most_halvings`, and
/// `most_for_nothing` while no part was taken, as it is not the entries then. Use: `next`, until there is none; of each part either
/// `note_taken` or `halve`. Pure.
class halving {
 public:
  static constexpr std::size_t most_halvings = 64;
  static constexpr std::size_t most_for_nothing = 7;  ///< down to eighths

  /// Entries from one place to the one before another.
  struct part {
    std::size_t from = 0;
    std::size_t to = 0;
    [[nodiscard]] std::size_t size() const noexcept { return to - from; }
  };

  explicit halving(std::size_t entries) {
    if (entries != 0) parts_.push_back({.from = 0, .to = entries});
  }

  /// What is to be asked for next: the whole list at first.
  [[nodiscard]] std::optional<part> next() {
    if (parts_.empty()) return std::nullopt;
    const part first = parts_.front();
    parts_.pop_front();
    return first;
  }

  /// A part was taken.
  void note_taken() noexcept { has_taken_ = true; }
  /// Whether any was.
  [[nodiscard]] bool has_taken() const noexcept { return has_taken_; }

  /// A part was refused. True: it will be asked for in halves; false: it is one entry, or enough has been tried.
  [[nodiscard]] bool halve(const part& refused) {
    if (refused.size() < 2 || halvings_ >= (has_taken_ ? most_halvings : most_for_nothing)) return false;
    ++halvings_;
    const std::size_t middle = refused.from + refused.size() / 2;
    parts_.push_back({.from = refused.from, .to = middle});
    parts_.push_back({.from = middle, .to = refused.to});
    return true;
  }

 private:
  std::deque<part> parts_;
  std::size_t halvings_ = 0;
  bool has_taken_ = false;
};

}  // namespace kvc::net
