#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "tests/app/made_up_inputs.hpp"

BOOST_AUTO_TEST_SUITE(config_size)

using namespace kvc;
using test::bare_inputs;
using test::has_line;
using test::joined;
using test::read_text;

BOOST_AUTO_TEST_CASE(sizes_are_bytes_or_have_a_unit) {
  // What people type; a budget that is off by 1024 would empty the index or fill the machine.
  const std::vector<std::pair<std::string, std::uint64_t>> legal{
      {"0", 0}, {"1048576", 1'048'576}, {"64K", 65'536}, {"3M", 3U << 20}, {"8G", std::uint64_t{8} << 30}, {"2t", std::uint64_t{2} << 40}};
  for (const auto& [text, bytes] : legal) {
    const app::configuration flag = app::read_config(bare_inputs({"--index-budget", text}));
    BOOST_TEST(flag.errors.empty(), joined(flag.errors));
    BOOST_TEST(flag.values.streams.index_budget == bytes, text);
    BOOST_TEST(read_text("{\"index_budget\": \"" + text + "\"}").values.streams.index_budget == bytes, text);
  }
  BOOST_TEST(read_text("{\"index_budget\": 4096}").values.streams.index_budget == 4'096U);
}

BOOST_AUTO_TEST_CASE(what_is_no_size_is_refused) {
  for (const std::string text : {"G", "8 G", "8GB", "-1G", "1.5G", "9999999999999999T", "2000000G", ""}) {
    const app::configuration config = app::read_config(bare_inputs({"--index-budget=" + text}));
    BOOST_TEST(has_line(config.errors, {"index_budget"}), text);
  }
  BOOST_TEST(has_line(app::read_config(bare_inputs({"--lanes=1K"})).errors, {"lanes = 1K", "is not a whole number"}));
}

BOOST_AUTO_TEST_SUITE_END()
