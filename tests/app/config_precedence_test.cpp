#include <boost/test/unit_test.hpp>

#include "tests/app/made_up_inputs.hpp"

BOOST_AUTO_TEST_SUITE(config_precedence)

using namespace kvc;
using test::bare_inputs;
using test::joined;
using test::read_text;
using test::temporary_file;

BOOST_AUTO_TEST_CASE(with_nothing_said_every_setting_is_at_its_default) {
  // The defaults are promised in the documentation; the ports are what clients in the field use.
  const app::configuration config = app::read_config(bare_inputs());

  BOOST_TEST(config.errors.empty(), joined(config.errors));
  BOOST_TEST(config.sources.empty());
  BOOST_TEST((config.wanted == app::command::serve));
  BOOST_TEST(config.values.http_ports == (std::vector<std::uint16_t>{13333, 9300}), boost::test_tools::per_element());
  BOOST_TEST(config.values.hash_seed == 1337U);
  BOOST_TEST(config.values.lanes == 0U);
}

BOOST_AUTO_TEST_CASE(a_flag_outranks_the_environment_which_outranks_the_file) {
  // The order operators rely on: the nearer to the person who types, the stronger.
  const temporary_file file(R"({"lanes": 2, "zmq_io_threads": 2, "hash_seed": 2})");
  app::config_inputs inputs = bare_inputs({"--config", file.path(), "--lanes", "4"});
  inputs.variables = {{"KVC_LANES", "3"}, {"KVC_ZMQ_IO_THREADS", "3"}};

  const app::configuration config = app::read_config(inputs);

  BOOST_TEST(config.errors.empty(), joined(config.errors));
  BOOST_TEST(config.values.lanes == 4U);
  BOOST_TEST(config.values.zmq_io_threads == 3);
  BOOST_TEST(config.values.hash_seed == 2U);
  BOOST_TEST(config.sources.at("lanes") == "flag --lanes");
  BOOST_TEST(config.sources.at("zmq_io_threads") == "environment variable KVC_ZMQ_IO_THREADS");
  BOOST_TEST(config.sources.at("hash_seed") == file.path());
}

BOOST_AUTO_TEST_CASE(the_config_flag_outranks_the_variable_which_outranks_the_default_path) {
  // CONDUCTOR_CONFIG_PATH is the Conductor's own way to name the file and must go on working.
  const temporary_file of_default(R"({"lanes": 1})");
  const temporary_file of_variable(R"({"lanes": 2})");
  const temporary_file of_flag(R"({"lanes": 3})");
  app::config_inputs inputs = bare_inputs();

  inputs.default_file = of_default.path();
  BOOST_TEST(app::read_config(inputs).values.lanes == 1U);
  inputs.variables["CONDUCTOR_CONFIG_PATH"] = of_variable.path();
  BOOST_TEST(app::read_config(inputs).values.lanes == 2U);
  inputs.arguments = {"--config=" + of_flag.path()};
  BOOST_TEST(app::read_config(inputs).values.lanes == 3U);
}

BOOST_AUTO_TEST_CASE(the_conductors_port_replaces_the_first_port_of_the_same_source) {
  // The Conductor's configuration files are to work unchanged, and its port must not depend on where in the file it stands.
  const std::vector<std::uint16_t> expected{7000, 9300};

  BOOST_TEST(read_text(R"({"http_server_port": 7000})").values.http_ports == expected, boost::test_tools::per_element());
  BOOST_TEST(read_text(R"({"http_server_port": 7000, "http_ports": [1, 9300]})").values.http_ports == expected,
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_conductors_port_drops_a_second_entry_for_the_same_port) {
  // Listening twice on one port would fail with a message about a port the operator wrote only once.
  const std::vector<std::uint16_t> expected{9300};

  BOOST_TEST(read_text(R"({"http_server_port": 9300})").values.http_ports == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(ports_of_a_flag_outrank_the_conductors_port_of_a_file) {
  // The alias is a setting of its source like any other.
  const temporary_file file(R"({"http_server_port": 7000})");
  const app::configuration config = app::read_config(bare_inputs({"--config", file.path(), "--http-ports", "0, 8080"}));

  BOOST_TEST(config.values.http_ports == (std::vector<std::uint16_t>{0, 8080}), boost::test_tools::per_element());
  BOOST_TEST(config.sources.at("http_ports") == "flag --http-ports");
}

BOOST_AUTO_TEST_CASE(publishers_by_name_get_the_name_as_instance_id_unless_they_have_one) {
  // The Conductor's kvevent_instance maps a name to a registration; the name is all it has for an identity.
  const app::configuration config = read_text(
      R"({"kvevent_instance": {"a": {"endpoint": "tcp://h:1"}, "b": {"instance_id": "other", "dp_rank": 18446744073709551615}}})");

  BOOST_TEST(config.errors.empty(), joined(config.errors));
  BOOST_REQUIRE(config.values.publishers.size() == 2U);
  BOOST_TEST(config.values.publishers[0].name == "kvevent_instance.a");
  BOOST_TEST(config.values.publishers[0].json == R"({"endpoint":"tcp://h:1","instance_id":"a"})");
  BOOST_TEST(config.values.publishers[1].json == R"({"instance_id":"other","dp_rank":18446744073709551615})");
}

BOOST_AUTO_TEST_CASE(publishers_may_stand_in_a_list_and_are_passed_on_even_when_they_are_nonsense) {
  // What a registration must look like is for the rules of POST /register to say, once, with the place it stands at.
  const app::configuration config = read_text(R"({"kvevent_instance": [{"instance_id": "a"}, 7]})");

  BOOST_TEST(config.errors.empty(), joined(config.errors));
  BOOST_REQUIRE(config.values.publishers.size() == 2U);
  BOOST_TEST(config.values.publishers[1].name == "kvevent_instance[1]");
  BOOST_TEST(config.values.publishers[1].json == "7");
}

BOOST_AUTO_TEST_CASE(comments_and_trailing_commas_are_allowed_in_the_file) {
  // The file is written and explained by people.
  const app::configuration config = read_text("// ours\n{ /* how many */ \"lanes\": 5, }\n// end\n");

  BOOST_TEST(config.errors.empty(), joined(config.errors));
  BOOST_TEST(config.values.lanes == 5U);
}

BOOST_AUTO_TEST_CASE(numbers_beyond_two_to_the_53rd_are_exact) {
  // A hash seed that is off by one matches nothing in the whole fleet.
  BOOST_TEST(read_text(R"({"hash_seed": 18446744073709551615})").values.hash_seed == 18446744073709551615U);
  BOOST_TEST(app::read_config(bare_inputs({"--hash-seed=9007199254740993"})).values.hash_seed == 9007199254740993U);
}

BOOST_AUTO_TEST_CASE(the_journal_is_spoken_to_only_when_it_is_our_standard_error) {
  // JOURNAL_STREAM is inherited by children whose output goes into a file.
  app::config_inputs inputs = bare_inputs();
  inputs.variables["JOURNAL_STREAM"] = "8:1234";
  inputs.standard_error = "8:99";
  BOOST_TEST(!app::read_config(inputs).values.to_journal);

  inputs.standard_error = "8:1234";
  BOOST_TEST(app::read_config(inputs).values.to_journal);
}

BOOST_AUTO_TEST_SUITE_END()
