// The comparison of short stretches of bytes against what it stands for.
#include "net/same_bytes.hpp"

#include <array>
#include <cstddef>
#include <string_view>

#include <boost/test/unit_test.hpp>

using kvc::net::is_same;

BOOST_AUTO_TEST_SUITE(same_bytes)

BOOST_AUTO_TEST_CASE(every_byte_counts_and_none_beside_them) {
  constexpr std::size_t most = 40;
  std::array<unsigned char, most + 2> left{};
  for (std::size_t i = 0; i < left.size(); ++i) left[i] = static_cast<unsigned char>(3 * i + 1);
  for (std::size_t count = 0; count <= most; ++count) {
    auto right = left;
    right.front() = 0;  // one beside them at either end
    right[count + 1] = 0;
    BOOST_TEST(is_same(left.data() + 1, right.data() + 1, count), count << " bytes");
    for (std::size_t i = 1; i <= count; ++i) {
      right[i] = 0;
      BOOST_TEST(!is_same(left.data() + 1, right.data() + 1, count), "byte " << i << " of " << count);
      right[i] = left[i];
    }
  }
}

BOOST_AUTO_TEST_CASE(texts_of_other_lengths_are_not_the_same) {
  BOOST_TEST(is_same(std::string_view(), std::string_view()));
  BOOST_TEST(is_same(std::string_view("GPU"), std::string_view("GPU")));
  BOOST_TEST(!is_same(std::string_view("GPU"), std::string_view("GP")));
  BOOST_TEST(!is_same(std::string_view("GPU"), std::string_view("GPU_")));
  BOOST_TEST(!is_same(std::string_view("block_hashes"), std::string_view("block_hashez")));
}

BOOST_AUTO_TEST_SUITE_END()
