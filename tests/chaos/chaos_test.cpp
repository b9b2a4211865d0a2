// Fleets that go wrong in every way a seed can draw, over real sockets, against the whole service: what it answers is right, or it says
// that it cannot know.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <string>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include "perf/sim_chaos_session.hpp"
#include "tests/support/net/api_fixture.hpp"
#include "tests/support/setting.hpp"

namespace {

using namespace kvc;

constexpr std::uint64_t seeds_in_an_ordinary_run = 200;
constexpr std::size_t at_once = 32;  ///< sessions mostly wait, for replays that do not come and for deadlines

kvc::test::api_settings patient() {
  kvc::test::api_settings chosen;
  chosen.streams.idle_check = std::chrono::milliseconds(50);
  // Long enough for a machine that is busy with other things; what is never answered costs its own session three of them.
  chosen.streams.replay_timeout = std::chrono::milliseconds(1'500);
  chosen.streams.replay_attempts = 3;
  return chosen;
}

/// Many sockets at once need many descriptors.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

struct chaos_fixture {
  kvc::test::api_fixture service{patient()};
  net::zmq_engine transport{1, 65'536};
  boost::asio::io_context context;
  bool is_stopping = false;
  std::uint64_t next = 0;
  std::uint64_t end = 0;
  std::vector<sim::chaos_verdict> verdicts;

  boost::asio::awaitable<void> run_some() {
    while (next < end) {
      sim::chaos_request what;
      what.server_port = service.port();
      const std::uint64_t seed = next++;
      sim::chaos_verdict verdict;
      for (int attempt = 0; attempt < sim::most_chaos_attempts; ++attempt) {
        what.run = "chaos-" + std::to_string(::getpid()) + "-" + std::to_string(attempt);
        verdict = co_await sim::run_chaos_session(transport, context.get_executor(), what, seed, is_stopping);
        if (verdict.complaints.empty() || verdict.was_undisturbed()) break;
        BOOST_TEST_MESSAGE("seed " << seed << " again: the machine took " << verdict.longest_stall.count() << " ms from it");
      }
      verdicts.push_back(std::move(verdict));
    }
  }

  void run(std::uint64_t first, std::uint64_t count) {
    raise_descriptor_limit();
    next = first;
    end = first + count;
    for (std::size_t i = 0; i < std::min<std::uint64_t>(at_once, count); ++i) {
      boost::asio::co_spawn(context, run_some(), [](std::exception_ptr failure) {
        if (failure) std::rethrow_exception(failure);
      });
    }
    context.run();
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(chaos)

BOOST_FIXTURE_TEST_CASE(what_is_answered_is_right_or_said_to_be_incomplete, chaos_fixture) {
  // The one promise of the service, whatever publishers do. Repeat a seed with KVC_CHAOS_SEED=<seed> KVC_CHAOS_SEEDS=1.
  const std::uint64_t first = test::setting("KVC_CHAOS_SEED", 1);
  const std::uint64_t count = test::setting("KVC_CHAOS_SEEDS", seeds_in_an_ordinary_run);

  run(first, count);

  BOOST_TEST(verdicts.size() == count);
  sim::fault_counts faults;
  sim::chaos_coverage coverage;
  std::uint64_t streams = 0;
  std::uint64_t incomplete = 0;
  for (const sim::chaos_verdict& each : verdicts) {
    faults.add(each.faults);
    coverage.add(each.coverage);
    streams += each.streams;
    incomplete += each.incomplete;
    for (const std::string& complaint : each.complaints) BOOST_ERROR("seed " << each.seed << ": " << complaint);
    for (const std::string& line : each.journal) BOOST_TEST_MESSAGE(line);
  }
  std::string injected;
  for (std::size_t i = 0; i < sim::fault_count; ++i) {
    injected += " " + std::string(sim::to_string(static_cast<sim::fault>(i))) + " " + std::to_string(faults.times[i]);
  }
  std::string exercised;
  coverage.visit_all([&](const std::string& name, std::uint64_t times) { exercised += ", " + name + " " + std::to_string(times); });
  BOOST_TEST_MESSAGE("seeds " << first << " to " << first + count - 1 << ": " << streams << " streams, " << incomplete << " incomplete;"
                              << injected << exercised);
  if (count < seeds_in_an_ordinary_run) return;
  // A run that injects nothing proves nothing.
  for (std::size_t i = 0; i < sim::fault_count; ++i)
    BOOST_TEST(faults.times[i] > 0U, sim::to_string(static_cast<sim::fault>(i)) << " never happened");
  // Nor does one in which a form of events, or a way to be a fleet, never comes.
  coverage.visit_all([](const std::string& name, std::uint64_t times) { BOOST_TEST(times > 0U, name << " never happened"); });
  BOOST_TEST(incomplete < streams / 2);
}

BOOST_FIXTURE_TEST_CASE(what_has_failed_once_does_not_fail_again, chaos_fixture) {
  // A stream joined late, whose lost batches were forgiven because a medium was cleared that they never spoke of.
  run(1'795'294'590, 1);

  BOOST_REQUIRE(verdicts.size() == 1U);
  for (const std::string& complaint : verdicts.front().complaints) BOOST_ERROR(complaint);
}

BOOST_AUTO_TEST_SUITE_END()
