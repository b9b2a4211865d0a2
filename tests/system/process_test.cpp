#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <signal.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include <boost/test/unit_test.hpp>

#include "tests/system/child_process.hpp"
#include "tests/system/conductor_process.hpp"
#include "tests/system/local_socket.hpp"

using kvc::test::child_process;
using kvc::test::conductor_command;
using kvc::test::conductor_process;
using kvc::test::http_get;
using kvc::test::local_socket;
using kvc::test::notify_socket;

namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Runs the program with these flags to its end; `output` is what it said.
int run_to_end(const std::vector<std::string>& flags, std::string& output) {
  child_process program(conductor_command(flags));
  const std::optional<int> code = program.wait_for_end();
  output = program.output();
  return code.value_or(-1000);
}

/// A request whose body does not come to its end, so that it is in hand until somebody gives up.
local_socket half_a_request(const conductor_process& server) {
  local_socket client = local_socket::connect(server.port());
  client.send("POST /query HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\nContent-Length: 21\r\n\r\n{\"model\":");
  return client;
}

/// As somebody does who wants it to end now: two signals at once would be one request. The exit code.
template <class Process>
std::optional<int> send_until_it_ends(Process& server, int signal) {
  std::optional<int> code;
  for (int i = 0; i < 600 && !code; ++i) {
    server.send_signal(signal);
    code = server.wait_for_end(std::chrono::milliseconds(100));
  }
  return code;
}

std::string write_file(const std::string& name, const std::string& text) {
  const std::string path = (std::filesystem::temp_directory_path() / ("kvc-system-" + std::to_string(getpid()) + "-" + name)).string();
  std::ofstream(path) << text;
  return path;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(process)

BOOST_AUTO_TEST_CASE(help_and_version_answer_and_leave_with_zero) {
  // The first thing anybody runs.
  std::string output;

  BOOST_TEST(run_to_end({"--help"}, output) == 0);
  BOOST_TEST(has(output, "--http-ports VALUE"));
  BOOST_TEST(run_to_end({"--version"}, output) == 0);
  BOOST_TEST(output.starts_with("kv-conductor "));
}

BOOST_AUTO_TEST_CASE(checking_a_configuration_says_ok_or_what_is_wrong_and_leaves_with_two) {
  // What a deployment runs before it restarts anything.
  std::string output;
  const std::string bad = write_file("bad.json", R"({"lanes": 4000, "kvevent_instance": {}})");
  const std::string bad_publisher = write_file("publisher.json", R"({"kvevent_instance": {"a": {"endpoint": "http://x"}}})");

  BOOST_TEST(run_to_end({"--check-config", "--config", std::string(KVC_SOURCE_DIR) + "/etc/kv-conductor.json"}, output) == 0, output);
  BOOST_TEST(output == "ok\n");
  BOOST_TEST(run_to_end({"--check-config", "--config", bad}, output) == 2);
  BOOST_TEST(has(output, "lanes = 4000 is out of range; legal: 0..1024"), output);
  BOOST_TEST(run_to_end({"--check-config", "--config", bad_publisher}, output) == 2);
  BOOST_TEST(has(output, "kvevent_instance.a"), output);
  BOOST_TEST(run_to_end({"--config", bad_publisher, "--http-ports=0"}, output) == 2);
  BOOST_TEST(has(output, "kvevent_instance.a"), output);

  std::filesystem::remove(bad);
  std::filesystem::remove(bad_publisher);
}

BOOST_AUTO_TEST_CASE(checking_a_configuration_finds_what_would_stop_the_start_and_shows_the_warnings) {
  // "ok", and then a service that does not come up, is worse than no check at all.
  std::string output;
  const std::string bad_store = write_file("store.json", R"({"stores": {"m": {"type": "nonsense", "url": "ftp://x"}, "n": 5},
      "kvevent_instance": {"a": {"endpoint": "http://x"}}})");
  const std::string odd = write_file("odd.json", R"({"kvevent_instance": {"a": {
      "type": "NewEngine", "modelname": "m", "block_size": 16, "endpoint": "tcp://127.0.0.1:5557"}}})");

  BOOST_TEST(run_to_end({"--check-config", "--config", bad_store}, output) == 2);
  for (const char* part : {"stores.m.type", "stores.n", "kvevent_instance.a"}) BOOST_TEST(has(output, part), output);
  BOOST_TEST(run_to_end({"--check-config", "--config", odd}, output) == 0, output);
  BOOST_TEST(has(output, "warning: kvevent_instance.a"), output);
  child_process mistyped(conductor_command({"--lanes=x"}), {"KVC_LANS=3"});
  BOOST_TEST(mistyped.wait_for_end().value_or(-1000) == 2);
  BOOST_TEST(has(mistyped.output(), "KVC_LANS is not a setting"), "an error does not hide the warnings: " + mistyped.output());

  std::filesystem::remove(bad_store);
  std::filesystem::remove(odd);
}

