// Starts on machines that do not give what a service takes for granted.
#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <random>
#include <signal.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "app/config.hpp"
#include "app/config_fields.hpp"
#include "app/notify_channel.hpp"
#include "tests/support/setting.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/system/child_process.hpp"
#include "tests/system/conductor_process.hpp"
#include "tests/system/local_socket.hpp"

BOOST_AUTO_TEST_SUITE(hard_starts)

namespace {

using kvc::test::built_program;
using kvc::test::child_process;
using kvc::test::conductor_command;
using kvc::test::conductor_process;

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// The server with these flags behind a shell that does something first.
std::vector<std::string> behind_shell(const std::string& first, const std::string& flags) {
  return {"/bin/sh", "-c", first + "exec \"$0\" --http-host=127.0.0.1 --http-ports=0 " + flags, built_program("kv-conductor")};
}

/// A value of the range that costs the machine of a test little; nothing: leave it alone.
std::string cheap_value(const kvc::app::field_info& field, std::mt19937_64& random) {
  const auto below = [&random](std::uint64_t count) { return std::uniform_int_distribution<std::uint64_t>(0, count - 1)(random); };
  if (const auto* whole = std::get_if<kvc::app::integer_access>(&field.access)) {
    if (!field.stands_for.empty()) return {};
    if (field.name == "lanes" || field.name == "zmq_io_threads") return std::to_string(1 + below(4));
    if (field.name == "coordinator_blend_max_chunks") return std::to_string(whole->least + below(1'000'000));  // 20 bytes each
    if (field.name == "index_reserve") return std::to_string(below(64) << 20U);
    // How fast the machine is must not decide.
    if (field.name == "shutdown_timeout_ms" || (field.name.starts_with("http_") && field.name.ends_with("timeout_ms"))) return {};
    return std::to_string(below(2) == 0 ? whole->least : whole->most);
  }
  if (const auto* real = std::get_if<kvc::app::decimal_access>(&field.access)) {
    return below(3) == 0 && real->most > 1 ? "1e-9"
                                           : kvc::app::decimal_text(below(2) == 0 && !real->without_least ? real->least : real->most);
  }
  if (std::holds_alternative<kvc::app::boolean_access>(field.access)) return below(2) == 0 ? "true" : "false";
  return {};
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_service_manager_that_does_not_read_holds_up_nobody) {
  // Telling it waited for it, on the lane: a server with one lane answered nobody.
  kvc::test::notify_socket manager;
  const kvc::app::notify_channel others(manager.path());
  while (others.tell("STATUS=of somebody else") == kvc::app::notify_channel::outcome::sent) continue;
  conductor_process server({"--lanes=1"}, {"NOTIFY_SOCKET=" + manager.path(), "WATCHDOG_USEC=100000"});
  BOOST_REQUIRE(server.port() != 0);
  BOOST_REQUIRE(server.wait_for("app ready"));
  BOOST_TEST(says(kvc::test::http_get(server.port(), "/healthz"), "200 OK"));

  BOOST_TEST(manager.wait_for("READY=1"), "it is told once it listens");
  BOOST_TEST(manager.wait_for("WATCHDOG=1"));
  while (others.tell("STATUS=of somebody else") == kvc::app::notify_channel::outcome::sent) continue;
  server.send_signal(SIGTERM);
  BOOST_TEST(server.wait_for_end().value_or(-1000) == 0, server.output());
}

BOOST_AUTO_TEST_CASE(log_lines_of_a_service_without_standard_error_go_nowhere) {
  // `2>&-`: the number was taken by the next socket, so that every line would have gone to whoever was at its other end.
  kvc::test::notify_socket manager;
  child_process server(behind_shell("echo $$; ", "--lanes=1 2>&- <&-"), {"NOTIFY_SOCKET=" + manager.path()});
  BOOST_REQUIRE(manager.wait_for("READY=1"));
  BOOST_REQUIRE(server.wait_for("\n"));

  const std::string number = server.output().substr(0, server.output().find('\n'));
  for (const char* closed : {"0", "2"}) {
    BOOST_TEST(std::filesystem::read_symlink("/proc/" + number + "/fd/" + closed).string() == "/dev/null");
  }
  server.send_signal(SIGTERM);
  BOOST_TEST(server.wait_for_end().value_or(-1000) == 0, server.output());
}

BOOST_AUTO_TEST_CASE(too_few_descriptors_are_told_with_the_settings_that_want_them) {
  // libzmq aborted the process, or the error named a system call.
  for (const std::string limit : {"10", "100"}) {
    child_process server(behind_shell("ulimit -n " + limit + "; ", "--lanes=2 --zmq-io-threads=64"), {"PATH=/usr/bin:/bin"});
    BOOST_TEST(server.wait_for_end().value_or(-1000) == 1, server.output());
    BOOST_TEST(says(server.output(), "lanes = 2, zmq_io_threads = 64 and 1 http_ports need"), server.output());
    BOOST_TEST(says(server.output(), "this process may have " + limit), server.output());
  }
  // As many as are asked for are enough.
  const std::string just = "ulimit -n $((20 + 4 * 8 + 2 * 5)); ";
  child_process server(behind_shell(just, "--lanes=2 --zmq-io-threads=8"), {"PATH=/usr/bin:/bin"});
  BOOST_TEST(server.wait_for("app ready"), server.output());
  server.send_signal(SIGTERM);
  BOOST_TEST(server.wait_for_end().value_or(-1000) == 0, server.output());
}

BOOST_AUTO_TEST_CASE(too_few_threads_end_the_start) {
  // Lanes that had no thread were waited for when the others were stopped: the process hung, and no first TERM ended it.
  if (getuid() != 0) {
    BOOST_TEST_MESSAGE("left out: how many threads somebody else has is not known, and only root can start the server as nobody");
    return;
  }
  const kvc::test::temporary_folder folder;
  const std::string program = folder.file("kv-conductor");
  std::filesystem::copy_file(built_program("kv-conductor"), program);
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0755));
  // Root may have as many threads as it likes. The bound of threads has two names, by shell.
  const std::string limited =
      "exec setpriv --reuid=54321 --regid=54321 --clear-groups /bin/sh -c '(ulimit -u 20) 2>/dev/null && ulimit -u 20 || ulimit -p 20; "
      "exec \"$0\" --http-host=127.0.0.1 --http-ports=0 --lanes=64' " +
      program;
  child_process server({"/bin/sh", "-c", limited}, {"PATH=/usr/bin:/bin"});

  BOOST_TEST(server.wait_for_end().value_or(-1000) == 1, server.output());
  BOOST_TEST(says(server.output(), "cannot start a thread for every lane lanes=64"), server.output());
}

