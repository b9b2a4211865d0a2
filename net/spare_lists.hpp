// The memory of lists that events have had, for those of the next batch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/event.hpp"

namespace kvc::net {

/// Lists of names and of tokens, bounded in number and size.
///
/// Story: a batch has a few lists of some hundred elements each, all of which go with it. Taken from and given back to the general
/// allocator, and set to zero before they are filled, they were some 4 % of a lane's time at saturation (by a profile); taken from here
/// they are in the caches as well. One lane's streams share theirs, so an idle stream keeps none. Owner: one lane.
class spare_lists {
 public:
  /// Ends events that nobody needs any more and keeps what their lists have taken, up to the bounds.
  void take_back(std::vector<core::event>& done);

  /// Gives an empty list a spare one's memory, if there is one; what its elements are then means nothing, and neither does their number.
  void lend(std::vector<core::engine_hash>& names) noexcept { lend(names, names_); }
  void lend(std::vector<std::uint32_t>& tokens) noexcept { lend(tokens, tokens_); }

  static constexpr std::size_t most_lists = 16;                     ///< of each kind
  static constexpr std::size_t most_bytes = std::size_t{64} << 10;  ///< of one list; 16,384 tokens

 private:
  template <class Element>
  static void lend(std::vector<Element>& to, std::vector<std::vector<Element>>& from) noexcept {
    if (from.empty()) return;
    to.swap(from.back());
    from.pop_back();
  }
  template <class Element>
  static void keep(std::vector<Element>& list, std::vector<std::vector<Element>>& with);

  std::vector<std::vector<core::engine_hash>> names_;
  std::vector<std::vector<std::uint32_t>> tokens_;
};

}  // namespace kvc::net
