#include <numeric>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/medium.hpp"
#include "net/event_codec.hpp"
#include "perf/bench_options.hpp"
#include "perf/ingest_delays.hpp"
#include "perf/ingest_frames.hpp"
#include "perf/ingest_publisher.hpp"
#include "perf/ingest_run.hpp"

BOOST_AUTO_TEST_SUITE(ingest)

using namespace kvc;

namespace {

perf::ingest_plan small_plan() {
  perf::ingest_plan plan;
  plan.dialect = perf::find_ingest_dialect("vllm_map");
  plan.streams = 2;
  plan.idle_streams = 8;
  plan.idle_seconds = 1;
  plan.idle_queries = 20;
  plan.cache_blocks = 2'000;  // smaller than two prompts, so that blocks are evicted
  plan.blocks = 20'000;
  plan.replay_batches = 50;
  plan.with_yardstick = false;
  return plan;
}

bool says(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return true;
  BOOST_TEST_MESSAGE("said: " << text);
  return false;
}

std::string fault_of(std::vector<std::string> words) {
  words.insert(words.begin(), "ingest");
  return perf::parse_bench_options(words).error;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_small_run_measures_everything) {
  // The benchmark must not rot. That the index holds what the engines do is checked by the run itself.
  const auto measured = perf::run_ingest(small_plan());
  BOOST_REQUIRE_MESSAGE(measured.has_value(), (measured ? std::string() : measured.error()));
  for (const char* name : {"idle_cpu_percent", "idle_bytes_per_stream", "discard_blocks_per_s", "ingest_blocks_per_s", "ratio_to_discard",
                           "at_25_percent_lag_ns_p99", "at_110_percent_blocks_per_s", "half_lag_ns_p50", "half_lag_ns_p99", "replay_s",
                           "busy_query_ns_p99", "idle_query_ns_p99"}) {
    BOOST_TEST_CONTEXT(name) {
      BOOST_TEST_REQUIRE(measured->median(name).has_value());
      BOOST_TEST(*measured->median(name) >= 0);
    }
  }
  BOOST_TEST(*measured->median("blocks") >= 20'000);
  BOOST_TEST(*measured->median("replay_blocks") == 50 * 64);
  BOOST_TEST(*measured->median("replays") == 1);
  BOOST_TEST(*measured->median("idle_queries") == 20);
}

BOOST_AUTO_TEST_CASE(every_dialect_that_tells_of_blocks_reaches_the_index) {
  perf::ingest_plan plan = small_plan();
  plan.dialect = nullptr;
  plan.blocks = 3'000;
  const auto measured = perf::run_ingest(plan);
  BOOST_REQUIRE_MESSAGE(measured.has_value(), (measured ? std::string() : measured.error()));
  for (const perf::ingest_dialect& each : perf::ingest_dialects()) {
    BOOST_TEST_CONTEXT(each.name) {
      BOOST_TEST(measured->median(std::string(each.name) + "_ingest_blocks_per_s").value_or(0) > 0);
    }
  }
}

BOOST_AUTO_TEST_CASE(frames_are_what_they_say_they_are) {
  // Figures are per block, so the blocks had better be counted right.
  const auto frames = perf::frames_of_requests(small_plan(), net::event_form::vllm_map);
  BOOST_REQUIRE(frames.has_value());
  core::medium_table media;
  net::event_decoder decoder(core::publisher_type::vllm, media);
  core::event_batch batch;
  std::uint64_t stored = 0;
  std::uint64_t removed = 0;
  for (const perf::ingest_batch& each : frames->batches()) {
    const std::string_view payload = frames->payload(each);
    BOOST_TEST_REQUIRE(!decoder.decode(std::as_bytes(std::span(payload)), batch));
    std::uint64_t here = 0;
    for (const core::event& event : batch.events) {
      if (const auto* told = std::get_if<core::stored_event>(&event)) {
        BOOST_TEST_REQUIRE(told->tokens.size() == told->hashes.size() * perf::ingest_block_tokens);
        stored += told->hashes.size();
        here += told->hashes.size();
      }
      if (const auto* told = std::get_if<core::removed_event>(&event)) {
        removed += told->hashes.size();
        here += told->hashes.size();
      }
    }
    BOOST_TEST_REQUIRE(here == each.blocks);
  }
  BOOST_TEST(removed > 0U);
  BOOST_TEST(frames->stored() == stored);
  BOOST_TEST(frames->removed() == removed);
  BOOST_TEST(frames->held() == stored - removed);
}

BOOST_AUTO_TEST_CASE(a_schedule_offers_the_rate_it_is_made_for) {
  perf::ingest_frames frames(1);
  for (const std::uint32_t blocks : {10U, 30U, 60U}) frames.append(0, "x", blocks, 0);
  BOOST_TEST(perf::ingest_schedule(frames, 1'000) == (std::vector<std::int64_t>{0, 10'000'000, 40'000'000}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_schedule_may_give_each_batch_time_for_itself) {
  perf::ingest_frames frames(1);
  for (const std::uint32_t blocks : {10U, 30U, 60U}) frames.append(0, "x", blocks, 0);
  // 100 blocks and three batches of 100 take the 100 ms that the blocks alone would.
  BOOST_TEST(perf::ingest_schedule(frames, 1'000, 100) == (std::vector<std::int64_t>{0, 27'500'000, 60'000'000}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(verdicts_name_what_is_missed) {
  perf::bench_report report;
  report.add("ingest_blocks_per_s", 2e6);
  report.add("half_lag_ns_p99", 2.5e6);
  const std::string text = perf::ingest_verdicts(perf::bench_summary({report}));
  BOOST_TEST(says(text, "met      one lane, saturated: 2 M blocks/s (bar >= 1.500 M blocks/s)\n"));
  BOOST_TEST(says(text, "MISSED   p99 from publish to queryable at half that rate: 2.500 ms (bar <= 2 ms)\n"));
  perf::bench_report disturbed;
  disturbed.add("query_p99_above_idle_ns", -2e6);
  BOOST_TEST(says(perf::ingest_verdicts(perf::bench_summary({disturbed})), "unclear  p99 of queries"));
  BOOST_TEST(text.find("replay") == std::string::npos);
  const std::string page = perf::ingest_page(perf::bench_summary({report}), small_plan(), "kv-conductor-bench ingest");
  BOOST_TEST(says(page, "Command: `kv-conductor-bench ingest`"));
  BOOST_TEST(says(page, "| **missed** |"));
}

BOOST_AUTO_TEST_CASE(flags_are_checked) {
  const perf::bench_options options =
      perf::parse_bench_options({"ingest", "--mode=latency", "--dialect", "sglang_map", "--trace", "t.jsonl", "--streams", "3", "--json"});
  BOOST_TEST(options.error == "");
  BOOST_TEST(options.ingest.modes == (perf::ingest_saturation | perf::ingest_latency));
  BOOST_TEST(options.ingest.dialect->name == "sglang_map");
  BOOST_TEST(options.ingest.trace == "t.jsonl");
  BOOST_TEST(options.ingest.streams == 3U);
  BOOST_TEST(options.ingest.as_json);
  BOOST_TEST(perf::parse_bench_options({"ingest", "--dialect", "all"}).ingest.dialect == nullptr);
  BOOST_TEST(says(fault_of({"--mode", "quick"}), "--mode must be all, idle"));
  BOOST_TEST(says(fault_of({"--dialect", "mooncake_master"}), "there is no dialect mooncake_master"));
  BOOST_TEST(says(fault_of({"--streams", "0"}), "--streams must be a whole number from 1"));
  BOOST_TEST(says(fault_of({"trace.jsonl"}), "unexpected word"));
  BOOST_TEST(says(perf::parse_bench_options({"ingest", "--help"}).help, "tensorrt_llm_relay"));
}

BOOST_AUTO_TEST_CASE(a_trace_that_cannot_be_read_is_an_error) {
  perf::ingest_plan plan = small_plan();
  plan.modes = perf::ingest_saturation;
  plan.trace = "/there/is/no/such/trace.jsonl";
  const auto measured = perf::run_ingest(plan);
  BOOST_TEST_REQUIRE(!measured.has_value());
  BOOST_TEST(says(measured.error(), "trace.jsonl"));
}

BOOST_AUTO_TEST_CASE(delays_are_told_by_the_step_they_fell_into) {
  core::latency_histogram seen;
  seen.observe_ns(5'000'000'000);  // of another measurement
  const auto before = perf::ingest_delays::of(seen);
  for (int i = 0; i < 98; ++i) seen.observe_ns(600'000);
  for (int i = 0; i < 2; ++i) seen.observe_ns(3'000'000);

  const auto delays = perf::ingest_delays::of(seen).since(before);

  BOOST_TEST(delays.count() == 100U);
  BOOST_TEST(delays.at(0.5) >= 512'000);
  BOOST_TEST(delays.at(0.98) <= 640'000);
  BOOST_TEST(delays.at(0.99) >= 2'560'000);
  BOOST_TEST(delays.at(1) <= 3'072'000);
  perf::bench_report report;
  delays.add_to(report, "lag_ns");
  BOOST_TEST(*report.find("lag_ns_mean") == 648'000);
  BOOST_TEST(delays.since(delays).at(0.99) == 0);
}

BOOST_AUTO_TEST_SUITE_END()
