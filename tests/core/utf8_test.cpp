#include "core/utf8.hpp"

#include <string>
#include <string_view>

#include <boost/test/unit_test.hpp>

namespace kvc::test {

BOOST_AUTO_TEST_SUITE(utf8)

using namespace std::string_view_literals;

BOOST_AUTO_TEST_CASE(text_of_every_length_of_character_is_text) {
  for (const std::string_view good :
       {""sv, "plain"sv, "a text longer than a word"sv, "\xC2\x80"sv, "\xDF\xBF"sv, "\xE0\xA0\x80"sv, "\xED\x9F\xBF"sv, "\xEE\x80\x80"sv,
        "\xEF\xBF\xBF"sv, "\xF0\x90\x80\x80"sv, "\xF4\x8F\xBF\xBF"sv, "\0"sv}) {
    BOOST_TEST(core::is_utf8(good));
    BOOST_TEST(core::is_utf8("seven.." + std::string(good) + "and more behind"));
  }
}

BOOST_AUTO_TEST_CASE(long_forms_halves_and_what_no_character_has_are_none) {
  for (const std::string_view bad : {"\x80"sv, "\xBF"sv, "\xC0\x80"sv, "\xC1\xBF"sv, "\xE0\x9F\xBF"sv, "\xED\xA0\x80"sv, "\xED\xBF\xBF"sv,
                                     "\xF0\x8F\xBF\xBF"sv, "\xF4\x90\x80\x80"sv, "\xF5\x80\x80\x80"sv, "\xFE"sv, "\xFF"sv, "\xC2"sv,
                                     "\xE2\x82"sv, "\xF0\x9F\x92"sv, "\xC2\x20"sv, "\xE2\x82\x20"sv}) {
    BOOST_TEST(!core::is_utf8(bad));
    BOOST_TEST(!core::is_utf8("eight..." + std::string(bad)));
  }
}

BOOST_AUTO_TEST_CASE(what_is_no_text_is_repaired_byte_by_byte) {
  // Pages that show such a name must stay readable, and the rest of the name with them.
  BOOST_TEST(core::repaired_utf8("") == "");
  BOOST_TEST(core::repaired_utf8("a\xC3\xA9\xF0\x9F\x92\xA9z") == "a\xC3\xA9\xF0\x9F\x92\xA9z");
  BOOST_TEST(core::repaired_utf8("a\xFFz") == "a\xEF\xBF\xBDz");
  BOOST_TEST(core::repaired_utf8("\xE2\x82") == "\xEF\xBF\xBD\xEF\xBF\xBD");
  BOOST_TEST(core::character_length("\xE2\x82\xAC and more") == 3U);
  BOOST_TEST(core::character_length("\xE2\x82") == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test
