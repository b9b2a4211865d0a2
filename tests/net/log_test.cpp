#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

#include "net/log.hpp"

namespace log = kvc::net::log;

namespace {

/// Collects what is logged while it lives, with every module at `info` afterwards.
class collected_lines {
 public:
  collected_lines() {
    log::set_sink([this](log::level severity, std::string_view line) {
      lines.push_back(std::string(log::to_string(severity)) + " " + std::string(line));
    });
  }
  ~collected_lines() {
    log::set_sink({});
    for (const auto module : {log::module::app, log::module::http, log::module::stream, log::module::fleet}) {
      log::set_level(module, log::level::info);
    }
  }
  collected_lines(const collected_lines&) = delete;
  collected_lines& operator=(const collected_lines&) = delete;

  std::vector<std::string> lines;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(log_lines)

BOOST_AUTO_TEST_CASE(a_line_is_module_fact_and_fields) {
  // Lines are read by people and cut apart by programs.
  const collected_lines collected;

  log::info(log::module::stream, "gap", {{"stream", "a/0"}, {"from", 7U}, {"known", true}});

  BOOST_TEST(collected.lines == std::vector<std::string>{"info stream gap stream=a/0 from=7 known=true"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(values_that_could_be_taken_for_something_else_are_quoted) {
  // Peers choose some values; none may forge a field, a line or a terminal command.
  const collected_lines collected;

  log::warn(log::module::app, "odd", {{"a", "two words"}, {"b", ""}, {"c", "x\nerror app forged=1"}, {"d", "q\"\\"}, {"e", "\x1b[2J"}});

  BOOST_REQUIRE(collected.lines.size() == 1U);
  BOOST_TEST(collected.lines.front() == R"(warn app odd a="two words" b="" c="x\nerror app forged=1" d="q\"\\" e="\x1b[2J")");
}

BOOST_AUTO_TEST_CASE(each_module_has_a_level_of_its_own) {
  // One noisy room can be looked into without drowning in the others.
  const collected_lines collected;
  log::set_level(log::module::http, log::level::debug);
  log::set_level(log::module::fleet, log::level::off);

  log::debug(log::module::http, "seen");
  log::debug(log::module::stream, "unseen");
  log::error(log::module::fleet, "unseen");

  BOOST_TEST(collected.lines == std::vector<std::string>{"debug http seen"}, boost::test_tools::per_element());
  BOOST_TEST(!log::enabled(log::module::fleet, log::level::error));
}

BOOST_AUTO_TEST_CASE(words_of_levels_and_modules_read_back_as_they_are_written) {
  // Configuration prints them and reads them.
  for (const auto severity : {log::level::trace, log::level::debug, log::level::info, log::level::warn, log::level::error, log::level::off}) {
    log::level parsed{};
    BOOST_TEST(log::parse_level(log::to_string(severity), parsed));
    BOOST_TEST((parsed == severity));
  }
  log::module module{};
  BOOST_TEST(log::parse_module("fleet", module));
  BOOST_TEST((module == log::module::fleet));
  BOOST_TEST(!log::parse_module("dns", module));
}

BOOST_AUTO_TEST_CASE(a_sink_that_throws_does_no_harm) {
  // Logging is never the reason a request fails.
  const collected_lines restored;
  log::set_sink([](log::level, std::string_view) { throw 7; });

  log::info(log::module::app, "still here");

  BOOST_TEST(restored.lines.empty());
}

BOOST_AUTO_TEST_SUITE_END()
