// Which events count as like another one.
#include "net/event_pattern.hpp"

#include <array>
#include <cstddef>

#include <boost/test/unit_test.hpp>

using kvc::net::event_pattern;

BOOST_AUTO_TEST_SUITE(event_patterns)

BOOST_AUTO_TEST_CASE(every_byte_counts_but_those_of_the_gap) {
  std::array<unsigned char, event_pattern::most_bytes + 2> event{};
  for (std::size_t i = 0; i < event.size(); ++i) event[i] = static_cast<unsigned char>(5 * i + 1);
  constexpr std::size_t gap_length = event_pattern::gap_bytes;
  for (std::size_t length = event_pattern::fewest_bytes; length <= event_pattern::most_bytes; ++length) {
    for (const std::size_t gap : {std::size_t{0}, length / 2 - 3, length - gap_length}) {
      const event_pattern pattern(event.data() + 1, length, gap);
      auto other = event;
      other.front() = 0;  // one beside them at either end
      other[length + 1] = 0;
      for (std::size_t i = 0; i < gap_length; ++i) other[1 + gap + i] = 0xa5;
      BOOST_TEST(pattern.is_met_by(other.data() + 1), length << " bytes, a gap at " << gap);
      for (std::size_t i = 0; i < length; ++i) {
        if (i >= gap && i < gap + gap_length) continue;
        other[1 + i] ^= 0x10;
        BOOST_TEST(!pattern.is_met_by(other.data() + 1), "byte " << i << " of " << length);
        other[1 + i] ^= 0x10;
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
