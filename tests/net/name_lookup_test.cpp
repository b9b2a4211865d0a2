#include "net/name_lookup.hpp"

#include <chrono>
#include <string>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include "net/endpoint_host.hpp"

BOOST_AUTO_TEST_SUITE(name_lookups)

namespace {

namespace asio = boost::asio;
using namespace kvc::net;
using clock = std::chrono::steady_clock;

struct lookup_fixture {
  asio::io_context context;
  name_lookup names{context.get_executor()};

  result<std::vector<asio::ip::address>> find(std::string host, clock::time_point deadline) {
    auto found = asio::co_spawn(context, names.find(std::move(host), deadline), asio::use_future);
    context.restart();
    context.run();
    return found.get();
  }
};

const asio::ip::address loopback = asio::ip::address_v4::loopback();

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_name_has_addresses_and_an_address_is_one, lookup_fixture) {
  const auto soon = clock::now() + std::chrono::seconds(20);
  const auto named = find("localhost", soon);
  BOOST_REQUIRE(named.has_value());
  BOOST_TEST(named->front().is_loopback());
  const auto numeric = find("127.0.0.1", soon);
  BOOST_REQUIRE(numeric.has_value());
  BOOST_TEST((numeric->front() == loopback));
  BOOST_TEST(find("no-such-host.invalid", soon).has_error());
}

BOOST_FIXTURE_TEST_CASE(nobody_waits_beyond_the_deadline_or_after_giving_up, lookup_fixture) {
  BOOST_TEST((find("localhost", clock::now() - std::chrono::seconds(1)).has_error()));

  auto asked = asio::co_spawn(context, names.find("no-such-host.invalid", clock::now() + std::chrono::hours(1)), asio::use_future);
  context.restart();
  context.poll();
  names.cancel();
  context.run();
  BOOST_TEST(asked.get().has_error());
}

BOOST_AUTO_TEST_CASE(the_name_in_an_endpoint_gives_way_to_an_address) {
  BOOST_TEST(name_in_endpoint("tcp://engine-0.pods:5557") == "engine-0.pods");
  for (const char* none : {"tcp://127.0.0.1:5557", "tcp://[::1]:5557", "tcp://*:5557", "ipc:///run/kv.sock", "tcp://5557", ""})
    BOOST_TEST(name_in_endpoint(none).empty(), none);
  BOOST_TEST(endpoint_at("tcp://engine-0.pods:5557", loopback) == "tcp://127.0.0.1:5557");
  BOOST_TEST(endpoint_at("tcp://engine-0.pods:5557", asio::ip::address_v6::loopback()) == "tcp://[::1]:5557");
}

BOOST_AUTO_TEST_SUITE_END()
