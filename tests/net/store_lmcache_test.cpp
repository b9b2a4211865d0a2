// Promotions by an LMCache server, which knows blocks by the tokens of prompts only: what a query leaves behind, over sockets.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/json/parse.hpp>
#include <boost/test/unit_test.hpp>

#include "tests/support/net/payloads.hpp"
#include "tests/support/net/store_blocks.hpp"
#include "tests/support/net/store_fixture.hpp"
#include "tests/support/net/stub_mp_server.hpp"

namespace kvc::test {
BOOST_AUTO_TEST_SUITE(store_lmcache)

namespace {

using told = stub_mp_server::told;

const told submitted{202, R"({"request_id":"job 1","chunks":2,"status":"submitted"})", "application/json"};
const told pending{200, R"({"request_id":"job 1","status":"pending"})", "application/json"};
const told completed{200, R"({"request_id":"job 1","status":"completed","found_keys":2,"total_keys":2})", "application/json"};
const told forgotten{404, R"({"detail":"unknown request"})", "application/json"};

/// A prompt of three blocks, all of them on disk, the first in memory, and a server that could read the others.
struct mp_fixture : store_fixture {
  explicit mp_fixture(const net::store_settings& settings = quick_stores()) : store_fixture(settings) {
    open_pool();
    const std::vector<std::uint32_t> tokens = tokens_from(1, 3);
    for (std::uint32_t i = 0; i < 3; ++i) pool->publish(stored_block(tokens, i, "disk"));
    pool->publish(stored_block(tokens, 0, "cpu"));
    server.emplace([this](const stub_mp_server::asked& what) { return answer(what); });
    add_store("http://127.0.0.1:" + std::to_string(server->port()), "mp", "lmcache");
    BOOST_REQUIRE(eventually([&] { return query().find(R"("CPU":4,"DISK":12)") != std::string::npos; }));
  }

  std::string query(const std::string& more = "") {
    return call("POST", "/query",
                R"({"model":"m","block_size":4,"instance_id":"pool","token_ids":[1,2,3,4,5,6,7,8,9,10,11,12])" + more + "}")
        .body;
  }
  void prefetch() { static_cast<void>(query(R"(,"prefetch":true)")); }

  /// What is answered to a submission, and in turn to polls; the last one again and again.
  void script(told submission, std::vector<told> polls) {
    const std::lock_guard locked(lock);
    submission_ = std::move(submission);
    polls_ = std::move(polls);
    next_poll_ = 0;
  }

  /// Waits for this end of a promotion of `mp`; that of the store's own objects, which nobody promotes, is `no_store`.
  bool ends(const std::string& outcome, double times = 1) {
    return eventually([&] { return metric("kvc_prefetch_requests_total{outcome=\"" + outcome + "\"}") == times; });
  }

  std::optional<stub_mp_server> server;

 private:
  told answer(const stub_mp_server::asked& what) {
    const std::lock_guard locked(lock);
    if (what.method == "POST") return submission_;
    if (polls_.empty()) return forgotten;
    const std::size_t at = std::min(next_poll_++, polls_.size() - 1);
    return polls_[at];
  }

