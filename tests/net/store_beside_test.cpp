// Long bodies about stores are read beside the lanes: queries that the same lane answers would wait for all of it.
#include <string>

#include <boost/test/unit_test.hpp>

#include "tests/support/net/beside.hpp"
#include "tests/support/net/store_fixture.hpp"

BOOST_AUTO_TEST_SUITE(store_beside)

namespace {

using kvc::core::replica_kind;
using kvc::test::has_thread_beside;
using kvc::test::more_than_a_turn;
using kvc::test::raw_answer;
using kvc::test::store_fixture;

struct row {
  const char* path;
  std::string body;
};

struct outcome {
  raw_answer answer;
  bool was_beside = false;
};

outcome outcome_of(const char* path, const std::string& body) {
  store_fixture service;
  service.open_pool();
  service.publish({store_fixture::listed("there", {replica_kind::memory})});
  BOOST_REQUIRE(service.becomes(R"({"key":"there"})", R"({"exists":1})"));
  BOOST_TEST(!has_thread_beside(), body.substr(0, 100));
  const raw_answer answer = service.call("POST", path, body);
  return {answer, has_thread_beside()};
}

}  // namespace

BOOST_AUTO_TEST_CASE(long_bodies_get_the_answers_of_short_ones) {
  const row rows[] = {
      {"/exist", R"({"keys":["there","not there",""]})"},
      {"/exist", R"({"key":"there","prefetch":true})"},
      {"/exist", R"({"key":"there","wait_ms":1})"},
      {"/exist", R"({"key":"there","keys":[]})"},
      {"/exist", R"({"keys":["there"],"prefetch":7})"},
      {"/exist", R"({"keys":["there"})"},
      {"/stores", R"({"backend_id":"store-2","type":"webhook","url":"http://127.0.0.1:9/exist"})"},
      {"/stores", R"({"backend_id":"store-2","type":"floppy","url":"http://127.0.0.1:9/exist"})"},
  };
  for (const row& each : rows) {
    const outcome expected = outcome_of(each.path, each.body);

    const outcome was = outcome_of(each.path, each.body + std::string(more_than_a_turn, ' '));

    BOOST_TEST(was.answer.status == expected.answer.status, each.body);
    BOOST_TEST(was.answer.body == expected.answer.body, each.body);
    BOOST_TEST(!expected.was_beside, each.body);
    BOOST_TEST(was.was_beside, each.body);
  }
}

BOOST_AUTO_TEST_SUITE_END()
