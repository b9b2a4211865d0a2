#include <array>
#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>

#include "app/config_fields.hpp"
#include "app/config_file.hpp"
#include "tests/app/made_up_inputs.hpp"

BOOST_AUTO_TEST_SUITE(config_errors)

using namespace kvc;
using test::bare_inputs;
using test::has_line;
using test::joined;
using test::read_text;

namespace {

/// Reads one flag and expects exactly one line with these parts.
void expect_refused(const std::string& flag, const std::vector<std::string_view>& parts) {
  const app::configuration config = app::read_config(bare_inputs({flag}));
  BOOST_TEST(config.errors.size() == 1U, flag << ": " << joined(config.errors));
  BOOST_TEST(has_line(config.errors, parts), flag << ": " << joined(config.errors));
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_number_is_refused_just_outside_its_range_with_name_value_range_and_source) {
  // A setting that is not checked at start fails later, far from its cause.
  std::size_t checked = 0;
  for (const app::field_info& field : app::config_fields()) {
    const auto* const whole = std::get_if<app::integer_access>(&field.access);
    if (whole == nullptr) continue;
    const std::string name(field.name);
    const std::string range = std::to_string(whole->least) + ".." + std::to_string(whole->most);
    std::vector<std::string> outside{"-1", "99999999999999999999"};
    if (whole->least > 0) outside.push_back(std::to_string(whole->least - 1));
    if (whole->most < ~std::uint64_t{0}) outside.push_back(std::to_string(whole->most + 1));
    for (const std::string& value : outside) {
      expect_refused(app::flag_name(name) + "=" + value, {name + " = " + value, "out of range", range, "flag " + app::flag_name(name)});
    }
    expect_refused(app::flag_name(name) + "=many", {name + " = many", "not a whole number", range});
    expect_refused(app::flag_name(name) + "=", {name + " = (empty)", "not a whole number", range});
    expect_refused(app::flag_name(name) + "=1.5", {name + " = 1.5", "not a whole number", range});
    ++checked;
  }
  BOOST_TEST(checked > 20U);
}

BOOST_AUTO_TEST_CASE(both_ends_of_every_range_are_accepted) {
  // The range in the message must be the range that is checked, and put must not narrow it.
  for (const app::field_info& field : app::config_fields()) {
    const auto* const whole = std::get_if<app::integer_access>(&field.access);
    if (whole == nullptr) continue;
    for (const std::uint64_t value : {whole->least, whole->most}) {
      app::config_inputs inputs = bare_inputs({app::flag_name(field.name) + "=" + std::to_string(value)});
      // These two limits are tied together, see the case below.
      if (field.name == "http_max_body_bytes") inputs.arguments.emplace_back("--http-body-budget-bytes=1099511627776");
      if (field.name == "http_body_budget_bytes") inputs.arguments.emplace_back("--http-max-body-bytes=1024");

      const app::configuration config = app::read_config(inputs);

      BOOST_TEST(config.errors.empty(), joined(config.errors));
      BOOST_TEST(whole->get(config.values) == value, field.name);
    }
  }
}

BOOST_AUTO_TEST_CASE(every_setting_explains_itself) {
  // The table is the documentation.
  for (const app::field_info& field : app::config_fields()) {
    BOOST_TEST(!field.explanation.empty(), field.name);
    BOOST_TEST(!app::legal_values(field).empty(), field.name);
    const auto* const whole = std::get_if<app::integer_access>(&field.access);
    if (whole != nullptr && whole->least == 0) BOOST_TEST(field.legal.find("0 ") != std::string_view::npos, field.name);
    const auto* const decimal = std::get_if<app::decimal_access>(&field.access);
    const bool may_be_zero = decimal != nullptr && decimal->least == 0 && !decimal->without_least;
    if (may_be_zero) BOOST_TEST(field.legal.find("0 ") != std::string_view::npos, field.name);
  }
}

BOOST_AUTO_TEST_CASE(texts_and_lists_are_refused_when_they_mean_nothing) {
  // As above, for everything that is not a number.
  expect_refused("--http-host=localhost", {"http_host = localhost", "legal: an IPv4 or IPv6 address", "flag --http-host"});
  expect_refused("--http-ports=", {"http_ports = (empty)", "1 to 16 different ports"});
  expect_refused("--http-ports=1,1", {"http_ports = 1,1", "different ports"});
  expect_refused("--http-ports=65536", {"http_ports = 65536", "0..65535"});
  expect_refused("--log-level=loud", {"log_level = loud", "trace, debug, info"});
  expect_refused("--log=http", {"log_modules = http", "module=level"});
  expect_refused("--log=dns=debug", {"log_modules = dns=debug", "app, http, stream, fleet"});
  expect_refused("--pin-lanes=maybe", {"pin_lanes = maybe", "true or false"});
}

BOOST_AUTO_TEST_CASE(tokens_are_never_shown) {
  // A configuration error ends up in logs and tickets.
  const app::configuration bad = app::read_config(bare_inputs({"--auth-tokens=pass word"}));
  const app::configuration good = app::read_config(bare_inputs({"--auth-tokens=secret1,secret2"}));

  BOOST_TEST(has_line(bad.errors, {"auth_tokens = (hidden)", "flag --auth-tokens"}), joined(bad.errors));
  BOOST_TEST(good.values.http.auth_tokens.size() == 2U);
  BOOST_TEST(app::print_config(good).find("secret") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_key_that_is_there_twice_is_refused_with_its_place) {
  // Of two lines for one setting, or two publishers of one name, one would be lost without a word.
  const std::string text = R"({"lanes": 1, // the old one
    "kvevent_instance": {"a": {}, "b": {"hash_seed": 1, "hash_seed": 2}, "a": {}},
    "stores": [{"type": 1}, {"type": 1, "tags": [[{}, {"t\u0079pe": 2, "type": 3}]]}],
    "lanes": 2, "lanes": 3,})";
  const std::vector<std::string> errors = read_text(text).errors;

