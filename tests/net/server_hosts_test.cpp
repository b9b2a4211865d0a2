// Hosts as people and servers write them, and requests to them.
#include <string>
#include <string_view>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/test/unit_test.hpp>

#include "net/host_text.hpp"
#include "tests/support/net/coordinator_fixture.hpp"
#include "tests/support/net/stub_mp_server.hpp"

BOOST_AUTO_TEST_SUITE(server_hosts)

namespace {

using namespace kvc::test;
using kvc::net::host_field;
using kvc::net::host_to_find;

constexpr const char* wanted = R"({"instance_id":"a","model_name":"m","world_size":1})";

raw_answer join_at(coordinator_fixture& service, std::string_view ip_as_json, std::uint16_t port) {
  return service.call("POST", "/instances",
                      R"({"ip":)" + std::string(ip_as_json) + R"(,"http_port":)" + std::to_string(port) + R"(,"instance_id":"a"})");
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_host_is_found_without_its_brackets_and_named_without_its_zone) {
  for (const std::string_view host : {"engine-0.pods", "10.0.0.1", "::1", "fe80::1%eth0"}) BOOST_TEST(host_to_find(host).value() == host);
  BOOST_TEST(host_to_find("[::1]").value() == "::1");
  BOOST_TEST(host_to_find("[fe80::1%2]").value() == "fe80::1%2");
  using namespace std::string_view_literals;
  for (const std::string_view none : {""sv, "a b"sv, "::1%1\r\nX: y"sv, "a\nb"sv, "a\tb"sv, "a\0b"sv, "\x7F"sv})
    BOOST_TEST(!host_to_find(none).has_value(), none);
  BOOST_TEST(host_field("engine-0.pods", 80) == "engine-0.pods:80");
  BOOST_TEST(host_field("::1", 8080) == "[::1]:8080");
  BOOST_TEST(host_field("fe80::1%eth0", 8080) == "[fe80::1]:8080");
}

BOOST_AUTO_TEST_CASE(a_server_in_brackets_is_reached_and_shown_as_it_was_told) {
  // Servers on IPv6 have to register so, as the other service puts what they tell into URLs.
  stub_mp_server server([](const stub_mp_server::asked&) -> stub_mp_server::told { return {202, R"({"chunks":1})"}; });
  coordinator_fixture service;
  BOOST_REQUIRE(join_at(service, R"("[127.0.0.1]")", server.port()).status == 200);

  BOOST_TEST(service.call("POST", "/cache/prefetches", wanted).status == 200);
  BOOST_TEST(json_of(service.call("GET", "/instances")).at("instances").at(0).at("ip").as_string() == "[127.0.0.1]");
}

BOOST_AUTO_TEST_CASE(a_host_cannot_add_lines_to_a_request) {
  stub_mp_server server;
  coordinator_fixture service;
  (void)join_at(service, R"("::1%1\r\nX-Injected: yes")", server.port());

  const raw_answer refused = service.call("POST", "/cache/prefetches", wanted);
  BOOST_TEST(refused.status == 502);
  BOOST_TEST(refused.body.find("Host not found") != std::string::npos, refused.body);
  BOOST_TEST(server.so_far().empty());
}

BOOST_AUTO_TEST_SUITE_END()