BOOST_AUTO_TEST_CASE(term_stops_an_idle_server_with_zero) {
  // The ordinary way to stop; the sanitizers look for leaks on the way out.
  conductor_process server;
  BOOST_REQUIRE(server.port() != 0);
  BOOST_TEST(has(http_get(server.port(), "/healthz"), "200 OK"));

  server.send_signal(SIGTERM);

  BOOST_TEST(server.wait_for_end().value_or(-1000) == 0, server.output());
  BOOST_TEST(has(server.output(), "draining signal=TERM"), server.output());
}

BOOST_AUTO_TEST_CASE(a_request_in_hand_is_answered_while_draining) {
  // A restart must not cost a router an answer it has already paid for.
  conductor_process server({"--http-body-timeout-ms=60000", "--shutdown-timeout-ms=60000", "--lanes=1"});
  BOOST_REQUIRE(server.port() != 0);
  const local_socket idle = local_socket::connect(server.port());
  const local_socket client = half_a_request(server);
  BOOST_TEST(has(http_get(server.port(), "/healthz"), "200 OK"));

  server.send_signal(SIGTERM);
  // The one lane asks all its sessions to leave in one go, and the idle one does so.
  BOOST_TEST(idle.read_to_end().empty());
  client.send("\"no model\" }");
  const std::string answer = client.read_to_end();

  BOOST_TEST(answer.starts_with("HTTP/1.1 "), answer);
  BOOST_TEST(has(answer, "Connection: close"), answer);
  BOOST_TEST(server.wait_for_end().value_or(-1000) == 0, server.output());
}

BOOST_AUTO_TEST_CASE(a_request_that_never_ends_is_cut_off_after_the_shutdown_timeout) {
  // One stuck client must not hold up a restart for ever. Of two lanes the other one might answer below, and this one not have read yet.
  conductor_process server({"--http-body-timeout-ms=600000", "--shutdown-timeout-ms=100", "--lanes=1"});
  BOOST_REQUIRE(server.port() != 0);
  const local_socket client = half_a_request(server);
  BOOST_TEST(has(http_get(server.port(), "/healthz"), "200 OK"));

  server.send_signal(SIGTERM);

  BOOST_TEST(server.wait_for_end().value_or(-1000) == 1, server.output());
  BOOST_TEST(has(server.output(), "requests were cut off"), server.output());
}

BOOST_AUTO_TEST_CASE(without_patience_an_idle_server_stops_with_zero_and_a_busy_one_with_one) {
  // "Do not wait" is about requests in hand. Connections and streams that owe nothing are no reason for a failed unit.
  const std::string config = write_file("idle.json", R"({"kvevent_instance": {"away": {
      "type": "vLLM", "modelname": "m", "block_size": 16, "endpoint": "tcp://127.0.0.1:1"}}})");
  conductor_process idle({"--shutdown-timeout-ms=0", "--config", config});
  BOOST_REQUIRE(idle.port() != 0);
  const local_socket client = local_socket::connect(idle.port());
  BOOST_TEST(has(http_get(idle.port(), "/healthz"), "200 OK"));
  idle.send_signal(SIGTERM);
  BOOST_TEST(idle.wait_for_end().value_or(-1000) == 0, idle.output());
  BOOST_TEST(!has(idle.output(), "cut off"), idle.output());

  conductor_process busy({"--shutdown-timeout-ms=0", "--http-body-timeout-ms=600000", "--lanes=1"});
  BOOST_REQUIRE(busy.port() != 0);
  const local_socket owed = half_a_request(busy);
  BOOST_TEST(has(http_get(busy.port(), "/healthz"), "200 OK"));
  busy.send_signal(SIGTERM);
  BOOST_TEST(busy.wait_for_end().value_or(-1000) == 1, busy.output());
  BOOST_TEST(has(busy.output(), "requests were cut off"), busy.output());
  std::filesystem::remove(config);
}

BOOST_AUTO_TEST_CASE(a_second_term_leaves_at_once) {
  // The person at the keyboard has decided.
  conductor_process server({"--http-body-timeout-ms=600000", "--shutdown-timeout-ms=600000", "--lanes=1"});
  BOOST_REQUIRE(server.port() != 0);
  const local_socket client = half_a_request(server);
  BOOST_TEST(has(http_get(server.port(), "/healthz"), "200 OK"));

  server.send_signal(SIGTERM);
  BOOST_REQUIRE(server.wait_for("draining signal=TERM"));
  const auto ended = send_until_it_ends(server, SIGTERM);

  BOOST_TEST(ended.value_or(-1000) == 1, server.output());
  BOOST_TEST(has(server.output(), "leaving now"), server.output());
}

