#include "net/log.hpp"

#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(log_lines)

namespace logging = kvc::net::log;

namespace {

/// Collects what is logged while it lives, with every module at `info` afterwards.
class collected_lines {
 public:
  collected_lines() {
    logging::set_sink([this](logging::level severity, std::string_view line) {
      lines.push_back(std::string(logging::to_string(severity)) + " " + std::string(line));
    });
  }
  ~collected_lines() {
    logging::set_sink({});
    for (const auto module : {logging::module::app, logging::module::http, logging::module::stream, logging::module::fleet}) {
      logging::set_level(module, logging::level::info);
    }
  }
  collected_lines(const collected_lines&) = delete;
  collected_lines& operator=(const collected_lines&) = delete;

  std::vector<std::string> lines;
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_line_is_module_fact_and_fields) {
  // Lines are read by people and cut apart by programs.
  const collected_lines collected;

  logging::info(logging::module::stream, "gap", {{"stream", "a/0"}, {"from", 7U}, {"known", true}});

  BOOST_TEST(collected.lines == std::vector<std::string>{"info stream gap stream=a/0 from=7 known=true"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(values_that_could_be_taken_for_something_else_are_quoted) {
  // Peers choose some values; none may forge a field, a line or a terminal command.
  const collected_lines collected;

  logging::warn(logging::module::app, "odd",
                {{"a", "two words"}, {"b", ""}, {"c", "x\nerror app forged=1"}, {"d", "q\"\\"}, {"e", "\x1b[2J"}});

  BOOST_REQUIRE(collected.lines.size() == 1U);
  BOOST_TEST(collected.lines.front() == R"(warn app odd a="two words" b="" c="x\nerror app forged=1" d="q\"\\" e="\x1b[2J")");
  // What other programs take for the end of a line, controls of more than a byte, and bytes that are no text.
  logging::warn(logging::module::app, "odd",
                {{"a", "\u0085x"}, {"b", "\u2028"}, {"c", "\u009b2J"}, {"d", "\u202e"}, {"e", "\x9b"}, {"f", "\u00e9\u65e5"}});
  BOOST_TEST(collected.lines.back() == R"(warn app odd a="\xc2\x85x" b="\xe2\x80\xa8" c="\xc2\x9b2J" d="\xe2\x80\xae" e="\x9b" f=)"
                                       "\u00e9\u65e5");
}

BOOST_AUTO_TEST_CASE(each_module_has_a_level_of_its_own) {
  // One noisy room can be looked into without drowning in the others.
  const collected_lines collected;
  logging::set_level(logging::module::http, logging::level::debug);
  logging::set_level(logging::module::fleet, logging::level::off);

  logging::debug(logging::module::http, "seen");
  logging::debug(logging::module::stream, "unseen");
  logging::error(logging::module::fleet, "unseen");

  BOOST_TEST(collected.lines == std::vector<std::string>{"debug http seen"}, boost::test_tools::per_element());
  BOOST_TEST(!logging::enabled(logging::module::fleet, logging::level::error));
}

BOOST_AUTO_TEST_CASE(words_of_levels_and_modules_read_back_as_they_are_written) {
  // Configuration prints them and reads them.
  for (const auto severity : {logging::level::trace, logging::level::debug, logging::level::info, logging::level::warn,
                              logging::level::error, logging::level::off}) {
    logging::level parsed{};
    BOOST_TEST(logging::parse_level(logging::to_string(severity), parsed));
    BOOST_TEST((parsed == severity));
  }
  logging::module module{};
  BOOST_TEST(logging::parse_module("fleet", module));
  BOOST_TEST((module == logging::module::fleet));
  BOOST_TEST(!logging::parse_module("dns", module));
}

BOOST_AUTO_TEST_CASE(a_sink_that_throws_does_no_harm) {
  // Logging is never the reason a request fails.
  const collected_lines restored;
  logging::set_sink([](logging::level, std::string_view) { throw 7; });

  logging::info(logging::module::app, "still here");

  BOOST_TEST(restored.lines.empty());
}

BOOST_AUTO_TEST_SUITE_END()
