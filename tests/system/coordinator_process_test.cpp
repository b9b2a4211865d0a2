// The coordinator's side of the process: where it says that it listens, its flags and variables, and what it keeps.
#include <csignal>
#include <cstdint>
#include <string>

#include <boost/test/unit_test.hpp>

#include "tests/support/net/raw_client.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/system/conductor_process.hpp"

namespace {

using kvc::test::ask;
using kvc::test::child_process;
using kvc::test::conductor_process;

/// The port in the line that scripts of the other service wait for; 0 when it never came.
std::uint16_t announced_port(child_process& server) {
  const std::string line = "MP coordinator listening on http://127.0.0.1:";
  if (!server.wait_for(line)) return 0;
  return static_cast<std::uint16_t>(std::stoul(server.output().substr(server.output().find(line) + line.size())));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(coordinator_process)

BOOST_AUTO_TEST_CASE(says_where_it_listens_and_serves_everything_on_both_ports) {
  conductor_process server;
  const std::uint16_t port = announced_port(server);
  BOOST_REQUIRE(port != 0);
  BOOST_TEST(port != server.port());

  for (const std::uint16_t each : {port, server.port()}) {
    BOOST_TEST(ask(each, "GET", "/instances").body == R"({"instances":[]})");
    BOOST_TEST(ask(each, "GET", "/services").status == 200);
  }
}

BOOST_AUTO_TEST_CASE(the_other_services_command_line_works) {
  // `lmcache coordinator` and its flags, with our name in front.
  child_process server({kvc::test::built_program("kv-conductor"), "--host", "127.0.0.1", "--port", "0", "--http-ports", "0", "--lanes", "1",
                        "--instance-timeout", "120", "--timeout-keep-alive", "65"},
                       {"LMCACHE_MP_COORDINATOR_ENABLE_STARTUP_RESYNC=False"});
  const std::uint16_t port = announced_port(server);
  BOOST_REQUIRE(port != 0);
  BOOST_TEST(ask(port, "GET", "/metrics").body.find("\nkvc_coordinator_resync_state 2\n") != std::string::npos, "there is no resync");
}

BOOST_AUTO_TEST_CASE(a_bad_flag_is_a_usage_error) {
  child_process server({kvc::test::built_program("kv-conductor"), "--eviction-ratio", "1.5"});
  BOOST_TEST(server.wait_for_end().value_or(-1000) == 2, server.output());
}

BOOST_AUTO_TEST_CASE(quotas_are_there_again_after_a_restart) {
  const kvc::test::temporary_folder folder;
  const std::string file = folder.file("quotas.json");
  {
    conductor_process server({"--coordinator-quota-file", file});
    BOOST_REQUIRE(server.port() != 0);
    BOOST_TEST(ask(server.port(), "PUT", "/quota/a", R"({"limit_gb":2.5})").status == 200);
    server.send_signal(SIGKILL);
  }
  {
    conductor_process server({"--coordinator-quota-file", file});
    BOOST_REQUIRE(server.port() != 0);
    BOOST_TEST(ask(server.port(), "GET", "/quota/a").body.find("\"quota_limit_gb\":2.5,") != std::string::npos);
  }
}

BOOST_AUTO_TEST_SUITE_END()
