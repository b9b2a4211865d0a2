#include <filesystem>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "tests/system/conductor_process.hpp"

using namespace kvc;

BOOST_AUTO_TEST_SUITE(store_sim)

BOOST_AUTO_TEST_CASE(a_stand_in_store_agrees_with_the_real_server) {
  // As a user would run both, to see that nothing between the flags and the tables is left out.
  const std::string simulator = test::built_program("perf/kv-conductor-sim");
  if (!std::filesystem::exists(simulator)) {
    BOOST_TEST_MESSAGE("this build has no simulator");
    return;
  }
  for (const char* generation : {"array", "master"}) {
    BOOST_TEST_CONTEXT("generation " << generation) {
      test::conductor_process server({"--reconcile-age-ms", "100", "--reconcile-rate", "20000", "--prefetch-dedup-ms", "100",
                                      "--prefetch-cooldown-ms", "100", "--prefetch-deadline-ms", "1000", "--store-call-timeout-ms", "300"});
      BOOST_REQUIRE(server.port() != 0);

      test::child_process store({simulator,      "store",    "--conductor", "127.0.0.1:" + std::to_string(server.port()),
                                 "--generation", generation, "--masters",   "2",
                                 "--turns",      "20",       "--objects",   "200",
                                 "--memory",     "100",      "--lease",     "0.05",
                                 "--faults",     "all",      "--slow",      "0.05",
                                 "--late-copy",  "0.5"});

      BOOST_TEST(store.wait_for("answers are what the store has"), store.output());
      const auto code = store.wait_for_end();
      BOOST_REQUIRE(code);
      BOOST_TEST(*code == 0, store.output());
    }
  }
}

BOOST_AUTO_TEST_CASE(the_demo_brings_a_prompt_to_memory) {
  // What `etc/run --with-store` shows.
  const std::string simulator = test::built_program("perf/kv-conductor-sim");
  if (!std::filesystem::exists(simulator)) {
    BOOST_TEST_MESSAGE("this build has no simulator");
    return;
  }
  test::conductor_process server;
  BOOST_REQUIRE(server.port() != 0);

  test::child_process demo({simulator, "store", "--demo", "--conductor", "127.0.0.1:" + std::to_string(server.port())});

  BOOST_TEST(demo.wait_for("because"), demo.output());
  const auto code = demo.wait_for_end();
  BOOST_REQUIRE(code);
  BOOST_TEST(*code == 0, demo.output());
}

BOOST_AUTO_TEST_CASE(probes_are_measured_against_the_real_server) {
  // A small run of the benchmark, so that it cannot rot; its figures mean nothing here.
  const std::string bench = test::built_program("perf/kv-conductor-bench");
  if (!std::filesystem::exists(bench)) {
    BOOST_TEST_MESSAGE("this build has no benchmark");
    return;
  }
  test::child_process run({bench, "exist", "--server", test::built_program("kv-conductor"), "--objects", "1000", "--stored", "500",
                           "--probes", "200", "--load-cpu", "0", "--no-yardstick", "--json"});

  BOOST_TEST(run.wait_for("prefetch_p99_ratio"), run.output());
  const auto code = run.wait_for_end();
  BOOST_REQUIRE(code);
  BOOST_TEST(*code == 0, run.output());
}

BOOST_AUTO_TEST_SUITE_END()
