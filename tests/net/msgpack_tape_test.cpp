#include "net/msgpack_tape.hpp"

#include <array>
#include <cstring>
#include <limits>

#include <boost/test/unit_test.hpp>

#include "net/tape_value.hpp"
#include "tests/net/event_samples.hpp"

namespace {

using namespace kvc::net;
using kind = tape_node::kind;

struct parsing {
  msgpack_tape tape;
  std::string bytes;

  error_code parse(std::string text) {
    bytes = std::move(text);
    return tape.parse(samples::as_payload(bytes));
  }
  error_code parse_hex(std::string_view hex) { return parse(samples::from_hex(hex)); }
};

}  // namespace

BOOST_TEST_DONT_PRINT_LOG_VALUE(kvc::net::tape_node::kind)

BOOST_AUTO_TEST_SUITE(msgpack_tapes)

BOOST_AUTO_TEST_CASE(every_kind_of_value_is_read) {
  // The one place where the library's words become ours.
  std::string written;
  msgpack_writer writer(written);
  writer.array(9);
  writer.nil();
  writer.boolean(true);
  writer.unsigned_integer(~std::uint64_t{0});
  writer.integer(-5);
  writer.real(2.0);
  writer.string("text");
  const std::array<std::byte, 2> two{std::byte{1}, std::byte{2}};
  writer.binary(two);
  writer.map(1);
  writer.string("");
  writer.integer(7);
  writer.array(0);

  parsing with;
  BOOST_TEST_REQUIRE(!with.parse(written));
  const auto& nodes = with.tape.nodes();
  BOOST_TEST_REQUIRE(nodes.size() == 12U);
  BOOST_TEST(nodes[0].next == nodes.size());
  BOOST_TEST(nodes[1].what == kind::nil);
  BOOST_TEST(nodes[2].bits == 1U);
  BOOST_TEST(nodes[3].bits == ~std::uint64_t{0});
  BOOST_TEST(nodes[4].what == kind::negative_integer);
  BOOST_TEST(nodes[4].bits == static_cast<std::uint64_t>(-5));
  BOOST_TEST(nodes[5].what == kind::real);
  BOOST_TEST(nodes[5].number == 2.0);
  BOOST_TEST(nodes[6].text() == "text");
  BOOST_TEST(nodes[7].what == kind::binary);
  BOOST_TEST(nodes[8].what == kind::map);
  BOOST_TEST(nodes[8].next == 11U);
  BOOST_TEST(nodes[9].text().empty());
  BOOST_TEST(nodes[10].what == kind::unsigned_integer);
  BOOST_TEST(nodes[11].length == 0U);
}

BOOST_AUTO_TEST_CASE(wide_headers_and_signed_forms_of_small_values_are_legal) {
  // msgspec writes a 16-bit map header for two entries; other encoders write small integers wide.
  parsing with;
  BOOST_TEST_REQUIRE(!with.parse_hex("de0001db0000000161d30000000000000007"));
  BOOST_TEST(with.tape.nodes()[1].text() == "a");
  BOOST_TEST(with.tape.nodes()[2].what == kind::unsigned_integer);
  BOOST_TEST(with.tape.nodes()[2].bits == 7U);
}

BOOST_AUTO_TEST_CASE(what_is_cut_short_or_goes_on_is_malformed) {
  // Every prefix of a good payload must be refused, and so must a good payload with a byte behind it.
  parsing with;
  const std::string whole = samples::from_hex(samples::vllm_map_stored_medium_nil);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    BOOST_TEST(with.parse(whole.substr(0, length)) == make_error_code(errc::malformed_msgpack));
    BOOST_TEST(with.tape.nodes().empty());
  }
  BOOST_TEST(!with.parse(whole));
  BOOST_TEST(with.parse(whole + '\xc0') == make_error_code(errc::malformed_msgpack));
  BOOST_TEST(with.parse_hex("c1") == make_error_code(errc::malformed_msgpack));
}

BOOST_AUTO_TEST_CASE(claimed_lengths_are_not_believed) {
  // Ten bytes that announce four billion elements must cost ten bytes' worth of work.
  parsing with;
  for (const char* hex : {"ddffffffff0102030405", "dfffffffff0102030405", "dbffffffff6162", "c6ffffffff6162", "c9ffffffff016162"}) {
    BOOST_TEST(with.parse_hex(hex) == make_error_code(errc::malformed_msgpack));
    BOOST_TEST(with.tape.nodes().capacity() < 64U);
  }
}