  BOOST_TEST(errors.size() == 4U, joined(errors));
  for (const char* place : {"kvevent_instance.a", "kvevent_instance.b.hash_seed", "stores[1].tags[0][1].type", "lanes"}) {
    BOOST_TEST(has_line(errors, {"\"" + std::string(place) + "\" is there twice", "conductor.json"}), joined(errors));
  }
  BOOST_TEST(read_text(R"({"kvevent_instance": {"a": {"x": 1}, "b": {"x": 1}}, "stores": {"a": {"x": 1}}})").errors.empty());
}

BOOST_AUTO_TEST_CASE(only_texts_are_tokens) {
  // A slip in a file must not become a secret that anybody guesses: `Bearer null`.
  for (const char* tokens : {"[null]", "[123]", "[\"a\", 5]", "[true]", "[[\"a\"]]", "[{\"a\": \"b\"}]"}) {
    const app::configuration config = read_text("{\"auth_tokens\": " + std::string(tokens) + "}");
    BOOST_TEST(has_line(config.errors, {"auth_tokens = (hidden) is not a list of texts"}), tokens << ": " << joined(config.errors));
  }
  BOOST_TEST(has_line(read_text(R"({"auth_tokens": {"gateway": "secret"}})").errors, {"auth_tokens = (hidden) is not a list;"}));
  BOOST_TEST(has_line(read_text(R"({"auth_read_tokens": [null]})").errors, {"auth_read_tokens = (hidden) is not a list of texts"}));
  BOOST_TEST(read_text(R"({"auth_tokens": ["a", "b"], "auth_read_tokens": []})").errors.empty());
  BOOST_TEST(read_text(R"({"log_modules": {"http": "debug"}})").values.log_modules.size() == 1U);
}

BOOST_AUTO_TEST_CASE(types_in_the_file_are_strict) {
  // A quoted number in a file is a slip that should be seen, not guessed at.
  BOOST_TEST(has_line(read_text(R"({"lanes": "4"})").errors, {"lanes = \"4\" is not a whole number"}));
  BOOST_TEST(has_line(read_text(R"({"lanes": 4.0})").errors, {"lanes = 4", "not a whole number"}));
  BOOST_TEST(has_line(read_text(R"({"lanes": null})").errors, {"lanes = null", "not a whole number"}));
  BOOST_TEST(has_line(read_text(R"({"pin_lanes": 1})").errors, {"pin_lanes = 1", "not true or false"}));
  BOOST_TEST(has_line(read_text(R"({"http_host": 1})").errors, {"http_host = 1", "not a text"}));
  BOOST_TEST(has_line(read_text(R"({"http_ports": "13333"})").errors, {"http_ports = \"13333\" is not a list"}));
  BOOST_TEST(has_line(read_text(R"({"http_ports": ["13333"]})").errors, {"http_ports = [\"13333\"]", "not a list of numbers"}));
  BOOST_TEST(has_line(read_text(R"({"kvevent_instance": 3})").errors, {"kvevent_instance", "neither an object", "nor a list"}));
}

