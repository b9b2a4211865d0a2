// Batches of POST /quota/events of one server, one after the other.
#include <cstddef>
#include <exception>
#include <optional>
#include <string>

#include <boost/asio/co_spawn.hpp>
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

BOOST_AUTO_TEST_SUITE_END()