  std::mutex lock;
  told submission_;
  std::vector<told> polls_;
  std::size_t next_poll_ = 0;
};

struct short_mp_fixture : mp_fixture {
  static net::store_settings settings() {
    net::store_settings with = quick_stores();
    with.prefetch_deadline = std::chrono::milliseconds(400);
    with.prefetch_cooldown = std::chrono::milliseconds(0);
    return with;
  }
  short_mp_fixture() : mp_fixture(settings()) {}
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(the_tokens_of_what_lies_on_disk_are_submitted_and_the_job_is_polled, mp_fixture) {
  script(submitted, {completed});
  prefetch();

  BOOST_TEST(ends("accepted"));
  const auto asked = server->so_far();
  BOOST_REQUIRE(asked.size() == 2U);
  BOOST_TEST(asked[0].method + " " + asked[0].target == "POST /cache/prefetches");
  BOOST_TEST((boost::json::parse(asked[0].body) ==
              boost::json::parse(R"({"model_name":"m","world_size":1,"token_ids":[1,2,3,4,5,6,7,8,9,10,11,12],"cache_salt":""})")),
             asked[0].body);
  BOOST_TEST(asked[1].method + " " + asked[1].target == "GET /cache/prefetches/job%201");
  BOOST_TEST(metric("kvc_prefetch_in_flight") == 0);
}

BOOST_FIXTURE_TEST_CASE(a_slow_job_is_polled_until_it_is_completed, mp_fixture) {
  script(submitted, {pending, pending, pending, completed});
  prefetch();

  BOOST_TEST(ends("accepted"));
  BOOST_TEST(server->so_far().size() == 5U);
}

BOOST_FIXTURE_TEST_CASE(the_same_prefix_is_one_job, mp_fixture) {
  script(submitted, {completed});
  server->hold();
  prefetch();
  BOOST_REQUIRE(eventually([&] { return server->so_far().size() == 1; }));
  prefetch();
  BOOST_TEST(ends("joined"));
  server->resume();

  BOOST_TEST(ends("accepted"));
  prefetch();
  BOOST_TEST(ends("suppressed"));
  BOOST_TEST(server->so_far().size() == 2U);
}

BOOST_FIXTURE_TEST_CASE(the_same_prompt_of_another_model_is_another_job, mp_fixture) {
  // Most prompts of a fleet begin alike, and the hashes of their blocks do not tell the model.
  const std::vector<std::uint32_t> tokens = tokens_from(1, 3);
  for (std::uint32_t i = 0; i < 3; ++i) pool->publish(stored_block(tokens, i, "disk", "other"));
  const auto ask_of_other = [&](const std::string& more) {
    return call("POST", "/query", R"({"model":"other","block_size":4,"token_ids":[1,2,3,4,5,6,7,8,9,10,11,12])" + more + "}").body;
  };
  BOOST_REQUIRE(eventually([&] { return ask_of_other("").find(R"("DISK":12)") != std::string::npos; }));
  script(submitted, {completed});
  prefetch();
  BOOST_TEST(ends("accepted"));
  static_cast<void>(ask_of_other(R"(,"instance_id":"pool","prefetch":true)"));

  BOOST_TEST(ends("accepted", 2));
  bool is_asked_for = false;
  for (const auto& each : server->so_far()) is_asked_for = is_asked_for || each.body.find(R"("model_name":"other")") != std::string::npos;
  BOOST_TEST(is_asked_for);
}

BOOST_FIXTURE_TEST_CASE(a_job_that_is_never_completed_costs_the_deadline, short_mp_fixture) {
  script(submitted, {pending});
  prefetch();
  BOOST_TEST(ends("failed"));
  script(submitted, {{200, "garbage", "text/plain"}, {500, "{}", "application/json"}, {200, "[]", "application/json"}});
  prefetch();
  BOOST_TEST(ends("failed", 2));
  script(submitted, {completed});
  prefetch();
  BOOST_TEST(ends("accepted"));
}

BOOST_FIXTURE_TEST_CASE(a_submission_that_is_refused_or_not_understood_has_failed, short_mp_fixture) {
  double failed = 0;
  for (const told& each : {told{503, R"({"detail":"model not yet known"})"}, told{400, R"({"detail":"bad"})"}, told{200, "garbage"},
                           told{200, "[]"}, told{202, R"({"status":"submitted"})"}, told{202, R"({"request_id":7})"}}) {
    script(each, {completed});
    prefetch();
    BOOST_TEST(ends("failed", ++failed), each.body);
  }
}

BOOST_FIXTURE_TEST_CASE(a_prefix_without_a_whole_chunk_is_not_said_to_be_there, mp_fixture) {
  script({200, R"({"chunks":0,"status":"noop"})", "application/json"}, {});
  prefetch();
  BOOST_TEST(ends("unsupported"));
}

BOOST_FIXTURE_TEST_CASE(a_job_that_found_nothing_is_no_success, mp_fixture) {
  script(submitted, {{200, R"({"status":"completed","found_keys":0,"total_keys":2})", "application/json"}});
  prefetch();
  BOOST_TEST(ends("gone"));
}

BOOST_FIXTURE_TEST_CASE(a_job_the_server_has_forgotten_has_failed, mp_fixture) {
  script(submitted, {pending, forgotten});
  prefetch();

  BOOST_TEST(ends("failed"));
  BOOST_TEST(server->so_far().size() == 3U);
}

BOOST_FIXTURE_TEST_CASE(a_server_that_never_answers_costs_nobody_an_answer, short_mp_fixture) {
  script(submitted, {completed});
  server->hold();
  prefetch();
  BOOST_TEST(query().find(R"("CPU":4,"DISK":12)") != std::string::npos);
  BOOST_TEST(ends("failed"));
  server->resume();

  prefetch();
  BOOST_TEST(ends("accepted"));
}

BOOST_FIXTURE_TEST_CASE(a_server_that_goes_away_ends_its_jobs, mp_fixture) {
  script(submitted, {pending});
  prefetch();
  static_cast<void>(server->wait_for(3));
  server.reset();

  BOOST_TEST(ends("failed"));
  BOOST_TEST(metric("kvc_prefetch_in_flight") == 0);
}

BOOST_FIXTURE_TEST_CASE(a_connection_that_breaks_under_a_submission_has_failed, mp_fixture) {
  script(submitted, {completed});
  server->hold();
  prefetch();
  BOOST_REQUIRE(eventually([&] { return server->so_far().size() == 1; }));
  server->cut();

  BOOST_TEST(ends("failed"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test
