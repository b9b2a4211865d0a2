// What takes long is done beside the lanes: pages about the whole fleet, and the reading of long bodies.
#include <cstddef>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "tests/support/net/api_fixture.hpp"
#include "tests/support/net/beside.hpp"

BOOST_AUTO_TEST_SUITE(api_beside)

namespace {

using kvc::test::api_fixture;
using kvc::test::has_thread_beside;
using kvc::test::more_than_a_turn;
using kvc::test::raw_answer;
using kvc::test::raw_client;

struct row {
  const char* path;
  std::string body;
};

}  // namespace

BOOST_AUTO_TEST_CASE(pages_about_the_whole_fleet_are_made_beside_the_lanes) {
  // A thousand streams have some megabytes of metrics: queries of the lane that was asked for them would wait for all of it.
  for (const char* path : {"/metrics", "/services", "/workers", "/global_view"}) {
    api_fixture service;
    service.join("a");
    BOOST_TEST(!has_thread_beside(), path);

    const raw_answer page = service.get(path);

    BOOST_TEST(page.status == 200, path);
    BOOST_TEST(page.body.find("a") != std::string::npos, path);
    BOOST_TEST(has_thread_beside(), path);
  }
}

BOOST_AUTO_TEST_CASE(many_who_ask_at_once_each_get_the_page_they_asked_for) {
  // They share what is made, but not with those who asked about another instance, in another form, or before something changed.
  api_fixture service;
  service.join("first-engine");
  service.join("second-engine");
  struct question {
    std::string target;
    std::string form;
    bool tells_first;
    bool tells_second;
  };
  std::vector<question> questions;
  for (const std::string path : {"/services", "/workers"}) {
    for (const char* form : {"application/json", "application/msgpack"}) {
      questions.push_back({path, form, true, true});
      questions.push_back({path + "?instance_id=first-engine", form, true, false});
      questions.push_back({path + "?instance_id=second-engine", form, false, true});
      questions.push_back({path + "?instance_id=nobody", form, false, false});
    }
  }
  std::vector<raw_client> clients;
  for (int round = 0; round < 5; ++round) {
    for (const question& each : questions) {
      clients.emplace_back(service.port());
      clients.back().send(raw_client::request("GET", each.target, {}, {{"Accept", each.form}}));
    }
  }
  service.join("newest-engine");
  BOOST_TEST(service.get("/services").body.find("newest-engine") != std::string::npos);
  for (std::size_t i = 0; i < clients.size(); ++i) {
    const raw_answer page = clients[i].receive();
    const question& asked = questions[i % questions.size()];
    BOOST_TEST(page.status == 200, asked.target);
    BOOST_TEST(page.header("content-type") == asked.form, asked.target);
    BOOST_TEST((page.body.find("first-engine") != std::string::npos) == asked.tells_first, asked.target);
    BOOST_TEST((page.body.find("second-engine") != std::string::npos) == asked.tells_second, asked.target);
  }
}

BOOST_AUTO_TEST_CASE(long_bodies_get_the_answers_of_short_ones_and_are_read_beside_the_lanes) {
  const row rows[] = {
      {"/query", R"({"model":"m","block_size":4,"token_ids":[1,2,3,4,5,6,7,8,9]})"},
      {"/query", R"({"model":"m","block_size":0,"token_ids":[1]})"},
      {"/query", R"({"model":"m","block_size":4,"token_ids":[1,"x"]})"},
      {"/query_by_hash", R"({"model":"m","block_size":4,"block_hashes":[1,2]})"},
      {"/query_batch", R"({"queries":[{"model":"m","block_size":4,"token_ids":[1,2,3,4]},{"model":"m"}]})"},
      {"/query_batch", R"({"queries":7})"},
      {"/register", R"({"endpoint":"tcp://127.0.0.1:9"})"},
      {"/unregister", R"({"instance_id":"nobody"})"},
  };
  const std::vector<std::uint32_t> prompt{1, 2, 3, 4, 5, 6, 7, 8, 9};
  for (const row& each : rows) {
    api_fixture service;
    service.join("a");
    service.hold(service.find_member("a"), prompt, 0, 2);
    const raw_answer expected = service.post(each.path, each.body);
    BOOST_TEST(!has_thread_beside(), each.path);

    const raw_answer answer = service.post(each.path, each.body + std::string(more_than_a_turn, ' '));

    BOOST_TEST(answer.status == expected.status, each.path);
    BOOST_TEST(answer.body == expected.body, each.path);
    BOOST_TEST(has_thread_beside(), each.path);
  }
}

BOOST_AUTO_TEST_SUITE_END()
