#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "perf/sim_mp_model.hpp"
#include "perf/sim_mp_options.hpp"
#include "perf/sim_mp_wire.hpp"

BOOST_AUTO_TEST_SUITE(sim_mp_parts)

using namespace kvc;
using kind = sim::mp_event::kind;

namespace {

core::owned_object_key key(const std::string& hash, const std::string& salt = "s") {
  return {.hash = hash, .model = "m", .kv_rank = -7, .object_group = 2, .salt = salt};
}

std::string order(const sim::mp_model& model, const std::string& salt = "s") {
  std::string text;
  for (const auto& each : model.order(salt)) text += each.hash;
  return text;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_model_keeps_order_and_bytes_as_the_spec_says) {
  // The judge of every run of stand-in servers: told by hand once.
  sim::mp_model model;
  model.seed(key("a"), 10);
  model.seed(key("b"), 10);
  model.apply({{.what = kind::store, .key = key("c"), .bytes = 5},
               {.what = kind::lookup, .key = key("a")},
               {.what = kind::lookup, .key = key("never")},
               {.what = kind::remove, .key = key("d")}});
  model.seed(key("d"), 10);
  model.seed(key("c"), 99);
  model.seed(key("e"), 1);
  BOOST_TEST(order(model) == "beca");
  BOOST_TEST(model.total_bytes() == 26U);

  model.apply({{.what = kind::store, .key = key("b"), .bytes = 3}, {.what = kind::remove, .key = key("e")}});
  BOOST_TEST(order(model) == "cab");
  BOOST_TEST(model.bytes().at("s") == 18U);
  BOOST_TEST(model.is_told(key("b")));
}

BOOST_AUTO_TEST_CASE(keys_that_were_asked_for_may_be_in_flight_until_they_are_stored_or_gone) {
  sim::mp_model model;
  model.apply({{.what = kind::store, .key = key("a"), .bytes = 1}, {.what = kind::store, .key = key("b"), .bytes = 1}});
  model.ask(key("a"));
  model.ask(key("b"));
  BOOST_TEST(model.may_be_in_flight(key("a")));
  model.apply({{.what = kind::store, .key = key("a"), .bytes = 1}, {.what = kind::remove, .key = key("b")}});
  BOOST_TEST(!model.may_be_in_flight(key("a")));
  BOOST_TEST(!model.may_be_in_flight(key("b")));
}

BOOST_AUTO_TEST_CASE(pages_follow_each_other_to_the_end) {
  sim::mp_storage storage;
  for (const char* each : {"a", "b", "c", "d", "e"}) storage.put(key(each), 1);
  std::string seen;
  std::optional<std::string> token;
  std::size_t pages = 0;
  do {
    const auto page = storage.list(token, 2);
    BOOST_REQUIRE(page);
    for (const auto& each : page->entries) seen += each.key.hash;
    token = page->next;
    storage.put(key("aa"), 1);  // behind the place where the listing stands: not told, and nothing is told twice
    ++pages;
  } while (token);
  BOOST_TEST(seen == "abcde");
  BOOST_TEST(pages == 3U);
  BOOST_TEST(!storage.list("not a token", 2));
}

BOOST_AUTO_TEST_CASE(reads_what_the_coordinator_sends_and_says) {
  const auto keys =
      sim::mp_read_deletion(R"({"keys":[{"chunk_hash_hex":"4142","model_name":"m","kv_rank":-7,"object_group_id":2,"cache_salt":"s"}]})");
  BOOST_REQUIRE(keys);
  BOOST_TEST((keys->front() == key("AB")));
  BOOST_TEST(!sim::mp_read_deletion(R"({"keys":[{"chunk_hash_hex":"4"}]})"));
  BOOST_TEST(!sim::mp_read_deletion("keys"));

  const auto usage = sim::mp_read_usage(R"({"total_gb":1,"by_cache_salt":[{"cache_salt":"","usage_gb":1.9073486328125e-06},
    {"cache_salt":"t","usage_gb":0.0}]})");
  BOOST_REQUIRE(usage);
  BOOST_TEST(usage->at("") == 2'048U);
  BOOST_TEST(usage->size() == 1U);
  BOOST_TEST(sim::mp_read_metric("# HELP a b\na_total 3\na 12\n", "a").value_or(0) == 12.0);
  BOOST_TEST(!sim::mp_read_metric("a_total 3\n", "a"));
}

BOOST_AUTO_TEST_CASE(tells_events_in_both_dialects) {
  const std::vector<sim::mp_event> events{{.what = kind::store, .key = key("A"), .bytes = 3},
                                          {.what = kind::store, .key = key("B"), .bytes = 4},
                                          {.what = kind::lookup, .key = key("A")}};
  const std::string body = sim::mp_quota_batch("mp-1", 9, events);
  BOOST_TEST(body.find(R"("seq":9)") != std::string::npos);
  BOOST_TEST(body.find(R"({"type":"lookup","key":{"chunk_hash_hex":"41","model_name":"m","kv_rank":-7,"object_group_id":2,)"
                       R"("cache_salt":"s"},"bytes":0})") != std::string::npos);
  BOOST_TEST(sim::mp_batch_count(events) == 2U);
  const std::string newer = sim::mp_event_batches({.instance_id = "mp-1", .ip = "", .incarnation = 3}, 9, events);
  BOOST_TEST(newer.find(R"("incarnation":3,"seq":10,"event_type":"access")") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(flags_say_what_is_wrong_with_them) {
  const auto error = [](std::vector<std::string> arguments) { return sim::parse_mp_options(arguments).error; };
  BOOST_TEST(error({"--servers", "0"}) == "--servers must be a whole number from 1 to 256, not '0'");
  BOOST_TEST(error({"--faults", "drop,bang"}).starts_with("--faults must be all, none, or some of refuse, hang,"));
  BOOST_TEST(error({"--flush-interval=0"}) == "--flush-interval must be a number from above 0 to 86400, not '0'");
  BOOST_TEST(error({"--plans", "1"}) == "--plans belongs to --turns");
  const auto chosen = sim::parse_mp_options({"--faults=drop,refuse", "--coordinator", "[::1]:9301", "--drain"}).chosen;
  BOOST_TEST(chosen.faults == (1U << static_cast<unsigned>(sim::mp_fault::drop) | 1U));
  BOOST_TEST(chosen.coordinator_host == "::1");
  BOOST_TEST(chosen.coordinator_port == 9301U);
  BOOST_TEST(chosen.drain);
}

BOOST_AUTO_TEST_CASE(help_lists_every_fault) {
  for (const std::string_view each : sim::mp_fault_words) BOOST_TEST(sim::mp_help_text().find(each) != std::string_view::npos, each);
}

BOOST_AUTO_TEST_SUITE_END()
