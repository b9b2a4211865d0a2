#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>

#include <boost/test/unit_test.hpp>

#include "perf/sim_generator.hpp"
#include "perf/sim_quantiles.hpp"
#include "perf/sim_tokens.hpp"
#include "perf/sim_trace.hpp"

using namespace kvc;

namespace {

/// A file with this text, gone at the end of the scope.
class text_file {
 public:
  explicit text_file(const std::string& text)
      : path_((std::filesystem::temp_directory_path() / ("kvc_trace_" + std::to_string(::getpid()) + ".jsonl")).string()) {
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~text_file() { std::remove(path_.c_str()); }
  text_file(const text_file&) = delete;
  text_file& operator=(const text_file&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(sim_trace)

BOOST_AUTO_TEST_CASE(reads_the_published_form) {
  // The members and their order are those of the published traces; the last line may lack its newline.
  const text_file file(
      "{\"timestamp\": 27, \"input_length\": 700, \"output_length\": 5, \"hash_ids\": [0, 14]}\n\n"
      "{\"timestamp\": 30.5, \"input_length\": 1, \"output_length\": 0, \"hash_ids\": [7, 8], \"more\": true}");
  sim::trace_file subject(file.path());
  sim::trace_request request;

  BOOST_REQUIRE(subject.next(request));
  BOOST_TEST(request.timestamp_ms == 27U);
  BOOST_TEST(request.input_length == 700U);
  BOOST_TEST(request.output_length == 5U);
  BOOST_TEST(request.hash_ids == (std::vector<std::uint64_t>{0, 14}), boost::test_tools::per_element());
  BOOST_REQUIRE(subject.next(request));
  BOOST_TEST(request.timestamp_ms == 30U);
  BOOST_TEST(request.hash_ids.size() == 1U);
  BOOST_TEST(!subject.next(request));
  BOOST_TEST(subject.error() == "");
}

BOOST_AUTO_TEST_CASE(says_which_line_and_member_is_wrong) {
  // A trace is tens of thousands of lines; "bad trace" would help nobody.
  const text_file file(
      "{\"timestamp\":1,\"input_length\":1,\"output_length\":1,\"hash_ids\":[1]}\n"
      "{\"timestamp\":1,\"input_length\":-4,\"output_length\":1,\"hash_ids\":[1]}\n");
  sim::trace_file subject(file.path());
  sim::trace_request request;

  BOOST_TEST(subject.next(request));
  BOOST_TEST(!subject.next(request));
  BOOST_TEST(subject.error() == file.path() + ", line 2: input_length is not a number of 0 or more");
}

BOOST_AUTO_TEST_CASE(refuses_every_malformed_line) {
  // Each of these once looked like a request to some parser.
  sim::trace_request request;
  BOOST_TEST(sim::parse_trace_line("{", request).starts_with("not JSON"));
  BOOST_TEST(sim::parse_trace_line("[]", request) == "not a JSON object");
  BOOST_TEST(sim::parse_trace_line("{}", request) == "timestamp is missing");
  BOOST_TEST(sim::parse_trace_line(R"({"timestamp":0,"input_length":0,"output_length":0,"hash_ids":[]})", request) == "input_length is 0");
  BOOST_TEST(sim::parse_trace_line(R"({"timestamp":0,"input_length":513,"output_length":0,"hash_ids":[1]})", request) ==
             "hash_ids has 1 blocks, but input_length needs 2");
  BOOST_TEST(sim::parse_trace_line(R"({"timestamp":0,"input_length":9999999,"output_length":0,"hash_ids":[1]})", request) ==
             "input_length is 9999999, more than 4194304");
  BOOST_TEST(sim::parse_trace_line(R"({"timestamp":0,"input_length":1,"output_length":0,"hash_ids":["a"]})", request) ==
             "hash_ids[0] is not a number of 0 or more");
}

BOOST_AUTO_TEST_CASE(bounds_the_length_of_a_line) {
  // A file without newlines must not be read into memory whole.
  const text_file file(std::string(sim::max_trace_line_bytes + 10, ' '));
  sim::trace_file subject(file.path());
  sim::trace_request request;

  BOOST_TEST(!subject.next(request));
  BOOST_TEST(subject.error() == file.path() + ", line 1: longer than 1048576 bytes");
}

BOOST_AUTO_TEST_CASE(names_a_file_that_is_not_there) {
  // The commonest mistake of all.
  sim::trace_file subject("/nonexistent/trace.jsonl");
  sim::trace_request request;

  BOOST_TEST(!subject.next(request));
  BOOST_TEST(subject.error() == "cannot open the trace /nonexistent/trace.jsonl");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(sim_generator)

BOOST_AUTO_TEST_CASE(repeats_itself_for_a_seed_and_differs_between_seeds) {
  // A difference found in a run must be found again tomorrow.
  sim::trace_generator one(7);
  sim::trace_generator same(7);
  sim::trace_generator other(8);
  sim::trace_request a;
  sim::trace_request b;
  sim::trace_request c;
  std::size_t different = 0;

  for (int i = 0; i < 500; ++i) {
    BOOST_REQUIRE(one.next(a));
    BOOST_REQUIRE(same.next(b));
    BOOST_REQUIRE(other.next(c));
    BOOST_REQUIRE(a.timestamp_ms == b.timestamp_ms && a.input_length == b.input_length && a.output_length == b.output_length);
    BOOST_REQUIRE(a.hash_ids == b.hash_ids);
    if (a.hash_ids != c.hash_ids) ++different;
  }
  BOOST_TEST(different > 400U);
}

BOOST_AUTO_TEST_CASE(has_the_shape_of_real_traffic) {
  // Without shared beginnings and growing conversations the generator would exercise nothing but stores.
  sim::trace_generator subject(1);
  sim::trace_request request;
  std::uint64_t tokens = 0;
  std::uint64_t blocks = 0;
  std::uint64_t seen_before = 0;
  std::uint64_t newest = 0;
  std::uint64_t time = 0;

  for (int i = 0; i < 3000; ++i) {
    BOOST_REQUIRE(subject.next(request));
    BOOST_REQUIRE(request.timestamp_ms >= time);
    time = request.timestamp_ms;
    BOOST_REQUIRE_EQUAL(request.hash_ids.size(), (request.input_length + 511) / 512);
    BOOST_REQUIRE(request.input_length < 123'000U);
    tokens += request.input_length;
    for (const auto id : request.hash_ids) {
      ++blocks;
      if (id <= newest) ++seen_before;
      newest = std::max(newest, id);
    }
  }
  BOOST_TEST(tokens / 3000 > 2'000U);
  BOOST_TEST(tokens / 3000 < 40'000U);
  BOOST_TEST(seen_before * 10 > blocks * 3);
  BOOST_TEST(seen_before * 10 < blocks * 9);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(sim_tokens)

BOOST_AUTO_TEST_CASE(prompts_share_tokens_exactly_where_they_share_blocks) {
  // The chain of blocks is worth nothing unless equal trace blocks become equal tokens and different ones do not.
  sim::trace_request request;
  request.input_length = 1300;
  request.output_length = 200;
  request.hash_ids = {1, 2, 3};
  sim::turn one;
  sim::make_turn(request, 0, 64, one);
  request.hash_ids = {1, 2, 4};
  sim::turn other;
  sim::make_turn(request, 1, 64, other);

  BOOST_TEST(one.prompt_tokens == 1300U);
  BOOST_TEST(one.tokens.size() == 1499U);
  BOOST_TEST(one.prompt_blocks == 20U);
  BOOST_TEST(one.chain.size() == 23U);
  for (std::size_t i = 0; i < 16; ++i) BOOST_TEST(one.chain[i] == other.chain[i]);
  for (std::size_t i = 16; i < 23; ++i) BOOST_TEST(one.chain[i] != other.chain[i]);
  for (const auto token : one.tokens) BOOST_REQUIRE(token < sim::vocabulary);
}

BOOST_AUTO_TEST_CASE(equal_blocks_after_different_beginnings_are_different) {
  // A cache may only reuse a block together with everything before it.
  sim::trace_request request;
  request.input_length = 1024;
  request.hash_ids = {1, 3};
  sim::turn one;
  sim::make_turn(request, 0, 512, one);
  request.hash_ids = {2, 3};
  sim::turn other;
  sim::make_turn(request, 0, 512, other);

  BOOST_TEST(one.chain[1] != other.chain[1]);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(sim_quantiles)

BOOST_AUTO_TEST_CASE(percentiles_are_exact_for_small_values_and_close_for_large_ones) {
  // Everything the summary says about latency goes through this histogram.
  sim::quantiles subject;
  BOOST_TEST(subject.at(0.5) == 0U);
  for (std::uint64_t i = 1; i <= 100'000; ++i) subject.add(i);

  BOOST_TEST(subject.at(0.0005) == 50U);
  BOOST_TEST(subject.at(0.5) >= 50'000U);
  BOOST_TEST(subject.at(0.5) <= 51'600U);
  BOOST_TEST(subject.at(0.99) >= 99'000U);
  BOOST_TEST(subject.at(1.0) == 100'000U);
  subject.add(~std::uint64_t{0});
  BOOST_TEST(subject.at(1.0) == ~std::uint64_t{0});
}

BOOST_AUTO_TEST_SUITE_END()