BOOST_AUTO_TEST_CASE(hup_changes_nothing_and_is_told) {
  // Many tools send it to make a service read its configuration again; we do not, and must not die of it.
  conductor_process server;
  BOOST_REQUIRE(server.port() != 0);

  server.send_signal(SIGHUP);

  BOOST_TEST(server.wait_for("signal ignored signal=HUP"));
  BOOST_TEST(has(http_get(server.port(), "/healthz"), "200 OK"));
}

BOOST_AUTO_TEST_CASE(lanes_that_cannot_be_pinned_are_told) {
  // Who asks for it measures by it.
  const std::string more = std::to_string(std::thread::hardware_concurrency() + 1);
  const conductor_process crowded({"--pin-lanes", "--lanes=" + more});
  const conductor_process roomy({"--pin-lanes", "--lanes=1"});

  BOOST_TEST(has(crowded.output(), "lanes are not kept on CPUs of their own"), crowded.output());
  BOOST_TEST(has(crowded.output(), "lanes=" + more + " cpus="), crowded.output());
  BOOST_TEST(!has(roomy.output(), "lanes are not kept"), roomy.output());
}

BOOST_AUTO_TEST_CASE(a_port_that_is_taken_is_named) {
  // The commonest way to fail at start.
  const local_socket other = local_socket::listen();
  const std::string port = std::to_string(other.port());
  std::string output;

  BOOST_TEST(run_to_end({"--http-host=127.0.0.1", "--http-ports=0," + port}, output) == 1);
  BOOST_TEST(has(output, "cannot listen address=127.0.0.1:" + port), output);
}

BOOST_AUTO_TEST_CASE(the_log_tells_whether_anybody_may_call) {
  // An empty variable takes the tokens of the file away, which nobody sees otherwise.
  const std::string config = write_file("tokens.json", R"({"auth_tokens": ["secret-1", "secret-2"]})");
  const conductor_process closed({"--config", config});
  const conductor_process open({"--config", config}, {"KVC_AUTH_TOKENS="});

  BOOST_TEST(has(closed.output(), "authentication is on tokens=2 read_tokens=0"), closed.output());
  BOOST_TEST(has(open.output(), "authentication is off"), open.output());
  BOOST_TEST(!has(closed.output(), "secret"), closed.output());
  std::filesystem::remove(config);
}

BOOST_AUTO_TEST_CASE(quotas_that_cannot_be_read_are_named_with_their_setting_and_missing_ones_are_told_as_such) {
  // "quotas=0" would read like a file that somebody has emptied.
  std::string output;
  BOOST_TEST(run_to_end({"--coordinator-quota-file=/tmp", "--http-host=127.0.0.1", "--http-ports=0"}, output) == 1);
  BOOST_TEST(has(output, "setting=coordinator_quota_file file=/tmp reason=\"Is a directory\""), output);

  const conductor_process server({"--coordinator-quota-file=/nonexistent/quotas.json"});
  BOOST_TEST(has(server.output(), "no quota file yet file=/nonexistent/quotas.json"), server.output());
  BOOST_TEST(has(server.output(), "changes of quotas cannot be written file=/nonexistent/quotas.json"), server.output());
}

BOOST_AUTO_TEST_CASE(a_reader_of_the_log_that_goes_away_does_not_stop_the_service) {
  // `kv-conductor 2>&1 | head` must not take the index down.
  conductor_process server({"--log-level=debug"});
  BOOST_REQUIRE(server.port() != 0);
  server.close_output();

  server.send_signal(SIGHUP);

  BOOST_TEST(has(http_get(server.port(), "/healthz"), "200 OK"));
  BOOST_TEST(has(http_get(server.port(), "/healthz"), "200 OK"));
}

