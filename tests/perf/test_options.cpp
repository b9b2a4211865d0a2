#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "perf/sim_options.hpp"
#include "perf/sim_picture.hpp"
#include "perf/sim_tally.hpp"

using namespace kvc;

BOOST_AUTO_TEST_SUITE(sim_options)

BOOST_AUTO_TEST_CASE(reads_both_ways_of_writing_a_value) {
  // Scripts write --name=value, people --name value.
  const auto parsed = sim::parse_options({"--requests=10", "--engines", "3", "--strict", "--wire", "msgpack", "--server", "[::1]:9300",
                                          "--event-form=array", "--hash-form", "bytes", "--speed", "2.5", "--trace", "a b.jsonl"});

  BOOST_REQUIRE_EQUAL(parsed.error, "");
  BOOST_TEST(parsed.chosen.requests == 10U);
  BOOST_TEST(parsed.chosen.engines == 3U);
  BOOST_TEST(parsed.chosen.strict);
  BOOST_TEST((parsed.chosen.wire == sim::query_form::msgpack));
  BOOST_TEST((parsed.chosen.events == net::event_form::vllm_array));
  BOOST_TEST((parsed.chosen.hashes == sim::hash_form::bytes));
  BOOST_TEST(parsed.chosen.server_host == "::1");
  BOOST_TEST(parsed.chosen.server_port == 9300U);
  BOOST_TEST(parsed.chosen.speed == 2.5);
  BOOST_TEST(parsed.chosen.trace == "a b.jsonl");
}

BOOST_AUTO_TEST_CASE(refuses_with_a_sentence_that_helps) {
  // Each message names the flag, what is allowed and what was given.
  const auto error = [](std::vector<std::string> arguments) { return sim::parse_options(arguments).error; };
  BOOST_TEST(error({"--engines", "0"}) == "--engines must be a whole number from 1 to 1024, not '0'");
  BOOST_TEST(error({"--engines", "3x"}) == "--engines must be a whole number from 1 to 1024, not '3x'");
  BOOST_TEST(error({"--engines", "-1"}) == "--engines must be a whole number from 1 to 1024, not '-1'");
  BOOST_TEST(error({"--engines"}) == "--engines needs a value");
  BOOST_TEST(error({"--routing=best"}) == "--routing must be one of random, roundrobin, conductor, not 'best'");
  BOOST_TEST(error({"--server", "host:0"}) == "--server must be HOST:PORT, for example 127.0.0.1:13333 or [::1]:13333, not 'host:0'");
  BOOST_TEST(error({"--speed", "nan"}) == "--speed must be a number from 0 to 1000000, not 'nan'");
  BOOST_TEST(error({"--event-form", "standard"}).find("must be map, array, or one of vllm_array, ") != std::string::npos);
  BOOST_TEST(error({"--event-form", "standard"}).find("mooncake") == std::string::npos);
  BOOST_TEST(error({"--strict=yes"}) == "--strict takes no value");
  BOOST_TEST(error({"--model="}) == "--model must not be empty");
  BOOST_TEST(error({"--tenant", "\xFF"}) == "--tenant must be UTF-8, not '\xFF'");
  BOOST_TEST(error({"--chaos=1", "--json", "x"}) == "--json is the summary of requests; --chaos writes none");
  BOOST_TEST(error({"extra"}) == "unknown flag 'extra'; --help lists them all");
  BOOST_TEST(error({"--engines", "1000", "--ranks", "64"}).starts_with("--engines times --ranks"));
  BOOST_TEST(error({"--requests", "0"}).starts_with("--requests 0 means the whole trace"));
  BOOST_TEST(error({"--requests", "0", "--trace", "x"}) == "");
}

BOOST_AUTO_TEST_CASE(help_lists_every_flag) {
  // A flag that is not in the help does not exist for anybody.
  BOOST_TEST(sim::parse_options({"--help", "--nonsense"}).help);
  for (const auto* flag :
       {"--trace",      "--requests",  "--speed",       "--seed",   "--engines", "--ranks",       "--block-size", "--cache-blocks",
        "--event-form", "--hash-form", "--engine-host", "--server", "--routing", "--load-weight", "--clients",    "--wire",
        "--tenant",     "--model",     "--strict",      "--plain",  "--json",    "--keep",        "--serve"}) {
    BOOST_TEST(sim::help_text().find(flag) != std::string_view::npos, flag << " is not explained");
  }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(sim_picture)

BOOST_AUTO_TEST_CASE(numbers_are_readable_and_honest) {
  // "100 %" must mean all of them, however many there are.
  BOOST_TEST(sim::grouped(0) == "0");
  BOOST_TEST(sim::grouped(999) == "999");
  BOOST_TEST(sim::grouped(1'234'567) == "1,234,567");
  BOOST_TEST(sim::percent(3, 3, 3) == "100.000 %");
  BOOST_TEST(sim::percent(9'999'999, 10'000'000, 3) == "99.999 %");
  BOOST_TEST(sim::percent(1, 3, 1) == "33.3 %");
  BOOST_TEST(sim::percent(0, 0, 1) == "-");
  BOOST_TEST(sim::minutes(75) == "1:15");
}

BOOST_AUTO_TEST_CASE(the_picture_fits_every_width) {
  // A line that wraps would break the refresh in place.
  sim::tally totals;
  totals.requests = 812;
  totals.prompt_tokens = 1000;
  totals.saved_tokens = 400;
  totals.saved_tokens_random = 100;
  sim::picture now;
  now.source = "trace x";
  now.planned = 2000;
  now.elapsed_s = 12;
  now.totals = &totals;
  const sim::options chosen;

  for (std::size_t width = 1; width < 200; ++width) {
    for (const auto& line : sim::render(now, chosen, width)) BOOST_REQUIRE(line.size() <= width);
  }
  const auto lines = sim::render(now, chosen, 120);
  BOOST_TEST(lines[1].find("812 of 2,000 requests  40.6 %") != std::string::npos);
  BOOST_TEST(lines[5] == "saved      conductor 400 tokens (40.0 % of prompts)   random 100 (10.0 %)   x4.00");
}

BOOST_AUTO_TEST_SUITE_END()
