#include <filesystem>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "tests/system/conductor_process.hpp"

using namespace kvc;

BOOST_AUTO_TEST_SUITE(mp_sim)

BOOST_AUTO_TEST_CASE(stand_in_servers_agree_with_the_real_server) {
  // As a user would run both, to see that nothing between the flags and the tables is left out.
  const std::string simulator = test::built_program("perf/kv-conductor-sim");
  if (!std::filesystem::exists(simulator)) {
    BOOST_TEST_MESSAGE("this build has no simulator");
    return;
  }
  test::conductor_process server({"--coordinator-eviction-check-interval", "0.05", "--coordinator-resync-page-size", "50",
                                  "--coordinator-call-timeout", "1", "--coordinator-instance-timeout", "5"});
  BOOST_REQUIRE(server.port() != 0);

  test::child_process fleet({simulator, "mp", "--coordinator", "127.0.0.1:" + std::to_string(server.port()), "--turns", "10", "--plans",
                             "1", "--preload", "200", "--quota", "30", "--faults", "all", "--slow", "0.05", "--drain"});

  BOOST_TEST(fleet.wait_for("order of use are those of the model"), fleet.output());
  const auto code = fleet.wait_for_end();
  BOOST_REQUIRE(code);
  BOOST_TEST(*code == 0, fleet.output());
}

BOOST_AUTO_TEST_SUITE_END()