BOOST_AUTO_TEST_CASE(unknown_names_are_errors_that_suggest_the_nearest) {
  // A setting that is silently not one is the worst kind of wrong configuration.
  BOOST_TEST(has_line(read_text(R"({"lane": 4})").errors, {"\"lane\" is not a setting", "did you mean \"lanes\""}));
  BOOST_TEST(has_line(read_text(R"({"max_body_bytes": 4096})").errors, {"did you mean \"http_max_body_bytes\""}));
  BOOST_TEST(has_line(read_text(R"({"kvevents_instance": {}})").errors, {"did you mean \"kvevent_instance\""}));
  BOOST_TEST(has_line(read_text(R"({"http-host": "::"})").errors, {"\"http-host\" is not a setting", "\"http_host\""}));
  expect_refused("--lans=3", {"flag --lans is unknown", "did you mean --lanes?"});
  expect_refused("--frobnicate", {"flag --frobnicate is unknown", "--help"});
  expect_refused("serve", {"\"serve\" is not a flag"});
}

BOOST_AUTO_TEST_CASE(an_unknown_variable_is_only_a_warning) {
  // Other programs may use the prefix; an error would make them ours to forbid.
  app::config_inputs inputs = bare_inputs();
  inputs.variables = {{"KVC_LANS", "3"}, {"KVC_NO_INSTALL", "1"}, {"KVC_JOBS", "2"}};

  const app::configuration config = app::read_config(inputs);

  BOOST_TEST(config.errors.empty());
  BOOST_TEST(config.warnings.size() == 1U);
  BOOST_TEST(has_line(config.warnings, {"KVC_LANS", "not a setting"}));
}

BOOST_AUTO_TEST_CASE(a_bad_value_of_the_environment_names_its_variable) {
  // The reader must know which of four places to mend.
  app::config_inputs inputs = bare_inputs({"--lanes=4"});
  inputs.variables = {{"KVC_LANES", "x"}};

  // Also when a flag outranks it: it would bite once the flag is gone.
  BOOST_TEST(has_line(app::read_config(inputs).errors, {"lanes = x", "environment variable KVC_LANES"}));
}

BOOST_AUTO_TEST_CASE(a_file_that_is_missing_or_no_json_is_told_with_path_and_line) {
  // Naming a file that is not there must not start the service with defaults.
  const app::configuration missing = app::read_config(bare_inputs({"--config", "/nonexistent/k.json"}));

  BOOST_TEST(has_line(missing.errors, {"/nonexistent/k.json", "cannot be read", "No such file"}));
  BOOST_TEST(has_line(read_text("{\n\"lanes\": 1\n\"pin_lanes\": true}").errors, {"conductor.json:3: not JSON"}));
  BOOST_TEST(has_line(read_text("[]").errors, {"not a JSON object"}));
  BOOST_TEST(has_line(read_text("{} {}").errors, {"not JSON"}));
}

BOOST_AUTO_TEST_CASE(a_default_file_that_cannot_be_looked_at_is_an_error_and_one_that_is_not_there_is_none) {
  // Taken for missing, it would start the service open to everybody: on every address and without its tokens.
  const test::temporary_folder folder;
  const std::string loop = folder.file("loop");
  std::filesystem::create_symlink(loop, loop);
  app::config_inputs inputs = bare_inputs();
  for (const std::string& path : {loop, loop + "/kv-conductor.json", folder.path().string()}) {
    inputs.default_file = path;
    BOOST_TEST(has_line(app::read_config(inputs).errors, {path, "cannot be read: "}), path);
  }

  const test::temporary_file no_folder("{}");
  for (const std::string& path : {folder.file("none"), folder.file("none/kv-conductor.json"), no_folder.path() + "/kv-conductor.json"}) {
    inputs.default_file = path;
    BOOST_TEST(app::read_config(inputs).errors.empty(), path);
  }
}

