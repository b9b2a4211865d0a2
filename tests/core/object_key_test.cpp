#include "core/object_key.hpp"

#include <string>
#include <string_view>

#include <boost/test/unit_test.hpp>

#include "core/hex.hpp"

namespace kvc::test {
BOOST_AUTO_TEST_SUITE(object_key_rules)

namespace {

using namespace kvc::core;

std::string decoded(std::string_view hex) {
  std::string out = ">";
  return decode_hex(hex, out) ? out : "refused" + out;
}

}  // namespace

BOOST_AUTO_TEST_CASE(hex_is_read_as_python_reads_it) {
  // Two spellings of one hash are one key; what the other service would fail on is refused.
  BOOST_TEST(decoded("4142") == ">AB");
  BOOST_TEST(decoded("4a4B") == ">JK");
  BOOST_TEST(decoded(" 41 \t42\n") == ">AB");
  BOOST_TEST(decoded("") == ">");
  for (const char* bad : {"4", "414", "4 1", "4g", "0x41", "41-42", "\xFF\xFF"}) BOOST_TEST(decoded(bad) == "refused>", bad);
}

BOOST_AUTO_TEST_CASE(hex_is_written_in_lower_case) {
  // MP servers compare texts.
  std::string out = "x";
  append_hex(std::string_view("\x00\xAB\xff", 3), out);
  BOOST_TEST(out == "x00abff");
}

BOOST_AUTO_TEST_CASE(a_packed_text_gives_the_text_back) {
  // Object keys of the blend directory come back exactly as they were published.
  for (const std::string text : {"", "00ff", "0", "abc", "ABCD", "zz", "0 ", "\x80\x80"}) {
    const packed_text packed(text);
    BOOST_TEST(unpacked(packed.bytes(), packed.is_hex()) == text);
  }
  const std::string digest(64, 'a');
  const std::string endless(1'000, 'a');
  BOOST_TEST(packed_text(digest).bytes().size() == 32U);
  BOOST_TEST(packed_text(endless).bytes() == endless);
}

struct rule_row {
  std::string model;
  std::string salt;
  error_code wanted;
};

BOOST_AUTO_TEST_CASE(keys_no_server_can_make_are_refused) {
  // The characters separate fields in the names of stored objects.
  const rule_row rows[] = {{"m", "", {}},
                           {"org/m", "tenant", {}},
                           {"m@1", "", make_error_code(errc::model_not_allowed)},
                           {"m", "a@b", make_error_code(errc::salt_not_allowed)},
                           {"m", "a/b", make_error_code(errc::salt_not_allowed)},
                           {"m", "a\\b", make_error_code(errc::salt_not_allowed)},
                           {"m", std::string("a\0b", 3), make_error_code(errc::salt_not_allowed)},
                           {"m", std::string(128, 'a'), {}},
                           {"m", std::string(129, 'a'), make_error_code(errc::salt_too_long)},
                           {"m", std::string(513, '\x80'), make_error_code(errc::salt_too_long)},
                           {std::string(4'096, 'm'), "", {}},
                           {std::string(4'097, 'm'), "", make_error_code(errc::model_too_long)}};
  for (const rule_row& each : rows) {
    const auto got = check_key({"h", each.model, 0, 0, each.salt});
    BOOST_TEST(((got ? error_code() : got.error()) == each.wanted), each.model << " " << each.salt);
  }
  const std::string long_hash(2'049, 'h');
  BOOST_TEST((check_key({long_hash, "m", 0, 0, ""}).error() == make_error_code(errc::hash_too_long)));
  BOOST_TEST(check_key({std::string_view(long_hash).substr(1), "m", 0, 0, ""}).has_value());
  std::string accents;
  for (int i = 0; i < 128; ++i) accents += "\xC3\xA9";
  BOOST_TEST(check_key({"h", "m", 0, 0, accents}).has_value());
  BOOST_TEST((check_key({"h", "m", 0, 0, accents + "a"}).error() == make_error_code(errc::salt_too_long)));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test
