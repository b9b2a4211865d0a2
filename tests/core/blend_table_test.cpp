#include "core/blend_table.hpp"

#include <cstdint>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/blend_query.hpp"

namespace kvc::core {
std::ostream& boost_test_print_type(std::ostream& out, const blend_match& one) {
  return out << one.object_key << '@' << one.old_st << "->" << one.cur_st;
}
}  // namespace kvc::core

namespace kvc::test {
BOOST_AUTO_TEST_SUITE(blend)

namespace {

using namespace kvc::core;
using tokens = std::vector<std::uint32_t>;
using keys = std::vector<std::string_view>;

constexpr std::size_t length = 4;

blend_table make_table(std::size_t most = 100) {
  return blend_table({.chunk_tokens = length, .most_chunks = most, .longest_key = 100, .seed = 3});
}

std::size_t publish(blend_table& table, const tokens& range, const keys& names, std::uint64_t base = 0, std::string_view scope = "m") {
  return table.publish(scope, std::span<const std::uint32_t>(range), names, base);
}

/// "key@old->cur" of each match.
std::string found(blend_table& table, const tokens& prompt, std::size_t stride = 1, const std::string& scope = "m") {
  blend_query query(table, scope, stride);
  while (!query.advance(table, std::span<const std::uint32_t>(prompt), 3)) {
  }
  std::string text;
  for (const blend_match& each : query.matches()) {
    text += each.object_key + "@" + std::to_string(each.old_st) + "->" + std::to_string(each.cur_st) + " ";
  }
  return text;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_hash_is_the_published_one) {
  // Clients compute it too: x0 B^2 + x1 B + x2 by hand.
  constexpr std::uint64_t b = 0x9E37'79B9'7F4A'7C15;
  const std::vector<std::uint32_t> three{7, 1'000, 4'294'967'295};
  BOOST_TEST(polynomial_hash(std::span<const std::uint32_t>(three)) == 7 * b * b + 1'000 * b + 4'294'967'295);
  BOOST_TEST(base_power(0) == 1U);
  BOOST_TEST(base_power(5) == b * b * b * b * b);
}

BOOST_AUTO_TEST_CASE(a_chunk_is_found_wherever_it_stands) {
  // The purpose of the directory: the same text behind other words.
  blend_table table = make_table();
  BOOST_TEST(publish(table, {1, 2, 3, 4, 5, 6, 7, 8, 9}, {"k0", "k1"}, 1'000) == 2U);  // the ninth token is no chunk

  BOOST_TEST(found(table, {9, 9, 1, 2, 3, 4, 9, 5, 6, 7, 8}) == "k0@1000->2 k1@1004->7 ");
  BOOST_TEST(found(table, {1, 2, 3}) == "");
  BOOST_TEST(found(table, {}) == "");
  BOOST_TEST(found(table, {1, 2, 3, 4}, 1, "other model") == "");
}

BOOST_AUTO_TEST_CASE(each_key_is_told_once_and_overlaps_are_told) {
  // The client chooses among overlapping matches; a second place of the same chunk is no news.
  blend_table table = make_table();
  (void)publish(table, {1, 1, 1, 1, 1, 1, 1, 2}, {"ones", "end"}, 0);

  BOOST_TEST(found(table, {1, 1, 1, 1, 1, 2, 1, 1, 1, 1}) == "ones@0->0 end@4->2 ");
}

BOOST_AUTO_TEST_CASE(the_stride_leaves_offsets_out) {
  // Less work for less recall, counted from the start of the prompt.
  blend_table table = make_table();
  (void)publish(table, {1, 2, 3, 4, 5, 6, 7, 8}, {"a", "b"}, 0);

  BOOST_TEST(found(table, {9, 1, 2, 3, 4, 9, 5, 6, 7, 8}, 2) == "b@4->6 ");
  BOOST_TEST(found(table, {9, 9, 9, 1, 2, 3, 4, 5, 6, 7, 8}, 3) == "a@0->3 ");
  BOOST_TEST(found(table, {1, 2, 3, 4}, 1'000'000) == "a@0->0 ");
}

BOOST_AUTO_TEST_CASE(the_first_publisher_of_a_chunk_wins) {
  // Otherwise two servers with the same text would take it from each other all day.
  blend_table table = make_table();
  BOOST_TEST(publish(table, {1, 2, 3, 4}, {"first"}, 0) == 1U);
  BOOST_TEST(publish(table, {1, 2, 3, 4}, {"second"}, 50) == 0U);
  BOOST_TEST(publish(table, {1, 2, 3, 4}, {"other model's"}, 50, "n") == 1U);

  BOOST_TEST(found(table, {1, 2, 3, 4}) == "first@0->0 ");
  BOOST_TEST(table.counters().known == 1U);
  BOOST_TEST(table.objects() == 2U);
}

BOOST_AUTO_TEST_CASE(a_range_whose_keys_do_not_fit_is_skipped) {
  // Which key belongs to which chunk could only be guessed.
  blend_table table = make_table();
  BOOST_TEST(publish(table, {1, 2, 3, 4, 5, 6, 7, 8}, {"one"}) == 0U);
  BOOST_TEST(publish(table, {1, 2, 3}, {"one"}) == 0U);
  BOOST_TEST(publish(table, {1, 2, 3}, {}) == 0U);
  const std::string endless(101, 'x');
  BOOST_TEST(publish(table, {1, 2, 3, 4}, {endless}) == 0U);
  BOOST_TEST(publish(table, {1, 2, 3, 4}, {"k"}, 0, endless) == 0U);

  BOOST_TEST(table.size() == 0U);
  BOOST_TEST(table.counters().skipped_ranges == 3U);
  BOOST_TEST(table.counters().refused_keys == 1U);
}

BOOST_AUTO_TEST_CASE(a_removed_key_takes_all_its_chunks_along) {
  // One object may have been published from several prompts and models; removal may be asked for in parts.
  blend_table table = make_table();
  (void)publish(table, {1, 2, 3, 4, 5, 6, 7, 8}, {"k", "k"});
  (void)publish(table, {1, 2, 3, 4}, {"k"}, 0, "n");
  (void)publish(table, {5, 5, 5, 5}, {"stays"});

  BOOST_TEST(table.remove("k", 2) == 2U);
  BOOST_TEST(table.remove("k", 2) == 1U);
  BOOST_TEST(table.remove("k") == 0U);

  BOOST_TEST(found(table, {1, 2, 3, 4, 5, 5, 5, 5}) == "stays@0->4 ");
  BOOST_TEST(!table.find_scope("n").has_value());
  BOOST_TEST(table.objects() == 1U);
}

BOOST_AUTO_TEST_CASE(the_chunk_unused_longest_makes_room) {
  // The bound holds whatever is published, and what queries use stays.
  blend_table table = make_table(3);
  (void)publish(table, {1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3}, {"1", "2", "3"});
  BOOST_TEST(found(table, {1, 1, 1, 1}) == "1@0->0 ");
  (void)publish(table, {2, 2, 2, 2}, {"2 again"});

  (void)publish(table, {4, 4, 4, 4}, {"4"});

  BOOST_TEST(table.size() == 3U);
  BOOST_TEST(table.counters().evicted == 1U);
  BOOST_TEST(found(table, {3, 3, 3, 3, 1, 1, 1, 1, 2, 2, 2, 2, 4, 4, 4, 4}) == "1@0->4 2@4->8 4@0->12 ");
}

BOOST_AUTO_TEST_CASE(long_names_make_room_too) {
  // Keys and models are free text: a directory of endless ones must not outgrow the others.
  blend_table table({.chunk_tokens = 1, .most_chunks = 100, .most_text_bytes = 1'000, .seed = 3});
  for (std::uint32_t i = 0; i < 50; ++i) {
    const std::string endless(300, static_cast<char>('g' + i % 20));
    (void)publish(table, {i}, {endless + std::to_string(i)});
  }

  BOOST_TEST(table.size() <= 5U);
  BOOST_TEST(found(table, {49}).size() > 300U);
}

BOOST_AUTO_TEST_CASE(tokens_may_have_64_bits) {
  // Stand-ins for images are wider than token ids; small ones are the same tokens in either width.
  blend_table table = make_table();
  const std::vector<std::uint64_t> wide{std::uint64_t{1} << 40, 2, 3, 4, 5, 6, 7, 8};
  BOOST_TEST(table.publish("m", std::span<const std::uint64_t>(wide), keys{"wide", "narrow"}, 0) == 2U);

  BOOST_TEST(found(table, {0, 2, 3, 4, 5, 6, 7, 8}) == "narrow@4->4 ");
  blend_query query(table, "m");
  BOOST_TEST(query.advance(table, std::span<const std::uint64_t>(wide), 100));
  BOOST_TEST(query.matches().size() == 2U);
}

BOOST_AUTO_TEST_CASE(ranges_are_published_in_slices) {
  // A long prompt must not hold the lane.
  blend_table table = make_table();
  const tokens range{1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3};
  const keys names{"a", "b", "c"};
  for (std::size_t from = 0; from < 3; ++from) {
    BOOST_TEST(table.publish("m", std::span<const std::uint32_t>(range), names, 100, from, 1) == 1U);
  }

  BOOST_TEST(found(table, range) == "a@100->0 b@104->4 c@108->8 ");
}

BOOST_AUTO_TEST_CASE(two_queries_may_take_turns_while_the_table_changes) {
  // Both are sliced on one lane; what one has told the other has not.
  blend_table table = make_table();
  const tokens prompt{1, 2, 3, 4, 5, 6, 7, 8};
  (void)publish(table, prompt, {"a", "b"});
  blend_query one(table, "m");
  blend_query two(table, "m");
  const std::span<const std::uint32_t> all(prompt);
  BOOST_TEST(!one.advance(table, all, 1));
  BOOST_TEST(!two.advance(table, all, 1));

  (void)table.remove("b");
  while (!one.advance(table, all, 1)) {
  }
  (void)publish(table, {5, 6, 7, 8}, {"b2"});
  while (!two.advance(table, all, 1)) {
  }

  BOOST_TEST(one.matches().size() == 1U);
  BOOST_TEST_REQUIRE(two.matches().size() == 2U);
  BOOST_TEST(two.matches()[1] == (blend_match{"b2", 0, 4}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test
