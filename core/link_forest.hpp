// Trees in which anything may be hung behind anything else: whether it would stand behind itself is found without walking the way up.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/arena.hpp"
#include "core/paged_list.hpp"
#include "core/slab.hpp"

namespace kvc::core {

/// A forest of numbered nodes, each behind one parent at most, that can tell whether one is behind another, however far.
///
/// Why: a walk to the root is as long as a prompt, and one small event is enough to ask for it. This is a link-cut tree (Sleator and
/// Tarjan, 1983, with splay trees): ways down from a root are kept as balanced trees that the questions themselves bring about. A question
/// and a cut cost some log(nodes) steps over many, hanging a node without children behind another one a single store. One question alone
/// may take as many steps as its chain is long, once for what was hung there since the last. 12 bytes for each number. Pure; one owner.
class link_forest {
 public:
  /// Hangs a root, and all behind it, behind another node. Precondition: `child` has no parent, and `parent` is not behind it.
  void link(std::uint32_t child, std::uint32_t parent);
  /// Makes it a root; all that hangs behind it stays there. Precondition: it has a parent.
  void cut(std::uint32_t child);
  /// Whether the way from a root to `node` leads past `other`, or ends there.
  [[nodiscard]] bool is_behind(std::uint32_t node, std::uint32_t other);
  /// Gives back what all of them took. Precondition: nobody has a parent.
  void clear() noexcept { places_.clear(); }

 private:
  /// Of a tree of the nodes on one way, ordered by depth. The top one of it hangs by `up` at the node above the way's first one.
  struct place {
    std::uint32_t up = no_record;
    std::uint32_t above = no_record;  ///< a tree of nodes nearer to the root
    std::uint32_t below = no_record;
  };

  [[nodiscard]] bool is_top(std::uint32_t node) const;
  void rotate(std::uint32_t node);
  void splay(std::uint32_t node);
  void expose(std::uint32_t node);
  void make(std::uint32_t node);

  paged_list<place, 1'024, arena_kind::objects> places_;
};

}  // namespace kvc::core
