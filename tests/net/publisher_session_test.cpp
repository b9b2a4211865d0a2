// One connection of a publisher, from its greeting on: bytes in, messages and answers out.
#include "net/publisher_session.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "tests/support/net/session_stage.hpp"
#include "tests/support/net/zmtp_words.hpp"

namespace kvc::test {
BOOST_AUTO_TEST_SUITE(publisher_sessions)

namespace {

using namespace std::string_literals;
using net::publisher_session;
namespace words = zmtp_words;

constexpr std::uint64_t most = 100'000;

/// A session whose handshake is done and whose words are sent.
struct open_session : session_stage {
  explicit open_session(std::uint64_t max_frame_bytes = most) : session_stage("kv", max_frame_bytes) {
    BOOST_TEST_REQUIRE(hear(words::greeting() + words::ready()) == "agreed");
    (void)sent();
  }
};

const std::string our_ready = "\4\x19\5READY\13Socket-Type\0\0\0\3SUB"s;
const std::string our_subscription = "\0\3\1kv"s;

}  // namespace

BOOST_AUTO_TEST_CASE(what_we_say_goes_with_what_has_been_heard) {
  session_stage at("kv", most);
  BOOST_TEST((at.sent() == words::text_of(net::zmtp::greeting())));
  BOOST_TEST(at.hear("") == "");

  // Many send their signature and wait for ours.
  BOOST_TEST(at.hear(words::greeting().substr(0, 10)) == "");
  BOOST_TEST(at.sent() == "");
  BOOST_TEST(at.hear(words::greeting().substr(10)) == "");
  BOOST_TEST((at.sent() == our_ready));
  BOOST_TEST(at.hear(words::ready()) == "agreed");
  BOOST_TEST((at.sent() == our_subscription));
  BOOST_TEST(at.hear(words::message({"kv", "1", "payload"})) == "kv|1|payload");
  BOOST_TEST(at.sent() == "");
}

BOOST_AUTO_TEST_CASE(a_handshake_may_come_byte_by_byte_or_with_all_that_follows) {
  const std::string all = words::greeting(3, 0) + words::ready("XPUB") + words::message({"kv", "1", "payload"});
  const std::string ours = std::string(words::text_of(net::zmtp::greeting())) + our_ready + our_subscription;

  session_stage slow("kv", most);
  std::string heard;
  for (const char each : all) heard += slow.hear(std::string(1, each));
  BOOST_TEST(heard == "agreedkv|1|payload");
  BOOST_TEST((slow.sent() == ours));

  session_stage fast("kv", most);
  BOOST_TEST(fast.hear(all) == "agreed kv|1|payload");
  BOOST_TEST((fast.sent() == ours));
}

BOOST_AUTO_TEST_CASE(a_peer_of_an_older_version_is_told_from_a_broken_one) {
  BOOST_TEST(session_stage("", most).hear(words::greeting().substr(0, 10) + "\1\2\0\0"s) == "older");
  BOOST_TEST(session_stage("", most).hear("\1\0"s) == "older");
  BOOST_TEST(session_stage("", most).hear(words::greeting(3, 1, "CURVE")) == "not understood");
  BOOST_TEST(session_stage("", most).hear("HTTP/1.1 400 Bad Request\r\n\r\n") == "not understood");
}

BOOST_AUTO_TEST_CASE(whoever_does_not_say_to_be_a_publisher_is_not_listened_to) {
  const std::string padding = words::property("X", std::string(4'096, 'x'));
  const std::vector<std::pair<std::string, std::string>> table{
      {"a router", words::ready("ROUTER")},
      {"a subscriber", words::ready("SUB")},
      {"a refusal", words::command("ERROR", "\7refused"s)},
      {"another command first", words::ping() + words::ready()},
      {"a message", words::message({"kv", "1", "payload"})},
      {"no properties", words::command("READY")},
      {"no command's body", words::frame("", {.is_command = true})},
      {"a command with more", "\5\5\4NOPE"s},
      {"flags of none", "\x08\0"s},
      {"a long command", words::command("READY", words::property("Socket-Type", "PUB") + padding)},
      {"the head of a command without end", words::head(~std::uint64_t{0}, {.is_command = true})},
  };
  for (const auto& [what, said] : table) {
    session_stage at("kv", most);
    BOOST_TEST(at.hear(words::greeting() + said) == "not understood", what);
    BOOST_TEST(at.hear("") == "not understood", what << ", asked again");
  }
}

BOOST_AUTO_TEST_CASE(messages_have_one_to_three_frames_of_any_length) {
  open_session at;
  BOOST_TEST(at.hear(words::message({"one"})) == "one");
  BOOST_TEST(at.hear(words::message({"one", "two"})) == "one|two");
  BOOST_TEST(at.hear(words::message({"one", "two", "three"})) == "one|two|three");
  BOOST_TEST(at.hear(words::message({""}) + words::message({"", ""}) + words::message({"", "", ""})) == "<> | ||");
  BOOST_TEST(at.hear(words::message({"", "2", ""})) == "|2|");
  BOOST_TEST(at.hear(words::frame("long for no reason", {.is_long = true})) == "long for no reason");
  const std::string large(most, 'l');
  for (const std::string& each : {std::string(255, 's'), std::string(256, 'm'), large}) {
    BOOST_TEST((at.hear(words::message({"kv", "12345678", each})) == "kv|12345678|" + each), each.size() << " bytes");
  }
}

BOOST_AUTO_TEST_CASE(what_there_is_of_a_message_is_not_told) {
  const std::string said = words::message({"kv", "12345678", std::string(300, 'p')});
  open_session at;
  for (std::size_t i = 0; i + 1 < said.size(); ++i) {
    BOOST_TEST_REQUIRE(at.hear(said.substr(i, 1)) == "");
    BOOST_TEST_REQUIRE(at.got.size() == 0U);
  }
  BOOST_TEST((at.hear(said.substr(said.size() - 1)) == "kv|12345678|" + std::string(300, 'p')));
}

BOOST_AUTO_TEST_CASE(a_message_of_too_many_frames_costs_its_neighbours_nothing) {
  open_session at;
  const std::string before = words::message({"kv", "1", "before"});
  const std::string after = words::message({"kv", "3", "after"});
  const std::vector<std::pair<std::string, std::string>> table{
      {"four", words::message({"a", "b", "c", "d"})},
      {"four, the last empty", words::message({"a", "b", "c", ""})},
      {"all empty", words::message({"", "", "", "", ""})},
      {"a hundred", words::message_of(std::vector<std::string>(100, "frame"))},
      {"long ones", words::message_of(std::vector<std::string>(6, std::string(30'000, 'f')))},
      {"one of many lengths", words::message({"a", "b", std::string(300, 'c'), std::string(most, 'd'), "", std::string(256, 'e')})},
  };
  for (const auto& [what, said] : table) {
    BOOST_TEST(at.hear(before + said + after) == "kv|1|before misshapen kv|3|after", what);
    std::string slowly;
    for (std::size_t i = 0; i < said.size(); i += 7) slowly += at.hear(said.substr(i, 7));
    BOOST_TEST(slowly == "misshapen", what << ", in pieces");
    BOOST_TEST(at.got.size() == 0U);
    BOOST_TEST(at.hear(after) == "kv|3|after", what);
  }
}

BOOST_AUTO_TEST_CASE(frames_that_are_passed_over_take_no_memory) {
  // Larger together than any message may be.
  open_session at(8U << 20);
  const std::string start = words::message({"a", "b", "c", ""});
  const std::string skipped(8U << 20, 's');
  BOOST_TEST(at.hear(start.substr(0, start.size() - 2)) == "");
  for (int i = 0; i < 3; ++i) {
    BOOST_TEST(at.hear(words::frame(skipped, {.has_more = i < 2}), 50'000) == (i < 2 ? "" : "misshapen"));
    BOOST_TEST(at.widest_room <= net::chunk_pool::usual_bytes);
  }
  BOOST_TEST(at.hear(words::message({"kv", "1", "after"})) == "kv|1|after");
}

BOOST_AUTO_TEST_CASE(a_frame_above_the_bound_ends_it_wherever_it_stands) {
  // By its head alone: nobody waits for what is not going to be read.
  const std::string too_long = words::head(most + 1);
  const std::string without_end = words::head(~std::uint64_t{0}, {.has_more = true});
  const std::string as_command = words::head(most + 1, {.is_command = true});
  const std::string two = words::frame("a", {.has_more = true}) + words::frame("b", {.has_more = true});
  const std::string three = two + words::frame("c", {.has_more = true});
  const std::string four = three + words::frame("d", {.has_more = true});
  for (const std::string& last : {too_long, without_end}) {
    for (const std::string& first : {""s, two, three, four}) {
      open_session at;
      BOOST_TEST(at.hear(words::message({"kv", "1", "before"}) + first + last) == "kv|1|before too large");
      BOOST_TEST(at.got.size() == 0U);
      BOOST_TEST(at.hear("") == "too large");
    }
  }
  BOOST_TEST(open_session().hear(as_command) == "too large");
}

BOOST_AUTO_TEST_CASE(a_message_that_many_frames_make_too_long_ends_it_as_well) {
  const std::string nearly(most - 10, 'n');
  BOOST_TEST(open_session().hear(words::frame(nearly, {.has_more = true}) + words::head(nearly.size())) == "too large");
  BOOST_TEST((open_session().hear(words::message({"kv", "1", nearly})) == "kv|1|" + nearly));
  const std::string topic(60'000, 't');
  BOOST_TEST((open_session().hear(words::message({topic, "1", nearly})) == topic + "|1|" + nearly));
}

BOOST_AUTO_TEST_CASE(what_no_peer_may_say_ends_it) {
  const std::string one = words::frame("a", {.has_more = true});
  const std::string three = words::message({"a", "b", "c", ""}).substr(0, 9);
  const std::vector<std::pair<std::string, std::string>> table{
      {"flags of none", "\x10\0"s},
      {"flags of none inside a message", one + "\x10\0"s},
      {"a command that has more", "\5\5\4PING"s},
      {"a command inside a message", one + words::ping()},
      {"a command behind three frames", three + words::ping()},
      {"a command inside a message that is passed over", three + words::frame("d", {.has_more = true}) + words::ping()},
      {"flags of none there", three + words::frame("d", {.has_more = true}) + "\xff\0"s},
      {"a command longer than any", words::command("X", std::string(5'000, 'x'))},
  };
  for (const auto& [what, said] : table) {
    open_session at;
    BOOST_TEST(at.hear(words::message({"kv", "1", "before"}) + said) == "kv|1|before not understood", what);
    BOOST_TEST(at.hear("") == "not understood", what << ", asked again");
  }
}

BOOST_AUTO_TEST_CASE(a_heartbeat_is_answered_with_what_it_wants_back) {
  open_session at;
  BOOST_TEST(at.hear(words::ping()) == "");
  BOOST_TEST((at.sent() == words::command("PONG")));
  BOOST_TEST(at.hear(words::ping("sixteen bytes!!!")) == "");
  BOOST_TEST((at.sent() == words::command("PONG", "sixteen bytes!!!")));
  BOOST_TEST(at.hear(words::message({"a"}) + words::ping("b") + words::message({"c"})) == "a c");
  BOOST_TEST((at.sent() == words::command("PONG", "b")));
}

BOOST_AUTO_TEST_CASE(one_answer_that_waits_to_be_sent_is_for_all_heartbeats) {
  // Otherwise a peer that asks and does not read would fill our memory.
  open_session at;
  std::string many;
  for (int i = 0; i < 1'000; ++i) many += words::ping(std::to_string(i));
  BOOST_TEST(at.hear(many) == "");
  BOOST_TEST((at.sent() == words::command("PONG", "0")));
  BOOST_TEST(at.hear(words::ping("again")) == "");
  BOOST_TEST((at.sent() == words::command("PONG", "again")));
}

BOOST_AUTO_TEST_CASE(commands_that_mean_nothing_to_us_change_nothing) {
  open_session at;
  const std::string message = words::message({"kv", "1", "payload"});
  for (const std::string& each :
       {words::command("SUBSCRIBE", "kv"), words::command("PONG"), words::command("ERROR", "\1x"), words::command("PING", "\1"),
        words::ping("seventeen bytes!!"), words::command("ping", "\0\1"s), words::ready(), words::frame("", {.is_command = true}),
        words::frame("\xff", {.is_command = true}), words::command("X", std::string(4'000, 'x')),
        words::frame(words::words("X", "x"), {.is_command = true, .is_long = true})}) {
    BOOST_TEST(at.hear(each + message) == "kv|1|payload");
    BOOST_TEST(at.sent() == "");
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test
