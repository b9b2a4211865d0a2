// When a stream is told that its connection has broken: the transport knows before what came over it has been read.
#include "net/break_count.hpp"

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(break_counts)

using kvc::net::break_count;

namespace {

struct line {
  std::string_view what;  ///< other: a message of another connection; drained; look; fresh: the transport is replaced
  std::uint64_t breaks;   ///< that the transport has told of by then
  bool is_news;           ///< whether the stream is told of one
};

void check(std::string_view story, std::initializer_list<line> lines) {
  break_count count;
  std::size_t number = 0;
  for (const line& each : lines) {
    const std::uint64_t before = count.told();
    if (each.what == "other") count.on_other_connection(each.breaks);
    if (each.what == "drained") count.on_drained(each.breaks);
    if (each.what == "look") count.on_look(each.breaks);
    if (each.what == "fresh") count.on_fresh_transport(each.breaks);
    BOOST_TEST((count.told() != before) == each.is_news, story << ", line " << number);
    ++number;
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_break_is_told_where_it_lies_between_messages) {
  check("the first message", {{"other", 0, false}});
  check("connections without a word before the first message", {{"other", 2, true}, {"drained", 2, true}, {"drained", 2, false}});
  check("one break, one message behind it", {{"other", 0, false}, {"other", 1, true}, {"drained", 1, false}});
  check("the connection behind it has broken too before its first message was read: between it and the next there is a break as well",
        {{"other", 0, false}, {"other", 2, true}, {"other", 2, true}, {"drained", 2, false}});
  check("and nobody speaks behind that: told when nothing waits", {{"other", 0, false}, {"other", 2, true}, {"drained", 2, true}});
  check("a break in silence", {{"other", 0, false}, {"drained", 1, true}, {"other", 1, false}, {"drained", 1, false}});
  check("a break in silence, and another one while the first message behind it waits to be read",
        {{"other", 0, false}, {"drained", 1, true}, {"other", 2, true}, {"drained", 2, true}, {"drained", 2, false}});
  check("and a message behind that",
        {{"other", 0, false}, {"drained", 1, true}, {"other", 2, true}, {"other", 2, true}, {"drained", 2, false}});
  check("the first connection has broken before its first message was read: each of the next is another one",
        {{"other", 1, true}, {"other", 2, true}, {"other", 3, true}, {"other", 3, true}, {"drained", 3, false}});
  check("two publishers that speak in turn have not broken", {{"other", 0, false}, {"other", 0, false}, {"other", 0, false}});
}

BOOST_AUTO_TEST_CASE(a_break_that_matters_now_is_told_now_and_again_behind_what_waited) {
  check("and again with the next connection",
        {{"other", 0, false}, {"look", 1, true}, {"look", 1, false}, {"other", 1, true}, {"drained", 1, false}});
  check("and again when nothing waits", {{"look", 1, true}, {"drained", 1, true}, {"look", 1, false}});
  check("each of two", {{"look", 1, true}, {"look", 2, true}, {"drained", 2, true}});
}

BOOST_AUTO_TEST_CASE(what_a_replaced_transport_told_of_is_not_lost) {
  check("told in time", {{"drained", 1, true}, {"fresh", 1, false}, {"drained", 0, false}, {"drained", 1, true}});
  check("not told yet", {{"fresh", 1, true}, {"other", 0, false}, {"other", 1, true}});
}

BOOST_AUTO_TEST_SUITE_END()
