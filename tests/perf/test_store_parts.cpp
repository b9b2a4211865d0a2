#include <algorithm>
#include <chrono>
#include <string>
#include <variant>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "perf/sim_store_options.hpp"
#include "perf/sim_store_storage.hpp"
#include "perf/sim_store_voice.hpp"
#include "perf/sim_store_wire.hpp"

BOOST_AUTO_TEST_SUITE(sim_store_parts)

using namespace kvc;
using namespace std::chrono_literals;
using kind = sim::store_change::kind;
using sim::store_generation;
using sim::store_medium;
using sim::store_promotion;

namespace {

/// Room for four objects of ten bytes in one segment; nothing is evicted but on demand.
sim::store_rules small_rules() {
  sim::store_rules rules;
  rules.segments = 1;
  rules.capacity = 40;
  rules.high_mark = 1;
  rules.watermark = 1;
  return rules;
}

/// Where an object lies: `m`, `d`, `l` for complete replicas, capitals for those in flight, in the order of their making.
std::string places(const sim::store_storage& storage, const std::string& key) {
  const auto* what = storage.find(key);
  if (what == nullptr) return "-";
  std::string text;
  for (const auto& each : what->replicas) {
    const char letter = "mdl"[static_cast<std::size_t>(each.medium)];
    text += each.is_complete ? letter : static_cast<char>(letter - 'a' + 'A');
  }
  return text;
}

/// Leaves `key` on SSD alone, and nothing to be told of it.
void put_on_ssd(sim::store_storage& storage, const std::string& key) {
  BOOST_REQUIRE(storage.put(key, 10, 0ms));
  BOOST_REQUIRE(storage.evict(key, 0ms));
  static_cast<void>(storage.take_changes());
}

std::vector<kind> kinds(const std::vector<sim::store_change>& changes) {
  std::vector<kind> found;
  for (const auto& each : changes) found.push_back(each.what);
  return found;
}

/// What a generation says of a change, in short: kind, medium, and how many names or replicas.
std::string said(store_generation generation, const sim::store_change& change) {
  std::vector<core::event> events;
  sim::append_events(change, {.generation = generation, .model = "m", .block_size = 4}, events);
  std::string text;
  for (const core::event& each : events) {
    if (!text.empty()) text += ' ';
    const auto medium = [](const core::event_scope& scope) {
      return !scope.medium ? std::string() : *scope.medium == core::medium_id::cpu ? std::string(":cpu") : std::string(":disk");
    };
    if (const auto* stored = std::get_if<core::stored_event>(&each)) {
      text += "stored" + medium(stored->scope) + "=" + std::to_string(stored->hashes.size());
    } else if (const auto* removed = std::get_if<core::removed_event>(&each)) {
      text += "removed" + medium(removed->scope);
    } else if (std::holds_alternative<core::cleared_event>(each)) {
      text += "cleared";
    } else {
      const auto& object = std::get<core::object_event>(each);
      constexpr std::array words{"put", "update", "gone"};
      text += words[static_cast<std::size_t>(object.what)] + medium(object.scope) + "/" + std::to_string(object.replicas.size());
    }
  }
  return text;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_put_has_two_phases_and_is_told_at_its_end) {
  sim::store_storage storage(small_rules());

  BOOST_TEST(storage.put_start("a", 10, true, std::nullopt, nullptr, 0ms));
  BOOST_TEST(places(storage, "a") == "MD");
  BOOST_TEST(storage.take_changes().empty());
  BOOST_TEST(!storage.put_start("a", 10, false, std::nullopt, nullptr, 0ms));
  BOOST_TEST((storage.look_up("a", 0ms) == store_promotion::unknown));
  BOOST_TEST(storage.put_end("a", 0ms));
  BOOST_TEST(!storage.put_end("a", 0ms));

  BOOST_TEST(places(storage, "a") == "md");
  const auto changes = storage.take_changes();
  BOOST_REQUIRE(changes.size() == 1U);
  BOOST_TEST(changes[0].before.empty());
  BOOST_TEST(changes[0].after.size() == 2U);
  BOOST_TEST(storage.put_start("b", 10, false, std::nullopt, nullptr, 0ms));
  BOOST_TEST(storage.put_revoke("b"));
  BOOST_TEST(storage.used() == 10U);
}

BOOST_AUTO_TEST_CASE(the_coldest_unleased_object_leaves_memory_for_ssd) {
  sim::store_storage storage(small_rules());
  for (const char* each : {"a", "b", "c", "d"}) BOOST_TEST(storage.put(each, 10, 0ms));
  BOOST_TEST(storage.get("a", 0ms));  // leased and warm now

  BOOST_TEST(storage.put("e", 10, 1ms));

  BOOST_TEST(places(storage, "a") == "m");
  BOOST_TEST(places(storage, "b") == "l");
  for (const char* each : {"c", "d", "e"}) BOOST_TEST(storage.get(each, 1ms));
  BOOST_TEST(!storage.put("f", 10, 1ms), "everything is leased");
  BOOST_TEST(storage.counts().failed_puts == 1U);
  BOOST_TEST(storage.put("f", 10, 6'000ms));
  BOOST_TEST(places(storage, "a") == "l");
}

BOOST_AUTO_TEST_CASE(without_offload_what_leaves_memory_is_gone_but_for_the_disk) {
  auto rules = small_rules();
  rules.offloads = false;
  sim::store_storage storage(rules);
  BOOST_TEST(storage.put("a", 10, 0ms));
  BOOST_TEST(storage.put("b", 10, 0ms, true));

  BOOST_TEST(storage.evict("a", 0ms));
  BOOST_TEST(storage.evict("b", 0ms));

  BOOST_TEST(places(storage, "a") == "-");
  BOOST_TEST(places(storage, "b") == "d");
  BOOST_TEST((storage.look_up("b", 0ms) == store_promotion::not_needed), "from a disk nothing is promoted");
}

BOOST_AUTO_TEST_CASE(over_the_high_mark_memory_is_evicted_below_it) {
  auto rules = small_rules();
  rules.capacity = 100;
  rules.high_mark = 0.8;
  rules.evict_share = 0.3;
  sim::store_storage storage(rules);
  for (int i = 0; i < 9; ++i) BOOST_TEST(storage.put("k" + std::to_string(i), 10, 0ms));
  BOOST_TEST(storage.used() == 50U);
  BOOST_TEST(storage.counts().offloaded == 4U);
}

BOOST_AUTO_TEST_CASE(the_threshold_th_look_up_promotes_and_the_copy_takes_its_time) {
  sim::store_storage storage(small_rules());
  put_on_ssd(storage, "a");

  BOOST_TEST((storage.look_up("a", 0ms) == store_promotion::not_yet));
  BOOST_TEST((storage.look_up("a", 0ms) == store_promotion::started));
  BOOST_TEST(places(storage, "a") == "lM");
  BOOST_TEST((storage.look_up("a", 1ms) == store_promotion::not_needed));
  BOOST_TEST((storage.next_due() == 20ms));
  storage.advance(19ms);
  BOOST_TEST(places(storage, "a") == "lM");
  storage.advance(20ms);

  BOOST_TEST(places(storage, "a") == "lm");
  BOOST_TEST((kinds(storage.take_changes()) == std::vector{kind::promoted}));
  BOOST_TEST(!storage.evict("a", 20ms), "what was promoted is leased");
}

BOOST_AUTO_TEST_CASE(promotions_are_refused_over_the_watermark_over_the_queue_and_under_pressure) {
  auto rules = small_rules();
  rules.threshold = 1;
  rules.queue = 1;
  rules.watermark = 0.75;
  sim::store_storage storage(rules);
  put_on_ssd(storage, "a");
  put_on_ssd(storage, "b");

  storage.set_pressure(true);
  BOOST_TEST((storage.look_up("a", 0ms) == store_promotion::by_watermark));
  storage.set_pressure(false);
  BOOST_TEST((storage.look_up("a", 0ms) == store_promotion::started));
  BOOST_TEST((storage.look_up("b", 0ms) == store_promotion::by_queue));
  storage.advance(1s);
  BOOST_TEST(storage.put("c", 10, 1s));
  BOOST_TEST(storage.put("d", 10, 1s));
  BOOST_TEST((storage.look_up("b", 1s) == store_promotion::by_watermark));

  BOOST_TEST(storage.counts().rejected_by_watermark == 2U);
  BOOST_TEST(storage.counts().rejected_by_queue == 1U);
  BOOST_TEST(sim::store_metrics(storage).find("\nmaster_promotion_rejected_by_watermark_total 2\n") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_promotion_may_be_ignored_late_revoked_overtaken_or_its_object_gone) {
  auto rules = small_rules();
  rules.threshold = 1;
  sim::store_storage storage(rules);
  for (const char* each : {"a", "b", "c", "d"}) put_on_ssd(storage, each);

  BOOST_TEST((storage.look_up("a", 0ms, sim::store_trick::ignored) == store_promotion::not_yet));
  BOOST_TEST((storage.look_up("a", 0ms, sim::store_trick::late) == store_promotion::started));
  BOOST_TEST((storage.look_up("b", 0ms, sim::store_trick::revoked) == store_promotion::started));
  BOOST_TEST((storage.look_up("c", 0ms) == store_promotion::started));
  BOOST_TEST((storage.look_up("d", 0ms) == store_promotion::started));
  BOOST_TEST(storage.put_again("c", 1ms));
  BOOST_TEST(storage.remove("d"));
  BOOST_TEST(storage.put_start("d", 10, false, std::nullopt, nullptr, 2ms));
  storage.advance(100ms);

  BOOST_TEST(places(storage, "a") == "lM");
  BOOST_TEST(places(storage, "b") == "l");
  BOOST_TEST(places(storage, "c") == "lm");
  BOOST_TEST(places(storage, "d") == "M", "an old promotion must not complete a new put");
  BOOST_TEST(storage.used() == 30U);
  storage.advance(3s);
  BOOST_TEST(places(storage, "a") == "lm");
}

BOOST_AUTO_TEST_CASE(segments_and_clients_go_with_what_they_hold) {
  auto rules = small_rules();
  rules.segments = 2;
  rules.capacity = 80;
  sim::store_storage storage(rules);
  BOOST_TEST(storage.put("a", 10, 0ms, false, nullptr, 0));
  BOOST_TEST(storage.put("b", 10, 0ms, false, nullptr, 1));
  BOOST_TEST(storage.put("c", 10, 0ms, true, nullptr, 0));
  BOOST_TEST(storage.put("d", 10, 0ms, false, nullptr, 1));
  BOOST_TEST(storage.evict("d", 0ms));
  BOOST_TEST(storage.copy("b", false));
  BOOST_TEST(storage.copy("a", true));
  static_cast<void>(storage.take_changes());

  storage.lose_segment(1, true);

  BOOST_TEST(places(storage, "a") == "-");
  BOOST_TEST(places(storage, "b") == "m");
  BOOST_TEST(places(storage, "c") == "md");
  BOOST_TEST(places(storage, "d") == "-");
  storage.lose_segment(0, false);
  BOOST_TEST(places(storage, "c") == "d");
  BOOST_TEST(storage.used() == 0U);
  BOOST_TEST(storage.take_changes().size() == 5U);
}

BOOST_AUTO_TEST_CASE(generations_say_what_the_originals_say_and_keep_the_same_silences) {
  // The table in sim_store_voice.hpp, which is what the rest relies on, once by hand.
  const sim::store_replica memory{.medium = store_medium::memory};
  const sim::store_replica disk{.medium = store_medium::disk};
  const sim::store_replica ssd{.medium = store_medium::local_disk};
  struct row {
    kind what;
    std::vector<sim::store_replica> before;
    std::vector<sim::store_replica> after;
    std::string array, master, branch, later;
  };
  const std::vector<row> rows{
      {kind::put, {}, {memory}, "put/1", "stored:cpu=1", "stored:cpu=1", "put:cpu/0"},
      {kind::put, {}, {memory, disk}, "put/2", "stored:cpu=1 stored:disk=1", "stored:cpu=1 stored:disk=1", "put:cpu/0 put:disk/0"},
      {kind::offloaded, {memory}, {memory, ssd}, "update/2", "", "", ""},
      {kind::evicted, {memory, ssd}, {ssd}, "update/1", "", "removed:cpu", ""},
      {kind::evicted, {memory}, {}, "update/0", "removed:cpu", "removed:cpu", "gone:cpu/0"},
      {kind::promoted, {ssd}, {ssd, memory}, "update/2", "", "", ""},
      {kind::copied, {memory}, {memory, memory}, "update/2", "", "", ""},
      {kind::moved, {memory}, {memory}, "update/1", "", "", ""},
      {kind::removed, {memory, disk}, {}, "update/0", "removed:cpu", "removed:cpu removed:disk", "gone:cpu/0"},
      {kind::removed, {disk}, {}, "update/0", "removed:cpu", "removed:disk", "gone:cpu/0"},
      {kind::removed_all, {}, {}, "cleared", "", "cleared", ""},
      {kind::segment_lost, {memory}, {}, "", "", "", ""},
      {kind::client_lost, {memory, ssd}, {}, "", "", "", ""},
  };
  for (const row& each : rows) {
    const sim::store_change change{.what = each.what, .key = "4711", .before = each.before, .after = each.after};
    BOOST_TEST_CONTEXT("kind " << static_cast<int>(each.what)) {
      BOOST_TEST(said(store_generation::array, change) == each.array);
      BOOST_TEST(said(store_generation::master, change) == each.master);
      BOOST_TEST(said(store_generation::branch, change) == each.branch);
      BOOST_TEST(said(store_generation::later, change) == each.later);
    }
  }
}

BOOST_AUTO_TEST_CASE(only_the_branch_reads_connector_keys) {
  const std::string key = sim::store_key(sim::store_key_form::connector, "org/model", 12'345);
  BOOST_TEST(key.starts_with("org/model@tp_rank:0@pcp0@dcp0@pp_rank:0@"));
  const sim::store_change put{.what = kind::put, .key = key, .after = {{.medium = store_medium::memory}}};
  BOOST_TEST(said(store_generation::branch, put) == "stored:cpu=1");
  BOOST_TEST(said(store_generation::master, put) == "put:cpu/0");

  std::vector<core::event> events;
  sim::append_events(put, {.generation = store_generation::branch}, events);
  BOOST_TEST(std::get<core::stored_event>(events.at(0)).hashes.at(0).get() == 12'345U);
  BOOST_TEST(sim::number_of_key("0x1f").value_or(0) == 31U);
  BOOST_TEST(!sim::number_of_key("12a"));
  BOOST_TEST(!sim::number_of_key("99999999999999999999999"));
}

BOOST_AUTO_TEST_CASE(answers_name_complete_replicas_by_medium) {
  sim::store_storage storage(small_rules());
  put_on_ssd(storage, "a\"b");
  BOOST_TEST(storage.put("c", 10, 0ms, true));
  BOOST_TEST(storage.put_start("d", 10, false, std::nullopt, nullptr, 0ms));

  const std::vector<std::string> keys{"a\"b", "c", "d", "e"};
  const std::string answer = sim::store_batch_answer(storage, keys, false);
  BOOST_TEST(answer.find(R"("a\"b":{"ok":true,"values":[],"disk_values":[],"local_disk_values":[{"client_id":"client-0",)"
                         R"("object_size":10,"transport_endpoint":"10.7.0.1:50052"}]})") != std::string::npos,
             answer);
  BOOST_TEST(answer.find(R"("disk_values":[{"file_path":"/mnt/kv/c","object_size":10}])") != std::string::npos);
  BOOST_TEST(answer.find(R"("d":{"ok":false,"error":"REPLICA_IS_NOT_READY"})") != std::string::npos);
  BOOST_TEST(answer.find(R"("e":{"ok":false,"error":"OBJECT_NOT_FOUND"})") != std::string::npos);
  BOOST_TEST(sim::store_batch_answer(storage, keys, true).find("OBJECT_NOT_FOUND") == std::string::npos);
  BOOST_TEST((sim::split_keys("a,,b c,") == std::vector<std::string>{"a", "b c"}));
  BOOST_TEST(sim::raw_parameter("x=1&key=a%2Cb+c", "key") == "a%2Cb+c");
  BOOST_TEST(sim::raw_parameter("keys=1", "key").empty());
}

BOOST_AUTO_TEST_CASE(store_flags_say_what_is_wrong_with_them) {
  const auto error = [](std::vector<std::string> arguments) { return sim::parse_store_options(arguments).error; };
  BOOST_TEST(error({"--masters", "9"}) == "--masters must be a whole number from 1 to 8, not '9'");
  BOOST_TEST(error({"--faults", "vanish,bang"}).starts_with("--faults must be all, none, or some of hang, error,"));
  BOOST_TEST(error({"--generation=new"}) == "--generation must be one of array, master, branch, later, not 'new'");
  BOOST_TEST(error({"--demo"}) == "--demo needs --conductor");
  BOOST_TEST(error({"--memory", "1"}).starts_with("--segments must not be more than --memory"));
  const auto chosen =
      sim::parse_store_options({"--copy", "0.25", "--no-offload", "--memory=10", "--object-bytes=7", "--faults=hang,clear"}).chosen;
  BOOST_TEST((chosen.rules.copy == 250ms));
  BOOST_TEST(!chosen.rules.offloads);
  BOOST_TEST(chosen.rules.capacity == 70U);
  BOOST_TEST(chosen.faults == (1U << static_cast<unsigned>(sim::store_fault::clear) | 1U));
}

BOOST_AUTO_TEST_CASE(store_help_lists_every_fault_and_generation) {
  for (const std::string_view each : sim::store_fault_words) BOOST_TEST(sim::store_help_text().find(each) != std::string_view::npos, each);
  for (const std::string_view each : sim::store_generation_words) {
    BOOST_TEST(sim::store_help_text().find(each) != std::string_view::npos, each);
  }
}

BOOST_AUTO_TEST_SUITE_END()
