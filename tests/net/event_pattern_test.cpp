// Which events count as like another one.
#include "net/event_pattern.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(event_patterns)

namespace {

using namespace kvc::net;

constexpr std::size_t gap_length = event_pattern::gap_bytes;

/// By all counters of this CPU, from a copy whose last byte is the heap's, where a read past the end is noticed.
std::size_t count_by_all(const event_pattern& like, std::span<const unsigned char> events, std::size_t most) {
  const auto copy = std::make_unique<unsigned char[]>(events.size());
  std::ranges::copy(events, copy.get());
  const std::size_t plain = alike_counters().back()(like, copy.get(), most);
  for (const alike_counter each : alike_counters()) BOOST_TEST(each(like, copy.get(), most) == plain);
  BOOST_TEST(count_alike(like, copy.get(), most) == plain);
  return plain;
}

/// `count` events that differ in the gap alone.
std::vector<unsigned char> alike_events(const event_pattern& like, std::size_t count) {
  std::vector<unsigned char> all;
  for (std::size_t i = 0; i < count; ++i) {
    all.insert(all.end(), like.event, like.event + like.length);
    std::fill_n(all.end() - static_cast<std::ptrdiff_t>(like.length - like.gap), gap_length, static_cast<unsigned char>(0xa5 + 7 * i));
  }
  return all;
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_byte_counts_but_those_of_the_gap) {
  constexpr std::size_t count = 3;
  std::array<unsigned char, event_pattern::most_bytes> event{};
  for (std::size_t i = 0; i < event.size(); ++i) event[i] = static_cast<unsigned char>(5 * i + 1);
  for (std::size_t length = event_pattern::fewest_bytes; length <= event_pattern::most_bytes; ++length) {
    for (const std::size_t gap : {std::size_t{0}, length / 2 - 3, length - gap_length}) {
      BOOST_TEST_CONTEXT(length << " bytes, a gap at " << gap) {
        const event_pattern like{event.data(), length, gap};
        auto events = alike_events(like, count);
        BOOST_TEST(count_by_all(like, events, count) == count);
        for (std::size_t i = 0; i < events.size(); ++i) {
          const std::size_t in_event = i % length;
          const bool is_of_gap = in_event >= gap && in_event < gap + gap_length;
          events[i] ^= 0x10;
          BOOST_TEST(count_by_all(like, events, count) == (is_of_gap ? count : i / length), "byte " << i);
          events[i] ^= 0x10;
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(no_more_are_counted_than_asked_for) {
  std::array<unsigned char, 71> event{};
  const event_pattern like{event.data(), event.size(), 40};
  for (const std::size_t count : {0, 1, 2, 100}) {
    const auto events = alike_events(like, count);
    for (const std::size_t most : {std::size_t{0}, count / 2, count}) BOOST_TEST(count_by_all(like, events, most) == most);
  }
}

BOOST_AUTO_TEST_SUITE_END()