BOOST_AUTO_TEST_CASE(nesting_has_a_limit) {
  // Whoever walks the tape may recurse.
  parsing with;
  BOOST_TEST(!with.parse(std::string(msgpack_tape::max_depth, '\x91') + '\xc0'));
  BOOST_TEST(with.parse(std::string(msgpack_tape::max_depth + 1, '\x91') + '\xc0') == make_error_code(errc::nested_too_deep));
  BOOST_TEST(with.parse(std::string(1'000'000, '\x91')) == make_error_code(errc::nested_too_deep));
}

BOOST_AUTO_TEST_CASE(what_is_nested_too_deep_may_be_passed_over) {
  // One value of a list is too deep, and the next is good: it is found behind whatever the deep one holds.
  parsing with;
  const std::string lists(msgpack_tape::max_depth - 1, '\x91');
  const std::string deep = lists + std::string("\x82\x01\x93\xa1x\x07\xdd\0\0\0\1\xc0\x02\x80", 14);
  const std::string bytes = '\x92' + deep + '\x2a';
  BOOST_TEST(with.parse(bytes) == make_error_code(errc::nested_too_deep));
  const auto parse = [&](const std::string& of) { return with.tape.parse(std::as_bytes(std::span(of)), msgpack_tape::deeper::opaque); };
  BOOST_REQUIRE(!parse(bytes));
  const auto& nodes = with.tape.nodes();
  BOOST_REQUIRE(nodes.size() == msgpack_tape::max_depth + 2);
  BOOST_TEST((nodes[msgpack_tape::max_depth].what == tape_node::kind::extension));
  BOOST_TEST(nodes.back().bits == 0x2aU);
  BOOST_TEST(nodes[1].next == nodes.size() - 1);

  for (std::size_t length = 0; length < bytes.size(); ++length) {
    BOOST_TEST(parse(bytes.substr(0, length)) == make_error_code(errc::malformed_msgpack));
  }
  BOOST_TEST(parse(std::string(1'000'000, '\x91')) == make_error_code(errc::malformed_msgpack));
  BOOST_TEST(!parse(std::string(1'000'000, '\x91') + '\xc0'));
  BOOST_TEST(parse(std::string(100, '\xdf') + std::string(400, '\xff')) == make_error_code(errc::malformed_msgpack));
}

BOOST_AUTO_TEST_CASE(values_have_a_limit_and_memory_is_given_back) {
  // A node takes more memory than the byte it may stand for.
  parsing with;
  std::string many;
  msgpack_writer(many).array(static_cast<std::uint32_t>(msgpack_tape::max_nodes));
  many.append(msgpack_tape::max_nodes, '\x01');
  BOOST_TEST(with.parse(many) == make_error_code(errc::too_many_elements));
  BOOST_TEST(!with.parse_hex("93010203"));
  BOOST_TEST(with.tape.nodes().capacity() < 65'537U);
}

BOOST_AUTO_TEST_CASE(integers_take_their_shortest_form) {
  // Canonical bytes enter hashes.
  const auto written = [](auto write) {
    std::string out;
    msgpack_writer writer(out);
    write(writer);
    return out;
  };
  BOOST_TEST(written([](auto& to) { to.unsigned_integer(127); }) == samples::from_hex("7f"));
  BOOST_TEST(written([](auto& to) { to.unsigned_integer(128); }) == samples::from_hex("cc80"));
  BOOST_TEST(written([](auto& to) { to.integer(128); }) == samples::from_hex("cc80"));
  BOOST_TEST(written([](auto& to) { to.integer(-33); }) == samples::from_hex("d0df"));
  BOOST_TEST(written([](auto& to) { to.integer(std::numeric_limits<std::int64_t>::min()); }) == samples::from_hex("d38000000000000000"));
  BOOST_TEST(written([](auto& to) { to.real(1.0); }) == samples::from_hex("cb3ff0000000000000"));
}

BOOST_AUTO_TEST_CASE(a_walk_steps_over_containers) {
  // `next` must leave a nested value behind in one step.
  parsing with;
  BOOST_TEST_REQUIRE(!with.parse_hex("9392910281a1610305a462656879"));
  const tape_value root(with.tape.nodes().data(), 0);
  const tape_value last = root.first().next().next();
  BOOST_TEST(last.text() == "behy");
  BOOST_TEST(!tape_value().has_value());
  BOOST_TEST(!tape_value().as_u32().has_value());
}

BOOST_AUTO_TEST_SUITE_END()
