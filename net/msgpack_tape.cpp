// The reading half. Our own, because event batches are mostly long lists of integers, and a callback per value cost more than everything
// the index does with the block it belongs to (perf/results/ingest.md).
#include "net/msgpack_tape.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "net/big_endian.hpp"

namespace kvc::net {
namespace {

using kind = tape_node::kind;

/// What a tape keeps between two parses; a larger one was for an unusual document and gives its memory back.
constexpr std::size_t kept_nodes = 65'536;

/// Integers that are read in one go: a list is written down without asking for every one of them whether there is room.
constexpr std::size_t run_length = 256;
constexpr std::size_t longest_integer = 9;  ///< bytes, with the format

/// Reads one document front to back; a list of open containers takes the place of recursion. (Source: the MessagePack specification,
/// "Formats".)
class tape_parser {
 public:
  tape_parser(std::span<const std::byte> bytes, std::vector<tape_node>& nodes, msgpack_tape::deeper deeper)
      : at_(reinterpret_cast<const unsigned char*>(bytes.data())), end_(at_ + bytes.size()), nodes_(&nodes), deeper_(deeper) {}

  [[nodiscard]] error_code parse() {
    bool goes_on = read();
    while (goes_on && depth_ > 0) {
      open_container& inner = open_[depth_ - 1];
      if (inner.left == 0) {
        (*nodes_)[inner.node].next = static_cast<std::uint32_t>(nodes_->size());
        --depth_;
        continue;
      }
      if (inner.left >= 4 && read_integers(inner)) continue;
      --inner.left;
      goes_on = read();
    }
    if (goes_on && at_ != end_) why_stopped_ = errc::malformed_msgpack;
    return why_stopped_;
  }

 private:
  struct open_container {
    std::uint32_t node = 0;
    std::uint64_t left = 0;  ///< values that are still to come
  };

  bool stop(errc why) {
    why_stopped_ = why;
    return false;
  }

  [[nodiscard]] bool has(std::uint64_t bytes) const noexcept { return static_cast<std::uint64_t>(end_ - at_) >= bytes; }

  /// Takes the non-negative integers that come next in a list. False: there are none, or the bytes or the nodes are nearly used up.
  bool read_integers(open_container& list) {
    const std::size_t begin = nodes_->size();
    const std::size_t room = std::min({static_cast<std::size_t>(list.left), run_length, msgpack_tape::max_nodes - begin,
                                       static_cast<std::size_t>(end_ - at_) / longest_integer});
    if (room == 0 || (*at_ > 0x7f && (*at_ < 0xcc || *at_ > 0xcf))) return false;
    nodes_->resize(begin + room);
    tape_node* to = nodes_->data() + begin;
    auto next = static_cast<std::uint32_t>(begin);
    const unsigned char* at = at_;
    for (const tape_node* const last = to + room; to != last; ++to) {
      const unsigned char format = *at;
      std::uint64_t value = format;
      if (format >= 0xcc && format <= 0xcf) {
        // Token ids are of two widths in no order, which no processor guesses right: the width is computed, not asked for.
        const unsigned width = 1U << (format & 3U);
        value = big_endian_at<std::uint64_t>(at + 1) >> (64 - 8 * width);
        at += width;
      } else if (format > 0x7f) {
        break;
      }
      ++at;
      to->what = kind::unsigned_integer;
      to->next = ++next;
      to->bits = value;
    }
    at_ = at;
    nodes_->resize(next);
    list.left -= next - begin;
    return true;
  }

  /// One value; of a container only its head.
  bool read() {
    if (at_ == end_) return stop(errc::malformed_msgpack);
    const unsigned char format = *at_++;
    if (format <= 0x7f) return add_unsigned(format);
    if (format >= 0xe0) return add_signed(static_cast<std::int8_t>(format));
    if (format <= 0x8f) return open(kind::map, format & 0x0fU);
    if (format <= 0x9f) return open(kind::array, format & 0x0fU);
    if (format <= 0xbf) return add_bytes(kind::string, format & 0x1fU, 0);
    switch (format) {
      case 0xc0: return add(kind::nil) != nullptr;
      case 0xc2:
      case 0xc3: return add_word(kind::boolean, format & 1U);
      case 0xc4: return read_bytes<std::uint8_t>(kind::binary, 0);
      case 0xc5: return read_bytes<std::uint16_t>(kind::binary, 0);
      case 0xc6: return read_bytes<std::uint32_t>(kind::binary, 0);
      case 0xc7: return read_bytes<std::uint8_t>(kind::extension, 1);
      case 0xc8: return read_bytes<std::uint16_t>(kind::extension, 1);
      case 0xc9: return read_bytes<std::uint32_t>(kind::extension, 1);
      case 0xca: return read_real<std::uint32_t, float>();
      case 0xcb: return read_real<std::uint64_t, double>();
      case 0xcc: return read_unsigned<std::uint8_t>();
      case 0xcd: return read_unsigned<std::uint16_t>();
      case 0xce: return read_unsigned<std::uint32_t>();
      case 0xcf: return read_unsigned<std::uint64_t>();
      case 0xd0: return read_signed<std::uint8_t, std::int8_t>();
      case 0xd1: return read_signed<std::uint16_t, std::int16_t>();
      case 0xd2: return read_signed<std::uint32_t, std::int32_t>();
      case 0xd3: return read_signed<std::uint64_t, std::int64_t>();
      case 0xd4:
      case 0xd5:
      case 0xd6:
      case 0xd7:
      case 0xd8: return add_bytes(kind::extension, 1U << (format - 0xd4U), 1);
      case 0xd9: return read_bytes<std::uint8_t>(kind::string, 0);
      case 0xda: return read_bytes<std::uint16_t>(kind::string, 0);
      case 0xdb: return read_bytes<std::uint32_t>(kind::string, 0);
      case 0xdc: return read_container<std::uint16_t>(kind::array);
      case 0xdd: return read_container<std::uint32_t>(kind::array);
      case 0xde: return read_container<std::uint16_t>(kind::map);
      case 0xdf: return read_container<std::uint32_t>(kind::map);
      default: return stop(errc::malformed_msgpack);  // 0xc1 is never used
    }
  }

