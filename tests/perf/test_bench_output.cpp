#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

#include <boost/test/unit_test.hpp>

#include "perf/bench_output.hpp"
#include "perf/bench_server.hpp"
#include "perf/bench_summary.hpp"
#include "perf/report_run.hpp"
#include "tests/support/temporary_folder.hpp"

BOOST_AUTO_TEST_SUITE(bench_output)

using namespace kvc;

namespace {

std::string reason_of(const perf::bench_server::place& where) {
  try {
    const perf::bench_server server(where, {});
  } catch (const std::runtime_error& fault) {
    return fault.what();
  }
  return {};
}

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_page_that_is_there_stays_until_there_is_a_better_one) {
  // It was opened, and so emptied, before the half hour that may be interrupted.
  const test::temporary_folder folder;
  std::ofstream(folder.file("page.md")) << "figures";

  BOOST_TEST(perf::can_be_written(folder.file("page.md")));
  BOOST_TEST(perf::can_be_written(folder.file("new.md")));
  BOOST_TEST(!perf::can_be_written(folder.file("none/page.md")));
  BOOST_TEST(!perf::can_be_written(folder.path().string()));

  std::ifstream page(folder.file("page.md"));
  BOOST_TEST((std::string(std::istreambuf_iterator<char>(page), {})) == "figures");
  BOOST_TEST(!std::filesystem::exists(folder.file("new.md")));
}

BOOST_AUTO_TEST_CASE(a_report_that_could_not_be_written_is_not_measured) {
  // It was found out half an hour later.
  const test::temporary_folder folder;
  std::ofstream(folder.file("file")) << "no folder";
  perf::report_plan plan;
  plan.folder = folder.file("file");
  const auto said = perf::run_report(plan, "report");
  BOOST_REQUIRE(!said.has_value());
  BOOST_TEST(said.error() == "cannot write " + folder.file("file/report.html"));
}

BOOST_AUTO_TEST_CASE(a_server_that_cannot_be_started_is_told_with_its_reason) {
  // "it said: " and nothing behind it; and a CPU that is not there was as good as any, so that the figures were of another set-up.
  BOOST_TEST(says(reason_of({.program = "/nonexistent/kv-conductor", .cpu = -1}), "it cannot be started: No such file or directory"));
  BOOST_TEST(says(reason_of({.program = "/bin/true", .cpu = 1'023}), "there is no CPU 1023 for it"));
  BOOST_TEST(says(reason_of({.program = "/bin/true", .cpu = -1}), "/bin/true does not listen"));
}

BOOST_AUTO_TEST_CASE(results_are_json_whatever_the_file_is_called) {
  // Names of files are bytes; programs that read results take nothing but UTF-8.
  BOOST_TEST(says(perf::bench_summary({}).json({{"file", "a\xFF\n\""}}), "{\"file\":\"a\xEF\xBF\xBD\\u000a\\\"\","));
}

BOOST_AUTO_TEST_SUITE_END()
