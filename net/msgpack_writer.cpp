// The writing half of net/msgpack_tape. The only file that knows the msgpack library.
#include <bit>
#include <limits>

#include <msgpack/pack.hpp>

#include "net/msgpack_tape.hpp"

namespace kvc::net {
namespace {

/// The stream concept the library's packer writes to.
class string_stream {
 public:
  explicit string_stream(std::string& out) : out_(&out) {}
  void write(const char* data, std::size_t size) { out_->append(data, size); }

 private:
  std::string* out_;
};

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
