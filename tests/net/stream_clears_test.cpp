// Which clears make earlier losses of a stream matter no more, over sockets.
#include <cstdint>
#include <string>
#include <string_view>

#include <boost/test/unit_test.hpp>

#include "tests/support/net/joined_fixture.hpp"
#include "tests/support/net/payloads.hpp"

BOOST_AUTO_TEST_SUITE(stream_clears)

namespace {

using namespace kvc;
using namespace kvc::test;
using core::stream_state;

/// One batch of the events of two, each of which has one.
std::string in_one_batch(std::string_view first, std::string_view second) {
  constexpr std::size_t before_events = 10;  // the batch is a list, its time a number of eight bytes
  constexpr char list_of_two = '\x92';
  std::string both(first.substr(0, before_events));
  both += list_of_two;
  both += first.substr(before_events + 1, first.size() - before_events - 2);  // without the nil that is its rank
  both += second.substr(before_events + 1);
  return both;
}

}  // namespace

// Engines publish what their cache does in a step together, so that a clear comes with what is stored next.
BOOST_FIXTURE_TEST_CASE(a_clear_with_stores_behind_it_in_its_batch_forgives, joined_fixture) {
  engine_1.publish(stored_payload({1}, {}, tokens_from(0, 1)));
  engine_1.lose_forever();
  engine_1.publish(stored_payload({2}, 1, tokens_from(4, 1)));
  BOOST_REQUIRE(eventually([&] { return state() == stream_state::incomplete; }));
  const auto last = engine_1.publish(in_one_batch(cleared_payload(), stored_payload({7}, {}, tokens_from(0, 1))));
  BOOST_REQUIRE(eventually([&] { return service()->status->last_seqno.load() == last; }));
  BOOST_TEST(service()->status->rejected.load() == 0U);
  BOOST_TEST(depth(tokens_from(0, 1)) == 1U);
  BOOST_TEST((state() == stream_state::whole));
  BOOST_TEST(service()->status->missing.load() == 0U);
}

// Its blocks were dropped by a doubt of ours, and it still has them.
BOOST_FIXTURE_TEST_CASE(a_clear_of_one_rank_does_not_forgive_what_another_one_lost, joined_fixture) {
  const auto of_1 = tokens_from(100, 2);
  engine_1.publish(stored_payload({1}, {}, tokens_from(0, 1)));
  engine_1.publish(stored_for_rank_payload(1, {50, 51}, of_1));
  BOOST_REQUIRE(eventually([&] { return depth(of_1) == 2 && state() == stream_state::whole; }));
  engine_1.lose_forever();
  const auto last = engine_1.publish(cleared_payload());  // of rank 0
  BOOST_REQUIRE(eventually([&] { return service()->status->last_seqno.load() == last; }));
  BOOST_TEST(depth(of_1) == 0U);
  BOOST_TEST((state() == stream_state::incomplete));
}

BOOST_AUTO_TEST_SUITE_END()
