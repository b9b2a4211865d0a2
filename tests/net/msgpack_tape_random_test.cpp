// Random documents written down and read back: the tape's parser against the writer's library.
#include <bit>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "net/msgpack_tape.hpp"

BOOST_AUTO_TEST_SUITE(msgpack_tapes_at_random)

namespace {

using namespace kvc::net;
using kind = tape_node::kind;

/// A document with the nodes it must become; texts are compared by their bytes.
class random_document {
 public:
  explicit random_document(std::uint64_t seed) : random_(seed), writer_(bytes) { value(0); }

  std::string bytes;
  std::vector<tape_node> expected;
  std::vector<std::string> texts;  ///< by node

 private:
  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }

  std::size_t add(kind what, std::uint64_t bits) {
    tape_node node;
    node.what = what;
    node.bits = bits;
    expected.push_back(node);
    texts.emplace_back();
    expected.back().next = static_cast<std::uint32_t>(expected.size());
    return expected.size() - 1;
  }

  void integer() {
    const std::uint64_t any = random_() >> below(64);
    if (below(4) == 0) {
      const auto value = static_cast<std::int64_t>(any);
      writer_.integer(value);
      add(value < 0 ? kind::negative_integer : kind::unsigned_integer, any);
    } else {
      writer_.unsigned_integer(any);
      add(kind::unsigned_integer, any);
    }
  }

  void container(std::uint32_t depth) {
    const bool is_map = below(2) == 0;
    // Lists of numbers are long on the wire, and their ends are where mistakes hide.
    const bool is_numbers = below(2) == 0;
    const auto length = static_cast<std::uint32_t>(below(is_numbers ? 600 : 6));
    const std::size_t at = add(is_map ? kind::map : kind::array, 0);
    is_map ? writer_.map(length) : writer_.array(length);
    for (std::uint32_t i = 0; i < length * (is_map ? 2 : 1); ++i) {
      if (is_numbers && below(500) != 0) {
        integer();
      } else {
        value(depth + 1);
      }
    }
    expected[at].length = length;
    expected[at].next = static_cast<std::uint32_t>(expected.size());
  }

  void value(std::uint32_t depth) {
    switch (below(depth < 6 ? 8 : 6)) {
      case 0:
        writer_.nil();
        add(kind::nil, 0);
        return;
      case 1:
        writer_.boolean(true);
        add(kind::boolean, 1);
        return;
      case 2: {
        const double number = static_cast<double>(random_()) / 3;
        writer_.real(number);
        add(kind::real, std::bit_cast<std::uint64_t>(number));
        return;
      }
      case 3:
      case 4: {
        const std::string text(below(70'000) >> below(17), 'x');
        const bool is_text = below(2) == 0;
        is_text ? writer_.string(text) : writer_.binary(std::as_bytes(std::span(text)));
        const std::size_t at = add(is_text ? kind::string : kind::binary, 0);
        expected[at].length = static_cast<std::uint32_t>(text.size());
        texts[at] = text;
        return;
      }
      case 5: return integer();
      default: return container(depth);
    }
  }

  std::mt19937_64 random_;
  msgpack_writer writer_;
};

bool is_same(const tape_node& got, const tape_node& wanted, const std::string& text) {
  if (got.what != wanted.what || got.length != wanted.length || got.next != wanted.next) return false;
  const bool has_text = got.what == kind::string || got.what == kind::binary;
  return has_text ? got.text() == text : got.bits == wanted.bits;
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_the_library_writes_is_read_as_it_was_meant) {
  // Every format of every length, long runs of numbers that anything may end.
  const std::uint64_t first_seed = std::random_device()();
  BOOST_TEST_MESSAGE("first seed " << first_seed);
  msgpack_tape tape;
  for (std::uint64_t seed = first_seed; seed < first_seed + 300; ++seed) {
    const random_document document(seed);
    BOOST_TEST_CONTEXT("seed " << seed) {
      BOOST_TEST_REQUIRE(!tape.parse(std::as_bytes(std::span(document.bytes))));
      BOOST_TEST_REQUIRE(tape.nodes().size() == document.expected.size());
      std::size_t differing = 0;
      for (std::size_t i = 0; i < document.expected.size(); ++i) {
        differing += is_same(tape.nodes()[i], document.expected[i], document.texts[i]) ? 0U : 1U;
      }
      BOOST_TEST(differing == 0U);
    }
  }
}

BOOST_AUTO_TEST_CASE(no_prefix_of_a_document_is_one) {
  // The parser reads numbers without asking for each whether it is all there.
  const std::uint64_t seed = std::random_device()();
  BOOST_TEST_MESSAGE("seed " << seed);
  msgpack_tape tape;
  std::string bytes;
  msgpack_writer writer(bytes);
  std::mt19937_64 random(seed);
  writer.array(300);
  for (int i = 0; i < 300; ++i) writer.unsigned_integer(random() >> (random() % 64));
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const std::string cut = bytes.substr(0, length);  // on the heap, where a read past the end is noticed
    BOOST_TEST_REQUIRE((tape.parse(std::as_bytes(std::span(cut))) == errc::malformed_msgpack));
  }
  BOOST_TEST(!tape.parse(std::as_bytes(std::span(bytes))));
}

BOOST_AUTO_TEST_SUITE_END()
