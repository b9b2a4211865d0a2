// Batches of queries over HTTP: each query for itself, the answers in order.
#include <cstddef>
#include <span>
#include <string>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include "net/api_batch.hpp"
#include "net/msgpack_tape.hpp"
#include "tests/net/prompt_queries.hpp"
#include "tests/support/net/api_fixture.hpp"

BOOST_AUTO_TEST_SUITE(api_query_batch)

namespace {

using namespace kvc;
using test::api_fixture;
using test::query_for;
using test::raw_answer;
using test::ten_blocks;

}  // namespace

BOOST_AUTO_TEST_CASE(answers_batches_in_order_with_faults_in_place) {
  // One bad query yields its error object, not a failed batch; long batches yield between turns.
  api_fixture service;
  service.join("a");
  const auto prompt = ten_blocks();
  service.hold(service.find_member("a"), prompt, 0, 3);
  const std::string one = query_for(prompt);
  const std::string row = service.post("/query", one).body;

  std::string queries = one;
  std::string expected = row;
  for (int i = 0; i < 100; ++i) {
    queries += i % 10 == 0 ? R"(,{"model":"m","block_size":4,"token_ids":[-1]})" : "," + one;
    expected += i % 10 == 0 ? R"(,{"error":"token_ids must be a list of integers between 0 and 4294967295",)"
                              R"("reason":"out_of_range","field":"token_ids","index":0})"
                            : "," + row;
  }
  const raw_answer answer = service.post("/query_batch", R"({"queries":[)" + queries + "]}");
  BOOST_TEST(answer.status == 200);
  BOOST_TEST(answer.body == R"({"results":[)" + expected + "]}");
  BOOST_TEST(service.post("/query_batch", R"({"queries":[]})").body == R"({"results":[]})");
  BOOST_TEST(service.post("/query_batch", "{}").status == 400);
}

BOOST_AUTO_TEST_CASE(the_body_of_a_batch_is_there_once) {
  // The answer keeps it, and had a copy made of it by the lane: of 64 MiB in one turn.
  api_fixture service;
  service.join("a");
  std::string body = R"({"queries":[)" + query_for(ten_blocks()) + "]}" + std::string(1'000, ' ');
  net::http_request request;
  request.method = "POST";
  request.path = "/query_batch";
  request.body = body;
  request.kept_body = &body;
  const net::http_plan plan = service.api.plan(request);
  net::lane& here = service.lanes.at(0);
  auto answer = boost::asio::co_spawn(here.context, service.api.answer(here, request, plan), boost::asio::use_future);

  BOOST_TEST(answer.get().body == R"({"results":[)" + service.post("/query", query_for(ten_blocks())).body + "]}");
  BOOST_TEST(body.capacity() == std::string().capacity());
}

BOOST_AUTO_TEST_CASE(a_query_that_is_nested_too_deep_costs_no_other) {
  api_fixture service;
  service.join("a");
  const auto prompt = ten_blocks();
  const std::string one = query_for(prompt);
  const std::string row = service.post("/query", one).body;
  const auto deep = [](std::size_t levels) { return std::string(levels, '[') + "1" + std::string(levels, ']'); };
  const std::string bad = query_for(prompt, R"(,"extra_keys":)" + deep(9));
  const std::string good = query_for(prompt, R"(,"unknown":)" + deep(190));

  const std::string results = service.post("/query_batch", R"({"queries":[)" + one + "," + bad + "," + good + "]}").body;
  BOOST_TEST(results.starts_with(R"({"results":[)" + row + R"(,{"error":"an entry of extra_keys must be)"), results);
  BOOST_TEST(results.ends_with(R"("field":"extra_keys","index":0},)" + row + "]}"), results);

  // MessagePack alike: what a query may have where it stands alone it may have in a batch.
  std::string packed;
  net::msgpack_writer out(packed);
  const auto write_query = [&](const char* more) {
    out.map(4);
    out.string("model");
    out.string("m");
    out.string("block_size");
    out.unsigned_integer(4);
    out.string("token_ids");
    out.array(0);
    out.string(more);
    for (int i = 0; i < 40; ++i) out.array(1);
    out.nil();
  };
  out.map(1);
  out.string("queries");
  out.array(2);
  write_query("extra_keys");
  write_query("unknown");
  const std::string answers =
      service.post("/query_batch", packed, {{"Content-Type", "application/msgpack"}, {"Accept", "application/json"}}).body;
  BOOST_TEST(answers.starts_with(R"({"results":[{"error":"an entry of extra_keys must be)"), answers);
  BOOST_TEST(answers.ends_with(R"({"default":{"a":{"longest_matched":0,"GPU":0,"DP":{"0":0},"CPU":0,"DISK":0}}}]})"), answers);
}

BOOST_AUTO_TEST_CASE(a_batch_whose_answer_is_long_is_answered_whole_while_it_is_sent) {
  // Short questions about a large fleet have long answers, of which no more than a piece is kept.
  api_fixture service;
  for (int i = 0; i < 40; ++i) service.join("an-instance-with-quite-a-name-" + std::to_string(100 + i));
  const auto prompt = ten_blocks();
  service.hold(service.find_member("an-instance-with-quite-a-name-107"), prompt, 0, 3);
  const std::string row = service.post("/query", query_for(prompt)).body;
  std::string queries;
  std::string expected;
  std::size_t asked = 0;
  for (; expected.size() < 3 * net::batch_answer::longest_whole; ++asked) {
    queries += (asked == 0 ? "" : ",") + query_for(prompt);
    expected += (asked == 0 ? "" : ",") + row;
  }

  const raw_answer answer = service.post("/query_batch", R"({"queries":[)" + queries + "]}");
  BOOST_TEST(answer.status == 200);
  BOOST_TEST(answer.header("transfer-encoding") == "chunked");
  BOOST_TEST((answer.body == R"({"results":[)" + expected + "]}"));

  const test::header_list packed{{"Accept", "application/msgpack"}};
  const raw_answer in_pieces = service.post("/query_batch", R"({"queries":[)" + queries + "]}", packed);
  net::msgpack_tape tape;
  BOOST_REQUIRE(!tape.parse(std::as_bytes(std::span(in_pieces.body))));
  BOOST_TEST(tape.nodes()[1].text() == "results");
  BOOST_TEST(tape.nodes()[2].length == asked);
}

BOOST_AUTO_TEST_SUITE_END()
