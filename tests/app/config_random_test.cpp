// Random lives of the configuration: files, variables and command lines as nobody would write them on purpose. KVC_PROPERTY_SEED sets the
// first seed.
#include <algorithm>
#include <array>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <boost/test/unit_test.hpp>

#include "app/config_fields.hpp"
#include "app/config_file.hpp"
#include "app/publishers.hpp"
#include "core/utf8.hpp"
#include "tests/app/made_up_inputs.hpp"
#include "tests/support/setting.hpp"

BOOST_AUTO_TEST_SUITE(config_random)

using namespace kvc;
using test::bare_inputs;
using test::joined;
using test::temporary_file;

namespace {

constexpr std::string_view secret = "hunter2hunter2";

/// What somebody draws who wishes the program ill.
class ill_will {
 public:
  explicit ill_will(std::uint64_t seed) : random_(seed) {}

  std::size_t below(std::size_t count) { return std::uniform_int_distribution<std::size_t>(0, count - 1)(random_); }
  bool sometimes(std::size_t one_in) { return below(one_in) == 0; }

  const app::field_info& field() { return app::config_fields()[below(app::config_fields().size())]; }

  /// A value as JSON has it: of the wrong type, beyond every range, or right.
  std::string json_value(const app::field_info& of) {
    static const std::vector<std::string> odd{"null",
                                              "true",
                                              "[]",
                                              "{}",
                                              "-1",
                                              "-0",
                                              "0",
                                              "1",
                                              "4.0",
                                              "1e3",
                                              "1e400",
                                              "-1e400",
                                              "1e-300",
                                              "1e-20",
                                              "99999999999999999999",
                                              "18446744073709551615",
                                              "18446744073709551616",
                                              "\"\"",
                                              "\"4\"",
                                              "\"a\\u0000b\"",
                                              "\"127.0.0.1\\u0000\"",
                                              "\"\\u001b[31m\\n\"",
                                              "\"8G\"",
                                              "\"9999999999999T\"",
                                              "[1,\"a\"]",
                                              "[[[]]]",
                                              "[0,0]",
                                              "[1,1]",
                                              "[65536]",
                                              "{\"http\":\"debug\"}",
                                              "{\"a\":{\"b\":[]}}",
                                              "\"::\"",
                                              "\"\xF0\x9F\x98\x80\"",
                                              "[13333,0]",
                                              "\"debug\"",
                                              "\"drop\"",
                                              "\"bytes\"",
                                              "0.5",
                                              "[\"http=debug\"]"};
    if (of.secret) return "[\"" + std::string(secret) + "\"" + (sometimes(3) ? ",7]" : "]");
    if (sometimes(3)) return odd[below(odd.size())];
    if (const auto* whole = std::get_if<app::integer_access>(&of.access)) return std::to_string(sometimes(2) ? whole->least : whole->most);
    if (const auto* real = std::get_if<app::decimal_access>(&of.access)) return app::decimal_text(sometimes(2) ? real->least : real->most);
    return odd[below(odd.size())];
  }