BOOST_AUTO_TEST_CASE(a_pipe_is_read_to_its_end_and_one_that_nobody_writes_to_is_not_waited_for) {
  // `--config <(jq ...)` is fine; a FIFO without a writer held up the start, and --check-config, for ever and without a word.
  const test::temporary_folder folder;
  const std::string pipe = folder.file("pipe");
  BOOST_REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  std::string error;
  BOOST_TEST(app::read_config_file(pipe, error, std::chrono::milliseconds(1)).empty());
  BOOST_TEST(error == "nobody has written all of it within 1 ms");

  const int writer = open(pipe.c_str(), O_RDWR | O_CLOEXEC);
  BOOST_REQUIRE(write(writer, "{}", 2) == 2);
  error.clear();
  BOOST_TEST(app::read_config_file(pipe, error, std::chrono::milliseconds(1)).empty());
  BOOST_TEST(!error.empty(), "who writes has not come to the end");
  close(writer);

  std::array<int, 2> ends{};
  BOOST_REQUIRE(pipe2(ends.data(), O_CLOEXEC) == 0);
  BOOST_REQUIRE(write(ends[1], "{}", 2) == 2);
  close(ends[1]);
  error.clear();
  BOOST_TEST(app::read_config_file("/proc/self/fd/" + std::to_string(ends[0]), error) == "{}");
  BOOST_TEST(error == "");
  close(ends[0]);
  BOOST_TEST(app::read_config_file("/dev/zero", error).empty());
  BOOST_TEST(error == "it is larger than 64 MiB");
}

BOOST_AUTO_TEST_CASE(a_file_of_another_encoding_is_read_or_named) {
  // Editors of other systems put a mark before UTF-8, which was a "syntax error", as was everything in UTF-16.
  BOOST_TEST(read_text("\xEF\xBB\xBF{\"lanes\": 3}").values.lanes == 3U);
  BOOST_TEST(
      has_line(read_text(std::string_view("\xFF\xFE{\0}\0", 6)).errors, {"conductor.json:1: not JSON: it is UTF-16; save it as UTF-8"}));
}

BOOST_AUTO_TEST_CASE(a_text_with_a_nul_in_it_is_refused) {
  // The system takes what stands before it for all of it: another file, another address.
  BOOST_TEST(has_line(read_text(R"({"http_host": "127.0.0.1\u0000x"})").errors, {"http_host = ", "has a NUL byte in it"}));
  BOOST_TEST(
      has_line(read_text(R"({"coordinator_quota_file": "/a\u0000b"})").errors, {"coordinator_quota_file = \"/a b\" has a NUL byte"}));
}

BOOST_AUTO_TEST_CASE(a_number_that_no_machine_holds_is_out_of_range) {
  // "1E20 is not a whole number" is not true, and teaches nothing.
  const std::vector<std::string> errors =
      read_text(R"({"lanes": 99999999999999999999, "coordinator_eviction_ratio": 1e400, "zmq_io_threads": 1e400})").errors;
  BOOST_TEST(errors.size() == 3U, joined(errors));
  for (const char* name : {"lanes", "coordinator_eviction_ratio", "zmq_io_threads"}) {
    BOOST_TEST(has_line(errors, {name, "is out of range; legal: "}), joined(errors));
  }
  expect_refused("--coordinator-eviction-ratio=1e400", {"coordinator_eviction_ratio = 1e400 is out of range"});
  expect_refused("--coordinator-eviction-ratio=1e400x", {"is not a number"});
}

