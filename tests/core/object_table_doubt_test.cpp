// What a table of objects knows for sure, what it doubts, and what it knows to have gone.
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <boost/test/unit_test.hpp>

#include "core/object_table.hpp"

namespace kvc::test {
BOOST_AUTO_TEST_SUITE(object_table_doubts)

namespace {

using core::no_record;
using core::object_table;
using core::replica_view;
using enum core::replica_kind;
using enum core::replica_state;

}  // namespace

BOOST_AUTO_TEST_CASE(the_most_doubtful_object_is_the_one_not_heard_of_for_longest) {
  object_table table({});
  const std::uint32_t owner = table.owner("store", "default");
  for (std::uint32_t i = 0; i < 3; ++i) table.add(owner, "key" + std::to_string(i), {memory, complete, ""}, i);
  BOOST_TEST(table.key(table.most_doubtful(owner)) == "key0");

  table.add(owner, "key0", {memory, complete, ""}, 9);
  BOOST_TEST(table.key(table.most_doubtful(owner)) == "key1");
  BOOST_TEST(table.known_at(table.most_doubtful(owner)) == 1U);
}

BOOST_AUTO_TEST_CASE(what_is_doubted_counts_as_never_known_until_it_is_heard_of_again) {
  object_table table({});
  const std::uint32_t owner = table.owner("store", "default");
  const std::uint32_t first = table.add(owner, "first", {memory, complete, ""}, 5);
  const std::uint32_t second = table.add(owner, "second", {memory, complete, ""}, 6);
  table.doubt_all(owner, 7);
  table.confirm(first, 8);

  BOOST_TEST(table.known_at(first) == 8U);
  BOOST_TEST(table.known_at(second) == 0U);
  BOOST_TEST(table.most_doubtful(owner) == second);
  BOOST_TEST(table.next_doubtful(second) == first);
  BOOST_TEST(table.next_doubtful(first) == no_record);
}

BOOST_AUTO_TEST_CASE(what_is_heard_in_part_or_put_off_stays_doubtful) {
  // One replica that is told of says nothing about the others, which somebody may have forgotten meanwhile.
  object_table table({});
  const std::uint32_t owner = table.owner("store", "default");
  const std::array<replica_view, 1> here{{{memory, complete, ""}}};
  const std::uint32_t added = table.add(owner, "added", here[0], 1);
  const std::uint32_t put_off = table.add(owner, "put off", here[0], 1);
  const std::uint32_t told = table.add(owner, "told", here[0], 1);
  BOOST_TEST(!table.is_doubted(added));
  table.doubt_all(owner, 2);
  table.add(owner, "added", {local_disk, complete, ""}, 3);
  table.put_off(put_off, 3);
  table.set(owner, "told", here, 3);

  BOOST_TEST(table.is_doubted(added));
  BOOST_TEST(table.heard_at(added) == 3U);
  BOOST_TEST(table.is_doubted(put_off));
  BOOST_TEST(table.known_at(put_off) == 3U);  // others have their turn before it
  BOOST_TEST(!table.is_doubted(told));
  table.doubt(told);
  table.confirm(added, 4);
  BOOST_TEST(table.is_doubted(told));
  BOOST_TEST(!table.is_doubted(added));
}

BOOST_AUTO_TEST_CASE(what_has_gone_lately_is_remembered_however_it_went) {
  object_table table({});
  const std::uint32_t owner = table.owner("store-1", "default");
  const auto store = [&](const char* key) { BOOST_REQUIRE(table.add(owner, key, {memory, complete, "x"}, 1) != no_record); };
  BOOST_TEST(!table.may_have_gone_since(owner, "told", 1));
  for (const char* key : {"told", "set", "part", "cleared", "stays"}) store(key);
  table.remove(owner, "told", std::nullopt, 5);
  table.set(owner, "set", {}, 6);
  table.remove(owner, "part", memory, 7);
  for (const auto& [key, when] : {std::pair{"told", 5U}, std::pair{"set", 6U}, std::pair{"part", 7U}}) {
    BOOST_TEST(table.may_have_gone_since(owner, key, when));
    BOOST_TEST(!table.may_have_gone_since(owner, key, when + 1));
  }
  BOOST_TEST(!table.may_have_gone_since(owner, "stays", 1));
  BOOST_TEST(!table.may_have_gone_since(owner, "cleared", 1));
  while (!table.clear_some(owner, 1, 9)) continue;
  BOOST_TEST(table.may_have_gone_since(owner, "cleared", 9));
  store("told");
  BOOST_TEST(table.may_have_gone_since(owner, "told", 5));  // it has, though it is back
}

BOOST_AUTO_TEST_CASE(what_goes_without_ever_having_been_known_is_remembered_too) {
  object_table table({});
  const std::uint32_t owner = table.owner("store-1", "default");
  table.remove(owner, "told", std::nullopt, 5);
  BOOST_TEST(table.may_have_gone_since(owner, "told", 5));
  BOOST_TEST(!table.may_have_gone_since(owner, "told", 6));
  BOOST_TEST(!table.may_have_gone_since(owner, "other", 5));
  const std::uint32_t stays = table.add(owner, "stays", {memory, complete, ""}, 7);

  table.note_cleared(owner, 8);

  BOOST_TEST(table.may_have_gone_since(owner, "other", 8));
  BOOST_TEST(!table.may_have_gone_since(owner, "other", 9));
  BOOST_TEST(table.heard_at(stays) == 8U);
  BOOST_TEST(table.known_at(stays) == 7U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test
