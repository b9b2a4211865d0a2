// The parts of core that are too small for a file of tests each: published, counters, registration, match, states, errors, lanes.
#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/counters.hpp"
#include "core/errc.hpp"
#include "core/lane_map.hpp"
#include "core/match.hpp"
#include "core/published.hpp"
#include "core/registration.hpp"
#include "core/stream_status.hpp"

namespace {

using namespace kvc::core;

BOOST_AUTO_TEST_SUITE(published)

BOOST_AUTO_TEST_CASE(a_reader_sees_the_newest_value) {
  // A query that begins after a change must see it.
  kvc::core::published<int> value;
  kvc::core::published<int>::reader reader(value);
  BOOST_TEST(reader.get() == 0);

  value.publish(std::make_shared<const int>(7));
  BOOST_TEST(reader.get() == 7);
  BOOST_TEST(*value.get() == 7);
}

BOOST_AUTO_TEST_CASE(a_shared_value_outlives_its_replacement) {
  // A handler that waits keeps the value it began with; it goes when the last holder has moved on.
  kvc::core::published<int> value(std::make_shared<const int>(1));
  kvc::core::published<int>::reader reader(value);
  auto kept = reader.share();
  const std::weak_ptr<const int> watched = kept;
  value.publish(std::make_shared<const int>(2));

  BOOST_TEST(*kept == 1);
  BOOST_TEST(reader.get() == 2);
  kept.reset();
  BOOST_TEST(watched.expired());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(counters)

BOOST_AUTO_TEST_CASE(counters_go_up_and_down) {
  // Open connections do both.
  lane_counter counter;
  counter.add();
  counter.add(5);
  counter.subtract(2);
  BOOST_TEST(counter.get() == 4U);
}

BOOST_AUTO_TEST_CASE(a_value_falls_into_the_bucket_that_bounds_it) {
  // Bucket i ends below a quarter of 2^i microseconds; its end belongs to the next.
  for (std::size_t i = 0; i + 1 < latency_histogram::bucket_count; ++i) {
    const std::uint64_t end_ns = 250ULL << i;
    latency_histogram histogram;
    histogram.observe_ns(end_ns - 1);
    histogram.observe_ns(end_ns);

    BOOST_TEST(histogram.in_bucket(i) == 1U);
    BOOST_TEST(histogram.in_bucket(i + 1) == 1U);
    BOOST_TEST(histogram.sum_ns() == 2 * end_ns - 1);
    BOOST_TEST(latency_histogram::upper_bound_s(i) == static_cast<double>(end_ns) * 1e-9, boost::test_tools::tolerance(1e-12));
  }
}

BOOST_AUTO_TEST_CASE(a_bucket_is_four_steps_of_equal_width) {
  // A step's end belongs to the next one, which is in the next bucket after four.
  for (std::size_t i = 0; i + 1 < latency_histogram::step_count; ++i) {
    const auto end_ns = static_cast<std::uint64_t>(std::ceil(latency_histogram::upper_bound_of_step_s(i) * 1e9 - 1e-3));
    latency_histogram histogram;
    histogram.observe_ns(end_ns - 1);
    histogram.observe_ns(end_ns);

    BOOST_TEST(histogram.in_step(i) == 1U, "below " << end_ns << " ns");
    BOOST_TEST(histogram.in_step(i + 1) == 1U, "from " << end_ns << " ns");
  }
  BOOST_TEST(latency_histogram::upper_bound_of_step_s(3) == 0.25e-6, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(latency_histogram::upper_bound_of_step_s(51) == 1024e-6, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(latency_histogram::upper_bound_of_step_s(52) == 1280e-6, boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(the_last_bucket_has_no_end) {
  // Whatever takes longer than half a minute, and a clock that jumps.
  latency_histogram histogram;
  histogram.observe_ns(0);
  histogram.observe_ns(60'000'000'000ULL);
  histogram.observe_ns(~0ULL);

  BOOST_TEST(histogram.in_bucket(0) == 1U);
  BOOST_TEST(histogram.in_bucket(latency_histogram::bucket_count - 1) == 2U);
}

BOOST_AUTO_TEST_CASE(every_route_has_a_name) {
  // The names are labels of metrics.
  BOOST_TEST(std::string_view(route_name(route::query)) == "query");
  BOOST_TEST(std::string_view(route_name(route::other)) == "other");
  BOOST_TEST(static_cast<std::size_t>(route::other) + 1 == route_count);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(registration)

BOOST_AUTO_TEST_CASE(publisher_types_are_read_in_any_case) {
  // Clients spell them as their engines do.
  const std::vector<std::pair<std::string_view, publisher_type>> words{
      {"vLLM", publisher_type::vllm},           {"VLLM", publisher_type::vllm},
      {"SGLang", publisher_type::sglang},       {"TensorRT-LLM", publisher_type::tensorrt_llm},
      {"trtllm", publisher_type::tensorrt_llm}, {"Mooncake", publisher_type::mooncake},
      {"standard", publisher_type::standard},   {"auto", publisher_type::automatic}};
  for (const auto& [word, type] : words) {
    bool known = false;
    BOOST_TEST((parse_publisher_type(word, known) == type), word);
    BOOST_TEST(known, word);
  }
}

BOOST_AUTO_TEST_CASE(an_unknown_type_is_decided_by_the_stream) {
  // The client is warned, not refused.
  for (const std::string_view word : {"", "vllm2", "llama"}) {
    bool known = true;
    BOOST_TEST((parse_publisher_type(word, known) == publisher_type::automatic));
    BOOST_TEST(!known);
  }
}

BOOST_AUTO_TEST_CASE(types_are_written_as_they_are_read) {
  // /services answers with words that /register takes.
  for (const auto type : {publisher_type::automatic, publisher_type::vllm, publisher_type::sglang, publisher_type::tensorrt_llm,
                          publisher_type::mooncake, publisher_type::standard}) {
    bool known = false;
    BOOST_TEST((parse_publisher_type(to_string(type), known) == type));
    BOOST_TEST(known);
  }
}

BOOST_AUTO_TEST_CASE(equal_registrations_are_equal) {
  // Registering the same twice changes nothing; any difference replaces.
  kvc::core::registration one;
  one.worker = {.tenant = "default", .instance = "a"};
  one.endpoint = "tcp://h:1";
  kvc::core::registration other = one;
  BOOST_TEST((one == other));

  other.topic = "kv";
  BOOST_TEST((one != other));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(match)

BOOST_AUTO_TEST_CASE(a_worker_without_a_row_has_what_the_pools_give) {
  // Rows exist only for workers that hold something themselves.
  match_result result;
  result.workers = {{.worker = worker_id{2}, .any = 5}, {.worker = worker_id{4}, .any = 6}};
  result.pools_alone.any = 1;

  BOOST_TEST(result.of(worker_id{2}).any == 5U);
  BOOST_TEST(result.of(worker_id{4}).any == 6U);
  for (const std::uint32_t other : {0U, 3U, 9U}) BOOST_TEST(result.of(worker_id{other}).any == 1U);
  result.clear();
  BOOST_TEST(result.of(worker_id{2}).any == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(names_of_states)

BOOST_AUTO_TEST_CASE(every_state_and_error_has_a_text_of_its_own) {
  // They are members of answers and logs.
  BOOST_TEST(to_string(stream_state::whole) == "whole");
  BOOST_TEST(to_string(stream_state::incomplete) == "incomplete");
  BOOST_TEST(to_string(connection_state::disconnected) == "disconnected");
  const error_code conflict = errc::seed_conflict;
  const error_code exhausted = errc::workers_exhausted;
  const error_code missing = errc::service_not_found;
  BOOST_TEST(conflict.message() != exhausted.message());
  BOOST_TEST(exhausted.message() != missing.message());
  BOOST_TEST(std::string_view(conflict.category().name()) == "kvc.core");
  BOOST_TEST(error_code(99, core_category()).message() == "unknown error");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(lane_map)

BOOST_AUTO_TEST_CASE(a_worker_keeps_its_lane_and_new_ones_go_where_there_is_room) {
  // Sticky: a replacement of a stream must not move its worker while the old one is leaving.
  kvc::core::lane_map lanes(2);
  const worker_key a{.tenant = "default", .instance = "a"};
  const worker_key b{.tenant = "default", .instance = "b"};
  const worker_key c{.tenant = "default", .instance = "c"};
  BOOST_TEST(lanes.assign(a) == 0U);
  BOOST_TEST(lanes.assign(b) == 1U);
  BOOST_TEST(lanes.assign(a) == 0U);
  lanes.release(a);
  BOOST_TEST(lanes.assign(a) == 0U);

  BOOST_TEST(lanes.assign(c) == 1U);
  lanes.release(a);
  lanes.release(a);
  lanes.release(a);  // one too many
  BOOST_TEST(lanes.assign(worker_key{.tenant = "default", .instance = "d"}) == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
