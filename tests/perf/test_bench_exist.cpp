#include <string>

#include <boost/test/unit_test.hpp>

#include "perf/bench_exist.hpp"
#include "perf/bench_options.hpp"

BOOST_AUTO_TEST_SUITE(bench_exist)

using namespace kvc;

BOOST_AUTO_TEST_CASE(keys_are_64_digits_and_different) {
  BOOST_TEST(perf::exist_key(1).size() == 64U);
  BOOST_TEST(perf::exist_key(1).find_first_not_of("0123456789abcdef") == std::string::npos);
  BOOST_TEST(perf::exist_key(1) == perf::exist_key(1));
  BOOST_TEST(perf::exist_key(1) != perf::exist_key(2));
}

BOOST_AUTO_TEST_CASE(the_table_of_objects_is_measured) {
  // A small run, so that the measurement itself cannot rot.
  perf::bench_report report;
  perf::run_exist_memory(10'000, report);
  BOOST_TEST(report.find("objects").value_or(0) == 10'000);
  BOOST_TEST(report.find("table_bytes_per_object").value_or(0) > 64);
  BOOST_TEST(report.find("find_ns_per_key").value_or(0) > 0);
}

BOOST_AUTO_TEST_CASE(exist_flags_say_what_is_wrong_with_them) {
  const auto parsed = perf::parse_bench_options({"exist", "--mode", "rate", "--stored=500", "--json"});
  BOOST_TEST(parsed.error == "");
  BOOST_TEST(parsed.exist.stored == 500U);
  BOOST_TEST(parsed.exist.as_json);
  BOOST_TEST(perf::parse_bench_options({"exist", "--mode", "fast"}).error == "--mode must be all, memory, rate or prefetch");
}

BOOST_AUTO_TEST_SUITE_END()
