#include <cctype>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <boost/test/unit_test.hpp>

#include "app/config_fields.hpp"
#include "app/config_file.hpp"
#include "tests/app/made_up_inputs.hpp"

BOOST_AUTO_TEST_SUITE(config_print)

using namespace kvc;
using test::bare_inputs;
using test::joined;

namespace {

/// Small letters, one blank between two words, neither quotes nor the strokes of comments.
std::string plain_words(const std::string& text) {
  std::string words;
  std::size_t at = 0;
  while (at < text.size()) {
    const char letter = text[at++];
    const bool is_between = letter == ' ' || letter == '\n' || (letter == '/' && at < text.size() && text[at] == '/');
    if (is_between && letter == '/') ++at;
    if (letter == '"' || (is_between && words.ends_with(' '))) continue;
    words += is_between ? ' ' : static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  return words;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_printed_configuration_is_json_with_value_and_source_of_every_setting) {
  // It is what a person sends along when something is wrong, and what a program compares.
  app::config_inputs inputs = bare_inputs({"--lanes=3", "--log=http=debug,stream=trace"});
  inputs.variables["KVC_HTTP_HOST"] = "::";

  const boost::json::value printed = boost::json::parse(app::print_config(app::read_config(inputs)));

  const boost::json::object& settings = printed.at("settings").as_object();
  BOOST_TEST(settings.at("lanes").at("value").as_int64() == 3);
  BOOST_TEST(settings.at("lanes").at("source").as_string() == "flag --lanes");
  BOOST_TEST(settings.at("http_host").at("source").as_string() == "environment variable KVC_HTTP_HOST");
  BOOST_TEST(settings.at("hash_seed").at("source").as_string() == "default");
  BOOST_TEST(settings.at("log_modules").at("value").at(1).as_string() == "stream=trace");
  BOOST_TEST(printed.at("file").is_null());
  for (const app::field_info& field : app::config_fields()) {
    BOOST_TEST(settings.contains(field.name) == field.stands_for.empty(), field.name);
  }
}

BOOST_AUTO_TEST_CASE(the_printed_configuration_is_json_whatever_was_taken) {
  // A share of 1e-40 was printed as whatever lay on the stack, and the bytes of a path need not be text.
  const app::configuration odd = app::read_config(bare_inputs({"--coordinator-eviction-ratio=1e-40", "--coordinator-quota-file=/\xFF\n"}));
  BOOST_TEST(odd.errors.empty(), joined(odd.errors));

  const boost::json::value printed = boost::json::parse(app::print_config(odd));

  BOOST_TEST(printed.at("settings").at("coordinator_eviction_ratio").at("value").as_double() == 1e-40);
  BOOST_TEST(printed.at("settings").at("coordinator_quota_file").at("value").as_string() == "/\xEF\xBF\xBD\n");
  for (const double each : {0.0, 0.2, 30.0, 315'360'000.0, 1e-9, 5e-324, 1.7976931348623157e308}) {
    BOOST_TEST(boost::json::parse(app::decimal_text(each)).is_number(), app::decimal_text(each));
    BOOST_TEST(std::strtod(app::decimal_text(each).c_str(), nullptr) == each, app::decimal_text(each));
  }
  BOOST_TEST(app::decimal_text(315'360'000.0) == "315360000");
}

BOOST_AUTO_TEST_CASE(registrations_of_the_file_are_printed_with_where_they_stand) {
  app::configuration config = app::read_config(bare_inputs({}));
  config.values.publishers = {{"kvevent_instance.a", R"({"instance_id":"a"})", "f.json"}};
  config.values.store_entries = {{"stores[0]", R"({"backend_id":"b"})", "f.json"}};
  const boost::json::value printed = boost::json::parse(app::print_config(config));
  BOOST_TEST(printed.at("publishers").at(0).at("registration").at("instance_id").as_string() == "a");
  BOOST_TEST(printed.at("stores").at(0).at("name").as_string() == "stores[0]");
  BOOST_TEST(printed.at("stores").at(0).at("registration").at("backend_id").as_string() == "b");
}

BOOST_AUTO_TEST_CASE(help_names_every_setting_with_its_legal_values) {
  // Help that lags behind the settings is worse than none.
  const std::string help = app::help_text();

  for (const app::field_info& field : app::config_fields()) {
    BOOST_TEST(help.find(app::flag_name(field.name) + (std::holds_alternative<app::boolean_access>(field.access) ? "\n" : " VALUE\n")) !=
                   std::string::npos,
               field.name);
    BOOST_TEST(help.find(app::legal_values(field)) != std::string::npos, field.name);
  }
  for (const std::string_view each : app::coordinator_flags()) {
    const std::string flag = ' ' + app::flag_name(each);
    BOOST_TEST((help.find(flag + ',') != std::string::npos || help.find(flag + '.') != std::string::npos), each);
  }
  BOOST_TEST(help.find("example") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(help_works_beside_flags_that_make_no_sense) {
  // Whoever got the flags wrong asks for help.
  const app::configuration config = app::read_config(bare_inputs({"--lans", "3", "--help"}));

  BOOST_TEST((config.wanted == app::command::help));
  BOOST_TEST(config.errors.empty());
}

BOOST_AUTO_TEST_CASE(the_shipped_file_lists_every_setting_at_its_default) {
  // Operators start from this file; it must neither change anything nor leave anything out.
  const std::string path = std::string(KVC_SOURCE_DIR) + "/etc/kv-conductor.json";
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};

  const app::configuration shipped = app::read_config(bare_inputs({"--config", path}));
  const app::configuration built_in = app::read_config(bare_inputs());

  BOOST_TEST(shipped.errors.empty(), joined(shipped.errors));
  BOOST_TEST(shipped.values.publishers.empty());
  std::set<std::string> listed;
  for (const auto& [key, value] : app::parse_config_file(text, path).values) listed.insert(key);
  for (const app::field_info& field : app::config_fields()) {
    BOOST_TEST(listed.contains(std::string(field.name)) == field.stands_for.empty(), field.name);
    if (const auto* whole = std::get_if<app::integer_access>(&field.access)) {
      BOOST_TEST(whole->get(shipped.values) == whole->get(built_in.values), field.name);
    } else if (const auto* yes_or_no = std::get_if<app::boolean_access>(&field.access)) {
      BOOST_TEST(yes_or_no->get(shipped.values) == yes_or_no->get(built_in.values), field.name);
    } else if (const auto* real = std::get_if<app::decimal_access>(&field.access)) {
      BOOST_TEST(real->get(shipped.values) == real->get(built_in.values), field.name);
    } else if (const auto* word = std::get_if<app::text_access>(&field.access)) {
      BOOST_TEST(word->get(shipped.values) == word->get(built_in.values), field.name);
    } else if (const auto* list = std::get_if<app::list_access>(&field.access)) {
      BOOST_TEST(list->get(shipped.values) == list->get(built_in.values), boost::test_tools::per_element());
    }
  }
}

BOOST_AUTO_TEST_CASE(the_shipped_file_explains_every_setting_in_the_words_of_the_help) {
  // Of two explanations that differ one is wrong, and nobody can tell which.
  const std::string path = std::string(KVC_SOURCE_DIR) + "/etc/kv-conductor.json";
  std::ifstream file(path);
  const std::string comments = plain_words({std::istreambuf_iterator<char>(file), {}});
  for (const app::field_info& field : app::config_fields()) {
    if (!field.stands_for.empty()) continue;
    BOOST_TEST(comments.find(plain_words(std::string(field.explanation))) != std::string::npos, field.name);
    BOOST_TEST(comments.find(plain_words(app::legal_values(field))) != std::string::npos, field.name);
  }
}

BOOST_AUTO_TEST_SUITE_END()
