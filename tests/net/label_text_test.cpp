#include "net/label_text.hpp"

#include <string>

#include <boost/test/unit_test.hpp>

#include "core/utf8.hpp"

BOOST_AUTO_TEST_SUITE(label_text)

namespace {

using kvc::net::most_label_bytes;

}  // namespace

BOOST_AUTO_TEST_CASE(short_texts_stand_as_they_are) {
  for (const std::string& text : {std::string(), std::string("mp-1"), std::string("a\"\\\n\xff"), std::string(most_label_bytes, 'x')}) {
    BOOST_TEST(kvc::net::label_text(text) == text);
  }
}

BOOST_AUTO_TEST_CASE(long_ones_are_cut_and_told_apart_by_their_digest) {
  const std::string same(most_label_bytes + 100, 'x');
  const std::string a = kvc::net::label_text(same + "a");
  const std::string b = kvc::net::label_text(same + "b");
  BOOST_TEST(a.size() == most_label_bytes + 3 + 16);
  BOOST_TEST(a.starts_with(std::string(most_label_bytes, 'x') + "..."));
  BOOST_TEST(a.find_first_not_of("0123456789abcdef", most_label_bytes + 3) == std::string::npos);
  BOOST_TEST(a != b);
  BOOST_TEST(kvc::net::label_text(same + "a") == a, "a series keeps its name");
  BOOST_TEST(kvc::net::label_text(a) != a, "what is cut is longer than what is not, so that the two are never alike");
}

BOOST_AUTO_TEST_CASE(a_cut_is_between_two_characters) {
  for (const char* character : {"\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80"}) {
    for (std::size_t before = 0; before < 4; ++before) {
      std::string text(before, 'x');
      while (text.size() <= most_label_bytes) text += character;
      const std::string shown = kvc::net::label_text(text);
      const std::size_t kept = shown.size() - 3 - 16;
      BOOST_TEST(kvc::core::is_utf8(shown), shown);
      BOOST_TEST(kept <= most_label_bytes);
      BOOST_TEST(kept > most_label_bytes - std::string(character).size());
      BOOST_TEST(text.starts_with(shown.substr(0, kept)));
    }
  }
  BOOST_TEST(kvc::net::label_text(std::string(1'000, '\x80')).size() == most_label_bytes + 3 + 16, "bytes that are no text");
}

BOOST_AUTO_TEST_SUITE_END()
