// Any bytes into the MessagePack tape; what it accepts must be a sound tree, and its key lists must have one canonical form.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "net/extra_keys.hpp"
#include "net/msgpack_tape.hpp"
#include "net/tape_value.hpp"
#include "tests/support/fuzz_require.hpp"

namespace {

using namespace kvc::net;
using kvc::fuzz::require;
using kind = tape_node::kind;

/// Walks a value with all it contains; answers the node behind it.
std::uint32_t walk(const std::vector<tape_node>& nodes, std::uint32_t at, std::span<const std::byte> bytes, std::uint32_t depth) {
  require(at < nodes.size(), "children lie on the tape");
  const tape_node& node = nodes[at];
  if (node.what == kind::string || node.what == kind::binary || node.what == kind::extension) {
    const auto* begin = reinterpret_cast<const char*>(bytes.data());
    require(node.length == 0 || (node.data >= begin && node.data + node.length <= begin + bytes.size()), "texts lie in the payload");
  }
  std::uint32_t next = at + 1;
  if (node.what == kind::array || node.what == kind::map) {
    require(depth < msgpack_tape::max_depth, "the depth is bounded");
    const std::uint64_t children = std::uint64_t{node.length} * (node.what == kind::map ? 2 : 1);
    for (std::uint64_t i = 0; i < children; ++i) next = walk(nodes, next, bytes, depth + 1);
  }
  require(node.next == next, "next leads behind the value");
  return next;
}

/// Reads the root as a key list and writes it down; nothing when it is none.
std::string canonical(const msgpack_tape& tape) {
  std::vector<extra_key> keys;
  if (!read_extra_keys(tape_value(tape.nodes().data(), 0), keys)) return {};
  return encode_extra_keys(keys, {});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static msgpack_tape tape;
  const auto bytes = std::as_bytes(std::span(data, size));
  if (tape.parse(bytes)) {
    require(tape.nodes().empty(), "a refused payload leaves nothing behind");
    return 0;
  }
  require(walk(tape.nodes(), 0, bytes, 0) == tape.nodes().size(), "the root covers the tape");
  require(tape.nodes().size() <= size, "a value takes at least a byte");
  const std::string once = canonical(tape);
  if (once.empty()) return 0;
  if (tape.parse(std::as_bytes(std::span(once)))) {
    require(bytes.size() > msgpack_tape::max_depth, "only a deep tree gets too deep by being put in a list");
    return 0;
  }
  require(canonical(tape) == once, "the canonical form is its own canonical form");
  return 0;
}
