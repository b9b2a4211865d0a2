// The byte budget at work: streams on two lanes, blocks that go, and what their streams say then.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include <boost/asio/post.hpp>
#include <boost/test/unit_test.hpp>

#include "net/evictable.hpp"
#include "tests/support/net/payloads.hpp"
#include "tests/support/net/stream_fixture.hpp"

BOOST_AUTO_TEST_SUITE(eviction)

namespace {

using kvc::core::stream_state;
using kvc::test::cleared_payload;
using kvc::test::fake_publisher;
using kvc::test::stored_payload;
using kvc::test::stream_fixture;
using kvc::test::tokens_from;

kvc::net::stream_settings settings_with(std::uint64_t budget) {
  auto settings = kvc::test::quick_settings();
  settings.index_budget = budget;
  settings.eviction.blocks_per_turn = 16;  // many turns, events in between
  settings.eviction.round = std::chrono::milliseconds(20);
  settings.eviction.idle_pause = std::chrono::milliseconds(5);
  settings.eviction.busy_pause = std::chrono::milliseconds(1);
  return settings;
}

/// Has no memory to take part with, for as long as it is asked fewer than `times`.
class short_of_memory final : public kvc::net::evictable {
 public:
  explicit short_of_memory(int times) : left_(times) {}

  kvc::net::eviction_part evict_some(kvc::core::eviction_pass&, std::size_t&) override {
    if (left_-- > 0) throw std::bad_alloc();
    return kvc::net::eviction_part::through;
  }
  std::size_t bytes() const override { return 0; }
  std::size_t waiting_bytes() const override { return 0; }

