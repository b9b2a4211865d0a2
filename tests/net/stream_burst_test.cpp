// What a publisher sends at once is taken in piece by piece, as many batches to a piece as there are: it must come to what each by itself
// comes to. The lane is held meanwhile, so that messages wait for it; how many of them have come when it goes on is chance, and no matter.
#include <cstdint>
#include <future>
#include <string>
#include <vector>

#include <boost/asio/post.hpp>
#include <boost/test/unit_test.hpp>

#include "tests/support/net/joined_fixture.hpp"
#include "tests/support/net/payloads.hpp"

BOOST_AUTO_TEST_SUITE(stream_bursts)

namespace {

using kvc::core::stream_state;
using namespace kvc::test;

/// The stream's lane does nothing while this lives.
class held_lane {
 public:
  explicit held_lane(kvc::net::lane& which) {
    boost::asio::post(which.context, [this] {
      holds_.set_value();
      released_.get_future().wait();
      gone_.set_value();
    });
    holds_.get_future().wait();
  }
  ~held_lane() {
    released_.set_value();
    gone_.get_future().wait();
  }
  held_lane(const held_lane&) = delete;
  held_lane& operator=(const held_lane&) = delete;

 private:
  std::promise<void> holds_;
  std::promise<void> released_;
  std::promise<void> gone_;
};

struct burst_fixture : joined_fixture {
  /// A chain of blocks, each in a batch of its own behind the one before.
  void publish_chain(std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t i = first; i < last; ++i) engine_1.publish(block(i));
  }
  [[nodiscard]] static std::string block(std::uint64_t i) {
    const std::optional<std::uint64_t> parent = i == 0 ? std::optional<std::uint64_t>() : std::optional(i);
    return stored_payload({i + 1}, parent, tokens_from(static_cast<std::uint32_t>(i * 4), 1));
  }
  [[nodiscard]] bool has_heard(std::uint64_t last) {
    return eventually([&] { return service()->status->last_seqno.load() == last; });
  }
  kvc::net::lane& home() { return lanes.at(service()->lane); }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(every_batch_counts_once, burst_fixture) {
  constexpr std::uint64_t blocks = 120;
  const std::uint64_t before = home().counters.batches.get();
  {
    const held_lane held(home());
    publish_chain(0, blocks);
  }
  BOOST_TEST(has_heard(blocks - 1));
  BOOST_TEST(depth(tokens_from(0, blocks)) == blocks);
  BOOST_TEST((state() == stream_state::whole));
  BOOST_TEST(service()->status->batches.load() == blocks);
  BOOST_TEST(home().counters.batches.get() - before == blocks);
  std::uint64_t observed = 0;
  for (std::size_t i = 0; i < kvc::core::latency_histogram::bucket_count; ++i) observed += home().counters.apply_batch.in_bucket(i);
  BOOST_TEST(observed == home().counters.batches.get());
}

BOOST_FIXTURE_TEST_CASE(a_gap_among_them_is_filled_first, burst_fixture) {
  {
    const held_lane held(home());
    publish_chain(0, 5);
    engine_1.lose_live(block(5));
    publish_chain(6, 20);
  }
  BOOST_TEST(has_heard(19));
  BOOST_TEST(eventually([&] { return depth(tokens_from(0, 20)) == 20 && state() == stream_state::whole; }));
  BOOST_TEST(service()->status->gaps.load() == 1U);
  BOOST_TEST(service()->status->missing.load() == 0U);
}

BOOST_FIXTURE_TEST_CASE(an_unreadable_batch_among_them_is_asked_for_and_counted_as_often_as_it_came, burst_fixture) {
  {
    const held_lane held(home());
    publish_chain(0, 5);
    engine_1.publish_spoilt(block(5), "this is no msgpack batch");
    publish_chain(6, 20);
  }
  BOOST_TEST(eventually([&] { return depth(tokens_from(0, 20)) == 20 && state() == stream_state::whole; }));
  BOOST_TEST(service()->status->rejected.load() == 1U);
  BOOST_TEST(service()->status->bad_batches.load() == 1U);
}

BOOST_FIXTURE_TEST_CASE(a_message_that_is_no_batch_costs_its_neighbours_nothing, burst_fixture) {
  {
    const held_lane held(home());
    publish_chain(0, 5);
    engine_1.send_raw({"only one frame"});
    publish_chain(5, 10);
    engine_1.send_raw({"", "short", "x"});
    publish_chain(10, 20);
  }
  BOOST_TEST(has_heard(19));
  BOOST_TEST(depth(tokens_from(0, 20)) == 20U);
  BOOST_TEST((state() == stream_state::whole));
  BOOST_TEST(service()->status->bad_messages.load() == 2U);
}

BOOST_FIXTURE_TEST_CASE(a_clear_among_them_forgives_what_was_lost_before, burst_fixture) {
  // That it has left nothing shows only before the next batch is applied.
  {
    const held_lane held(home());
    publish_chain(0, 5);
    engine_1.lose_forever();
    engine_1.publish(stored_payload({77}, {}, tokens_from(7'000, 1)));
    engine_1.publish(cleared_payload());
    publish_chain(0, 12);
  }
  BOOST_TEST(has_heard(19));
  BOOST_TEST(eventually([&] { return state() == stream_state::whole; }));
  BOOST_TEST(service()->status->missing.load() == 0U);
  BOOST_TEST(depth(tokens_from(0, 12)) == 12U);
  BOOST_TEST(depth(tokens_from(7'000, 1)) == 0U);
}

BOOST_FIXTURE_TEST_CASE(a_batch_that_comes_twice_among_them_is_dropped, burst_fixture) {
  std::vector<std::string> said;  // each has a time of its own
  for (std::uint64_t i = 0; i < 12; ++i) said.push_back(block(i));
  {
    const held_lane held(home());
    for (std::uint64_t i = 0; i < 5; ++i) engine_1.publish(said[i]);
    engine_1.send_raw({"", std::string("\0\0\0\0\0\0\0\4", 8), said[4]});
    engine_1.send_raw({"", std::string("\0\0\0\0\0\0\0\2", 8), said[2]});
    for (std::uint64_t i = 5; i < 12; ++i) engine_1.publish(said[i]);
  }
  BOOST_TEST(has_heard(11));
  BOOST_TEST(depth(tokens_from(0, 12)) == 12U);
  BOOST_TEST(service()->status->stale_batches.load() == 2U);
  BOOST_TEST(service()->status->restarts.load() == 0U);
}

BOOST_FIXTURE_TEST_CASE(a_publisher_that_starts_over_among_them_is_another_one, burst_fixture) {
  publish_chain(0, 8);
  BOOST_REQUIRE(has_heard(7));
  const std::string other = stored_payload({501}, {}, tokens_from(900, 1));
  {
    const held_lane held(home());
    publish_chain(8, 14);
    engine_1.send_raw({"", std::string(8, '\0'), other});
    engine_1.send_raw({"", std::string("\0\0\0\0\0\0\0\1", 8), stored_payload({502}, 501, tokens_from(904, 1))});
  }
  BOOST_TEST(eventually([&] { return service()->status->restarts.load() >= 1U; }));
}

BOOST_FIXTURE_TEST_CASE(a_stream_that_goes_while_they_wait_leaves_nothing, burst_fixture) {
  const auto view = catalog.view().get()->partitions.begin()->second->partition;
  {
    const held_lane held(home());
    publish_chain(0, 200);
  }
  BOOST_TEST(await(fleet.remove({.tenant = "default", .instance = "engine-1", .rank = {}, .kind = {}})).size() == 1U);
  BOOST_TEST(view->index().blocks() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
