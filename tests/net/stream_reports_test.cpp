// What the service says of its streams while they run: workers of multiplexed streams, metrics. (Numbers: stream_figures_test.)
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/recipe_watch.hpp"
#include "net/answer_writer.hpp"
#include "net/line_budget.hpp"
#include "net/stream_report.hpp"
#include "net/stream_series.hpp"
#include "tests/support/net/heard_log.hpp"
#include "tests/support/net/payloads.hpp"
#include "tests/support/net/report_fixture.hpp"

BOOST_AUTO_TEST_SUITE(stream_reports)

namespace {

using namespace kvc;
using kvc::test::fake_publisher;
using kvc::test::report_fixture;
using kvc::test::stored_payload;
using kvc::test::tokens_from;

bool has(const test::raw_answer& answer, std::string_view part) {
  return answer.body.find(part) != std::string::npos;
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_multiplexed_stream_has_a_row_for_each_of_its_ranks, report_fixture) {
  // One port for all ranks: a router asks about ranks, not about ports.
  fake_publisher relay(engine, context, {});
  enrol(relay, "trt", "TensorRT-LLM");
  BOOST_REQUIRE(eventually([&] { return has(get("/workers"), R"("state":"whole")"); }));

  relay.publish(test::stored_for_rank_payload(0, {1}, tokens_from(0, 1)));
  relay.publish(test::stored_for_rank_payload(3, {1, 2}, tokens_from(0, 2)));

  BOOST_TEST(eventually([&] { return has(get("/workers"), R"("dp_rank":3,"state":"whole")"); }));
  const auto workers = get("/workers");
  BOOST_TEST(has(workers, R"("count":2)"), workers.body);
  const auto at_0 = workers.body.find(R"("dp_rank":0)");
  const auto at_3 = workers.body.find(R"("dp_rank":3)");
  BOOST_REQUIRE(at_0 < at_3);
  BOOST_TEST(workers.body.substr(at_0, at_3 - at_0).find(R"("blocks":{"GPU":1,)") != std::string::npos, workers.body);
  BOOST_TEST(workers.body.substr(at_3).find(R"("blocks":{"GPU":2,)") != std::string::npos, workers.body);
  const auto services = get("/services");
  BOOST_TEST(has(services, R"("blocks":{"GPU":3,)"), services.body);
  BOOST_TEST(has(services, R"("other_ranks":[3])"), services.body);
}

BOOST_FIXTURE_TEST_CASE(a_restart_shows_as_another_generation, report_fixture) {
  std::string endpoint;
  std::string replay_endpoint;
  {
    fake_publisher first(engine, context, {});
    endpoint = first.endpoint();
    replay_endpoint = first.replay_endpoint();
    enrol(first, "a");
    first.publish(stored_payload({1}, {}, tokens_from(0, 1)));
    first.publish(stored_payload({2}, 1, tokens_from(4, 1)));
    BOOST_REQUIRE(eventually([&] { return has(get("/services"), R"("blocks":{"GPU":2,)"); }));
    BOOST_TEST(has(get("/services"), R"("generation":1,)"));
  }
  fake_publisher second(engine, context, {.endpoint = endpoint, .replay_endpoint = replay_endpoint});
  second.publish(stored_payload({7}, {}, tokens_from(700, 1)));

  BOOST_TEST(eventually([&] { return has(get("/services"), R"("blocks":{"GPU":1,)"); }));
  BOOST_TEST(has(get("/services"), R"("generation":2,)"));
}

BOOST_FIXTURE_TEST_CASE(ranks_of_a_publisher_that_restarted_are_gone, report_fixture) {
  // The new one may have fewer; a router must not be shown ranks that nobody runs.
  fake_publisher engine_1(engine, context, {});
  enrol(engine_1, "a");
  BOOST_REQUIRE(eventually([&] { return has(get("/workers"), R"("state":"whole")"); }));
  for (std::uint32_t rank = 0; rank < 4; ++rank) engine_1.publish(test::stored_for_rank_payload(rank, {1}, tokens_from(0, 1)));
  const auto query = [this] { return post("/query", R"({"model":"m","block_size":4,"token_ids":[0,1,2,3]})"); };
  BOOST_REQUIRE(eventually([&] { return has(query(), R"("DP":{"0":4,"1":4,"2":4,"3":4})"); }));
  BOOST_REQUIRE(eventually([&] { return has(get("/services"), R"("other_ranks":[1,2,3])"); }));

  engine_1.stop();
  BOOST_REQUIRE(eventually([&] { return has(get("/services"), R"("connection":"disconnected")"); }));
  fake_publisher reborn(engine, context, {.endpoint = engine_1.endpoint(), .replay_endpoint = engine_1.replay_endpoint()});
  reborn.publish(test::stored_for_rank_payload(2, {1}, tokens_from(0, 1)));
  BOOST_TEST(eventually([&] { return has(query(), R"("DP":{"0":0,"2":4})"); }), query().body);
  BOOST_TEST(eventually([&] { return has(get("/services"), R"("other_ranks":[2])"); }), get("/services").body);
}

BOOST_FIXTURE_TEST_CASE(edge_case_14_batches_of_another_rank_than_registered_are_counted_and_logged, report_fixture) {
  // Two engines behind one port, or a registration with the wrong rank: the blocks count for the rank that the batch names, and whoever
  // registered it is told. Few lines, however many batches.
  const test::heard_log log;
  fake_publisher engine_1(engine, context, {});
  enrol(engine_1, "a");
  BOOST_REQUIRE(eventually([&] { return has(get("/workers"), R"("state":"whole")"); }));
  engine_1.publish(test::stored_for_rank_payload(0, {1}, tokens_from(0, 1)));
  const auto query = [this] { return post("/query", R"({"model":"m","block_size":4,"token_ids":[0,1,2,3]})"); };
  BOOST_REQUIRE(eventually([&] { return has(query(), R"("DP":{"0":4})"); }));
  BOOST_TEST(has(get("/services"), R"("rank_mismatches":0)"));

  for (int i = 0; i < 5; ++i) engine_1.publish(test::stored_for_rank_payload(3, {1}, tokens_from(0, 1)));
  BOOST_TEST(eventually([&] { return has(get("/services"), R"("rank_mismatches":5)"); }), get("/services").body);
  BOOST_TEST(has(query(), R"("DP":{"0":4,"3":4})"), query().body);
  std::vector<std::string> said;
  for (const std::string& line : log.lines()) {
    if (line.find("batch names another rank") != std::string::npos) said.push_back(line);
  }
  BOOST_REQUIRE(said.size() == 3U);  // the first, the second, the fourth
  for (const char* part : {"instance=a", "dp_rank=0", "batch_rank=3", "so_far=1"}) {
    BOOST_TEST(said[0].find(part) != std::string::npos, said[0]);
  }
  BOOST_TEST(said[2].find("so_far=4") != std::string::npos, said[2]);
}

BOOST_FIXTURE_TEST_CASE(edge_case_14_ranks_of_a_publisher_that_speaks_for_all_of_them_are_no_mismatch, report_fixture) {
  // A relay of TensorRT-LLM has one port for all ranks: nothing is wrong there.
  const test::heard_log log;
  fake_publisher relay(engine, context, {});
  enrol(relay, "trt", "TensorRT-LLM");
  BOOST_REQUIRE(eventually([&] { return has(get("/workers"), R"("state":"whole")"); }));
  relay.publish(test::stored_for_rank_payload(3, {1}, tokens_from(0, 1)));
  BOOST_REQUIRE(eventually([&] { return has(get("/services"), R"("other_ranks":[3])"); }));
  BOOST_TEST(has(get("/services"), R"("rank_mismatches":0)"), get("/services").body);
  for (const std::string& line : log.lines()) BOOST_TEST(line.find("another rank") == std::string::npos, line);
}

BOOST_FIXTURE_TEST_CASE(what_is_left_out_for_want_of_room_is_logged, report_fixture) {
  // Counted alone it would be found by nobody: the adapter's blocks are just never there. Few lines, however many blocks.
  const test::heard_log log;
  fake_publisher engine_1(engine, context, {});
  enrol(engine_1, "a");
  BOOST_REQUIRE(eventually([&] { return has(get("/workers"), R"("state":"whole")"); }));
  for (std::uint64_t i = 0; i < core::event_applier::default_max_partitions + 5; ++i) {
    engine_1.publish(test::stored_one_by_one_payload({i + 1}, "adapter-" + std::to_string(i)));
    if (i < core::event_applier::default_max_partitions) continue;
    const std::string skipped = std::to_string(i + 1 - core::event_applier::default_max_partitions);
    BOOST_REQUIRE(eventually([&] { return has(get("/services"), R"("skipped_blocks":)" + skipped); }));  // one by one
  }
  std::vector<std::string> said;
  for (const std::string& line : log.lines()) {
    if (line.find("skipped for want of room") != std::string::npos) said.push_back(line);
  }
  BOOST_REQUIRE(said.size() == 3U);  // the first, the second, the fourth
  BOOST_TEST(said[0].find("limit=256") != std::string::npos, said[0]);
  BOOST_TEST(said[0].find("instance=a") != std::string::npos, said[0]);
  BOOST_TEST(said[2].find("so_far=4") != std::string::npos, said[2]);
}

BOOST_FIXTURE_TEST_CASE(a_stream_that_loses_batches_all_the_time_does_not_fill_the_log, report_fixture) {
  const test::heard_log log;
  fake_publisher lossy(engine, context, {});
  enrol(lossy, "a", "vLLM", R"(,"after_loss":"keep")");
  BOOST_REQUIRE(eventually([&] { return has(get("/workers"), R"("state":"whole")"); }));
  for (std::uint64_t i = 0; i < 100; ++i) {
    lossy.publish(stored_payload({i + 1}, {}, tokens_from(static_cast<std::uint32_t>(4 * i), 1)));
    lossy.lose_forever();
  }
  lossy.publish(stored_payload({1'000}, {}, tokens_from(4'000, 1)));
  BOOST_REQUIRE(eventually([&] { return has(get("/services"), R"("gaps":100)"); }));

  std::size_t of_the_stream = 0;
  for (const std::string& line : log.lines())
    of_the_stream += line.starts_with("stream ") && line.find("instance=a") != std::string::npos ? 1 : 0;
  BOOST_TEST(of_the_stream >= std::size_t{net::line_budget::at_once} / 2);
  BOOST_TEST(of_the_stream <= std::size_t{net::line_budget::at_once} + 20);  // three or more for each loss otherwise
}

BOOST_FIXTURE_TEST_CASE(losses_show_everywhere, report_fixture) {
  // An operator, a dashboard and a router each look in another place.
  fake_publisher lossy(engine, context, {});
  enrol(lossy, "a", "vLLM", R"(,"after_loss":"keep")");
  BOOST_REQUIRE(eventually([&] { return has(get("/workers"), R"("state":"whole")"); }));
  lossy.publish(stored_payload({1}, {}, tokens_from(0, 1)));
  lossy.lose_forever();
  lossy.lose_forever();
  lossy.publish(stored_payload({2}, 1, tokens_from(4, 1)));
  lossy.publish("no msgpack");

  BOOST_TEST(eventually([&] { return has(get("/services"), R"("missing":3)"); }));
  const auto services = get("/services");
  BOOST_TEST(has(services, R"("state":"incomplete")"));
  BOOST_TEST(has(services, R"("lost":3)"));
  BOOST_TEST(has(services, R"("gaps":1)"));
  BOOST_TEST(has(services, R"("after_loss":"keep","expect_idle":false)"));
  BOOST_TEST(has(services, R"("connection":"connected")"));
  BOOST_TEST(has(services, R"("lag_batches":0)"));
  BOOST_TEST(has(services, R"("hash_recipe":{"verdict":"unknown")"));
  BOOST_TEST(has(get("/workers"), R"("missing":3)"));
  const auto answer = post("/query", R"({"model":"m","block_size":4,"token_ids":[0,1,2,3,4,5,6,7],"detail":true})");
  BOOST_TEST(has(answer, R"("state":"incomplete","lag_ms":)"), answer.body);
  BOOST_TEST(has(answer, R"("missing":3,"seq_hashes":2)"), answer.body);
  const auto metrics = get("/metrics");
  const std::string who = R"(tenant="default",instance="a",rank="0",class="engine")";
  BOOST_TEST(has(metrics, "kvc_stream_lost_batches_total{" + who + "} 3\n"));
  BOOST_TEST(has(metrics, "kvc_stream_gaps_total{" + who + "} 1\n"));
  BOOST_TEST(has(metrics, "kvc_stream_events_total{" + who + R"(,dialect="vllm_map",kind="stored"} 2)"));
  BOOST_TEST(has(metrics, "kvc_stream_rejected_total{" + who + R"(,reason="batch"} 2)"));  // and its copy, which was asked for
  BOOST_TEST(has(metrics, "kvc_stream_replays_ended_total{" + who + R"(,outcome="partial"} 1)"));
  BOOST_TEST(has(metrics, "kvc_stream_state{" + who + R"(,state="incomplete"} 1)"));
  BOOST_TEST(has(metrics, "kvc_stream_connection{" + who + R"(,state="connected"} 1)"));
}

BOOST_FIXTURE_TEST_CASE(how_old_live_batches_are_is_told_for_all_streams_together, report_fixture) {
  // A replay brings what is old by nature, and a clock that is years behind says nothing: neither means that the service is late.
  struct delays {
    double sum_s = 0;
    double count = 0;
  };
  const auto told = [this] {
    const std::string metrics = get("/metrics").body;
    const auto value = [&metrics](const std::string& name) {
      const std::string row = "\nkvc_batch_delay_seconds_" + name + " ";
      const auto at = metrics.find(row);
      BOOST_REQUIRE(at != std::string::npos);
      return std::stod(metrics.substr(at + row.size()));
    };
    return delays{.sum_s = value("sum"), .count = value("count")};
  };
  fake_publisher timely(engine, context, {});
  timely.publish(test::aged(stored_payload({1}, {}, tokens_from(0, 1)), std::chrono::seconds(600)));
  enrol(timely, "a");
  BOOST_REQUIRE(eventually([&] { return has(get("/workers"), R"("state":"whole")"); }));
  BOOST_TEST(told().count == 0);

  timely.publish(stored_payload({2}, 1, tokens_from(4, 1)));  // of 2023
  std::uint64_t last = 0;
  BOOST_REQUIRE(eventually([&] {
    last = timely.publish(test::aged(stored_payload({2}, 1, tokens_from(4, 1)), std::chrono::seconds(60)));
    return told().count > 0;
  }));
  BOOST_REQUIRE(eventually([&] { return has(get("/services"), R"("last_seqno":)" + std::to_string(last) + ","); }));
  const delays all = told();
  const double mean_s = all.sum_s / all.count;
  BOOST_TEST(mean_s >= 60);
  BOOST_TEST(mean_s < 600);
}

BOOST_AUTO_TEST_CASE(each_number_of_a_stream_is_told_under_its_own_name) {
  // Also those that no test can bring about at will: a figure that shows another's number is worse than none.
  struct told_as {
    std::atomic<std::uint64_t> core::stream_status::*number;
    const char* member;
    const char* series;
  };
  using status = core::stream_status;
  const told_as all[] = {
      {&status::behind, "lag_batches", "kvc_stream_lag_batches"},
      {&status::batches, "batches", "kvc_stream_batches_total"},
      {&status::other_topics, "other_topics", "kvc_stream_other_topics_total"},
      {&status::stale_batches, "stale_batches", "kvc_stream_stale_batches_total"},
      {&status::gaps, "gaps", "kvc_stream_gaps_total"},
      {&status::replays, "replays", "kvc_stream_replays_total"},
      {&status::restarts, "restarts", "kvc_stream_restarts_total"},
      {&status::failures, "failures", "kvc_stream_failures_total"},
      {&status::missing, "missing", "kvc_stream_missing_batches"},
      {&status::unproven, "unproven_absences", "kvc_stream_unproven_absences"},
      {&status::lost, "lost", "kvc_stream_lost_batches_total"},
      {&status::doubted, "doubted_blocks", "kvc_stream_doubted_blocks_total"},
      {&status::evicted, "evicted", "kvc_stream_evicted_blocks"},
      {&status::orphans, "orphans", "kvc_stream_orphaned_blocks"},
      {&status::dropped_orphans, "dropped_orphans", "kvc_stream_dropped_orphans_total"},
      {&status::pool_objects, "objects", "kvc_stream_pool_objects"},
      {&status::pool_waiting, "waiting", "kvc_stream_pool_waiting_blocks"},
      {&status::pool_doubtful, "doubtful", "kvc_stream_pool_doubtful_names"},
      {&status::pool_incomplete, "incomplete", "kvc_stream_pool_incomplete_blocks"},
      {&status::pool_joined, "joined", "kvc_stream_pool_joined_blocks_total"},
      {&status::pool_dropped, "dropped", "kvc_stream_pool_dropped_blocks_total"},
  };
  net::service_info info;
  info.status = std::make_shared<status>();
  info.recipe = std::make_shared<core::recipe_notes>();
  std::uint64_t next = 1'000;
  for (const told_as& each : all) *info.status.*each.number = next++;
  std::string body;
  net::answer_writer out(body, net::wire_form::json);
  out.object();
  net::write_stream(out, *info.status, std::chrono::steady_clock::now());
  net::write_pool(out, *info.status);
  out.end_object();
  const core::medium_table media;
  const auto families =
      net::stream_families({std::make_shared<const net::service_info>(std::move(info))}, media, std::chrono::steady_clock::now());

  std::uint64_t number = 1'000;
  for (const told_as& each : all) {
    BOOST_TEST(body.find('"' + std::string(each.member) + "\":" + std::to_string(number)) != std::string::npos, each.member);
    const auto family = std::ranges::find_if(families, [&](const auto& one) { return one.name == std::string_view(each.series); });
    BOOST_REQUIRE(family != families.end());
    BOOST_TEST(family->rows.at(0).value == static_cast<double>(number), each.series);
    ++number;
  }
}

BOOST_AUTO_TEST_CASE(series_stay_bounded_however_many_register) {
  // A scrape must not grow with whoever calls /register.
  constexpr std::size_t many = net::max_shown_streams + 100;
  net::fleet_view fleet;
  for (std::size_t i = 0; i < many; ++i) {
    net::service_info info;
    info.registration.worker.instance = "i" + std::to_string(10'000 + i);
    info.status = std::make_shared<core::stream_status>();
    info.recipe = std::make_shared<core::recipe_notes>();
    info.status->batches = 2;
    info.status->delay_ms = static_cast<std::int64_t>(i);
    fleet.push_back(std::make_shared<const net::service_info>(std::move(info)));
  }
  core::medium_table media;

  const auto families = net::stream_families(fleet, media, std::chrono::steady_clock::now());

  for (const net::series_family& each : families) {
    if (std::string_view(each.name) == "kvc_stream_batches_total") {
      BOOST_TEST(each.rows.size() == net::max_shown_streams + 1);
      BOOST_TEST(each.rows.back().value == 200.0);
      BOOST_TEST(each.rows.back().labels[1].second.empty());
    }
    if (std::string_view(each.name) == "kvc_stream_delay_seconds") BOOST_TEST(each.rows.back().value == (many - 1) * 1e-3);
    BOOST_TEST(each.rows.size() <= (net::max_shown_streams + 1) * 8, each.name);
  }
}

BOOST_AUTO_TEST_SUITE_END()
