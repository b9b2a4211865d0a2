// Every allocation of the lanes fails in turn while streams are registered, at work, and unregistered. Whoever is listed is heard, and of
// whoever is not nothing is left: nobody else would take a stream up again, or away.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include "core/catalog.hpp"
#include "net/fleet_service.hpp"
#include "net/log.hpp"
#include "net/object_shelves.hpp"
#include "net/runtime.hpp"
#include "tests/allocation/watched_heap.hpp"
#include "tests/support/net/fake_publisher.hpp"
#include "tests/support/net/payloads.hpp"

BOOST_AUTO_TEST_SUITE(failed_streams)

namespace {

using namespace kvc;
using namespace std::chrono_literals;
namespace asio = boost::asio;
using core::connection_state;
using core::stream_state;
using kvc::test::watched_heap;

/// A fleet whose lanes the test's own thread runs.
class stage {
 public:
  explicit stage(std::chrono::milliseconds idle_check) : fleet_(lanes_, engine_, catalog_, media_, settings(idle_check), &objects_) {
    net::log::set_sink([](net::log::level, std::string_view) {});
    turn();
  }
  ~stage() {
    for (const auto how : {asio::cancellation_type::total, asio::cancellation_type::terminal}) {
      for (std::size_t i = 0; i < lanes_.size(); ++i) {
        asio::post(lanes_.at(i).context, [this, i, how] { lanes_.at(i).tasks.cancel(how); });
      }
      BOOST_TEST(until([&] { return lanes_.at(0).tasks.running() + lanes_.at(1).tasks.running() == 0; }));
    }
    net::log::set_sink({});
  }
  stage(const stage&) = delete;
  stage& operator=(const stage&) = delete;

  /// As lanes do: what a handler throws is not their end.
  void turn() {
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      for (bool is_done = false; !is_done;) {
        try {
          lanes_.at(i).context.poll();
          is_done = true;
        } catch (const std::bad_alloc&) {
        }
      }
    }
  }
  [[nodiscard]] bool until(const std::function<bool()>& holds) {
    for (const auto end = std::chrono::steady_clock::now() + 20s; std::chrono::steady_clock::now() < end;) {
      turn();
      outside_.restart();
      outside_.poll();
      if (holds()) return true;
    }
    return false;
  }
  /// Turns while allocation `number` has not failed and `is_done`, which takes no memory, does not hold, for a second at most. Whether
  /// it has failed.
  [[nodiscard]] bool fails_at(long number, const std::function<bool()>& is_done) {
    const auto end = std::chrono::steady_clock::now() + 1s;
    watched_heap::before_failure = number;
    while (watched_heap::before_failure >= 0 && !is_done() && std::chrono::steady_clock::now() < end) turn();
    const bool has_failed = watched_heap::before_failure < 0;
    watched_heap::before_failure = -1;
    return has_failed;
  }

  template <class T>
  [[nodiscard]] std::future<T> begin(asio::awaitable<T> work) {
    return asio::co_spawn(lanes_.at(0).context, std::move(work), asio::use_future);
  }
  template <class T>
  [[nodiscard]] static bool is_ready(const std::future<T>& of) {
    return of.wait_for(0s) == std::future_status::ready;
  }

  [[nodiscard]] std::future<core::result<net::fleet_service::added>> add(core::registration wanted) {
    return begin(fleet_.add(std::move(wanted)));
  }
  [[nodiscard]] std::future<std::vector<core::worker_key>> remove() {
    return begin(fleet_.remove({.tenant = "default", .instance = "an engine with a long name", .rank = {}, .kind = {}}));
  }
  [[nodiscard]] std::shared_ptr<const net::fleet_view> listed() { return fleet_.view().get(); }
  /// How many are found by queries.
  [[nodiscard]] std::size_t members() {
    std::size_t sum = 0;
    const auto view = catalog_.view().get();
    for (const auto& [key, each] : view->partitions) sum += each->members.size();
    return sum;
  }

  /// Of a publisher that is nowhere, so that the transport is not asked for anything; nor is anybody for its name, which is longer than
  /// names may be.
  [[nodiscard]] static core::registration registration(std::uint32_t rank, core::publisher_class kind = core::publisher_class::engine) {
    core::registration wanted;
    wanted.worker = {.tenant = "default", .instance = "an engine with a long name", .rank = core::dp_rank{rank}, .kind = kind};
    wanted.partition = {.tenant = "default", .model = "m", .lora = "", .salt = "", .block_size = 4};
    wanted.endpoint = "tcp://" + std::string(70, 'x') + ":5557";
    wanted.hash_seed = core::default_hash_seed;
    return wanted;
  }
  [[nodiscard]] test::fake_publisher publisher() { return {engine_, outside_, {}}; }

 private:
  static net::stream_settings settings(std::chrono::milliseconds idle_check) {
    net::stream_settings with;
    with.idle_check = idle_check;
    with.recipe_check = 1h;
    with.index_budget = std::uint64_t{1} << 40;
    with.eviction.idle_pause = with.eviction.busy_pause = 1h;
    return with;
  }