  template <class Word>
  bool take(Word& word) {
    if (!has(sizeof(Word))) return stop(errc::malformed_msgpack);
    word = big_endian_at<Word>(at_);
    at_ += sizeof(Word);
    return true;
  }
  template <class Word>
  bool read_unsigned() {
    Word word = 0;
    return take(word) && add_unsigned(word);
  }
  template <class Word, class Signed>
  bool read_signed() {
    Word word = 0;
    return take(word) && add_signed(std::bit_cast<Signed>(word));
  }
  template <class Word, class Real>
  bool read_real() {
    Word word = 0;
    if (!take(word)) return false;
    tape_node* const node = add(kind::real);
    if (node != nullptr) node->number = static_cast<double>(std::bit_cast<Real>(word));
    return node != nullptr;
  }
  template <class Length>
  bool read_bytes(kind what, std::uint32_t in_front) {
    Length length = 0;
    return take(length) && add_bytes(what, length, in_front);
  }
  template <class Length>
  bool read_container(kind what) {
    Length length = 0;
    return take(length) && open(what, length);
  }

  tape_node* add(kind what) {
    if (nodes_->size() == msgpack_tape::max_nodes) {
      why_stopped_ = errc::too_many_elements;
      return nullptr;
    }
    tape_node& node = nodes_->emplace_back();
    node.what = what;
    node.next = static_cast<std::uint32_t>(nodes_->size());
    return &node;
  }

  bool add_word(kind what, std::uint64_t bits) {
    tape_node* const node = add(what);
    if (node != nullptr) node->bits = bits;
    return node != nullptr;
  }
  bool add_unsigned(std::uint64_t value) { return add_word(kind::unsigned_integer, value); }
  bool add_signed(std::int64_t value) {  // a signed format may hold what is not negative
    return add_word(value < 0 ? kind::negative_integer : kind::unsigned_integer, static_cast<std::uint64_t>(value));
  }

  /// `in_front`: bytes that belong to the value and are not counted in its length: the type of an extension.
  bool add_bytes(kind what, std::uint64_t length, std::uint32_t in_front) {
    if (!has(length + in_front) || length + in_front > ~std::uint32_t{0}) return stop(errc::malformed_msgpack);
    tape_node* const node = add(what);
    if (node == nullptr) return false;
    node->length = static_cast<std::uint32_t>(length + in_front);
    node->data = node->length == 0 ? "" : reinterpret_cast<const char*>(at_);
    at_ += node->length;
    return true;
  }

  bool open(kind what, std::uint32_t length) {
    const std::uint64_t values = std::uint64_t{length} * (what == kind::map ? 2 : 1);
    if (depth_ == open_.size()) return pass_over(values);
    tape_node* const node = add(what);
    if (node == nullptr) return false;
    node->length = length;
    open_[depth_++] = {node->next - 1, values};
    return true;
  }

  /// A container that is nested too deep, or one within such.
  bool pass_over(std::uint64_t values) {
    if (deeper_ == msgpack_tape::deeper::refused) return stop(errc::nested_too_deep);
    passing_ += values;  // no more than 2^33 for each byte there is
    if (is_passing_) return true;
    tape_node* const node = add(kind::extension);
    if (node == nullptr) return false;
    node->data = "";
    const std::size_t kept = nodes_->size();
    is_passing_ = true;
    for (; passing_ != 0; nodes_->resize(kept)) {
      --passing_;
      if (!read()) return false;
    }
    is_passing_ = false;
    return true;
  }

  const unsigned char* at_;
  const unsigned char* end_;
  std::vector<tape_node>* nodes_;
  std::array<open_container, msgpack_tape::max_depth> open_{};  ///< containers whose values are still arriving
  std::size_t depth_ = 0;
  msgpack_tape::deeper deeper_;
  bool is_passing_ = false;
  std::uint64_t passing_ = 0;  ///< values of what is nested too deep, still to come
  error_code why_stopped_;
};

}  // namespace

error_code msgpack_tape::parse(std::span<const std::byte> bytes, deeper what) {
  nodes_.clear();
  if (nodes_.capacity() > kept_nodes && bytes.size() < kept_nodes) nodes_.shrink_to_fit();
  const error_code failure = tape_parser(bytes, nodes_, what).parse();
  if (failure) nodes_.clear();
  return failure;
}

}  // namespace kvc::net