BOOST_AUTO_TEST_CASE(a_reader_of_the_log_that_hangs_does_not_keep_the_process) {
  // A stopped terminal or a journal in trouble must not turn every stop into a kill. More warnings than a pipe holds, which nobody reads.
  const std::string log = write_file("log", "");
  std::filesystem::remove(log);
  BOOST_REQUIRE(mkfifo(log.c_str(), 0600) == 0);
  const int unread = open(log.c_str(), O_RDWR | O_CLOEXEC);
  for (const int terms : {1, 2}) {
    notify_socket manager;
    std::vector<std::string> variables{"NOTIFY_SOCKET=" + manager.path()};
    for (int i = 0; i < 2'000; ++i) variables.push_back("KVC_NO_SETTING_" + std::to_string(i) + "=1");
    child_process server(
        {"/bin/sh", "-c", "exec \"$0\" --http-host=127.0.0.1 --http-ports=0 --lanes=1 2>" + log, kvc::test::built_program("kv-conductor")},
        variables);
    BOOST_REQUIRE(manager.wait_for("READY=1"));

    server.send_signal(SIGTERM);
    BOOST_TEST(manager.wait_for("STOPPING=1"));
    const auto ended = terms == 2 ? send_until_it_ends(server, SIGTERM) : server.wait_for_end();
    BOOST_TEST(ended.value_or(-1000) == terms - 1);
  }
  close(unread);
  std::filesystem::remove(log);
}

BOOST_AUTO_TEST_CASE(the_service_manager_is_told_of_readiness_life_and_stopping) {
  // Type=notify units stay in starting for ever when one of these is missing. The watchdog period is read from the environment.
  notify_socket manager;
  const std::string config = write_file("absent.json", R"({"kvevent_instance": {"away": {
      "type": "vLLM", "modelname": "m", "block_size": 16, "endpoint": "tcp://127.0.0.1:1"}}})");
  conductor_process server({"--config", config, "--ready-grace-ms=300"}, {"NOTIFY_SOCKET=" + manager.path(), "WATCHDOG_USEC=100000"});
  BOOST_REQUIRE(server.port() != 0);

  BOOST_TEST(manager.wait_for("READY=1"));
  BOOST_TEST(manager.wait_for("WATCHDOG=1"));
  server.send_signal(SIGTERM);
  BOOST_TEST(manager.wait_for("STOPPING=1"));
  BOOST_TEST(server.wait_for_end().value_or(-1000) == 0, server.output());

  const std::size_t waiting = manager.all().find("STATUS=not ready: stream away|default|0 is joining");
  BOOST_TEST(waiting < manager.all().find("READY=1"), manager.all());
  std::filesystem::remove(config);
}

BOOST_AUTO_TEST_CASE(a_hangup_during_the_start_ends_nothing) {
  // A shell that goes right after it has started the service sends one.
  child_process server({kvc::test::built_program("kv-conductor"), "--http-host=127.0.0.1", "--http-ports=0", "--lanes=1"});
  BOOST_REQUIRE(server.wait_for("app starting"));
  server.send_signal(SIGHUP);
  BOOST_TEST(server.wait_for("app ready"), server.output());
  server.send_signal(SIGTERM);
  BOOST_TEST(server.wait_for_end().value_or(-1000) == 0, server.output());
}

BOOST_AUTO_TEST_CASE(clients_cannot_take_the_descriptors_of_streams) {
  // The machine's limit may be far below what is configured: then there are fewer connections, and the log says so.
  const std::string shell = "ulimit -n 200; exec \"$0\" --http-host=127.0.0.1 --http-ports=0 --lanes=1";
  child_process server({"/bin/sh", "-c", shell, kvc::test::built_program("kv-conductor")}, {"PATH=/usr/bin:/bin"});
  BOOST_TEST(server.wait_for("http_max_connections=20000 connections=150 open_files=200"), server.output());
  BOOST_TEST(server.wait_for("app ready"), server.output());
  server.send_signal(SIGTERM);
  BOOST_TEST(server.wait_for_end().value_or(-1000) == 0, server.output());
}

BOOST_AUTO_TEST_CASE(what_was_asked_for_and_could_not_be_written_is_a_failure) {
  // A script that keeps what --print-config says would go on with an empty file.
  for (const std::string flag : {"--print-config", "--check-config", "--help", "--version"}) {
    const std::string shell = "exec \"$0\" " + flag + " >/dev/full";
    child_process server({"/bin/sh", "-c", shell, kvc::test::built_program("kv-conductor")}, {"PATH=/usr/bin:/bin"});
    BOOST_TEST(server.wait_for_end().value_or(-1000) == 1, flag);
  }
}

BOOST_AUTO_TEST_CASE(lines_for_the_journal_carry_a_priority_and_no_time) {
  // The journal takes the priority off and adds its own time; JOURNAL_STREAM names the stream it reads.
  const std::string shell = "JOURNAL_STREAM=$(stat -L -c %d:%i /dev/stderr) exec \"$0\" --http-host=127.0.0.1 --http-ports=0 --lanes=1";
  child_process server({"/bin/sh", "-c", shell, kvc::test::built_program("kv-conductor")}, {"PATH=/usr/bin:/bin"});

  BOOST_TEST(server.wait_for("<6>app ready"), server.output());
  server.send_signal(SIGTERM);
  BOOST_TEST(server.wait_for("<6>app stopped code=0"), server.output());
}

BOOST_AUTO_TEST_SUITE_END()
