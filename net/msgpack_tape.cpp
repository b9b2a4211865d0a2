#include "net/msgpack_tape.hpp"

#include <array>
#include <bit>
#include <exception>
#include <limits>

#include <msgpack/null_visitor.hpp>
#include <msgpack/pack.hpp>
#include <msgpack/unpack.hpp>

namespace kvc::net {
namespace {

using kind = tape_node::kind;

/// What a tape keeps between two parses; a larger one was for an unusual document and gives its memory back.
constexpr std::size_t kept_nodes = 65'536;

/// Appends a node per value as the library reports it. Knows nothing of claimed lengths but the number it writes down.
class tape_visitor : public msgpack::null_visitor {
 public:
  explicit tape_visitor(std::vector<tape_node>& nodes) : nodes_(&nodes) {}

  bool visit_nil() { return append(kind::nil, 0); }
  bool visit_boolean(bool value) { return append(kind::boolean, value ? 1 : 0); }
  bool visit_positive_integer(std::uint64_t value) { return append(kind::unsigned_integer, value); }
  bool visit_negative_integer(std::int64_t value) {  // the library also comes here for positive values in a signed format
    return append(value < 0 ? kind::negative_integer : kind::unsigned_integer, static_cast<std::uint64_t>(value));
  }
  bool visit_float32(float value) { return append_real(static_cast<double>(value)); }
  bool visit_float64(double value) { return append_real(value); }
  bool visit_str(const char* data, std::uint32_t size) { return append_bytes(kind::string, data, size); }
  bool visit_bin(const char* data, std::uint32_t size) { return append_bytes(kind::binary, data, size); }
  bool visit_ext(const char* data, std::uint32_t size) { return append_bytes(kind::extension, data, size); }
  bool start_array(std::uint32_t elements) { return open(kind::array, elements); }
  bool start_map(std::uint32_t pairs) { return open(kind::map, pairs); }
  bool end_array() { return close(); }
  bool end_map() { return close(); }

  [[nodiscard]] error_code why_stopped() const { return why_stopped_; }

 private:
  tape_node* add(kind what, std::uint32_t length) {
    if (nodes_->size() == msgpack_tape::max_nodes) {
      why_stopped_ = errc::too_many_elements;
      return nullptr;
    }
    tape_node& node = nodes_->emplace_back();
    node.what = what;
    node.length = length;
    node.next = static_cast<std::uint32_t>(nodes_->size());
    return &node;
  }

  bool append(kind what, std::uint64_t bits) {
    tape_node* const node = add(what, 0);
    if (node != nullptr) node->bits = bits;
    return node != nullptr;
  }

  bool append_real(double number) {
    tape_node* const node = add(kind::real, 0);
    if (node != nullptr) node->number = number;
    return node != nullptr;
  }

  bool append_bytes(kind what, const char* data, std::uint32_t size) {
    tape_node* const node = add(what, size);
    if (node != nullptr) node->data = size == 0 ? "" : data;  // the library has no pointer for an empty one
    return node != nullptr;
  }

  bool open(kind what, std::uint32_t length) {
    if (depth_ == open_.size()) {
      why_stopped_ = errc::nested_too_deep;
      return false;
    }
    tape_node* const node = add(what, length);
    if (node == nullptr) return false;
    node->bits = 0;
    open_[depth_++] = node->next - 1;
    return true;
  }

  bool close() {
    tape_node& node = (*nodes_)[open_[--depth_]];
    node.next = static_cast<std::uint32_t>(nodes_->size());
    return true;
  }

  std::vector<tape_node>* nodes_;
  std::array<std::uint32_t, msgpack_tape::max_depth> open_{};  ///< containers whose elements are still arriving
  std::size_t depth_ = 0;
  error_code why_stopped_;
};

/// The stream concept the library's packer writes to.
class string_stream {
 public:
  explicit string_stream(std::string& out) : out_(&out) {}
  void write(const char* data, std::size_t size) { out_->append(data, size); }

 private:
  std::string* out_;
};

}  // namespace

error_code msgpack_tape::parse(std::span<const std::byte> bytes) {
  nodes_.clear();
  if (nodes_.capacity() > kept_nodes && bytes.size() < kept_nodes) nodes_.shrink_to_fit();
  tape_visitor visitor(nodes_);
  std::size_t used = 0;
  bool complete = false;
  try {
    complete = msgpack::parse(reinterpret_cast<const char*>(bytes.data()), bytes.size(), used, visitor);
  } catch (const msgpack::unpack_error&) {
    complete = false;
  }
  error_code failure;
  if (visitor.why_stopped()) {
    failure = visitor.why_stopped();
  } else if (!complete || used != bytes.size()) {
    failure = errc::malformed_msgpack;
  }
  if (failure) nodes_.clear();
  return failure;
}

namespace {

template <class Write>
void pack_into(std::string& out, Write write) {
  string_stream stream(out);
  msgpack::packer<string_stream> packer(stream);
  write(packer);
}

std::uint32_t size_of(std::size_t size) {
  constexpr std::size_t most = std::numeric_limits<std::uint32_t>::max();
  return static_cast<std::uint32_t>(size < most ? size : most);
}

}  // namespace

void msgpack_writer::nil() {
  pack_into(*out_, [](auto& packer) { packer.pack_nil(); });
}

void msgpack_writer::boolean(bool value) {
  pack_into(*out_, [value](auto& packer) { value ? packer.pack_true() : packer.pack_false(); });
}

void msgpack_writer::unsigned_integer(std::uint64_t value) {
  pack_into(*out_, [value](auto& packer) { packer.pack_uint64(value); });
}

void msgpack_writer::integer(std::int64_t value) {
  pack_into(*out_, [value](auto& packer) { packer.pack_int64(value); });
}

void msgpack_writer::real(double value) {
  // The library turns whole numbers into integers; publishers and readers expect a float64 to stay one.
  const auto bits = std::bit_cast<std::uint64_t>(value);
  out_->push_back(static_cast<char>(0xcb));
  for (int shift = 56; shift >= 0; shift -= 8) out_->push_back(static_cast<char>((bits >> shift) & 0xff));
}

void msgpack_writer::string(std::string_view value) {
  const std::uint32_t size = size_of(value.size());
  pack_into(*out_, [value, size](auto& packer) { packer.pack_str(size).pack_str_body(value.data(), size); });
}

void msgpack_writer::binary(std::span<const std::byte> value) {
  const std::uint32_t size = size_of(value.size());
  pack_into(*out_, [value, size](auto& packer) { packer.pack_bin(size).pack_bin_body(reinterpret_cast<const char*>(value.data()), size); });
}

void msgpack_writer::array(std::uint32_t elements) {
  pack_into(*out_, [elements](auto& packer) { packer.pack_array(elements); });
}

void msgpack_writer::map(std::uint32_t pairs) {
  pack_into(*out_, [pairs](auto& packer) { packer.pack_map(pairs); });
}

}  // namespace kvc::net
