// Every allocation of wishes for promotions and of their ends fails in turn: a wish has not started then, or has not ended, and to give it
// up needs no memory.
#include <chrono>
#include <cstdint>
#include <new>

#include <boost/test/unit_test.hpp>

#include "core/promotion_gate.hpp"
#include "tests/allocation/watched_heap.hpp"

BOOST_AUTO_TEST_SUITE(failed_promotion)

// What ended when there was no memory to remember it by was remembered for ever.
BOOST_AUTO_TEST_CASE(what_could_not_be_remembered_has_not_ended) {
  using namespace kvc::core;
  using kvc::test::watched_heap;
  constexpr std::uint64_t wishes = 100;
  constexpr promotion_gate::time_point start{std::chrono::hours(1)};
  bool has_failed = true;
  for (long number = 0; has_failed; ++number) {
    promotion_gate gate({});
    watched_heap::before_failure = number;
    try {
      for (std::uint64_t object = 1; object <= wishes; ++object) {
        static_cast<void>(gate.ask(object, 3, start));
        gate.finished(object, object % 2 == 0 ? promotion_end::done : promotion_end::failed, start);
      }
      has_failed = false;
    } catch (const std::bad_alloc&) {
    }
    watched_heap::before_failure = 0;
    for (std::uint64_t object = 1; object <= wishes; ++object) gate.finished(object, promotion_end::given_up, start);
    watched_heap::before_failure = -1;

    BOOST_TEST_CONTEXT("allocation " << number) {
      BOOST_TEST(gate.in_flight() == 0U);
      std::uint64_t again = 0;
      for (std::uint64_t object = 1; object <= wishes; ++object) {
        again += gate.ask(object, 3, start + std::chrono::minutes(1)) == promotion_verdict::started ? 1U : 0U;
      }
      BOOST_TEST(again == wishes);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
