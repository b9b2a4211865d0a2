// What /readyz says of streams that are not whole, beside its status.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/test/unit_test.hpp>

#include "net/unwhole_streams.hpp"
#include "tests/support/net/payloads.hpp"
#include "tests/support/net/report_fixture.hpp"

BOOST_AUTO_TEST_SUITE(readiness)

namespace {

using namespace kvc;
namespace json = boost::json;
using core::stream_state;
using test::fake_publisher;
using test::stored_payload;
using test::tokens_from;

test::api_settings settings_with(std::chrono::milliseconds ready_grace) {
  test::api_settings settings;
  settings.streams.ready_grace = ready_grace;
  settings.streams.stale_after = std::chrono::milliseconds(200);
  return settings;
}

/// Three engines: "a" has lost a batch, "b" has gone, "c" is well.
struct troubled_fleet : test::report_fixture {
  explicit troubled_fleet(std::chrono::milliseconds ready_grace) : report_fixture(settings_with(ready_grace)) {
    enrol(lossy, "a", "vLLM", R"(,"expect_idle":true)");
    enrol(leaving, "b");
    enrol(healthy, "c");
    for (const char* each : {"a", "b", "c"}) BOOST_REQUIRE(reaches(each, stream_state::whole));
    lossy.publish(stored_payload({1}, {}, tokens_from(0, 1)));
    lossy.lose_forever();
    lossy.publish(stored_payload({2}, {}, tokens_from(4, 1)));
    leaving.stop();
    BOOST_REQUIRE(reaches("a", stream_state::incomplete));
    BOOST_REQUIRE(reaches("b", stream_state::stale));
  }

  fake_publisher lossy{engine, context, {}};
  fake_publisher leaving{engine, context, {}};
  fake_publisher healthy{engine, context, {}};
};

const std::string what_is_wrong =
    R"("streams":{"count":3,"joining":0,"catching_up":0,"whole":1,"recovering":0,"incomplete":1,"stale":1,"stopped":0},)"
    R"("not_whole":[{"instance_id":"a","tenant_id":"default","dp_rank":0,"class":"engine","state":"incomplete"},)"
    R"({"instance_id":"b","tenant_id":"default","dp_rank":0,"class":"engine","state":"stale"}])";

}  // namespace

BOOST_AUTO_TEST_CASE(a_fleet_that_is_whole_is_ready_and_no_more_is_said) {
  test::report_fixture service(settings_with(std::chrono::hours(1)));
  fake_publisher healthy(service.engine, service.context, {});
  BOOST_TEST(service.get("/readyz").body == R"({"status":"ready"})");
  service.enrol(healthy, "c");
  BOOST_REQUIRE(service.reaches("c", stream_state::whole));

  BOOST_TEST(service.get("/readyz").body == R"({"status":"ready"})");
}

BOOST_AUTO_TEST_CASE(streams_past_their_grace_hold_back_nothing_and_are_named) {
  // One engine's loss must not have the gateways turn away from all, and nobody may take the 200 for "all is well".
  troubled_fleet service(std::chrono::milliseconds(0));

  const auto answer = service.get("/readyz");

  BOOST_TEST(answer.status == 200);
  BOOST_TEST(answer.body == R"({"status":"ready",)" + what_is_wrong + "}");
}

BOOST_AUTO_TEST_CASE(streams_that_hold_back_readiness_are_named_as_well) {
  // The sentences are for people; who wants to act on a stream should not have to take them apart.
  troubled_fleet service(std::chrono::hours(1));

  const auto answer = service.get("/readyz");

  BOOST_TEST(answer.status == 503);
  BOOST_TEST(answer.body == R"({"status":"not ready","error":"some streams are not whole yet","reason":"overloaded",)"
                            R"("reasons":["stream a|default|0 is incomplete","stream b|default|0 is stale"],)" +
                                what_is_wrong + "}");
}

BOOST_AUTO_TEST_CASE(of_many_streams_the_most_troubled_are_named) {
  // A large fleet that has just begun must not make each balancer's question long.
  test::report_fixture service(settings_with(std::chrono::milliseconds(0)));
  constexpr std::size_t many = net::unwhole_streams::most_named + 4;
  for (std::size_t i = 0; i < many; ++i)
    service.enrol_at("tcp://127.0.0.1:9", "", "i" + std::to_string(100 + i), "vLLM", R"(,"expect_idle":true)");
  fake_publisher lossy(service.engine, service.context, {});
  service.enrol(lossy, "z", "vLLM", R"(,"expect_idle":true)");
  BOOST_REQUIRE(service.reaches("z", stream_state::whole));
  lossy.publish(stored_payload({1}, {}, tokens_from(0, 1)));
  lossy.lose_forever();
  lossy.publish(stored_payload({2}, {}, tokens_from(4, 1)));
  BOOST_REQUIRE(service.reaches("z", stream_state::incomplete));

  const json::object answer = json::parse(service.get("/readyz").body).as_object();

  BOOST_TEST(answer.at("streams").at("count").as_int64() == static_cast<std::int64_t>(many + 1));
  BOOST_TEST(answer.at("streams").at("joining").as_int64() == static_cast<std::int64_t>(many));
  BOOST_TEST(answer.at("streams").at("incomplete").as_int64() == 1);
  const json::array& named = answer.at("not_whole").as_array();
  BOOST_REQUIRE(named.size() == net::unwhole_streams::most_named);
  BOOST_TEST(named[0].at("instance_id").as_string() == "z");
  for (std::size_t i = 1; i < named.size(); ++i) BOOST_TEST(named[i].at("instance_id").as_string() == "i" + std::to_string(99 + i));
}

BOOST_AUTO_TEST_CASE(the_same_is_said_in_message_pack) {
  // A container that announces another size than it has spoils all behind it.
  troubled_fleet service(std::chrono::milliseconds(0));
  const std::string body = service.get("/readyz", {{"Accept", "application/msgpack"}}).body;

  BOOST_REQUIRE(!body.empty());
  BOOST_TEST(static_cast<unsigned char>(body.front()) == 0x83U);  // a map of three
  BOOST_TEST(body.substr(body.size() - 5) == "stale");
}

BOOST_AUTO_TEST_SUITE_END()
