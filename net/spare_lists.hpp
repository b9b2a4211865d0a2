// The memory of lists that events have had, for those of the next batch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

#include "core/event.hpp"

namespace kvc::net {

/// Lists of names, of tokens and of their hashes, bounded in number and size.
///
/// Story: a batch has a few lists of some hundred elements each, all of which go with it. Taken from and given back to the general
/// allocator, and set to zero before they are filled, they were some 4 % of a lane's time at saturation (by a profile); taken from here
/// they are in the caches as well. One lane's streams share theirs, so an idle stream keeps none. Owner: one lane.
class spare_lists {
 public:
  /// Ends events that nobody needs any more and keeps what their lists have taken, up to the bounds.
  void take_back(std::vector<core::event>& done);

  /// Gives an empty list the memory of a spare one, if there is one for `wanted` elements: of the short ones any, of the long ones one with
  /// room for them. What its elements are then means nothing, and neither does their number. (Short and long apart: a chain of 8,192 tokens
  /// that got whichever came last had its 32 KiB taken anew and set to zero nearly every time, for answers of 16 tokens come in between.)
  void lend(std::vector<core::engine_hash>& names, std::size_t wanted) noexcept { names_.lend(names, wanted); }
  void lend(std::vector<std::uint32_t>& tokens, std::size_t wanted) noexcept { tokens_.lend(tokens, wanted); }
  void lend(std::vector<core::local_hash>& locals, std::size_t wanted) noexcept { locals_.lend(locals, wanted); }

  static constexpr std::size_t most_lists = 16;                     ///< of each kind and length
  static constexpr std::size_t longest_short = 64;                  ///< elements
  static constexpr std::size_t most_bytes = std::size_t{64} << 10;  ///< of one list; 16,384 tokens

 private:
  /// Lists of one kind of element, the one used last behind the others.
  template <class Element>
  class stacks {
   public:
    void lend(std::vector<Element>& to, std::size_t wanted) noexcept {
      auto& from = wanted <= longest_short ? short_ : long_;
      for (auto each = from.rbegin(); each != from.rend(); ++each) {
        if (wanted > longest_short && each->capacity() < wanted) continue;
        to.swap(*each);
        from.erase(std::next(each).base());
        return;
      }
    }
    void keep(std::vector<Element>& list);

   private:
    std::vector<std::vector<Element>> short_;
    std::vector<std::vector<Element>> long_;
  };

  stacks<core::engine_hash> names_;
  stacks<std::uint32_t> tokens_;
  stacks<core::local_hash> locals_;
};

}  // namespace kvc::net