BOOST_AUTO_TEST_CASE(pipes_in_the_place_of_files_are_not_waited_for) {
  // A quota file that is a FIFO held up the start for ever; and "ok" of --check-config must mean that the service starts.
  const kvc::test::temporary_folder folder;
  const std::string pipe = folder.file("pipe");
  BOOST_REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  for (const std::string mode : {"--check-config", "--lanes=1"}) {
    child_process server(conductor_command({mode, "--http-ports=0", "--coordinator-quota-file=" + pipe}));
    BOOST_TEST(server.wait_for_end().value_or(-1000) == (mode == "--lanes=1" ? 1 : 2), server.output());
    BOOST_TEST(says(server.output(), "it is no regular file"), server.output());
    BOOST_TEST(says(server.output(), "coordinator_quota_file"), server.output());
  }
  child_process checked(conductor_command({"--check-config", "--coordinator-quota-file=" + folder.file("none.json")}));
  BOOST_TEST(checked.wait_for_end().value_or(-1000) == 0);
  BOOST_TEST(checked.output() == "ok\n");
}

BOOST_AUTO_TEST_CASE(whatever_is_legal_starts_answers_and_stops) {
  // Ends of ranges, some of them at once: a setting that is only checked is one that nobody has started with. KVC_PROPERTY_SEED sets the
  // seed.
  const std::uint64_t first = kvc::test::setting("KVC_PROPERTY_SEED", std::random_device()());
  BOOST_TEST_MESSAGE("KVC_PROPERTY_SEED=" << first);
  constexpr std::uint64_t lives = 8;
  for (std::uint64_t seed = first; seed < first + lives; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<std::string> flags;
    std::string together;
    for (const kvc::app::field_info& field : kvc::app::config_fields()) {
      const std::string value = random() % 3 == 0 ? cheap_value(field, random) : "";
      if (!value.empty()) flags.push_back(kvc::app::flag_name(field.name) + "=" + value);
    }
    kvc::app::config_inputs inputs;
    inputs.arguments = flags;
    inputs.default_file = "/nonexistent";
    const kvc::app::configuration config = kvc::app::read_config(inputs);
    for (const std::string& each : flags) together += " " + each;
    BOOST_TEST_CONTEXT("KVC_PROPERTY_SEED=" << seed << together) {
      // Some are not legal together, which the program says.
      if (!config.errors.empty()) continue;
      conductor_process server(flags);
      BOOST_REQUIRE_MESSAGE(server.port() != 0, server.output());
      BOOST_TEST(server.wait_for("app ready"), server.output());
      BOOST_TEST(says(kvc::test::http_get(server.port(), "/healthz"), "200 OK"), server.output());
      server.send_signal(SIGTERM);
      BOOST_TEST(server.wait_for_end().value_or(-1000) == 0, server.output());
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
