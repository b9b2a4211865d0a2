#include "core/link_forest.hpp"

namespace kvc::core {

void link_forest::make(std::uint32_t node) {
  while (places_.size() <= node) places_.grow();
}

bool link_forest::is_top(std::uint32_t node) const {
  const std::uint32_t up = places_[node].up;
  return up == no_record || (places_[up].above != node && places_[up].below != node);
}

/// Puts a node where the one it hangs at is, and that one beneath it.
void link_forest::rotate(std::uint32_t node) {
  const std::uint32_t down = places_[node].up;
  const std::uint32_t up = places_[down].up;
  const bool was_top = is_top(down);
  const bool is_above = places_[down].above == node;
  std::uint32_t& inner = is_above ? places_[node].below : places_[node].above;
  (is_above ? places_[down].above : places_[down].below) = inner;
  if (inner != no_record) places_[inner].up = down;
  inner = down;
  if (!was_top) (places_[up].above == down ? places_[up].above : places_[up].below) = node;
  places_[down].up = node;
  places_[node].up = up;
}

/// Makes it the top one of its way's tree.
void link_forest::splay(std::uint32_t node) {
  while (!is_top(node)) {
    const std::uint32_t up = places_[node].up;
    if (!is_top(up)) {
      const bool is_straight = (places_[up].above == node) == (places_[places_[up].up].above == up);
      rotate(is_straight ? up : node);
    }
    rotate(node);
  }
}

/// Makes the way from the root to a node one that ends with it, and it the top one.
void link_forest::expose(std::uint32_t node) {
  std::uint32_t below = no_record;
  for (std::uint32_t each = node; each != no_record; each = places_[each].up) {
    splay(each);
    places_[each].below = below;  // what was there hangs at it by `up` alone
    below = each;
  }
  splay(node);
}

void link_forest::link(std::uint32_t child, std::uint32_t parent) {
  make(child);
  make(parent);
  expose(child);  // a root: its own way's top one, with nothing above it
  places_[child].up = parent;
}

void link_forest::cut(std::uint32_t child) {
  expose(child);
  std::uint32_t& above = places_[child].above;
  places_[above].up = no_record;
  above = no_record;
}

bool link_forest::is_behind(std::uint32_t node, std::uint32_t other) {
  make(node);
  make(other);
  expose(node);
  if (node == other) return true;
  splay(other);  // takes the node's place at the top if it is on the same way
  return places_[node].up != no_record;
}

}  // namespace kvc::core