  core::catalog catalog_;
  core::medium_table media_;
  net::object_shelves objects_{core::object_table::options()};
  net::zmq_engine engine_{1, 1'024};
  net::runtime lanes_{2, catalog_};
  net::fleet_service fleet_;
  asio::io_context outside_{1};
};

/// Calls `fails_at(number)` until it says that there was no such allocation.
void for_each_allocation(const std::function<bool(long number)>& fails_at) {
  long number = 0;
  for (bool has_failed = true; has_failed && number < 2'000; ++number) {
    BOOST_TEST_CONTEXT("allocation " << number) {
      has_failed = fails_at(number);
    }
  }
  BOOST_TEST(number > 5);
  BOOST_TEST(number < 2'000);
}

bool unregister(long number) {
  stage at(10min);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    auto added = at.add(stage::registration(rank));
    BOOST_TEST_REQUIRE(at.until([&] { return stage::is_ready(added); }));
    BOOST_TEST_REQUIRE(added.get().has_value());
  }
  const auto before = at.listed();
  BOOST_TEST_REQUIRE(at.until([&] {  // they rest
    for (const auto& each : *before) {
      if (each->status->connection.load() != connection_state::failed) return false;
    }
    return true;
  }));

  auto removed = at.remove();
  const bool has_failed = at.fails_at(number, [&] { return stage::is_ready(removed); });
  BOOST_TEST(at.until([&] { return stage::is_ready(removed); }));
  BOOST_TEST(at.members() == at.listed()->size());
  BOOST_TEST((at.listed()->empty() || at.listed()->size() == 2));

  auto rest = at.remove();
  BOOST_TEST(at.until([&] { return stage::is_ready(rest); }));
  BOOST_TEST(at.members() == 0U);
  return has_failed;
}

bool register_as(core::publisher_class kind, long number) {
  stage at(1ms);
  auto added = at.add(stage::registration(0, kind));
  const auto has_begun = [&] {
    const auto now = at.listed();
    return stage::is_ready(added) && (now->empty() || now->front()->status->connection.load() == connection_state::failed);
  };
  const bool has_failed = at.fails_at(number, has_begun);
  BOOST_TEST(at.until([&] { return stage::is_ready(added); }));

  const auto now = at.listed();
  BOOST_TEST(at.members() == now->size());
  // Nobody is there to be heard, which it finds out and says.
  if (!now->empty()) BOOST_TEST(at.until([&] { return now->front()->status->connection.load() == connection_state::failed; }));
  auto removed = at.remove();
  BOOST_TEST(at.until([&] { return stage::is_ready(removed); }));
  BOOST_TEST(at.members() == 0U);
  return has_failed;
}

}  // namespace

// The first that threw was the end of it: those behind it were not listed any more, and were heard and found for ever.
BOOST_AUTO_TEST_CASE(all_of_those_that_are_unregistered_end_though_memory_runs_out) {
  watched_heap::spares_aligned = true;  // coroutines and operations: without one of these the call itself is gone
  for_each_allocation(unregister);
  watched_heap::spares_aligned = false;
}

// What was thrown before a stream listened was its end, and it was shown as joining for ever.
BOOST_AUTO_TEST_CASE(whoever_is_registered_begins_though_memory_runs_out) {
  watched_heap::spares_aligned = true;
  for (const auto kind : {core::publisher_class::engine, core::publisher_class::pool}) {
    for_each_allocation([kind](long number) { return register_as(kind, number); });
  }
  watched_heap::spares_aligned = false;
}

// A coroutine that Asio dropped, since it found no memory to wait, left its stream listed as whole, with nobody to hear anything more.
BOOST_AUTO_TEST_CASE(a_stream_at_work_is_taken_up_again_whatever_memory_was_missing) {
  stage at(10ms);
  auto publisher = at.publisher();
  core::registration wanted = stage::registration(0);
  wanted.endpoint = publisher.endpoint();
  wanted.replay_endpoint = publisher.replay_endpoint();
  auto added = at.add(wanted);
  BOOST_TEST_REQUIRE(at.until([&] { return stage::is_ready(added); }));
  BOOST_TEST_REQUIRE(added.get().has_value());
  const auto services = at.listed();
  const core::stream_status& status = *services->front()->status;
  std::uint64_t published = 0;
  const auto publish = [&] {
    publisher.publish(test::stored_payload({1'000 + published}, {}, test::tokens_from(static_cast<std::uint32_t>(4 * published), 1)));
    ++published;
  };
  const auto is_up_to_date = [&] {
    std::uint64_t held = 0;
    for (const auto& each : status.blocks) held += each.load();
    return held == published && status.last_seqno.load() + 1 == published && status.state.load() == stream_state::whole;
  };
  publish();
  BOOST_TEST_REQUIRE(at.until(is_up_to_date));

  std::size_t failures = 0;
  for (long number = 0; number < 60; ++number) {
    BOOST_TEST_CONTEXT("allocation " << number) {
      publish();
      failures += at.fails_at(number, is_up_to_date) ? 1U : 0U;
      publish();
      BOOST_TEST_REQUIRE(at.until(is_up_to_date));
    }
  }
  BOOST_TEST(failures > 0U);
  BOOST_TEST(status.failures.load() > 0U);

  auto removed = at.remove();
  BOOST_TEST(at.until([&] { return stage::is_ready(removed); }));
  BOOST_TEST(at.members() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
