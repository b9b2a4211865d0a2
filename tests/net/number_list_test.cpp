#include "net/number_list.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(number_list)

using namespace kvc;

namespace {

/// What is left of `text` after reading into at most `room` numbers, which are appended to `into`.
std::string rest_of(const std::string& text, std::vector<std::uint64_t>& into, std::size_t room = 1'000,
                    net::list_style style = net::list_style::dense) {
  std::vector<std::uint64_t> some(room);
  const net::numbers_read read = net::read_short_numbers(text.data(), text.data() + text.size(), style, some);
  into.insert(into.end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(read.count));
  return {read.rest, text.data() + text.size()};
}

/// A list as a client might write it, with something unusual here and there; the last number is followed by what `behind` says.
std::string made_up_list(std::mt19937_64& random, std::string_view comma, const std::string& behind) {
  std::string text;
  const std::uint64_t longest = 1 + random() % 27;
  const bool is_odd = random() % 2 == 0;
  for (std::uint64_t i = random() % 60; i > 0; --i) {
    text += std::to_string(is_odd && random() % 40 == 0 ? random() : (random() % 100'000'000) >> (random() % longest));
    text += comma;
    if (is_odd && random() % 50 == 0) text += std::string(1, " 0,-.]\"\x80"[random() % 8]);
    if (is_odd && random() % 100 == 0) text += std::string(random() % 200, ',');
  }
  return text + behind;
}

}  // namespace

BOOST_AUTO_TEST_CASE(reads_up_to_the_last_number_of_a_list) {
  std::vector<std::uint64_t> numbers;
  BOOST_TEST(rest_of("0,7,10,999,128255,12345678,99999999,5]}", numbers) == "5]}");
  BOOST_TEST((numbers == std::vector<std::uint64_t>{0, 7, 10, 999, 128'255, 12'345'678, 99'999'999}));
}

BOOST_AUTO_TEST_CASE(stops_before_what_is_not_plain) {
  const std::string many = "1,22,333,4444,55555,666666,7777777,88888888,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,";
  for (const std::string odd : {"123456789,5,6,", "01,5,6,", ",5,6,", " 5,6,", "-5,6,", "5.0,6,", "5e3,6,", "5 ,6,", "\"5\",6,", "]"}) {
    std::vector<std::uint64_t> numbers;
    const std::string behind = odd + many;  // so that it stands in the middle of what is read at once
    BOOST_TEST(rest_of(many + behind, numbers) == behind, odd);
    BOOST_TEST(numbers.size() == 25U, odd);
  }
}

BOOST_AUTO_TEST_CASE(reads_lists_with_a_blank_behind_each_comma) {
  const std::string many = "1, 22, 333, 4444, 55555, 666666, 7777777, 88888888, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, ";
  for (const std::string odd : {"7]", "7,8, 9, ", "  7, 8, ", " 7, 8, ", "123456789, 5, "}) {
    std::vector<std::uint64_t> numbers;
    const std::string rest = rest_of(many + odd + many, numbers, 1'000, net::list_style::blank_behind_comma);
    const bool is_missing = odd == "7,8, 9, ";  // the blank behind the first one
    BOOST_TEST(rest == (is_missing ? "8, 9, " + many : " " + odd + many), odd);
    BOOST_TEST(numbers.size() == (is_missing ? 23U : 22U), odd);
  }
}

BOOST_AUTO_TEST_CASE(fills_no_more_than_the_room_there_is) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += std::to_string(1'000 + i) + ",";
  for (std::size_t room = 0; room < 99; ++room) {
    std::vector<std::uint64_t> numbers;
    const std::string rest = rest_of(text, numbers, room);
    BOOST_TEST(numbers.size() <= room);
    BOOST_TEST(numbers.size() + net::least_room_for_numbers > room);  // and not much less
    BOOST_TEST(rest == text.substr(numbers.size() * 5));
    if (!numbers.empty()) BOOST_TEST(numbers.back() == 999 + numbers.size());
  }
}

BOOST_AUTO_TEST_CASE(commas_with_nothing_between_are_no_numbers_and_nothing_is_written_for_them) {
  constexpr std::uint64_t untouched = 0x5EED'5EED'5EED'5EED;
  for (const std::string before : {"", "7,", "1,22,333,4444,55555,666666,7777777,88888888,9,10,11,12,13,14,15,16,17,"}) {
    const auto numbers = static_cast<std::size_t>(std::ranges::count(before, ','));
    for (std::size_t commas = 1; commas < 300; ++commas) {
      const std::string text = before + std::string(commas, ',') + R"(4],"model":"m"})";
      const std::size_t room = numbers + net::least_room_for_numbers;
      std::vector<std::uint64_t> some(room + 100, untouched);
      const auto read =
          net::read_short_numbers(text.data(), text.data() + text.size(), net::list_style::dense, std::span(some).first(room));
      BOOST_TEST(read.count == numbers);
      BOOST_TEST(read.rest - text.data() == static_cast<std::ptrdiff_t>(before.size()));
      BOOST_TEST((std::ranges::count(std::span(some).subspan(room), untouched) == 100));
    }
  }
}

BOOST_AUTO_TEST_CASE(every_way_reads_the_same) {
  const char* const given = std::getenv("KVC_PROPERTY_SEED");
  const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : 42;
  BOOST_TEST_MESSAGE("KVC_PROPERTY_SEED=" << seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 20'000; ++round) {
    const auto style = random() % 2 == 0 ? net::list_style::dense : net::list_style::blank_behind_comma;
    const std::string text = made_up_list(random, style == net::list_style::dense ? "," : ", ",
                                          random() % 2 == 0 ? R"(17],"x":"y"})" : R"(17],"object_keys":["00000000,11,2222","ab"]}]})");
    std::vector<std::uint64_t> some(text.size() + net::least_room_for_numbers);
    std::vector<std::uint64_t> others(some.size());
    const auto fast = net::read_short_numbers(text.data(), text.data() + text.size(), style, some);
    const auto plain = net::read_short_numbers_portable(text.data(), text.data() + text.size(), style, others);
    BOOST_REQUIRE_MESSAGE(fast.count == plain.count && fast.rest == plain.rest, "seed " << seed << ", round " << round << ": " << text);
    some.resize(fast.count);
    others.resize(plain.count);
    BOOST_REQUIRE_MESSAGE(some == others, "seed " << seed << ", round " << round << ": " << text);
  }
}

BOOST_AUTO_TEST_SUITE_END()
