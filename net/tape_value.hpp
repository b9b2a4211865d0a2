// A value on a tape, with the steps to walk from it.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>

#include "net/msgpack_tape.hpp"

namespace kvc::net {

/// Points at one value of a parsed tape, or at nothing: an absent field. Cheap to copy; valid until the tape is parsed into again.
class tape_value {
 public:
  using kind = tape_node::kind;

  tape_value() = default;
  /// `nodes` is where the tape begins, `index` the node pointed at.
  tape_value(const tape_node* nodes, std::uint32_t index) noexcept : nodes_(nodes), index_(index) {}

  /// Present and not nil: the two ways of leaving a field out mean the same everywhere on these wires.
  [[nodiscard]] bool has_value() const noexcept { return nodes_ != nullptr && node().what != kind::nil; }
  /// Points at something, be it nil.
  [[nodiscard]] bool is_present() const noexcept { return nodes_ != nullptr; }
  [[nodiscard]] bool is(kind what) const noexcept { return nodes_ != nullptr && node().what == what; }
  [[nodiscard]] bool is_integer() const noexcept { return nodes_ != nullptr && node().is_integer(); }

  /// Precondition for all below: present.
  [[nodiscard]] const tape_node& node() const noexcept { return nodes_[index_]; }
  /// Elements of an array, pairs of a map, bytes of a string or binary.
  [[nodiscard]] std::uint32_t length() const noexcept { return node().length; }
  [[nodiscard]] std::string_view text() const noexcept { return node().text(); }
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return std::as_bytes(std::span(node().data, node().length)); }
  /// The first element of an array or the first key of a map; precondition: it is not empty.
  [[nodiscard]] tape_value first() const noexcept { return {nodes_, index_ + 1}; }
  /// The value behind this one in the same container; precondition: this is not the last.
  [[nodiscard]] tape_value next() const noexcept { return {nodes_, node().next}; }

  /// The elements of an array as nodes one behind the other, when none of them is a container with anything in it; else nothing. A walk
  /// by `next` says the same, slower. Precondition: an array.
  [[nodiscard]] std::span<const tape_node> flat_elements() const noexcept {
    if (node().next != index_ + 1 + length()) return {};
    return {nodes_ + index_ + 1, length()};
  }

  /// The number, when this is an integer in 0 .. 2^32-1. Works on absent values too.
  [[nodiscard]] std::optional<std::uint32_t> as_u32() const noexcept {
    if (!is(kind::unsigned_integer) || node().bits > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
    return static_cast<std::uint32_t>(node().bits);
  }

 private:
  const tape_node* nodes_ = nullptr;
  std::uint32_t index_ = 0;
};

}  // namespace kvc::net
