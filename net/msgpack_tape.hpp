// MessagePack bytes to a flat list of nodes that can be walked, and values back to bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "net/errc.hpp"

namespace kvc::net {

/// One value of a parsed document. Strings and binaries are views into the parsed bytes.
struct tape_node {
  enum class kind : std::uint8_t { nil, boolean, unsigned_integer, negative_integer, real, string, binary, extension, array, map };

  kind what = kind::nil;
  std::uint32_t length = 0;  ///< bytes of a string or binary, elements of an array, pairs of a map
  std::uint32_t next = 0;    ///< index of the node after this value and all it contains
  union {
    std::uint64_t bits = 0;  ///< integers: two's complement; boolean: 0 or 1
    double number;
    const char* data;
  };

  [[nodiscard]] bool is_integer() const noexcept { return what == kind::unsigned_integer || what == kind::negative_integer; }
  [[nodiscard]] std::string_view text() const noexcept { return {data, length}; }
};

/// A parsed document: the nodes in reading order, children behind their container. Memory is bounded by the payload (no claimed length is
/// believed before its elements have arrived) and kept for the next parse unless it was unusually large. Pure; one owner.
class msgpack_tape {
 public:
  static constexpr std::uint32_t max_depth = 16;
  /// Nodes of one document, 24 bytes each: 96 MiB, whatever arrives. The largest engine batches stay far below.
  static constexpr std::size_t max_nodes = 4'194'304;

  /// What becomes of a container that is nested deeper than `max_depth`.
  enum class deeper : std::uint8_t {
    refused,  ///< nothing is parsed
    opaque,   ///< it is an extension of no bytes, whatever it holds: for documents of which a part may be bad and the rest good
  };

  /// Parses exactly one value that fills `bytes`, which must outlive the use of the tape. After an error the tape is empty.
  /// Errors: `malformed_msgpack` (also when bytes are left over), `nested_too_deep`, `too_many_elements`.
  [[nodiscard]] error_code parse(std::span<const std::byte> bytes, deeper what = deeper::refused);

  [[nodiscard]] const std::vector<tape_node>& nodes() const noexcept { return nodes_; }
  /// Precondition: the last parse succeeded.
  [[nodiscard]] const tape_node& root() const noexcept { return nodes_.front(); }

 private:
  std::vector<tape_node> nodes_;
};

/// Appends MessagePack values to a string. Containers announce their size first. Integers take their shortest form.
class msgpack_writer {
 public:
  explicit msgpack_writer(std::string& out) : out_(&out) {}

  void nil();
  void boolean(bool value);
  void unsigned_integer(std::uint64_t value);
  void integer(std::int64_t value);
  void real(double value);
  void string(std::string_view value);
  void binary(std::span<const std::byte> value);
  void array(std::uint32_t elements);
  void map(std::uint32_t pairs);

 private:
  std::string* out_;
};

}  // namespace kvc::net
