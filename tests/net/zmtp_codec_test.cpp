// The bytes of ZeroMQ's wire protocol: what we say, and what is made of what a peer says.
#include "net/zmtp_codec.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "tests/support/net/zmtp_words.hpp"

namespace kvc::test {
BOOST_AUTO_TEST_SUITE(zmtp_codec)

namespace {

using namespace std::string_literals;
namespace zmtp = net::zmtp;
namespace words = zmtp_words;
using words::bytes_of;
using words::text_of;
using zmtp::greeted;

std::string_view name_of(greeted judged) {
  switch (judged) {
    case greeted::unfinished: return "unfinished";
    case greeted::well: return "well";
    case greeted::as_older: return "as older";
    case greeted::badly: return "badly";
  }
  return "?";
}

std::string_view judge(std::string_view said) {
  return name_of(zmtp::judge_greeting(bytes_of(said)));
}

/// All that is known of a head as one line.
std::string read_head(std::string_view from) {
  const zmtp::frame_head head = zmtp::read_head(bytes_of(from));
  if (head.is_wrong) return "wrong";
  if (head.bytes == 0) return "partial";
  return std::to_string(head.bytes) + "+" + std::to_string(head.size) + (head.is_command ? " command" : "") +
         (head.has_more ? " more" : "");
}

bool publishes(std::string_view properties) {
  return zmtp::is_publisher(bytes_of(properties));
}

}  // namespace

BOOST_AUTO_TEST_CASE(we_greet_with_three_point_zero_and_no_security) {
  // The signature, the version, the mechanism in twenty bytes, not as a server, and filler.
  const std::string expected = "\xff\0\0\0\0\0\0\0\1\x7f"s + "\3\0"s + "NULL" + std::string(16, '\0') + std::string(1 + 31, '\0');
  const auto said = zmtp::greeting();
  BOOST_TEST_REQUIRE(expected.size() == 64U);
  BOOST_TEST((text_of(said) == expected));
  BOOST_TEST(judge(text_of(said)) == "well");
}

BOOST_AUTO_TEST_CASE(a_greeting_is_judged_by_its_last_byte_and_not_before) {
  // A peer may send it byte by byte, and many send the signature first and wait for ours.
  for (const unsigned minor : {0U, 1U, 7U}) {
    const std::string said = words::greeting(3, minor);
    for (std::size_t length = 0; length < said.size(); ++length) {
      BOOST_TEST(judge(std::string_view(said).substr(0, length)) == "unfinished", "of " << length << " bytes");
    }
    BOOST_TEST(judge(said) == "well");
    BOOST_TEST(judge(said + "what follows") == "well");
  }
  BOOST_TEST(judge(words::greeting(4, 0)) == "well");
}

BOOST_AUTO_TEST_CASE(peers_of_older_versions_are_told_from_strangers_as_soon_as_they_can_be) {
  struct row {
    std::string what;
    std::string said;
    std::string_view judged;
  };
  const std::string signature = words::greeting().substr(0, 10);
  const std::string other_mechanism = words::greeting(3, 1, "CURVE");
  const std::vector<row> table{
      {"2.0", signature + "\1\2\0\0"s, "as older"},
      {"2.0, no more than its version", signature + "\1"s, "as older"},
      {"a version of none", signature + "\0"s, "as older"},
      {"1.0 without an identity", "\1\0"s, "as older"},
      {"1.0, its first byte", "\1"s, "as older"},
      {"1.0 with a long identity, whose flags are even", "\xff\0\0\0\0\0\0\1\1\0"s, "as older"},
      {"the same, a byte less", "\xff\0\0\0\0\0\0\1\1"s, "unfinished"},
      {"CURVE", other_mechanism, "badly"},
      {"CURVE, no more than its name's place", other_mechanism.substr(0, 32), "badly"},
      {"CURVE, a byte less", other_mechanism.substr(0, 31), "unfinished"},
      {"PLAIN", words::greeting(3, 0, "PLAIN"), "badly"},
      {"a name that only begins like ours", words::greeting(3, 0, "NULLS"), "badly"},
      {"a name that ours begins like", words::greeting(3, 0, "NUL"), "badly"},
      {"something behind the name's end", words::greeting(3, 0, "NULL\0X"s), "badly"},
      {"HTTP", "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "badly"},
      {"HTTP, its first byte", "G", "badly"},
      {"ones", std::string(64, '\xff'), "badly"},
      {"zeros", std::string(64, '\0'), "badly"},
      {"a zero", "\0"s, "badly"},
      {"nothing", "", "unfinished"},
  };
  for (const row& each : table) BOOST_TEST(judge(each.said) == each.judged, each.what);
}

BOOST_AUTO_TEST_CASE(heads_of_frames_are_read_in_both_lengths) {
  struct row {
    std::string bytes;
    std::string_view read;
  };
  const std::vector<row> table{
      {"\0\0"s, "2+0"},
      {"\0\xff body"s, "2+255"},
      {"\1\7"s, "2+7 more"},
      {"\2\0\0\0\0\0\0\1\0"s, "9+256"},
      {"\2\0\0\0\0\0\0\0\0"s, "9+0"},  // long for no reason, which is allowed
      {"\3\1\2\3\4\5\6\7\10"s, "9+72623859790382856 more"},
      {"\2\xff\xff\xff\xff\xff\xff\xff\xff and more"s, "9+18446744073709551615"},
      {"\4\5"s, "2+5 command"},
      {"\6\0\0\0\0\0\0\0\5"s, "9+5 command"},
      {"\5\5"s, "wrong"},  // a command is never a part of something
      {"\7\0\0\0\0\0\0\0\5"s, "wrong"},
      {"\x08\0"s, "wrong"},
      {"\x80\0"s, "wrong"},
      {"\xff\0"s, "wrong"},
      {"", "partial"},
      {"\0"s, "partial"},
      {"\2\0\0\0\0\0\0\1"s, "partial"},
      {"\2\0"s, "partial"},
      {"\6\0"s, "partial"},
  };
  for (const row& each : table) BOOST_TEST(read_head(each.bytes) == each.read, "expected " << each.read);
}

BOOST_AUTO_TEST_CASE(what_the_tests_write_is_what_is_read) {
  // The other tests of this protocol rely on it.
  for (const std::uint64_t size : {std::uint64_t{0}, std::uint64_t{255}, std::uint64_t{256}, std::numeric_limits<std::uint64_t>::max()}) {
    for (const bool is_long : {false, true}) {
      const std::string bytes = (is_long || size > 255 ? "9+" : "2+") + std::to_string(size);
      BOOST_TEST(read_head(words::head(size, {.is_long = is_long})) == bytes);
      BOOST_TEST(read_head(words::head(size, {.has_more = true, .is_long = is_long})) == bytes + " more");
      BOOST_TEST(read_head(words::head(size, {.is_command = true, .is_long = is_long})) == bytes + " command");
    }
  }
}

BOOST_AUTO_TEST_CASE(a_command_is_a_name_and_whatever_follows) {
  const std::string said = words::words("READY", "data");
  const auto read = zmtp::read_command(bytes_of(said));
  BOOST_TEST_REQUIRE(read.has_value());
  BOOST_TEST(read->name == "READY");
  BOOST_TEST(text_of(read->data) == "data");

  const auto bare = zmtp::read_command(bytes_of("\1A"));
  BOOST_TEST_REQUIRE(bare.has_value());
  BOOST_TEST(bare->name == "A");
  BOOST_TEST(bare->data.empty());
}

BOOST_AUTO_TEST_CASE(a_body_without_a_whole_name_is_no_command) {
  for (const std::string& each : {""s, "\0"s, "\0A"s, "\5READ"s, "\xff"s, "\1"s}) {
    BOOST_TEST(!zmtp::read_command(bytes_of(each)).has_value(), "of " << each.size() << " bytes");
  }
}

BOOST_AUTO_TEST_CASE(who_says_to_be_a_pub_or_xpub_publishes) {
  const std::string type = words::property("Socket-Type", "PUB");
  const std::string identity = words::property("Identity", "somebody");
  const std::string long_one = words::property("Resource", std::string(1'000, 'r'));
  BOOST_TEST(publishes(type));
  BOOST_TEST(publishes(words::property("Socket-Type", "XPUB")));
  BOOST_TEST(publishes(type + words::property("Identity", "")));
  BOOST_TEST(publishes(identity + type));
  BOOST_TEST(publishes(long_one + type + identity));
}

BOOST_AUTO_TEST_CASE(names_of_properties_have_no_case_but_their_values_do) {
  for (const std::string_view name : {"socket-type", "SOCKET-TYPE", "sOCKET-tYPE"})
    BOOST_TEST(publishes(words::property(name, "PUB")), name);
  for (const std::string_view name : {"Socket_Type", "Socket-Typ", "Socket-Types", "\x73ocket\rtype"}) {
    BOOST_TEST(!publishes(words::property(name, "PUB")), name);
  }
  for (const std::string_view value : {"pub", "SUB", "XSUB", "ROUTER", "PUBS", "PU", "", "XXPUB"}) {
    BOOST_TEST(!publishes(words::property("Socket-Type", value)), value);
  }
}

BOOST_AUTO_TEST_CASE(properties_that_are_cut_short_are_those_of_no_publisher) {
  const std::string identity = words::property("Identity", "id");
  const std::string whole = words::property("Socket-Type", "PUB") + identity;
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const bool is_between = length == whole.size() - identity.size();  // as many properties as there are
    BOOST_TEST(publishes(std::string_view(whole).substr(0, length)) == is_between, length << " bytes");
  }
}

BOOST_AUTO_TEST_CASE(lengths_of_properties_that_reach_beyond_the_end_are_refused) {
  const std::string good = words::property("Socket-Type", "PUB");
  for (const std::string& length : {"\0\0\0\4"s, "\xff\xff\xff\xff"s, "\x80\0\0\0"s, "\x7f\xff\xff\xff"s, "\1\0\0\3"s}) {
    BOOST_TEST(!publishes("\13Socket-Type" + length + "PUB"));
    BOOST_TEST(!publishes(good + "\1X" + length + "abc"));
  }
  BOOST_TEST(!publishes(good + "\0"s));          // a name of no bytes
  BOOST_TEST(!publishes(good + "\0\0\0\0\0"s));  // the same, with a value of none
  BOOST_TEST(!publishes(good + "\xff"s));
}

BOOST_AUTO_TEST_CASE(a_heartbeat_wants_up_to_sixteen_bytes_back) {
  const auto context = [](std::string_view data) {
    const auto read = zmtp::ping_context(bytes_of(data));
    return read ? std::string(text_of(*read)) : "none";
  };
  BOOST_TEST(context("\0\1"s) == "");
  BOOST_TEST(context("\0\1context"s) == "context");
  BOOST_TEST(context("\xff\xff"s + std::string(16, 'c')) == std::string(16, 'c'));
  BOOST_TEST(context("\0\1"s + std::string(17, 'c')) == "none");
  BOOST_TEST(context("\0"s) == "none");  // it would say for how long
  BOOST_TEST(context("") == "none");
}

BOOST_AUTO_TEST_CASE(what_we_say_is_appended_byte_by_byte) {
  std::string said = "before";
  zmtp::append_ready(said);
  BOOST_TEST((said == "before\4\x19\5READY\13Socket-Type\0\0\0\3SUB"s));

  said = "before";
  zmtp::append_subscription(said, "");
  zmtp::append_subscription(said, "kv");
  BOOST_TEST((said == "before\0\1\1\0\3\1kv"s));

  said = "before";
  zmtp::append_pong(said, bytes_of(""));
  zmtp::append_pong(said, bytes_of("con\0text"s));
  BOOST_TEST((said == "before\4\5\4PONG\4\15\4PONGcon\0text"s));
}

BOOST_AUTO_TEST_CASE(a_long_prefix_is_subscribed_to_by_a_long_frame) {
  // The one in front of the prefix counts.
  const std::string short_one(254, 'p');
  std::string said;
  zmtp::append_subscription(said, short_one);
  BOOST_TEST((said == "\0\xff\1"s + short_one));

  for (const std::size_t length : {std::size_t{255}, std::size_t{70'000}}) {
    const std::string prefix(length, 'p');
    said.clear();
    zmtp::append_subscription(said, prefix);
    BOOST_TEST((said == "\2"s + words::number(length + 1, 8) + "\1" + prefix), length << " bytes");
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test
