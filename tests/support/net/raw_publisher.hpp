// A publisher in bytes: whoever keeps to the protocol, or not, says and reads exactly what the test wants.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <poll.h>
#include <string>
#include <string_view>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/test/unit_test.hpp>

namespace kvc::test {

/// The bytes of ZMTP, written down once more so that the tests do not believe the codec.
namespace raw {

using namespace std::string_literals;

inline const std::string signature = "\xff\0\0\0\0\0\0\0\1\x7f"s;

inline std::string greeting(std::string_view mechanism = "NULL") {
  std::string said = signature + "\3\0"s;
  said += mechanism;
  said.resize(64, '\0');
  return said;
}

/// Of a publisher that speaks 2.0.
inline std::string older_greeting() {
  return signature + "\1\1";
}

inline std::string big_endian(std::uint64_t value, unsigned bytes) {
  std::string said;
  for (unsigned i = bytes; i-- > 0;) said += static_cast<char>(value >> (8 * i) & 0xff);
  return said;
}

/// Flags and a length; the long form is for whoever needs it.
inline std::string head(char flags, std::uint64_t size) {
  if (size < 256) return std::string(1, flags) + static_cast<char>(size);
  return std::string(1, static_cast<char>(flags | 2)) + big_endian(size, 8);
}

inline std::string message(std::initializer_list<std::string_view> frames) {
  std::string said;
  std::size_t left = frames.size();
  for (const std::string_view each : frames) {
    said += head(--left > 0 ? '\1' : '\0', each.size());
    said += each;
  }
  return said;
}

inline std::string command(std::string_view name, std::string_view data) {
  std::string said = head('\4', 1 + name.size() + data.size());
  said += static_cast<char>(name.size());
  said += name;
  said += data;
  return said;
}

inline std::string ready(std::string_view socket_type) {
  return command("READY", "\x0bSocket-Type"s + big_endian(socket_type.size(), 4) + std::string(socket_type));
}

/// What a subscriber to `prefix` says by its handshake, in full.
inline std::string subscriber_says(std::string_view prefix) {
  const std::string wanted = "\1" + std::string(prefix);
  return greeting() + ready("SUB") + message({wanted});
}

}  // namespace raw

/// Listens at a port of loopback; has one connection at a time. What does not come to pass within 20 s fails the test. Lane: the context's.
class raw_publisher {
 public:
  explicit raw_publisher(boost::asio::io_context& context)
      : acceptor_(context, {boost::asio::ip::address_v4::loopback(), 0}), socket_(context), patience_(context, std::chrono::seconds(20)) {
    patience_.async_wait([this](const boost::system::error_code& cancelled) {
      if (!cancelled) leave();
    });
  }

