// The coordinator's settings under their three names, by the rules of those who know them.
#include <chrono>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "app/config.hpp"
#include "tests/app/made_up_inputs.hpp"

BOOST_AUTO_TEST_SUITE(config_coordinator)

namespace {

using namespace kvc;
using namespace kvc::test;

app::configuration with_variable(const std::string& name, const std::string& value) {
  app::config_inputs inputs = bare_inputs();
  inputs.variables["LMCACHE_MP_COORDINATOR_" + name] = value;
  return app::read_config(inputs);
}

const std::vector<std::uint16_t> default_ports{13333, 9300};

}  // namespace

BOOST_AUTO_TEST_CASE(defaults_are_those_of_the_other_service) {
  const app::settings values = app::read_config(bare_inputs()).values;
  const net::coordinator_settings& with = values.coordinator;
  BOOST_TEST(values.http_host == "0.0.0.0");
  BOOST_TEST(values.http_ports == default_ports, boost::test_tools::per_element());
  BOOST_TEST(with.instance_timeout.count() == 30.0);
  BOOST_TEST(with.health_check_interval.count() == 10.0);
  BOOST_TEST(with.eviction_check_interval.count() == 5.0);
  BOOST_TEST(with.eviction_ratio == 0.2);
  BOOST_TEST(with.trigger_watermark == 1.0);
  BOOST_TEST(with.blend_chunk_size == 256U);
  BOOST_TEST(with.blend_probe_stride == 1U);
  BOOST_TEST(with.timeout_keep_alive.count() == 10);
  BOOST_TEST(with.enable_startup_resync);
  BOOST_TEST(with.resync_poll_interval.count() == 1.0);
  BOOST_TEST(with.resync_max_wait.count() == 60.0);
  BOOST_TEST(with.resync_page_size == 1'000U);
}

BOOST_AUTO_TEST_CASE(every_variable_of_the_other_service_is_known) {
  app::config_inputs inputs = bare_inputs();
  inputs.variables = {{"LMCACHE_MP_COORDINATOR_HOST", "127.0.0.1"},
                      {"LMCACHE_MP_COORDINATOR_PORT", "9400"},
                      {"LMCACHE_MP_COORDINATOR_INSTANCE_TIMEOUT", "120"},
                      {"LMCACHE_MP_COORDINATOR_HEALTH_CHECK_INTERVAL", "0"},
                      {"LMCACHE_MP_COORDINATOR_EVICTION_CHECK_INTERVAL", "2.5"},
                      {"LMCACHE_MP_COORDINATOR_EVICTION_RATIO", "0.5"},
                      {"LMCACHE_MP_COORDINATOR_TRIGGER_WATERMARK", "0.9"},
                      {"LMCACHE_MP_COORDINATOR_BLEND_CHUNK_SIZE", "16"},
                      {"LMCACHE_MP_COORDINATOR_BLEND_PROBE_STRIDE", "4"},
                      {"LMCACHE_MP_COORDINATOR_TIMEOUT_KEEP_ALIVE", "65"},
                      {"LMCACHE_MP_COORDINATOR_ENABLE_STARTUP_RESYNC", "False"},
                      {"LMCACHE_MP_COORDINATOR_RESYNC_POLL_INTERVAL", "0.5"},
                      {"LMCACHE_MP_COORDINATOR_RESYNC_MAX_WAIT", "5"},
                      {"LMCACHE_MP_COORDINATOR_RESYNC_PAGE_SIZE", "50"}};

  const app::configuration config = app::read_config(inputs);

  BOOST_TEST(config.errors.empty());
  BOOST_TEST(config.warnings.empty());
  const net::coordinator_settings& with = config.values.coordinator;
  BOOST_TEST(config.values.http_host == "127.0.0.1");
  BOOST_TEST(config.values.http_ports == (std::vector<std::uint16_t>{13333, 9400}), boost::test_tools::per_element());
  BOOST_TEST(with.instance_timeout.count() == 120.0);
  BOOST_TEST(with.health_check_interval.count() == 0.0);
  BOOST_TEST(with.eviction_check_interval.count() == 2.5);
  BOOST_TEST(with.eviction_ratio == 0.5);
  BOOST_TEST(with.trigger_watermark == 0.9);
  BOOST_TEST(with.blend_chunk_size == 16U);
  BOOST_TEST(with.blend_probe_stride == 4U);
  BOOST_TEST(with.timeout_keep_alive.count() == 65);
  BOOST_TEST(!with.enable_startup_resync);
  BOOST_TEST(with.resync_poll_interval.count() == 0.5);
  BOOST_TEST(with.resync_max_wait.count() == 5.0);
  BOOST_TEST(with.resync_page_size == 50U);
}

BOOST_AUTO_TEST_CASE(every_flag_of_the_other_service_is_known_and_outranks) {
  app::config_inputs inputs = bare_inputs({"--host", "localhost", "--port", "9500", "--instance-timeout", "1", "--health-check-interval=2",
                                           "--eviction-check-interval=3", "--eviction-ratio", "1", "--trigger-watermark", "0.25",
                                           "--blend-chunk-size", "8", "--blend-probe-stride", "2", "--timeout-keep-alive", "7"});
  inputs.variables["LMCACHE_MP_COORDINATOR_PORT"] = "9400";
  inputs.variables["KVC_COORDINATOR_EVICTION_RATIO"] = "0.75";

  const app::configuration config = app::read_config(inputs);

  BOOST_TEST(config.errors.empty());
  BOOST_TEST(config.values.http_host == "127.0.0.1");
  BOOST_TEST(config.values.http_ports == (std::vector<std::uint16_t>{13333, 9500}), boost::test_tools::per_element());
  BOOST_TEST(config.values.coordinator.instance_timeout.count() == 1.0);
  BOOST_TEST(config.values.coordinator.health_check_interval.count() == 2.0);
  BOOST_TEST(config.values.coordinator.eviction_check_interval.count() == 3.0);
  BOOST_TEST(config.values.coordinator.eviction_ratio == 1.0);
  BOOST_TEST(config.values.coordinator.trigger_watermark == 0.25);
  BOOST_TEST(config.values.coordinator.blend_chunk_size == 8U);
  BOOST_TEST(config.values.coordinator.blend_probe_stride == 2U);
  BOOST_TEST(config.values.coordinator.timeout_keep_alive.count() == 7);
}

BOOST_AUTO_TEST_CASE(our_own_names_outrank_those_of_the_other_service) {
  app::config_inputs inputs = bare_inputs();
  inputs.variables = {{"LMCACHE_MP_COORDINATOR_INSTANCE_TIMEOUT", "1"}, {"KVC_COORDINATOR_INSTANCE_TIMEOUT", "2"},
                      {"LMCACHE_MP_COORDINATOR_HOST", "127.0.0.1"},     {"KVC_HTTP_HOST", "::1"},
                      {"LMCACHE_MP_COORDINATOR_PORT", "9400"},          {"KVC_COORDINATOR_PORT", "9600"}};
  const app::settings values = app::read_config(inputs).values;
  BOOST_TEST(values.coordinator.instance_timeout.count() == 2.0);
  BOOST_TEST(values.http_host == "::1");
  BOOST_TEST(values.http_ports.back() == 9600);
}

BOOST_AUTO_TEST_CASE(a_variable_that_is_no_number_is_warned_of_and_left_out) {
  for (const char* name : {"INSTANCE_TIMEOUT", "BLEND_CHUNK_SIZE", "PORT"}) {
    const app::configuration config = with_variable(name, "soon");
    BOOST_TEST(config.errors.empty(), name);
    BOOST_TEST(config.warnings.size() == 1U, name);
    BOOST_TEST(config.values.coordinator.instance_timeout.count() == 30.0);
    BOOST_TEST(config.values.http_ports == default_ports, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(out_of_range_stops_the_start_from_wherever_it_comes) {
  struct row {
    const char* name;
    const char* value;
  };
  for (const row& each :
       {row{"INSTANCE_TIMEOUT", "0"}, row{"HEALTH_CHECK_INTERVAL", "-1"}, row{"EVICTION_CHECK_INTERVAL", "-0.5"},
        row{"EVICTION_RATIO", "1.01"}, row{"EVICTION_RATIO", "nan"}, row{"TRIGGER_WATERMARK", "0"}, row{"TRIGGER_WATERMARK", "1.5"},
        row{"RESYNC_POLL_INTERVAL", "0"}, row{"RESYNC_MAX_WAIT", "-1"}, row{"RESYNC_PAGE_SIZE", "0"}, row{"BLEND_CHUNK_SIZE", "0"},
        row{"BLEND_PROBE_STRIDE", "-3"}, row{"TIMEOUT_KEEP_ALIVE", "0"}, row{"INSTANCE_TIMEOUT", "inf"}, row{"INSTANCE_TIMEOUT", "1e400"},
        row{"BLEND_CHUNK_SIZE", "99999999999999999999"}, row{"PORT", "65536"}}) {
    BOOST_TEST(with_variable(each.name, each.value).errors.size() == 1U, each.name);
  }
  BOOST_TEST(!app::read_config(bare_inputs({"--eviction-ratio", "2"})).errors.empty());
  BOOST_TEST(!app::read_config(bare_inputs({"--instance-timeout", "soon"})).errors.empty(), "of a flag, also what is no number");
  BOOST_TEST(with_variable("HEALTH_CHECK_INTERVAL", "0").errors.empty());
  BOOST_TEST(with_variable("TRIGGER_WATERMARK", "1").errors.empty());
  BOOST_TEST(with_variable("EVICTION_RATIO", "0").errors.empty());
}

BOOST_AUTO_TEST_CASE(words_that_say_yes) {
  for (const char* word : {"1", "true", "True", "YES", "on"}) {
    BOOST_TEST(with_variable("ENABLE_STARTUP_RESYNC", word).values.coordinator.enable_startup_resync, word);
  }
  for (const char* word : {"0", "false", "no", "off", "", "perhaps"}) {
    BOOST_TEST(!with_variable("ENABLE_STARTUP_RESYNC", word).values.coordinator.enable_startup_resync, word);
  }
}

BOOST_AUTO_TEST_CASE(the_port_is_the_last_one_and_one_more_where_there_is_one_only) {
  const auto ports_of = [](std::vector<std::string> flags) { return app::read_config(bare_inputs(std::move(flags))).values.http_ports; };
  using list = std::vector<std::uint16_t>;
  BOOST_TEST(ports_of({"--http-ports=7000", "--port=9300"}) == (list{7000, 9300}), boost::test_tools::per_element());
  BOOST_TEST(ports_of({"--http-ports=1,2,3", "--port=9300"}) == (list{1, 2, 9300}), boost::test_tools::per_element());
  BOOST_TEST(ports_of({"--port=13333"}) == (list{13333}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(eviction_by_bytes_and_a_quota_file_are_options) {
  const app::settings values =
      app::read_config(bare_inputs({"--eviction-unit", "bytes", "--coordinator-quota-file", "/var/lib/kv-conductor/quotas.json"})).values;
  BOOST_TEST((values.coordinator.eviction_unit == core::eviction_unit::bytes));
  BOOST_TEST(values.coordinator.quota_file == "/var/lib/kv-conductor/quotas.json");
  BOOST_TEST(!app::read_config(bare_inputs({"--eviction-unit", "pages"})).errors.empty());
}

BOOST_AUTO_TEST_SUITE_END()
