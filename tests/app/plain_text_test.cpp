#include "app/plain_text.hpp"

#include <string>
#include <string_view>

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(plain_text)

using namespace kvc;

BOOST_AUTO_TEST_CASE(a_quoted_text_stays_in_its_line_and_is_text) {
  // A key with a line break looked like two errors, one with an escape drove the terminal, and half a character broke --print-config.
  BOOST_TEST(app::one_line("lanes") == "lanes");
  BOOST_TEST(app::one_line("la\nnes\x1B[31m\x7F") == "la nes [31m ");
  BOOST_TEST(app::one_line(std::string_view("a\0b", 3)) == "a b");
  BOOST_TEST(app::one_line("\xC2\x85|\xC3\xA9") == " |\xC3\xA9");
  BOOST_TEST(app::one_line("\xFF|\xC3") == "\xEF\xBF\xBD|\xEF\xBF\xBD");
}

BOOST_AUTO_TEST_CASE(what_is_long_is_cut_between_two_characters) {
  // A file of three megabytes in one key was shown as a whole.
  BOOST_TEST(app::shown(std::string(80, 'a')) == std::string(80, 'a'));
  BOOST_TEST(app::shown(std::string(81, 'a')) == std::string(80, 'a') + "...");
  BOOST_TEST(app::shown("ab\xC3\xA9|", 3) == "ab...");
  BOOST_TEST(app::shown("ab\xC3\xA9|", 4) == "ab\xC3\xA9...");
  BOOST_TEST(app::shown("\xBF\xBF\xBF\xBF\xBF\xBF\xBF\xBF", 6).ends_with("..."));
}

BOOST_AUTO_TEST_SUITE_END()
