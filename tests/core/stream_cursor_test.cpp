#include "core/stream_cursor.hpp"

#include <cstdint>

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(stream_cursors)

namespace {

using namespace kvc::core;
using kind = stream_cursor::verdict::kind;

BOOST_AUTO_TEST_CASE(batches_in_order_are_contiguous) {
  // The ordinary life of a stream.
  kvc::core::stream_cursor cursor;
  for (std::uint64_t i = 0; i < 5; ++i) {
    BOOST_TEST(cursor.next().get() == i);
    BOOST_TEST((cursor.observe_live(seqno{i}).what == kind::contiguous));
    cursor.applied(seqno{i});
  }

  BOOST_TEST(cursor.newest_applied()->get() == 4U);
}

BOOST_AUTO_TEST_CASE(a_late_start_is_a_gap_from_the_first_number) {
  // A subscriber that comes late has missed everything before: only a replay from the start closes that.
  kvc::core::stream_cursor cursor;
  const auto seen = cursor.observe_live(seqno{7});

  BOOST_TEST((seen.what == kind::gap));
  BOOST_TEST(seen.missing_from.get() == 0U);
  BOOST_TEST(seen.missing_to.get() == 6U);
}

BOOST_AUTO_TEST_CASE(streams_may_begin_with_one) {
  // Mooncake's master counts from 1; another version of it from 0, which is then no gap either.
  kvc::core::stream_cursor from_one{seqno{1}};
  BOOST_TEST((from_one.observe_live(seqno{1}).what == kind::contiguous));

  kvc::core::stream_cursor from_zero{seqno{1}};
  BOOST_TEST((from_zero.observe_live(seqno{0}).what == kind::contiguous));
  from_zero.applied(seqno{0});
  BOOST_TEST((from_zero.observe_live(seqno{1}).what == kind::contiguous));
}

BOOST_AUTO_TEST_CASE(a_jump_names_what_is_missing) {
  // The replay asks for exactly this range.
  kvc::core::stream_cursor cursor;
  (void)cursor.observe_live(seqno{0});
  cursor.applied(seqno{0});
  const auto seen = cursor.observe_live(seqno{4});

  BOOST_TEST((seen.what == kind::gap));
  BOOST_TEST(seen.missing_from.get() == 1U);
  BOOST_TEST(seen.missing_to.get() == 3U);
}

BOOST_AUTO_TEST_CASE(a_gap_given_up_does_not_come_back) {
  // Lost batches count as applied, or every later batch would be a gap again.
  kvc::core::stream_cursor cursor;
  (void)cursor.observe_live(seqno{5});
  cursor.applied(seqno{4});
  cursor.applied(seqno{5});

  BOOST_TEST((cursor.observe_live(seqno{6}).what == kind::contiguous));
}

BOOST_AUTO_TEST_CASE(what_a_replay_has_brought_already_is_a_duplicate) {
  // A replay may run past the live stream; applying twice would count copies twice.
  kvc::core::stream_cursor cursor;
  (void)cursor.observe_live(seqno{3});
  for (std::uint64_t i = 0; i <= 6; ++i) cursor.applied(seqno{i});

  BOOST_TEST((cursor.observe_live(seqno{4}).what == kind::duplicate));
  BOOST_TEST((cursor.observe_live(seqno{6}).what == kind::duplicate));
  BOOST_TEST((cursor.observe_live(seqno{7}).what == kind::contiguous));
}

BOOST_AUTO_TEST_CASE(a_live_number_that_does_not_grow_is_another_incarnation) {
  // Engines say nothing when they restart; only the number tells.
  kvc::core::stream_cursor cursor;
  (void)cursor.observe_live(seqno{3});
  cursor.applied(seqno{3});

  BOOST_TEST((cursor.observe_live(seqno{3}).what == kind::restart));
  BOOST_TEST((cursor.observe_live(seqno{0}).what == kind::restart));
  cursor.reset();
  BOOST_TEST(!cursor.newest_applied().has_value());
  BOOST_TEST((cursor.observe_live(seqno{0}).what == kind::contiguous));
}

BOOST_AUTO_TEST_CASE(a_restart_is_seen_even_when_a_replay_was_ahead) {
  // 0..9 came by replay, 4 and then 2 came live: a live stream is ordered, so 2 is a new life and not a duplicate.
  kvc::core::stream_cursor cursor;
  for (std::uint64_t i = 0; i <= 9; ++i) cursor.applied(seqno{i});

  BOOST_TEST((cursor.observe_live(seqno{4}).what == kind::duplicate));
  BOOST_TEST((cursor.observe_live(seqno{2}).what == kind::restart));
}

BOOST_AUTO_TEST_CASE(reset_keeps_the_first_number_of_the_type) {
  // A restarted Mooncake master begins with 1 again.
  kvc::core::stream_cursor cursor{seqno{1}};
  cursor.applied(seqno{9});
  cursor.reset();

  BOOST_TEST(cursor.next().get() == 1U);
}

BOOST_AUTO_TEST_CASE(the_applied_mark_never_moves_back) {
  // Outcomes may be reported out of order.
  kvc::core::stream_cursor cursor;
  cursor.applied(seqno{9});
  cursor.applied(seqno{2});

  BOOST_TEST(cursor.newest_applied()->get() == 9U);
  BOOST_TEST(cursor.next().get() == 10U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
