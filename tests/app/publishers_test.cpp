#include "app/publishers.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/app/made_up_inputs.hpp"

BOOST_AUTO_TEST_SUITE(publishers)

using namespace kvc;
using test::has_line;
using test::joined;

namespace {

/// What comes of these members of kvevent_instance.
app::checked_publishers check(const std::string& members) {
  const app::configuration config = test::read_text("{\"hash_seed\": 42, \"kvevent_instance\": {" + members + "}}");
  BOOST_REQUIRE_MESSAGE(config.errors.empty(), joined(config.errors));
  core::medium_table media;
  return app::check_publishers(config.values, media);
}

constexpr const char* good = R"("type": "vLLM", "modelname": "m", "block_size": 16, "endpoint": "tcp://127.0.0.1:5557")";

std::string entry(const std::string& name, const std::string& more = "") {
  return "\"" + name + "\": {" + good + (more.empty() ? "" : ", " + more) + "}";
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_good_entry_becomes_the_registration_that_post_register_would_make) {
  // One set of rules for both ways in.
  const app::checked_publishers checked = check(entry("node1"));

  BOOST_TEST(checked.errors.empty(), joined(checked.errors));
  BOOST_REQUIRE(checked.registrations.size() == 1U);
  const core::registration& made = checked.registrations.front();
  BOOST_TEST(made.worker.instance == "node1");
  BOOST_TEST(made.worker.tenant == "default");
  BOOST_TEST(made.partition.model == "m");
  BOOST_TEST(made.partition.block_size == 16U);
  BOOST_TEST(made.hash_seed == 42U);
}

BOOST_AUTO_TEST_CASE(a_bad_entry_is_told_with_its_place_its_field_and_its_file) {
  // The file may name hundreds of publishers.
  const app::checked_publishers checked = check(entry("fine") + ", \"broken\": {\"type\": \"vLLM\", \"modelname\": \"m\"}, \"odd\": 7");

  BOOST_TEST(checked.errors.size() == 2U, joined(checked.errors));
  BOOST_TEST(has_line(checked.errors, {"kvevent_instance.broken.", "conductor.json"}), joined(checked.errors));
  BOOST_TEST(has_line(checked.errors, {"kvevent_instance.odd", "conductor.json"}), joined(checked.errors));
}

BOOST_AUTO_TEST_CASE(two_entries_for_one_stream_are_an_error) {
  // The second would silently end the first.
  const app::checked_publishers checked = check(entry("a", R"("instance_id": "same")") + ", " + entry("b", R"("instance_id": "same")"));

  BOOST_TEST(has_line(checked.errors, {"kvevent_instance.b", "the same tenant, instance, rank and kind as kvevent_instance.a"}),
             joined(checked.errors));
}

BOOST_AUTO_TEST_CASE(two_seeds_in_one_partition_are_an_error) {
  // Blocks hashed under two seeds can never match, and the service would refuse the second only after it has started.
  const app::checked_publishers checked = check(entry("a") + ", " + entry("b", R"("hash_seed": 7)"));

  BOOST_TEST(has_line(checked.errors, {"kvevent_instance.b.hash_seed", "another hash seed"}), joined(checked.errors));
}

BOOST_AUTO_TEST_CASE(an_unknown_type_is_a_warning) {
  // As in the answer of POST /register: the stream decides what it is.
  const app::checked_publishers checked =
      check(R"("a": {"type": "NewEngine", "modelname": "m", "block_size": 16, "endpoint": "tcp://127.0.0.1:5557"})");

  BOOST_TEST(checked.errors.empty(), joined(checked.errors));
  BOOST_TEST(has_line(checked.warnings, {"kvevent_instance.a", "NewEngine"}), joined(checked.warnings));
}

BOOST_AUTO_TEST_CASE(stores_of_the_file_are_checked_like_requests) {
  // As publishers: one set of rules for both ways in.
  const app::configuration config = test::read_text(
      R"({"stores": {"pool": {"type": "mooncake_master", "url": "http://10.0.0.9"},
                     "hook": {"type": "webhook", "url": "http://h:1/move"}}})");
  BOOST_REQUIRE_MESSAGE(config.errors.empty(), joined(config.errors));
  const app::checked_stores checked = app::check_stores(config.values);

  BOOST_TEST(checked.errors.empty(), joined(checked.errors));
  BOOST_REQUIRE(checked.registrations.size() == 2U);
  BOOST_TEST(checked.registrations[0].backend == "pool");
  BOOST_TEST(checked.registrations[0].url.port == 9'003);  // the admin port, when none is given
  BOOST_TEST(checked.registrations[1].url.path == "/move");
}

BOOST_AUTO_TEST_CASE(bad_stores_are_told_with_their_place_and_two_of_one_backend_are_an_error) {
  // The second would silently end the first.
  const app::configuration config = test::read_text(
      R"({"stores": [{"backend_id": "a", "type": "webhook", "url": "http://h:1"},
                     {"backend_id": "a", "type": "webhook", "url": "http://h:2"},
                     {"backend_id": "b", "type": "tape", "url": "http://h:1"}, {"backend_id": "c", "type": "webhook", "url": "h:1"}]})");
  const app::checked_stores checked = app::check_stores(config.values);

  BOOST_TEST(checked.errors.size() == 3U, joined(checked.errors));
  BOOST_TEST(has_line(checked.errors, {"stores[1]", "the same backend as stores[0]"}), joined(checked.errors));
  BOOST_TEST(has_line(checked.errors, {"stores[2].type", "mooncake_master"}), joined(checked.errors));
  BOOST_TEST(has_line(checked.errors, {"stores[3].url", "http://host:port"}), joined(checked.errors));
}

BOOST_AUTO_TEST_SUITE_END()