 private:
  int left_;
};

/// `chains` different prompts of 8 blocks.
void publish_chains(fake_publisher& publisher, std::uint64_t chains) {
  for (std::uint64_t i = 0; i < chains; ++i) {
    std::vector<std::uint64_t> names;
    for (std::uint64_t k = 0; k < 8; ++k) names.push_back(i * 8 + k + 1);
    publisher.publish(stored_payload(names, {}, tokens_from(static_cast<std::uint32_t>(i * 100), 8)));
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(over_the_budget_blocks_go_and_the_stream_says_so) {
  constexpr std::uint64_t budget = 60'000;
  stream_fixture under_test(settings_with(budget));
  fake_publisher engine_1(under_test.engine, under_test.context, {});
  BOOST_REQUIRE(under_test.await(under_test.fleet.add(under_test.registration(engine_1))));
  BOOST_REQUIRE(under_test.eventually([&] { return under_test.state() == stream_state::whole; }));

  publish_chains(engine_1, 400);

  BOOST_TEST(under_test.eventually([&] { return under_test.service()->status->batches.load() == 400; }));
  BOOST_TEST(under_test.eventually([&] {
    const auto& now = under_test.fleet.budget();
    return now.used() != 0 && now.used() <= budget && !now.is_evicting() && under_test.service()->status->evicted.load() != 0;
  }));
  BOOST_TEST((under_test.state() == stream_state::incomplete));
  const std::uint64_t held = under_test.service()->status->blocks[0].load();
  BOOST_TEST(held != 0U);
  BOOST_TEST(held + under_test.service()->status->evicted.load() == 3'200U);
  BOOST_TEST(under_test.fleet.budget().so_far().by_tenant.at("default") == under_test.service()->status->evicted.load());

  engine_1.publish(cleared_payload());  // nothing is held, nothing can be missed

  BOOST_TEST(under_test.eventually([&] { return under_test.state() == stream_state::whole; }));
  BOOST_TEST(under_test.service()->status->evicted.load() == 0U);
}

BOOST_AUTO_TEST_CASE(a_stream_that_has_always_more_to_do_gives_up_blocks_as_well) {
  // Every batch takes its lane many turns, and the next one is there when it ends: whoever looks by chance finds it in the middle of one.
  constexpr std::uint64_t budget = 3'000'000;
  constexpr std::uint64_t batches = 150;
  constexpr std::uint64_t blocks = 2'000;
  stream_fixture under_test(settings_with(budget));
  fake_publisher engine_1(under_test.engine, under_test.context, {});
  BOOST_REQUIRE(under_test.await(under_test.fleet.add(under_test.registration(engine_1))));
  BOOST_REQUIRE(under_test.eventually([&] { return under_test.state() == stream_state::whole; }));

  std::vector<std::string> payloads;
  for (std::uint64_t i = 0; i < batches; ++i) {
    std::vector<std::uint64_t> names;
    for (std::uint64_t k = 0; k < blocks; ++k) names.push_back(i * blocks + k + 1);
    payloads.push_back(stored_payload(names, {}, tokens_from(static_cast<std::uint32_t>(i * 100'000), blocks)));
  }
  for (const auto& each : payloads) engine_1.publish(each);

  std::uint64_t evicted_on_the_way = 0;
  BOOST_TEST(under_test.eventually([&] {
    const auto& status = *under_test.service()->status;
    const std::uint64_t evicted = status.evicted.load();
    if (status.batches.load() + 20 < batches) evicted_on_the_way = evicted;
    return status.batches.load() == batches;
  }));
  BOOST_TEST(evicted_on_the_way != 0U);
  BOOST_TEST(under_test.eventually([&] {
    const auto& now = under_test.fleet.budget();
    return now.used() != 0 && now.used() <= budget && !now.is_evicting();
  }));
}

BOOST_AUTO_TEST_CASE(a_want_of_memory_does_not_end_eviction) {
  constexpr std::uint64_t budget = 60'000;
  stream_fixture under_test(settings_with(budget));
  fake_publisher engine_1(under_test.engine, under_test.context, {});
  BOOST_REQUIRE(under_test.await(under_test.fleet.add(under_test.registration(engine_1))));
  BOOST_REQUIRE(under_test.eventually([&] { return under_test.state() == stream_state::whole; }));
  std::vector<std::shared_ptr<kvc::net::evictable>> others;
  std::atomic<std::size_t> there{0};
  for (std::size_t i = 0; i < under_test.lanes.size(); ++i) {
    auto& lane = under_test.lanes.at(i);
    const auto other = others.emplace_back(std::make_shared<short_of_memory>(3));
    boost::asio::post(lane.context, [&lane, &there, other] {
      lane.evictables.insert(lane.evictables.begin(), other);
      ++there;
    });
  }
  BOOST_REQUIRE(under_test.eventually([&] { return there == others.size(); }));

  publish_chains(engine_1, 400);

  BOOST_TEST(under_test.eventually([&] { return under_test.service()->status->batches.load() == 400; }));
  BOOST_TEST(under_test.eventually([&] {
    const auto& now = under_test.fleet.budget();
    return now.used() != 0 && now.used() <= budget && !now.is_evicting() && under_test.service()->status->evicted.load() != 0;
  }));
}

BOOST_AUTO_TEST_CASE(a_new_registration_begins_whole) {
  constexpr std::uint64_t budget = 60'000;
  stream_fixture under_test(settings_with(budget));
  fake_publisher engine_1(under_test.engine, under_test.context, {});
  const auto wanted = under_test.registration(engine_1);
  BOOST_REQUIRE(under_test.await(under_test.fleet.add(wanted)));
  BOOST_REQUIRE(under_test.eventually([&] { return under_test.state() == stream_state::whole; }));
  publish_chains(engine_1, 400);
  BOOST_REQUIRE(under_test.eventually([&] { return under_test.state() == stream_state::incomplete; }));

  fake_publisher engine_2(under_test.engine, under_test.context, {});
  BOOST_REQUIRE(under_test.await(under_test.fleet.add(under_test.registration(engine_2))));

  BOOST_TEST(under_test.eventually([&] { return under_test.state() == stream_state::whole; }));
  BOOST_TEST(under_test.service()->status->evicted.load() == 0U);
}

BOOST_AUTO_TEST_CASE(a_dump_from_which_blocks_have_been_evicted_is_not_told_to_be_exact) {
  // Whoever loads it and goes on behind its seqno would take what is missing for what the publisher has removed.
  constexpr std::uint64_t chains = 200;
  auto settings = settings_with(200'000);
  settings.blocks_per_turn = 64;
  stream_fixture under_test(settings);
  fake_publisher engine_1(under_test.engine, under_test.context, {});
  fake_publisher engine_2(under_test.engine, under_test.context, {});
  BOOST_REQUIRE(under_test.await(under_test.fleet.add(under_test.registration(engine_1))));
  BOOST_REQUIRE(under_test.await(under_test.fleet.add(under_test.registration(engine_2, "engine-2"))));
  publish_chains(engine_1, chains);
  BOOST_REQUIRE(under_test.eventually([&] { return under_test.service()->status->batches.load() == chains; }));
  BOOST_REQUIRE(under_test.service()->status->evicted.load() == 0U);

  const auto turn = std::make_shared<kvc::net::dump_turn>(kvc::core::dump_filter{});
  under_test.await(under_test.fleet.dump_some(under_test.service()->worker, turn));
  const auto begun_at = turn->seqno;
  BOOST_REQUIRE(begun_at.has_value());
  std::uint64_t told = turn->slice.blocks();
  publish_chains(engine_2, 5 * chains);
  BOOST_REQUIRE(under_test.eventually([&] { return under_test.service("engine-2")->status->batches.load() == 5 * chains; }));
  BOOST_REQUIRE(under_test.eventually([&] { return under_test.service()->status->evicted.load() != 0; }));
  while (!turn->is_last) {
    under_test.await(under_test.fleet.dump_some(under_test.service()->worker, turn));
    told += turn->slice.blocks();
  }

  BOOST_TEST(told < chains * 8);
  BOOST_TEST(!turn->seqno.has_value());
}

BOOST_AUTO_TEST_CASE(within_the_budget_a_stream_stays_whole) {
  stream_fixture under_test(settings_with(50U << 20));
  fake_publisher engine_1(under_test.engine, under_test.context, {});
  BOOST_REQUIRE(under_test.await(under_test.fleet.add(under_test.registration(engine_1))));
  BOOST_REQUIRE(under_test.eventually([&] { return under_test.state() == stream_state::whole; }));

  publish_chains(engine_1, 100);

  BOOST_TEST(under_test.eventually([&] { return under_test.service()->status->batches.load() == 100; }));
  BOOST_TEST(under_test.eventually([&] { return under_test.fleet.budget().used() != 0; }));
  BOOST_TEST((under_test.state() == stream_state::whole));
  BOOST_TEST(under_test.service()->status->evicted.load() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
