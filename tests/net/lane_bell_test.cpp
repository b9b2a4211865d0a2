#include "net/lane_bell.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(lane_bells)

// An engine that tells a pool many names while the pool's lane is busy: one call of that lane tells of all of them.
BOOST_AUTO_TEST_CASE(however_often_it_is_rung_one_ring_is_on_its_way) {
  boost::asio::io_context lane(1);
  const auto bell = std::make_shared<kvc::net::lane_bell>(lane);
  int answered = 0;
  auto answer = std::make_shared<std::function<void()>>([&answered] { ++answered; });
  bell->answer_with(answer);

  std::vector<std::thread> others;
  for (int i = 0; i < 4; ++i) {
    others.emplace_back([&bell] {
      for (int times = 0; times < 1'000; ++times) bell->ring();
    });
  }
  for (std::thread& each : others) each.join();
  BOOST_TEST(lane.poll() == 1U);
  BOOST_TEST(answered == 1);

  lane.restart();
  bell->ring();
  BOOST_TEST(lane.poll() == 1U);
  BOOST_TEST(answered == 2);

  answer.reset();  // who was called has gone
  lane.restart();
  bell->ring();
  BOOST_TEST(lane.poll() == 1U);
  BOOST_TEST(answered == 2);
}

// What comes while it is answered is not told by that call.
BOOST_AUTO_TEST_CASE(who_rings_while_it_is_answered_is_answered_behind) {
  boost::asio::io_context lane(1);
  const auto bell = std::make_shared<kvc::net::lane_bell>(lane);
  int answered = 0;
  const auto answer = std::make_shared<std::function<void()>>([&] {
    if (++answered < 3) bell->ring();
  });
  bell->answer_with(answer);
  bell->ring();
  BOOST_TEST(lane.poll() == 3U);
  BOOST_TEST(answered == 3);
}

BOOST_AUTO_TEST_SUITE_END()