  [[nodiscard]] std::string endpoint() const { return "tcp://127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port()); }
  [[nodiscard]] boost::asio::generic::stream_protocol::endpoint address() const { return acceptor_.local_endpoint(); }

  /// The next connection, in place of the one before.
  [[nodiscard]] boost::asio::awaitable<void> accept() {
    hang_up();
    boost::system::error_code failed;
    co_await acceptor_.async_accept(socket_, boost::asio::redirect_error(boost::asio::use_awaitable, failed));
    BOOST_TEST_REQUIRE(!failed);
    socket_.set_option(boost::asio::ip::tcp::no_delay(true));
  }
  /// Somebody waits to be accepted.
  [[nodiscard]] bool has_caller() {
    pollfd asked{acceptor_.native_handle(), POLLIN, 0};
    return ::poll(&asked, 1, 0) == 1;
  }

  [[nodiscard]] boost::asio::awaitable<void> say(std::string bytes) {
    boost::system::error_code failed;
    co_await boost::asio::async_write(socket_, boost::asio::buffer(bytes), boost::asio::redirect_error(boost::asio::use_awaitable, failed));
    BOOST_TEST_REQUIRE(!failed);
  }
  /// As many of them as the kernel takes at the moment.
  [[nodiscard]] std::size_t offer(std::string_view bytes) {
    socket_.non_blocking(true);
    boost::system::error_code full;
    return socket_.write_some(boost::asio::buffer(bytes), full);
  }
  /// So many bytes; fewer when the connection ends before.
  [[nodiscard]] boost::asio::awaitable<std::string> read(std::size_t bytes) {
    std::string heard(bytes, '\0');
    boost::system::error_code failed;
    const std::size_t count = co_await boost::asio::async_read(socket_, boost::asio::buffer(heard),
                                                               boost::asio::redirect_error(boost::asio::use_awaitable, failed));
    heard.resize(count);
    co_return heard;
  }
  /// Until the other side ends the connection.
  [[nodiscard]] boost::asio::awaitable<void> hear_the_end() {
    constexpr std::size_t at_once = 1'024;
    for (bool ended = false; !ended;) {
      const std::string heard = co_await read(at_once);
      ended = heard.size() < at_once;
    }
    BOOST_TEST_REQUIRE(acceptor_.is_open(), "nobody ended the connection");
  }
  /// As a publisher of 3.0 does. False: the subscriber did not stay for it.
  [[nodiscard]] boost::asio::awaitable<bool> shake_hands(std::string_view prefix = {}) {
    const std::string expected = raw::subscriber_says(prefix);
    const std::string said = raw::greeting() + raw::ready("PUB");
    boost::system::error_code failed;
    co_await boost::asio::async_write(socket_, boost::asio::buffer(said), boost::asio::redirect_error(boost::asio::use_awaitable, failed));
    const std::string heard = co_await read(expected.size());
    co_return !failed && heard == expected;
  }
  /// Accepts until a subscriber stays for the handshake: an impatient one may not, on a busy machine.
  [[nodiscard]] boost::asio::awaitable<void> greet(std::string_view prefix = {}) {
    bool agreed = false;
    while (!agreed) {
      co_await accept();
      agreed = co_await shake_hands(prefix);
    }
  }

  /// As a publisher of 2.0 does, to a subscriber of libzmq's. Answers the topics subscribed to.
  [[nodiscard]] boost::asio::awaitable<std::string> shake_hands_as_older() {
    const std::string greeting = raw::older_greeting();
    const std::string identity = raw::message({""});
    co_await say(greeting);
    const std::string greeted = co_await read(greeting.size());
    BOOST_TEST_REQUIRE(greeted == raw::signature + "\3\2");  // the newest that it speaks, and that it subscribes
    co_await say(identity);
    const std::string identified = co_await read(identity.size());
    BOOST_TEST_REQUIRE(identified == identity);
    constexpr std::size_t head_bytes = 2;
    const std::string head = co_await read(head_bytes);
    BOOST_TEST_REQUIRE(head.size() == head_bytes);
    const std::string wanted = co_await read(static_cast<unsigned char>(head[1]));
    BOOST_TEST_REQUIRE(wanted.substr(0, 1) == "\1");
    co_return wanted.substr(1);
  }

  /// Until all that was said has arrived in the other side's kernel.
  [[nodiscard]] boost::asio::awaitable<void> let_arrive() {
    boost::asio::steady_timer turn(socket_.get_executor());
    int on_its_way = 0;
    while (::ioctl(socket_.native_handle(), TIOCOUTQ, &on_its_way) == 0 && on_its_way > 0) {
      turn.expires_after(std::chrono::milliseconds(1));
      co_await turn.async_wait(boost::asio::use_awaitable);
    }
    BOOST_TEST_REQUIRE(on_its_way == 0);
  }
  /// Says nothing more, and listens still.
  void end() {
    boost::system::error_code ignored;
    (void)socket_.shutdown(boost::asio::ip::tcp::socket::shutdown_send, ignored);
  }
  void hang_up() {
    boost::system::error_code ignored;
    (void)socket_.close(ignored);
  }
  /// As the system does for a process that is killed with something unread.
  void reset() {
    socket_.set_option(boost::asio::socket_base::linger(true, 0));
    hang_up();
  }
  /// Nobody is here any more.
  void leave() {
    boost::system::error_code ignored;
    (void)acceptor_.close(ignored);
    hang_up();
  }

 private:
  boost::asio::ip::tcp::acceptor acceptor_;
  boost::asio::ip::tcp::socket socket_;
  boost::asio::steady_timer patience_;
};

}  // namespace kvc::test
