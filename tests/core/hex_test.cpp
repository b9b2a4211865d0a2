#include "core/hex.hpp"

#include <cctype>
#include <cstddef>
#include <string>

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(hex)

namespace {

using namespace kvc;

int value_of(int letter) {
  if (letter >= '0' && letter <= '9') return letter - '0';
  const int lower = letter < 128 ? std::tolower(letter) : letter;
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_byte_at_every_place_is_a_digit_or_none) {
  // Digits are read eight at a time, the rest by twos: each place of a text of 20 goes one of both ways.
  const std::string digits = "0123456789abcdefABCD";
  for (std::size_t place = 0; place < digits.size(); ++place) {
    for (int letter = 0; letter < 256; ++letter) {
      if (letter == ' ' || (letter >= '\t' && letter <= '\r')) continue;  // blanks may stand between pairs
      std::string text = digits;
      text[place] = static_cast<char>(letter);
      std::string bytes = "before";
      const bool is_read = core::decode_hex(text, bytes).has_value();
      BOOST_REQUIRE_MESSAGE(is_read == (value_of(letter) >= 0), "letter " << letter << " at " << place);
      if (!is_read) {
        BOOST_REQUIRE(bytes == "before");
        continue;
      }
      std::string expected = "before";
      for (std::size_t i = 0; i < text.size(); i += 2) {
        expected.push_back(
            static_cast<char>(value_of(static_cast<unsigned char>(text[i])) << 4 | value_of(static_cast<unsigned char>(text[i + 1]))));
      }
      BOOST_REQUIRE(bytes == expected);
    }
  }
}

BOOST_AUTO_TEST_CASE(blanks_stand_between_pairs_only) {
  std::string bytes;
  BOOST_TEST(core::decode_hex("01 23456789abcdef 01\t23", bytes).has_value());
  BOOST_TEST(bytes.size() == 10U);
  BOOST_TEST(!core::decode_hex("0 123456789", bytes).has_value());
  BOOST_TEST(!core::decode_hex("012345678", bytes).has_value());
  BOOST_TEST(bytes.size() == 10U);
}

BOOST_AUTO_TEST_CASE(only_pairs_of_lower_case_digits_are_packed) {
  const std::string digits = "0123456789abcdefabcd";
  for (std::size_t place = 0; place < digits.size(); ++place) {
    for (int letter = 0; letter < 256; ++letter) {
      std::string text = digits;
      text[place] = static_cast<char>(letter);
      const core::packed_text packed(text);
      const bool is_digit = value_of(letter) >= 0 && std::isupper(letter) == 0;
      BOOST_REQUIRE_MESSAGE(packed.is_hex() == is_digit, "letter " << letter << " at " << place);
      BOOST_REQUIRE(core::unpacked(packed.bytes(), packed.is_hex()) == text);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
