// Which endpoints are connected to directly, and where they are.
#include "net/publisher_address.hpp"

#include <string>
#include <string_view>
#include <sys/socket.h>
#include <sys/un.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(publisher_addresses)

namespace {

using boost::asio::ip::tcp;
using kvc::net::publisher_address;
using local = boost::asio::local::stream_protocol;
using any_address = boost::asio::generic::stream_protocol::endpoint;

struct network_place {
  std::string_view endpoint;
  const char* host;
  std::uint16_t port;
};

/// As many bytes as the system has room for at most, one is for a zero.
const std::string longest_path = "/" + std::string(sizeof(sockaddr_un::sun_path) - 2, 'p');

}  // namespace

BOOST_AUTO_TEST_CASE(an_address_and_a_port_are_connected_to_as_they_are_written) {
  for (const auto& [endpoint, host, port] : {
           network_place{"tcp://127.0.0.1:5557", "127.0.0.1", 5557},
           network_place{"tcp://10.1.2.3:1", "10.1.2.3", 1},
           network_place{"tcp://10.1.2.3:65535", "10.1.2.3", 65'535},
           network_place{"tcp://0.0.0.0:5557", "0.0.0.0", 5557},  // this host, to whoever connects
           network_place{"tcp://[::1]:5557", "::1", 5557},
           network_place{"tcp://[2001:db8::7]:80", "2001:db8::7", 80},
           network_place{"tcp://[::ffff:10.1.2.3]:80", "::ffff:10.1.2.3", 80},
       }) {
    BOOST_TEST_CONTEXT(endpoint) {
      const auto found = publisher_address(endpoint);
      BOOST_TEST_REQUIRE(found.has_value());
      BOOST_TEST((*found == any_address(tcp::endpoint(boost::asio::ip::make_address(host), port))));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_path_and_an_abstract_name_are_connected_to_as_the_kernel_knows_them) {
  BOOST_TEST((publisher_address("ipc:///tmp/kv.sock") == any_address(local::endpoint("/tmp/kv.sock"))));
  BOOST_TEST((publisher_address("ipc://beside/kv.sock") == any_address(local::endpoint("beside/kv.sock"))));
  BOOST_TEST((publisher_address("ipc://" + longest_path) == any_address(local::endpoint(longest_path))));
  const auto abstract = publisher_address("ipc://@engine");
  BOOST_TEST_REQUIRE(abstract.has_value());
  BOOST_TEST((*abstract == any_address(local::endpoint(std::string("\0engine", 7)))));
  // The kernel counts zeros at the end as part of an abstract name: libzmq binds it without any.
  BOOST_TEST(abstract->size() == offsetof(sockaddr_un, sun_path) + 7);
}

BOOST_AUTO_TEST_CASE(what_is_to_be_looked_up_or_is_no_address_is_left_to_the_transport) {
  for (const std::string& endpoint : {
           // Names, and what means several addresses.
           std::string("tcp://localhost:5557"),
           std::string("tcp://engine-0.engines.svc:5557"),
           std::string("tcp://*:5557"),
           std::string("tcp://eth0:5557"),
           std::string("tcp://10.1.2.4:0;10.1.2.3:5557"),
           // Ports that nobody has.
           std::string("tcp://127.0.0.1:0"),
           std::string("tcp://127.0.0.1:65536"),
           std::string("tcp://127.0.0.1:99999999999999999999"),
           std::string("tcp://127.0.0.1:-1"),
           std::string("tcp://127.0.0.1:+1"),
           std::string("tcp://127.0.0.1: 1"),
           std::string("tcp://127.0.0.1:1 "),
           std::string("tcp://127.0.0.1:1x"),
           std::string("tcp://127.0.0.1:*"),
           std::string("tcp://127.0.0.1:"),
           std::string("tcp://127.0.0.1"),
           std::string("tcp://[::1]"),
           // No addresses.
           std::string("tcp://"),
           std::string("tcp://:5557"),
           std::string("tcp://[]:5557"),
           std::string("tcp://[:5557"),
           std::string("tcp://::1:5557"),
           std::string("tcp://[127.0.0.1]:5557"),
           std::string("tcp://127.0.0.256:1"),
           std::string("tcp://127.1:5557"),
           std::string("tcp:/127.0.0.1:5557"),
           std::string("TCP://127.0.0.1:5557"),
           // No paths.
           std::string("ipc://"),
           std::string("ipc://*"),
           std::string("ipc://@"),
           "ipc://" + longest_path + "p",
           "ipc://@" + longest_path,
           // Other transports, and rubbish.
           std::string("inproc://engine"),
           std::string("udp://127.0.0.1:5557"),
           std::string("pgm://127.0.0.1;239.0.0.1:5557"),
           std::string("ws://127.0.0.1:80"),
           std::string("127.0.0.1:5557"),
           std::string("nowhere"),
           std::string(),
           std::string("://"),
           std::string(64, '\xff'),
       }) {
    BOOST_TEST_CONTEXT(endpoint) {
      BOOST_TEST(!publisher_address(endpoint).has_value());
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
