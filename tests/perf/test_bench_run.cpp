#include <unistd.h>

#include <boost/test/unit_test.hpp>

#include "perf/bench_modes.hpp"
#include "perf/bench_run.hpp"

BOOST_AUTO_TEST_SUITE(bench_run)

using namespace kvc;

namespace {

void tell_process(const perf::bench_setup&, perf::bench_report& report) {
  report.add("process", static_cast<double>(::getpid()));
}

}  // namespace

BOOST_AUTO_TEST_CASE(inherits_nothing_from_what_was_measured_before) {
  const perf::bench_mode mode{.name = "told", .about = "", .shape = tell_process};
  const perf::bench_job job{.mode = &mode, .file = nullptr, .setup = {}, .with_yardstick = false};
  for (const std::uint32_t repeat : {1U, 2U}) {
    const auto summary = perf::run_repeated(job, repeat);
    BOOST_REQUIRE(summary.has_value());
    BOOST_TEST(summary->runs() == repeat);
    BOOST_TEST(summary->median("process").value() != static_cast<double>(::getpid()), "a table of one run per measurement, too");
  }
}

BOOST_AUTO_TEST_SUITE_END()
