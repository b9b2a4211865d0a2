// Registrations that meet each other: what is answered is done.
#include <chrono>
#include <cstdint>
#include <future>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include "tests/support/net/payloads.hpp"
#include "tests/support/net/stream_fixture.hpp"

BOOST_AUTO_TEST_SUITE(stream_replacing)

namespace {

using namespace kvc;
using namespace kvc::test;

bool is_done(auto& future) {
  return future.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

/// A lane that does nothing until it is let go.
class held_lane {
 public:
  explicit held_lane(net::lane& which) {
    boost::asio::post(which.context, [this] {
      holds_.set_value();
      free_.get_future().wait();
    });
    holds_.get_future().wait();
  }
  void let_go() { free_.set_value(); }

 private:
  std::promise<void> holds_;
  std::promise<void> free_;
};

/// Everything that a lane was asked for before has been done.
void catch_up(net::lane& which) {
  std::promise<void> done;
  boost::asio::post(which.context, [&done] { done.set_value(); });
  done.get_future().wait();
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(an_end_that_meets_a_replacement_is_answered_when_nothing_is_left, stream_fixture) {
  fake_publisher other(engine, context, {});
  fake_publisher engine_1(engine, context, {});
  BOOST_REQUIRE(await(fleet.add(registration(other, "other"))));  // on the first lane, which decides who is registered
  BOOST_REQUIRE(await(fleet.add(registration(engine_1))));
  BOOST_REQUIRE(service()->lane == 1U);
  BOOST_REQUIRE(eventually([&] { return state() == core::stream_state::whole; }));
  engine_1.publish(stored_payload({1}, {}, tokens_from(0, 1)));
  BOOST_REQUIRE(eventually([&] { return depth(tokens_from(0, 1)) == 1; }));

  held_lane second(lanes.at(1));
  auto again = registration(engine_1);
  again.expects_idle = true;
  auto adding = boost::asio::co_spawn(context, fleet.add(again), boost::asio::use_future);
  BOOST_REQUIRE(eventually([&] { return service()->registration.expects_idle; }));
  net::fleet_service::selector which;
  which.tenant = "default";
  which.instance = "engine-1";
  auto removing = boost::asio::co_spawn(context, fleet.remove(which), boost::asio::use_future);
  BOOST_REQUIRE(eventually([&] { return fleet.view().get()->size() == 1U; }));
  catch_up(lanes.at(0));
  context.restart();
  context.poll();
  BOOST_TEST(!is_done(removing));  // the blocks are still there
  BOOST_TEST(depth(tokens_from(0, 1)) == 1U);

  second.let_go();
  BOOST_REQUIRE(eventually([&] { return is_done(removing); }));
  BOOST_TEST(depth(tokens_from(0, 1)) == 0U);
  BOOST_TEST(removing.get().size() == 1U);
  BOOST_REQUIRE(eventually([&] { return is_done(adding); }));
}

// The second was refused for the seed that the first was about to have, and took the first along: nobody was left.
BOOST_FIXTURE_TEST_CASE(of_two_registrations_at_once_the_second_meets_what_has_become_of_the_first, stream_fixture) {
  fake_publisher other(engine, context, {});
  fake_publisher engine_1(engine, context, {});
  auto elsewhere = registration(other, "other");
  elsewhere.partition.model = "another";
  BOOST_REQUIRE(await(fleet.add(elsewhere)));  // on the first lane

  held_lane second(lanes.at(1));
  auto first_done = boost::asio::co_spawn(context, fleet.add(registration(engine_1)), boost::asio::use_future);
  BOOST_REQUIRE(eventually([&] { return fleet.view().get()->size() == 2U; }));
  auto changed = registration(engine_1);
  changed.hash_seed = core::default_hash_seed + 1;
  auto second_done = boost::asio::co_spawn(context, fleet.add(changed), boost::asio::use_future);
  context.restart();
  context.poll();
  catch_up(lanes.at(0));
  second.let_go();
  BOOST_REQUIRE(eventually([&] { return is_done(first_done) && is_done(second_done); }));

  BOOST_TEST(first_done.get().has_value());
  BOOST_TEST(second_done.get().has_value());
  BOOST_REQUIRE(service() != nullptr);
  BOOST_TEST(service()->registration.hash_seed == core::default_hash_seed + 1);
}

// Ranks that its stream speaks for are its own: they stand in nobody's way.
BOOST_FIXTURE_TEST_CASE(a_publisher_of_several_ranks_may_change_its_seed, stream_fixture) {
  fake_publisher engine_1(engine, context, {});
  BOOST_REQUIRE(await(fleet.add(registration(engine_1))));
  BOOST_REQUIRE(eventually([&] { return state() == core::stream_state::whole; }));
  engine_1.publish(stored_payload({1}, {}, tokens_from(0, 1)));
  engine_1.publish(stored_for_rank_payload(1, {50, 51}, tokens_from(100, 2)));
  BOOST_REQUIRE(eventually([&] { return depth(tokens_from(100, 2)) == 2; }));

  auto changed = registration(engine_1);
  changed.hash_seed = core::default_hash_seed + 1;
  const auto done = await(fleet.add(changed));
  BOOST_TEST(done.has_value());
  BOOST_TEST(eventually([&] { return state() == core::stream_state::whole && depth(tokens_from(100, 2)) == 2; }));
}

BOOST_AUTO_TEST_SUITE_END()
