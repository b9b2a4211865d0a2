#include "app/notify_channel.hpp"

#include <array>
#include <cstddef>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>

#include "tests/support/temporary_folder.hpp"

BOOST_AUTO_TEST_SUITE(notify_channel)

using namespace kvc;
using outcome = app::notify_channel::outcome;

namespace {

/// A service manager's socket.
class manager {
 public:
  /// `address` as NOTIFY_SOCKET has it.
  explicit manager(const std::string& address) : socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    address.copy(at.sun_path, sizeof(at.sun_path) - 1);
    if (address.starts_with('@')) at.sun_path[0] = '\0';
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address.size());
    BOOST_REQUIRE(::bind(socket_, reinterpret_cast<const sockaddr*>(&at), length) == 0);
  }
  ~manager() { ::close(socket_); }
  manager(const manager&) = delete;
  manager& operator=(const manager&) = delete;

  /// The oldest message that nobody has read; empty: there is none.
  [[nodiscard]] std::string heard() const {
    std::array<char, 256> message{};
    const ssize_t got = ::recv(socket_, message.data(), message.size(), MSG_DONTWAIT);
    return got < 0 ? std::string() : std::string(message.data(), static_cast<std::size_t>(got));
  }

 private:
  int socket_;
};

}  // namespace

BOOST_AUTO_TEST_CASE(messages_reach_a_path_and_an_abstract_address) {
  // systemd uses the one, containers the other.
  const test::temporary_folder folder;
  for (const std::string& address : {folder.file("socket"), "@kvc-test-" + std::to_string(getpid())}) {
    const manager hears(address);
    const app::notify_channel channel(address);
    BOOST_TEST(channel.is_open());
    BOOST_TEST((channel.tell("READY=1\nSTATUS=ready") == outcome::sent));
    BOOST_TEST(hears.heard() == "READY=1\nSTATUS=ready");
  }
}

BOOST_AUTO_TEST_CASE(a_manager_that_does_not_read_is_not_waited_for) {
  // sd_notify waited: a lane that told the manager something answered nobody until the manager read on.
  const test::temporary_folder folder;
  const manager hangs(folder.file("socket"));
  const app::notify_channel channel(folder.file("socket"));
  std::size_t taken = 0;
  constexpr std::size_t more_than_any_queue = 1'000'000;
  while (taken < more_than_any_queue && channel.tell("WATCHDOG=1") == outcome::sent) ++taken;
  BOOST_TEST(taken < more_than_any_queue);
  BOOST_TEST((channel.tell("WATCHDOG=1") == outcome::full));

  BOOST_TEST(hangs.heard() == "WATCHDOG=1");
  BOOST_TEST((channel.tell("READY=1") == outcome::sent));
}

BOOST_AUTO_TEST_CASE(without_a_manager_nothing_happens) {
  // The ordinary case of a service that is started by hand.
  const test::temporary_folder folder;
  BOOST_TEST((app::notify_channel("").tell("READY=1") == outcome::nobody));
  BOOST_TEST((app::notify_channel(folder.file("none")).tell("READY=1") == outcome::nobody));
  for (const std::string& odd : {std::string("vsock:2:1"), std::string("relative"), std::string("@"), "/" + std::string(200, 'a')}) {
    BOOST_TEST(!app::notify_channel(odd).is_open(), odd);
  }
}

BOOST_AUTO_TEST_SUITE_END()
