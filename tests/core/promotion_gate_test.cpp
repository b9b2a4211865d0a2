#include "core/promotion_gate.hpp"

#include <chrono>
#include <cstdint>
#include <utility>

#include <boost/test/unit_test.hpp>

namespace kvc::test {
BOOST_AUTO_TEST_SUITE(promotion_gates)

namespace {

using namespace std::chrono_literals;
using core::promotion_end;
using core::promotion_gate;
using enum core::promotion_verdict;

constexpr promotion_gate::time_point start{1h};

bool is(core::promotion_verdict found, core::promotion_verdict wanted) {
  return found == wanted;
}

}  // namespace

BOOST_AUTO_TEST_CASE(wishes_for_one_object_join) {
  promotion_gate gate({});

  BOOST_TEST(is(gate.ask(7, 0, start), started));
  BOOST_TEST(is(gate.ask(7, 0, start), joined));
  BOOST_TEST(is(gate.ask(8, 0, start), started));
  BOOST_TEST(gate.in_flight() == 2U);
}

BOOST_AUTO_TEST_CASE(what_was_promoted_is_left_alone_for_a_while) {
  promotion_gate gate({.dedup = 30s});
  BOOST_REQUIRE(is(gate.ask(7, 0, start), started));
  gate.finished(7, promotion_end::done, start + 1s);

  BOOST_TEST(is(gate.ask(7, 0, start + 30s), suppressed_recent));
  BOOST_TEST(is(gate.ask(7, 0, start + 31s), started));
}

BOOST_AUTO_TEST_CASE(what_failed_is_tried_again_sooner) {
  promotion_gate gate({.cooldown = 5s});
  BOOST_REQUIRE(is(gate.ask(7, 0, start), started));
  gate.finished(7, promotion_end::failed, start);

  BOOST_TEST(is(gate.ask(7, 0, start + 4s), suppressed_failed));
  BOOST_TEST(is(gate.ask(7, 0, start + 5s), started));
}

BOOST_AUTO_TEST_CASE(no_more_than_so_many_at_a_time) {
  promotion_gate gate({.in_flight = 2});
  BOOST_REQUIRE(is(gate.ask(1, 0, start), started));
  BOOST_REQUIRE(is(gate.ask(2, 0, start), started));

  BOOST_TEST(is(gate.ask(3, 0, start), suppressed_full));
  BOOST_TEST(is(gate.ask(1, 0, start), joined));
  gate.finished(1, promotion_end::done, start);
  BOOST_TEST(is(gate.ask(3, 0, start), started));
}

BOOST_AUTO_TEST_CASE(a_backend_without_room_rests_twice_as_long_each_time_and_others_do_not) {
  promotion_gate gate({.cooldown = 0s, .first_rest = 500ms, .longest_rest = 1500ms});
  auto now = start;
  auto other = started;
  for (const auto rest : {500ms, 1000ms, 1500ms, 1500ms}) {
    BOOST_REQUIRE(is(gate.ask(1, 4, now), started));
    gate.finished(1, promotion_end::pressure, now);
    BOOST_TEST(is(gate.ask(2, 4, now + rest - 1ms), suppressed_pressure));
    BOOST_TEST(is(gate.ask(3, 5, now), std::exchange(other, joined)));
    now += rest;
  }
}

// Nine refusals of ten used to leave it at the first rest for ever: each success began anew.
BOOST_AUTO_TEST_CASE(a_promotion_that_works_among_many_that_do_not_halves_the_rest) {
  promotion_gate gate({.dedup = 0s, .cooldown = 0s, .first_rest = 500ms, .longest_rest = 60s});
  auto now = start;
  for (const auto rest : {500ms, 1000ms, 2000ms}) {
    BOOST_REQUIRE(is(gate.ask(1, 4, now), started));
    gate.finished(1, promotion_end::pressure, now);
    now += rest;
  }
  for (std::uint32_t object = 10; object < 20; ++object) {  // the successes of one moment are one
    BOOST_REQUIRE(is(gate.ask(object, 4, now), started));
    gate.finished(object, promotion_end::done, now);
  }
  BOOST_REQUIRE(is(gate.ask(1, 4, now), started));
  gate.finished(1, promotion_end::pressure, now);
  BOOST_TEST(is(gate.ask(2, 4, now + 1999ms), suppressed_pressure));

  // What goes on working ends it.
  now += 2000ms;
  for (std::uint32_t object = 20; object < 24; ++object, now += 2000ms) {
    BOOST_REQUIRE(is(gate.ask(object, 4, now), started));
    gate.finished(object, promotion_end::done, now);
  }
  BOOST_REQUIRE(is(gate.ask(1, 4, now), started));
  gate.finished(1, promotion_end::pressure, now);
  BOOST_TEST(is(gate.ask(2, 4, now + 500ms), started));
}

BOOST_AUTO_TEST_CASE(what_ended_before_a_backend_began_anew_means_nothing) {
  promotion_gate gate({.in_flight = 8});
  for (const std::uint64_t object : {1, 2, 3, 9}) BOOST_REQUIRE(is(gate.ask(object, object == 9 ? 5 : 4, start), started));
  gate.finished(1, promotion_end::done, start);
  gate.finished(2, promotion_end::pressure, start);
  gate.finished(9, promotion_end::done, start);
  gate.forget_backend(4);

  BOOST_TEST(is(gate.ask(1, 4, start), started));
  BOOST_TEST(is(gate.ask(2, 4, start), started));
  BOOST_TEST(is(gate.ask(3, 4, start), joined));  // on its way all the same
  BOOST_TEST(is(gate.ask(9, 5, start), suppressed_recent));
  gate.finished(1, promotion_end::done, start + 1s);
  BOOST_TEST(is(gate.ask(1, 4, start + 2s), suppressed_recent));
  BOOST_TEST(gate.in_flight() == 2U);
}

BOOST_AUTO_TEST_CASE(a_backend_that_was_away_rests_on) {
  // Short of memory, it is slow to answer: being away and back must not undo that it is asked less and less.
  promotion_gate gate({});
  for (const std::uint64_t object : {1, 2}) BOOST_REQUIRE(is(gate.ask(object, 4, start), started));
  gate.finished(1, promotion_end::done, start);
  gate.finished(2, promotion_end::pressure, start);
  gate.forget_ends(4);

  BOOST_TEST(is(gate.ask(1, 4, start), suppressed_pressure));
  BOOST_TEST(is(gate.ask(1, 4, start + 500ms), started), "what was promoted may be gone");
}

BOOST_AUTO_TEST_CASE(what_we_gave_up_may_be_asked_for_at_once) {
  promotion_gate gate({});
  BOOST_REQUIRE(is(gate.ask(7, 0, start), started));
  gate.finished(7, promotion_end::given_up, start);

  BOOST_TEST(gate.in_flight() == 0U);
  BOOST_TEST(is(gate.ask(7, 0, start), started));
}

BOOST_AUTO_TEST_CASE(one_backend_leaves_room_for_others) {
  promotion_gate gate({.in_flight = 8});
  gate.set_sharing(0, true);
  gate.set_sharing(1, true);
  for (std::uint64_t object = 0; object < 4; ++object) BOOST_REQUIRE(is(gate.ask(object, 0, start), started));
  BOOST_TEST(is(gate.ask(99, 0, start), suppressed_full));
  for (std::uint64_t object = 10; object < 12; ++object) BOOST_REQUIRE(is(gate.ask(object, 1, start), started));
  BOOST_TEST(is(gate.ask(98, 1, start), suppressed_full));

  gate.set_sharing(1, false);  // alone it may have all that is left
  BOOST_TEST(is(gate.ask(99, 0, start), started));
  BOOST_TEST(is(gate.ask(97, 0, start), started));
  BOOST_TEST(is(gate.ask(96, 0, start), suppressed_full));
  BOOST_TEST(is(gate.ask(95, 1, start, 2), suppressed_full));  // by its own bound
}

BOOST_AUTO_TEST_CASE(many_refusals_at_once_are_one) {
  promotion_gate gate({.first_rest = 500ms});
  for (std::uint32_t object = 0; object < 10; ++object) BOOST_REQUIRE(is(gate.ask(object, 0, start), started));
  for (std::uint32_t object = 0; object < 10; ++object) gate.finished(object, promotion_end::pressure, start + 1ms);

  BOOST_TEST(is(gate.ask(99, 0, start + 501ms), started));
}

BOOST_AUTO_TEST_CASE(a_number_that_means_another_object_begins_anew) {
  promotion_gate gate({});
  BOOST_REQUIRE(is(gate.ask(7, 0, start), started));
  gate.finished(7, promotion_end::failed, start);
  gate.forget(7);

  BOOST_TEST(is(gate.ask(7, 0, start), started));
  gate.finished(7, promotion_end::done, start + 1s);
  // The record of the first object's failure runs out, that of the second's success does not.
  BOOST_TEST(is(gate.ask(7, 0, start + 6s), suppressed_recent));
}

BOOST_AUTO_TEST_CASE(what_is_remembered_is_bounded) {
  promotion_gate gate({.remembered = 100});
  for (std::uint32_t object = 0; object < 1'000; ++object) {
    BOOST_REQUIRE(is(gate.ask(object, 0, start), started));
    gate.finished(object, promotion_end::done, start);
  }

  BOOST_TEST(is(gate.ask(0, 0, start), started));  // forgotten
  BOOST_TEST(is(gate.ask(999, 0, start), suppressed_recent));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test