  /// The same as a flag or a variable has it.
  std::string loose_value(const app::field_info& of) {
    static const std::vector<std::string> odd{"",     " ",     "-",       "--",    "\xFF\xFE", "nan",         "inf",
                                              "-inf", "1e400", "0x10",    "1_000", ",",        ",,",          "1,1",
                                              "true", "on",    "perhaps", "\n\n",  "a=b",      "http=debug,", std::string(5'000, '9'),
                                              "+1"};
    if (of.secret) return std::string(secret) + (sometimes(3) ? " " : "");
    return sometimes(2) ? odd[below(odd.size())] : json_value(of);
  }

  /// A file of settings: some known, some mistyped, some twice.
  std::string file() {
    std::string text = "{";
    for (std::size_t i = below(8); i > 0; --i) {
      const app::field_info& each = field();
      std::string key(each.name);
      if (sometimes(6)) key.insert(below(key.size() + 1), sometimes(2) ? "x" : "\\n\\u001b");
      if (sometimes(30)) key.assign(5'000, 'k');
      text += "\"" + key + "\": " + json_value(each) + ",";
    }
    if (sometimes(3)) text += R"("kvevent_instance": {"a\n": {"endpoint": "tcp://127.0.0.1:1", "type": "vLLM", "block_size": 16}},)";
    if (sometimes(3)) text += R"("stores": [{"backend_id": "b", "type": "webhook", "url": "http://127.0.0.1:1/"}, 7],)";
    return text + "}";
  }

  /// The same with some of its bytes gone wrong.
  std::string damaged(std::string text) {
    static const std::array<std::string_view, 12> pieces{
        std::string_view("\0", 1), "\xFF", "\xC3", "\xEF\xBB\xBF", "\"", "{", "[", "]", "}", ",", "//", "/*"};
    for (std::size_t times = 1 + below(4); times > 0 && !text.empty(); --times) {
      const std::size_t at = below(text.size());
      switch (below(5)) {
        case 0: text.erase(at, 1 + below(20)); break;
        case 1: text.insert(at, pieces[below(pieces.size())]); break;
        case 2: text[at] = static_cast<char>(below(256)); break;
        case 3: text.insert(at, text.substr(at, 1 + below(60))); break;
        default: text.resize(at); break;
      }
    }
    return text;
  }

  std::vector<std::string> flags() {
    static const std::vector<std::string> odd{
        "--",       "-",     "",          "--=",          "--lanes", "--no-pin-lanes", "--no-lanes", "--pin-lanes=",
        "--config", "--log", "--x\n\x1B", "--auth-token", "serve",   "--port",         "--port=0",   "--host=localhost",
        "-5"};
    std::vector<std::string> words;
    for (std::size_t i = below(6); i > 0; --i) {
      const app::field_info& each = field();
      if (sometimes(3)) {
        words.push_back(odd[below(odd.size())]);
        // As of a flag that is mistyped, or has a blank too many in its value.
        if (words.back() == "--auth-token") words.emplace_back(secret);
      } else if (sometimes(2)) {
        words.push_back(app::flag_name(each.name) + "=" + loose_value(each));
      } else {
        words.push_back(app::flag_name(each.name));
        words.push_back(loose_value(each));
        if (each.secret && sometimes(2)) words.emplace_back(secret);
      }
    }
    return words;
  }

  app::environment variables() {
    app::environment all;
    for (std::size_t i = below(5); i > 0; --i) {
      const app::field_info& each = field();
      std::string name = app::variable_name(each.name);
      if (each.name.starts_with("coordinator_") && sometimes(2)) name.replace(0, 4, "LMCACHE_MP_");
      if (sometimes(6)) name += sometimes(2) ? "_X" : "\n\xFF";
      all[name] = loose_value(each);
    }
    if (sometimes(10)) all["CONDUCTOR_CONFIG_PATH"] = sometimes(2) ? "/" : "/nonexistent/\xFF\n";
    if (sometimes(10)) all["JOURNAL_STREAM"] = "\xFF";
    return all;
  }

 private:
  std::mt19937_64 random_;
};

/// What every line has to be, so that a person can do something about it.
void expect_to_teach(const std::vector<std::string>& lines, bool hides) {
  constexpr std::size_t longest_line = 1'000;
  for (const std::string& line : lines) {
    BOOST_TEST(!line.empty());
    BOOST_TEST(line.size() < longest_line, line.size());
    BOOST_TEST(core::is_utf8(line), line);
    BOOST_TEST(std::ranges::none_of(line, [](char letter) { return static_cast<unsigned char>(letter) < 0x20 || letter == 0x7F; }), line);
    BOOST_TEST((!hides || line.find(secret) == std::string::npos), line);
    // Which setting it is about, or where it stands.
    bool is_named = line.find("flag") != std::string::npos || line.find("conductor.json") != std::string::npos ||
                    line.find("environment variable") != std::string::npos || line.find("the configuration file") != std::string::npos;
    for (const app::field_info& field : app::config_fields()) is_named = is_named || line.find(field.name) != std::string::npos;
    BOOST_TEST(is_named, line);
  }
}

/// The settings of a printed configuration as a file has them; what is hidden is left out.
std::string as_file(const boost::json::value& printed) {
  boost::json::object file;
  for (const auto& [name, row] : printed.at("settings").as_object()) {
    const app::field_info* const field = app::find_field(std::string_view(name.data(), name.size()));
    if (field != nullptr && !field->secret) file[name] = row.at("value");
  }
  return boost::json::serialize(file);
}

/// Reads them, and expects faults that teach, or a configuration that says the same when it is read once more. `hides`: secrets stand where
/// they belong, and so are never told; damage may have put them behind another name.
void live_through(const app::config_inputs& inputs, bool hides = true) {
  const app::configuration config = app::read_config(inputs);
  expect_to_teach(config.errors, hides);
  expect_to_teach(config.warnings, hides);
  if (!config.errors.empty() || config.wanted == app::command::help) return;
  core::medium_table media;
  expect_to_teach(app::check_publishers(config.values, media).errors, hides);
  expect_to_teach(app::check_stores(config.values).errors, hides);

  const std::string text = app::print_config(config);
  BOOST_TEST((!hides || text.find(secret) == std::string::npos));
  BOOST_TEST(core::is_utf8(text), text);
  boost::system::error_code failed;
  const boost::json::value printed = boost::json::parse(text, failed);
  BOOST_REQUIRE_MESSAGE(!failed, failed.message() << " in " << text);
  const std::string once = as_file(printed);
  const app::configuration again = test::read_text(once);
  BOOST_TEST(again.errors.empty(), joined(again.errors));
  BOOST_TEST(as_file(boost::json::parse(app::print_config(again))) == once);
}

std::string shipped_file() {
  std::ifstream file(std::string(KVC_SOURCE_DIR) + "/etc/kv-conductor.json", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Rounds with a seed each, which a failure tells.
template <class Round>
void in_rounds(Round round) {
  const std::uint64_t first = test::setting("KVC_PROPERTY_SEED", std::random_device()());
  BOOST_TEST_MESSAGE("KVC_PROPERTY_SEED=" << first);
  constexpr std::uint64_t rounds = 300;
  for (std::uint64_t seed = first; seed < first + rounds; ++seed) {
    BOOST_TEST_CONTEXT("KVC_PROPERTY_SEED=" << seed) {
      ill_will bad(seed);
      round(bad);
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(whatever_stands_in_the_file_is_read_or_refused_with_words_that_teach) {
  // It is written by people and by templates, and is read before anything could catch a fault.
  in_rounds([](ill_will& bad) {
    const bool is_whole = !bad.sometimes(4);
    const std::string text = bad.file();
    const temporary_file file(is_whole ? text : bad.damaged(text));
    live_through(bare_inputs({"--config", file.path()}), is_whole);
  });
}

BOOST_AUTO_TEST_CASE(a_damaged_copy_of_the_shipped_file_is_read_or_refused_with_words_that_teach) {
  // Comments, commas and all: a disk or a merge may leave anything of it.
  const std::string sound = shipped_file();
  in_rounds([&sound](ill_will& bad) {
    const temporary_file file(bad.damaged(sound));
    live_through(bare_inputs({"--config", file.path()}));
  });
}

BOOST_AUTO_TEST_CASE(whatever_stands_on_the_command_line_and_in_the_environment_is_read_or_refused_with_words_that_teach) {
  // Units, containers and shells each have their own ideas of quoting.
  in_rounds([](ill_will& bad) {
    app::config_inputs inputs = bare_inputs(bad.flags());
    inputs.variables = bad.variables();
    live_through(inputs);
  });
}

BOOST_AUTO_TEST_SUITE_END()
