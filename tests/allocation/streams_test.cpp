// Every allocation fails in turn of a stream that looks for its publisher and is unregistered then: it does not end before it is told to,
// and nothing is left of it afterwards. Its publisher is never found, so that the transport has no part in it, which ends the process when
// it has no memory; and asio destroys a coroutine that it has no memory to begin a wait of.
#include <chrono>
#include <exception>
#include <memory>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/test/unit_test.hpp>

#include "net/log.hpp"
#include "net/stream_listener.hpp"
#include "tests/allocation/watched_heap.hpp"

BOOST_AUTO_TEST_SUITE(streams_without_memory)

namespace {

using namespace kvc;
using namespace std::chrono_literals;
using kvc::test::watched_heap;
using clock = std::chrono::steady_clock;

struct quiet {
  quiet() { net::log::set_level(net::log::module::stream, net::log::level::off); }
  ~quiet() { net::log::set_level(net::log::module::stream, net::log::level::info); }
  quiet(const quiet&) = delete;
  quiet& operator=(const quiet&) = delete;
};

void fail_no_more() {
  watched_heap::before_failure = -1;
}

/// A stream on a lane that the test runs itself.
struct scene {
  core::catalog catalog;
  core::medium_table media;
  net::zmq_engine engine;
  net::stream_settings settings;
  net::runtime lanes{1, catalog};
  bool has_ended = false;
  bool is_gone = false;
  bool is_over = false;       ///< its end, too, by asio perhaps
  bool is_run_over = false;   ///< the same of the stream's own coroutine
  std::shared_ptr<core::stream_status> status = std::make_shared<core::stream_status>();

  net::asio::io_context& context() { return lanes.at(0).context; }

  std::shared_ptr<net::stream_listener> begin() {
    settings.idle_check = 1ms;
    settings.stale_after = 0ms;
    auto info = std::make_shared<net::service_info>();
    info->registration.worker = {.tenant = "default", .instance = "a", .rank = core::dp_rank{0}, .kind = core::publisher_class::engine};
    info->registration.partition = {.tenant = "default", .model = "m", .lora = "", .salt = "", .block_size = 16};
    info->registration.endpoint = "tcp://nobody.invalid:5557";
    info->worker = core::worker_id{1};
    info->status = status;
    info->recipe = std::make_shared<core::recipe_notes>();
    auto made = std::make_shared<net::stream_listener>(lanes.at(0), engine, catalog, media, settings, std::move(info));
    net::asio::co_spawn(context(), run(made), [](const std::exception_ptr&) {});
    run_for(3);  // its first steps, which list it where it can be found
    return made;
  }
  struct guard {
    explicit guard(bool& into) : is_over(into) {}
    ~guard() { is_over = true; }
    guard(const guard&) = delete;
    guard& operator=(const guard&) = delete;
    bool& is_over;
  };
  net::asio::awaitable<void> run(std::shared_ptr<net::stream_listener> whose) {
    const guard until_the_end(is_run_over);
    co_await net::stream_listener::run(std::move(whose));
    has_ended = true;
  }
  net::asio::awaitable<void> shut_down(std::shared_ptr<net::stream_listener> whom) {
    const guard until_the_end(is_over);
    co_await net::stream_listener::shut_down(std::move(whom));
    is_gone = true;
    fail_no_more();  // the rest is not the stream's
  }
  /// As a lane does it, whatever is thrown.
  void run_for(int handlers) {
    for (int i = 0; i < handlers; ++i) {
      try {
        (void)context().run_one_for(2ms);
      } catch (const std::exception&) {
      }
    }
  }
  [[nodiscard]] bool is_member() {
    const auto view = catalog.view().get();
    const auto* const found = view->find({.tenant = "default", .model = "m", .lora = "", .salt = "", .block_size = 16});
    return found != nullptr && found->members.size() != 0;
  }
};

void shut_down(scene& here, std::shared_ptr<net::stream_listener> listener, long before) {
  net::asio::co_spawn(here.context(), here.shut_down(std::move(listener)), [](const std::exception_ptr&) {});
  watched_heap::before_failure = before;
  const auto patience = clock::now() + 20s;
  while (!here.is_over && clock::now() < patience) here.run_for(1);
  fail_no_more();
  BOOST_TEST(here.is_over);
  here.run_for(10);
  if (here.is_gone) BOOST_TEST(!here.is_member());
}

/// False: nothing has failed.
bool look_for_publisher(long before) {
  scene here;
  auto listener = here.begin();
  watched_heap::before_failure = before;
  here.run_for(12);
  const bool has_failed = watched_heap::before_failure < 0;
  fail_no_more();
  BOOST_TEST(!here.has_ended);
  if (here.is_run_over) BOOST_TEST((here.status->state.load() == core::stream_state::stopped));  // and it cannot be taken for a sound one
  shut_down(here, std::move(listener), -1);
  BOOST_TEST(here.is_gone);
  here.context().stop();
  return has_failed;
}

/// The same while it is shut down. False: asio has destroyed that.
bool leave(long before) {
  scene here;
  auto listener = here.begin();
  BOOST_TEST(here.is_member());
  shut_down(here, std::move(listener), before);
  here.context().stop();
  return here.is_gone;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_stream_that_runs_out_of_memory_goes_on_when_there_is_some) {
  // Nobody would take it up again: what it holds would be answered with for ever.
  const quiet no_lines;
  bool has_failed = true;
  for (long before = 0; has_failed; ++before) {
    BOOST_TEST_CONTEXT("allocation " << before) { has_failed = look_for_publisher(before); }
  }
}

BOOST_AUTO_TEST_CASE(a_stream_that_is_unregistered_goes_whatever_memory_is_wanting) {
  const quiet no_lines;
  constexpr long most = 40;  // more than there are
  long gone = 0;
  for (long before = 0; before < most; ++before) {
    BOOST_TEST_CONTEXT("allocation " << before) { gone += leave(before) ? 1 : 0; }
  }
  BOOST_TEST(gone > most * 3 / 4);
}

BOOST_AUTO_TEST_SUITE_END()
