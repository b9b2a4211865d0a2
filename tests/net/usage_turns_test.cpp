// Batches of POST /quota/events of one server, one after the other.
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/test/unit_test.hpp>

#include "core/catalog.hpp"
#include "net/api_usage_events.hpp"
#include "net/coordinator_context.hpp"
#include "net/runtime.hpp"
#include "tests/support/net/coordinator_fixture.hpp"

BOOST_AUTO_TEST_SUITE(usage_turns)

namespace {

namespace asio = boost::asio;
using namespace kvc;

/// A batch as it is read from a body, which it is kept with.
struct told_batch {
  explicit told_batch(std::string text) : body(std::move(text)) {
    net::field_faults faults;
    BOOST_REQUIRE(!tree.parse(body));
    net::read_usage_batch(tree.root(), batch, faults);
    BOOST_REQUIRE(faults.empty());
  }

  std::string body;
  net::json_tree tree;
  net::usage_batch batch;
};

/// A body of POST /events with so many batches without events, read.
struct told_batches {
  explicit told_batches(std::size_t count) : body(R"({"batches":[)") {
    for (std::size_t i = 1; i <= count; ++i) {
      if (i != 1) body += ',';
      body += R"({"instance_id":"a","incarnation":1,"event_type":"store","entries":[],"seq":)" + std::to_string(i) + "}";
    }
    body += "]}";
    net::field_faults faults;
    BOOST_REQUIRE(!tree.parse(body));
    net::read_event_batches(tree.root(), all, faults);
    BOOST_REQUIRE(faults.empty());
  }

  std::string body;
  net::json_tree tree;
  net::event_batches all;
};

/// The coordinator's lane, which does something only when it is told to settle.
struct turns_fixture {
  core::catalog catalog;
  net::runtime lanes{1, catalog};
  net::coordinator_context context{lanes.at(0), {}};
  std::size_t recorded = 0;
  std::optional<net::sender_turns::turn> held;

  asio::awaitable<void> hold(std::string sender) { held.emplace(co_await context.event_turns.take(std::move(sender))); }
  asio::awaitable<void> record(const told_batch& what) {
    (void)co_await net::record_usage_events(context, lanes.at(0), what.batch);
    ++recorded;
  }
  void spawn(asio::awaitable<void> work) {
    asio::co_spawn(lanes.at(0).context, std::move(work), [](std::exception_ptr failed) { BOOST_TEST(!failed); });
    settle();
  }
  void settle() {
    lanes.at(0).context.restart();
    lanes.at(0).context.poll();
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(what_a_server_tells_next_waits_for_the_whole_of_what_it_told_first, turns_fixture) {
  // A deletion between two slices of the batch that stores the object would leave it counted for ever.
  const told_batch next(test::batch_text(2, test::event_text("store", "aa", 5)));
  const told_batch of_another(test::batch_text(1, test::event_text("store", "bb", 5), "b"));
  spawn(hold("a"));

  spawn(record(next));
  BOOST_TEST(recorded == 0U);
  BOOST_TEST(context.tables.usage.size() == 0U);
  spawn(record(of_another));
  BOOST_TEST(recorded == 1U, "others do not wait");

  held.reset();
  settle();
  BOOST_TEST(recorded == 2U);
  BOOST_TEST(context.tables.usage.size() == 2U);
  BOOST_TEST(!context.event_turns.are_taken());
}

BOOST_FIXTURE_TEST_CASE(a_request_of_very_many_batches_leaves_the_lane_to_others_in_between, turns_fixture) {
  // A body of 64 MiB has room for half a million of them, and heartbeats would wait for all.
  constexpr std::size_t count = 20'000;
  const told_batches many(count);
  std::optional<std::uint64_t> applied_meanwhile;
  asio::post(lanes.at(0).context, [&] {
    asio::co_spawn(lanes.at(0).context, net::record_event_batches(context, lanes.at(0), many.all),
                   [this](std::exception_ptr failed, const net::http_reply&) {
                     BOOST_TEST(!failed);
                     ++recorded;
                   });
    asio::post(lanes.at(0).context, [&] { applied_meanwhile = context.tables.fence.counts().applied; });
  });
  settle();

  BOOST_TEST(recorded == 1U);
  BOOST_TEST(context.tables.fence.counts().applied == count);
  BOOST_REQUIRE(applied_meanwhile.has_value());
  BOOST_TEST(*applied_meanwhile > 0U);
  BOOST_TEST(*applied_meanwhile < count / 10);
}

BOOST_FIXTURE_TEST_CASE(a_batch_that_was_applied_in_part_is_applied_when_it_comes_again, turns_fixture) {
  // What is thrown in the middle of a batch, as for want of memory, is told to its sender as a failure; whose next try is no duplicate.
  constexpr std::size_t events = 10'000;  // in several slices
  std::vector<std::string> hashes(events);
  std::vector<net::event_batch> two(2, {.instance_id = "a", .incarnation = 3, .number = core::seqno{7}, .events = {}});
  two[0].number = core::seqno{6};
  for (std::size_t i = 0; i < events; ++i) {
    hashes[i] = std::to_string(i);
    two[1].events.push_back({.key = {.hash = hashes[i], .model = "m", .kv_rank = 0, .object_group = 0, .salt = "s"}, .bytes = 1});
  }
  const net::event_batches all{.batches = std::move(two), .room = {}};
  asio::cancellation_signal leave;
  std::string answer;
  const auto tell = [&](asio::cancellation_slot slot) {
    asio::co_spawn(lanes.at(0).context, net::record_event_batches(context, lanes.at(0), all),
                   asio::bind_cancellation_slot(slot, [&answer](std::exception_ptr failed, net::http_reply reply) {
                     answer = failed ? "failed" : std::move(reply.body);
                   }));
  };
  asio::post(lanes.at(0).context, [&] {
    tell(leave.slot());
    asio::post(lanes.at(0).context, [&] { leave.emit(asio::cancellation_type::terminal); });
  });
  settle();
  BOOST_TEST(answer == "failed");
  BOOST_TEST(context.tables.usage.size() > 0U);
  BOOST_TEST(context.tables.usage.size() < events);
  BOOST_TEST(!context.event_turns.are_taken());

  tell({});
  settle();
  BOOST_TEST(answer == R"({"applied":1,"duplicates":1,"stale":0})");
  BOOST_TEST(context.tables.usage.size() == events);
  tell({});
  settle();
  BOOST_TEST(answer == R"({"applied":0,"duplicates":2,"stale":0})");
}

BOOST_AUTO_TEST_SUITE_END()