BOOST_AUTO_TEST_CASE(what_is_quoted_stays_in_its_line_and_short) {
  // A key of three megabytes was shown as a whole, and a line break in one made two errors of it.
  const std::vector<std::string> errors = read_text("{\"la\\nnes\": 1, \"" + std::string(100'000, 'k') + "\": 2}").errors;
  BOOST_TEST(errors.size() == 2U);
  BOOST_TEST(has_line(errors, {"\"la nes\" is not a setting; did you mean \"lanes\"?"}), joined(errors));
  BOOST_TEST(has_line(errors, {"kkk...\" is not a setting"}));
  for (const std::string& line : errors) BOOST_TEST(line.size() < 300U);
}

BOOST_AUTO_TEST_CASE(thousands_of_faults_are_counted_and_not_all_shown) {
  // A file of another program: finding the name that each key may have meant took minutes, and the first fault had long scrolled away.
  std::string text = "{";
  for (int i = 0; i < 20'000; ++i) text += "\"k" + std::to_string(i) + "\": 1, \"k" + std::to_string(i) + "\": 2,\n";
  const std::vector<std::string> errors = read_text(text + "}").errors;
  BOOST_TEST(errors.size() == 201U);
  BOOST_TEST(errors.back() == "and 39800 more errors");
}

BOOST_AUTO_TEST_CASE(what_follows_a_mistyped_flag_is_its_value_and_may_be_a_secret) {
  // `--auth-token s3cret` told the log the secret: as a word that is not a flag.
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"--auth-token", "s3cret"}, {"--auth-tokens", "first,", "s3cret"}, {"--auth-tokens=first", "s3cret"}}) {
    const app::configuration config = app::read_config(bare_inputs(words));
    BOOST_TEST(config.errors.size() == 1U, joined(config.errors));
    BOOST_TEST(!has_line(config.errors, {"s3cret"}), joined(config.errors));
  }
  expect_refused("--lans", {"flag --lans is unknown", "did you mean --lanes?"});
}

BOOST_AUTO_TEST_CASE(a_body_budget_below_the_largest_body_is_refused) {
  // Each is legal alone; together no body of the allowed size could ever be read.
  const app::configuration config = app::read_config(bare_inputs({"--http-body-budget-bytes=2048", "--http-max-body-bytes=4096"}));

  BOOST_TEST(has_line(config.errors, {"http_body_budget_bytes = 2048", "below", "http_max_body_bytes = 4096"}));
}

BOOST_AUTO_TEST_CASE(evicting_from_streams_that_never_become_stale_is_refused) {
  // It would silently never happen.
  const app::configuration never = app::read_config(bare_inputs({"--stream-evict-after-ms=60000", "--stream-stale-after-ms=0"}));

  BOOST_TEST(has_line(never.errors, {"stream_evict_after_ms = 60000", "stream_stale_after_ms = 0"}), joined(never.errors));
  BOOST_TEST(app::read_config(bare_inputs({"--stream-stale-after-ms=0"})).errors.empty());
  BOOST_TEST(app::read_config(bare_inputs({"--stream-evict-after-ms=60000"})).errors.empty());
}

BOOST_AUTO_TEST_CASE(all_faults_are_told_at_once) {
  // Mending one error only to meet the next costs a restart each.
  BOOST_TEST(read_text(R"({"lanes": -1, "lane": 1, "pin_lanes": 3})").errors.size() == 3U);
  const app::configuration wrong_types = read_text(R"({"kvevent_instance": 3, "stores": 4, "lane": 5})");
  BOOST_TEST(wrong_types.errors.size() == 3U, joined(wrong_types.errors));
  BOOST_TEST(has_line(wrong_types.errors, {"kvevent_instance is neither"}), joined(wrong_types.errors));
  BOOST_TEST(has_line(wrong_types.errors, {"stores is neither"}), joined(wrong_types.errors));
}

BOOST_AUTO_TEST_CASE(flags_without_their_value_say_so) {
  // `--lanes --pin-lanes` must not read a flag as a value.
  expect_refused("--lanes", {"flag --lanes needs a value", "0..1024"});
  const app::configuration config = app::read_config(bare_inputs({"--lanes", "--pin-lanes"}));
  BOOST_TEST(has_line(config.errors, {"--lanes needs a value"}));
  BOOST_TEST(config.values.pin_lanes);
}

BOOST_AUTO_TEST_CASE(yes_or_no_flags_work_alone_negated_and_with_a_word) {
  // The usual ways to write them, none of which may swallow what follows.
  BOOST_TEST(app::read_config(bare_inputs({"--pin-lanes"})).values.pin_lanes);
  BOOST_TEST(app::read_config(bare_inputs({"--pin-lanes", "--lanes", "2"})).values.lanes == 2U);
  BOOST_TEST(!app::read_config(bare_inputs({"--pin-lanes", "--no-pin-lanes"})).values.pin_lanes);
  BOOST_TEST(!app::read_config(bare_inputs({"--pin-lanes", "false"})).values.pin_lanes);
  BOOST_TEST(app::read_config(bare_inputs({"--no-pin-lanes"})).errors.empty());
}

BOOST_AUTO_TEST_SUITE_END()
