// Links by themselves: how tests make them, and wait for what they bring.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include <boost/asio/awaitable.hpp>
#include <boost/test/unit_test.hpp>

#include "net/publisher_address.hpp"
#include "net/publisher_link.hpp"
#include "tests/support/net/wire_fixture.hpp"

namespace kvc::test {

/// Tries again soon, and tells of a breach soon.
inline net::link_options quick_link() {
  net::link_options chosen;
  chosen.shortest_pause = std::chrono::milliseconds(5);
  chosen.longest_pause = std::chrono::milliseconds(10);
  chosen.after_a_breach = std::chrono::milliseconds(30);
  return chosen;
}

/// The same, and of what nobody receives few messages wait.
inline net::link_options narrow_link() {
  net::link_options chosen = quick_link();
  chosen.most_waiting = 10;
  return chosen;
}

inline net::publisher_link make_link(wire& on, std::string_view prefix = {}, const net::link_options& options = quick_link()) {
  return {on.context.get_executor(), on.chunks, prefix, options};
}

inline void connect(net::publisher_link& link, std::string_view endpoint) {
  const auto address = net::publisher_address(endpoint);
  BOOST_TEST_REQUIRE(address.has_value());
  BOOST_TEST_REQUIRE(!link.connect(*address));
}

/// Until what is known of the connections is as wanted. What is there is taken in, for whoever receives: an end is known before that, but
/// nothing comes behind it.
template <class Holds>
boost::asio::awaitable<void> learn(net::publisher_link& of, Holds holds) {
  const auto patience = soon();
  of.take_in();
  while (!holds(of.poll_connection()) && wire_clock::now() < patience) {
    co_await one_turn();
    of.take_in();
  }
  BOOST_TEST_REQUIRE(holds(of.poll_connection()));
}

inline bool is_connected(const net::connection_seen& seen) {
  return seen.connected;
}

/// The next message is one of `topic` and this number, with more behind it or not, of this connection.
inline boost::asio::awaitable<void> expect(net::publisher_link& link, std::string_view number, std::uint64_t connection) {
  net::publisher_message message;
  const auto until = soon();
  const net::error_code failed = co_await receive(link, message, until);
  BOOST_TEST_REQUIRE(!failed);
  BOOST_TEST_REQUIRE(message.size() == 2U);
  BOOST_TEST(text_of(message, 0) == "topic");
  BOOST_TEST(text_of(message, 1).substr(0, number.size()) == number);
  BOOST_TEST(message.connection() == connection);
}

inline boost::asio::awaitable<void> get_heard(net::zmq_socket& publisher, net::publisher_link& link, std::string_view topic = "topic") {
  return get_heard<net::publisher_message>(publisher, link, topic);
}

}  // namespace kvc::test
