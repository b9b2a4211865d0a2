#include "core/evictor.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace kvc::test {
BOOST_AUTO_TEST_SUITE(evictors)

namespace {

using namespace kvc::core;
using namespace std::chrono_literals;

/// A ledger with ten keys "0" to "9" of 10 bytes under each salt that is asked for, and a planner over it.
struct storage {
  usage_ledger ledger;
  quota_table quotas;
  evictor planner;
  evictor::time_point now{};

  explicit storage(const evictor::options& with) : planner(ledger, quotas, with) {}

  void fill(const std::string& salt) {
    for (int i = 0; i < 10; ++i) (void)ledger.store(key(std::to_string(i), salt), 10);
  }
  static object_key key(std::string_view hash, std::string_view salt) { return {hash, "m", 0, 0, salt}; }

  /// One whole cycle: "salt:hashes" of each piece, pieces divided by bars.
  std::string cycle() {
    planner.begin();
    while (!planner.step(3)) {
    }
    std::string text;
    for (const auto& piece : planner.take_pieces(now)) text += (text.empty() ? "" : "|") + keys(piece.id);
    return text;
  }
  std::string keys(std::uint32_t piece) {
    std::string text;
    std::string salt = "?";
    (void)planner.visit_keys(piece, 0, {.keys = 1'000}, [&](const object_key& each) {
      if (each.salt != salt) text += (text.empty() ? "" : " ") + std::string(salt = each.salt) + ":";
      text += each.hash;
    });
    return text;
  }
};

}  // namespace

struct trigger_row {
  const char* why;
  double limit;
  double watermark;
  double ratio;
  eviction_unit unit;
  const char* wanted;
};

BOOST_AUTO_TEST_CASE(when_and_how_much) {
  // 100 bytes in ten keys; the arithmetic is that of spec coordinator-api section 3.
  constexpr auto by_keys = eviction_unit::keys;
  constexpr auto by_bytes = eviction_unit::bytes;
  const trigger_row rows[] = {{"under", 101, 1.0, 0.2, by_keys, ""},
                              {"equality fires", 100, 1.0, 0.2, by_keys, "a:01"},
                              {"watermark", 125, 0.8, 0.2, by_keys, "a:01"},
                              {"just under the watermark", 126, 0.8, 0.2, by_keys, ""},
                              {"floor", 100, 1.0, 0.39, by_keys, "a:012"},
                              {"at least one", 100, 1.0, 0.01, by_keys, "a:0"},
                              {"a ratio of nothing", 100, 1.0, 0.0, by_keys, ""},
                              {"a limit of nothing takes all, whatever the ratio", 0, 1.0, 0.0, by_keys, "a:0123456789"},
                              {"by count, not until it is enough", 10, 1.0, 0.2, by_keys, "a:01"},
                              {"bytes: until it is under", 75, 1.0, 0.2, by_bytes, "a:012"},
                              {"bytes: equality is not under", 80, 1.0, 0.2, by_bytes, "a:012"},
                              {"bytes: the watermark is the goal", 100, 0.5, 0.2, by_bytes, "a:012345"},
                              {"bytes: nothing may stay", 0, 1.0, 0.2, by_bytes, "a:0123456789"}};
  for (const trigger_row& each : rows) {
    BOOST_TEST_CONTEXT(each.why) {
      storage one({.ratio = each.ratio, .watermark = each.watermark, .unit = each.unit});
      one.fill("a");
      (void)one.quotas.set("a", each.limit);

      BOOST_TEST(one.cycle() == each.wanted);
      BOOST_TEST(one.ledger.total_bytes() == 100U);
    }
  }
}

BOOST_AUTO_TEST_CASE(one_plan_for_all_salts_in_order_of_first_tracking) {
  // Pieces hold no more than a server takes, and are filled across salts.
  storage one({.ratio = 0.3, .keys_per_piece = 4});
  for (const char* salt : {"z", "a", "rich", ""}) one.fill(salt);
  (void)one.quotas.set("z", 50);
  (void)one.quotas.set("a", 50);
  (void)one.quotas.set("", 50);
  (void)one.quotas.set("rich", 1e6);

  BOOST_TEST(one.cycle() == "z:012 a:0|a:12 :01|:2");
}

BOOST_AUTO_TEST_CASE(a_piece_ends_by_its_text_as_well) {
  // A name is kept once and written for every key: ten thousand keys may be hundreds of megabytes.
  const std::size_t each = written_around_key + 2 + 1'000 + 6;  // a digit as hex, the model, a control character
  storage one({.ratio = 1.0, .text_per_piece = 3 * each});
  const std::string model(1'000, 'm');
  for (int i = 0; i < 7; ++i) (void)one.ledger.store({std::to_string(i), model, 0, 0, "\x01"}, 10);

  BOOST_TEST(one.cycle() == "\x01:012|\x01:345|\x01:6");

  storage alone({.ratio = 1.0, .text_per_piece = 1});
  (void)alone.ledger.store({"0", model, 0, 0, "a"}, 10);
  (void)alone.ledger.store({"1", "m", 0, 0, "a"}, 10);
  BOOST_TEST(alone.cycle() == "a:0|a:1", "a key that is too long for any piece has one");
}

BOOST_AUTO_TEST_CASE(a_piece_is_read_by_keys_and_by_text) {
  // Where to go on is told by place: keys that are not to be deleted any more count as seen, and their text does not.
  storage one({.ratio = 1.0});
  one.fill("a");
  BOOST_TEST(one.cycle() == "a:0123456789");
  (void)one.ledger.store(storage::key("4", "a"), 10);
  const std::size_t each = written_around_key + 2 + 1 + 1;
  const auto read = [&](const evictor::slice& most) {
    std::string text;
    for (std::optional<std::size_t> from = 0; from; text += from ? "|" : "") {
      from = one.planner.visit_keys(1, *from, most, [&](const object_key& key) { text += key.hash; });
    }
    return text;
  };

  BOOST_TEST(read({.keys = 4}) == "0123|567|89");
  BOOST_TEST(read({.keys = 100, .text = 3 * each}) == "012|356|789");
  BOOST_TEST(read({.keys = 2, .text = 3 * each}) == "01|23|5|67|89");
  BOOST_TEST(read({.keys = 0, .text = 0}) == "0|1|2|3||5|6|7|8|9", "at least one at a time");
  BOOST_TEST(!one.planner.visit_keys(7, 0, {.keys = 1}, [](const object_key&) {}).has_value());
}

BOOST_AUTO_TEST_CASE(salts_without_a_limit_are_exempt) {
  // What an operator asks for who wants quotas for some tenants only.
  storage one({});
  one.fill("a");
  one.quotas.set_default_limit(std::nullopt);

  BOOST_TEST(one.cycle() == "");
}

BOOST_AUTO_TEST_CASE(what_was_sent_is_not_sent_again_nor_made_up_for) {
  // The deletions are on their way: sending them again is waste, and taking other keys instead would evict too much.
  storage one({.ratio = 0.2});
  one.fill("a");
  (void)one.quotas.set("a", 90);
  BOOST_TEST(one.cycle() == "a:01");

  BOOST_TEST(one.cycle() == "");

  for (const char* gone : {"0", "1"}) one.ledger.remove(storage::key(gone, "a"));
  BOOST_TEST(one.cycle() == "");
  BOOST_TEST(one.ledger.counters().confirmed == 2U);
  BOOST_TEST(one.ledger.keys_in_flight() == 0U);
}

BOOST_AUTO_TEST_CASE(a_failed_piece_is_planned_again_in_the_next_cycle) {
  // No connection, no 2xx, or "ok": false: nothing was deleted.
  storage one({.ratio = 0.4, .keys_per_piece = 2});
  one.fill("a");
  (void)one.quotas.set("a", 50);
  BOOST_TEST(one.cycle() == "a:01|a:23");

  one.planner.failed(1);
  one.planner.failed(77);

  BOOST_TEST(one.planner.counters().failed == 2U);
  BOOST_TEST(one.cycle() == "a:01|a:4");  // eight keys count, of which four tenths are three
}

BOOST_AUTO_TEST_CASE(silence_ends_the_memory) {
  // At least once: a deletion nobody confirms is asked for again.
  storage one({.ratio = 0.2, .remembered = 30s});
  one.fill("a");
  (void)one.quotas.set("a", 100);
  BOOST_TEST(one.cycle() == "a:01");
  one.now += 29s;
  BOOST_TEST(!one.planner.expire(one.now));
  BOOST_TEST(one.cycle() == "");

  one.now += 1s;
  BOOST_TEST(!one.planner.expire(one.now));

  BOOST_TEST(one.planner.counters().expired == 2U);
  BOOST_TEST(one.planner.pieces_remembered() == 0U);
  BOOST_TEST(one.cycle() == "a:01");
}

/// `times` cycles, each of which sends "a:01", is accepted, and is not heard of again.
void ask_in_vain(storage& one, int times) {
  for (int time = 0; time < times; ++time) {
    BOOST_TEST(one.cycle() == "a:01");
    one.planner.accepted(static_cast<std::uint32_t>(one.planner.counters().cycles));
    one.now += 30s;
    BOOST_TEST(!one.planner.expire(one.now));
  }
}

BOOST_AUTO_TEST_CASE(what_no_server_deletes_does_not_stand_in_the_way) {
  // The oldest keys would be asked for in every cycle, and the salt would stay over its limit.
  storage one({.ratio = 0.2, .remembered = 30s});
  one.fill("a");
  (void)one.quotas.set("a", 100);
  ask_in_vain(one, 3);
  BOOST_TEST(one.ledger.keys_set_aside() == 2U);

  BOOST_TEST(one.cycle() == "a:23");
  BOOST_TEST(one.cycle() == "", "what is set aside is not made up for while the others are on their way");
  (void)one.ledger.store(storage::key("0", "a"), 10);
  one.ledger.remove(storage::key("1", "a"));
  BOOST_TEST(one.ledger.keys_set_aside() == 0U, "stored anew, or gone at last");
}

BOOST_AUTO_TEST_CASE(by_bytes_it_does_not_stand_in_the_way_either) {
  // The oldest key would be enough by its size every time, and would be all that is ever asked for.
  storage one({.ratio = 0.2, .unit = eviction_unit::bytes, .remembered = 30s});
  one.fill("a");
  (void)one.quotas.set("a", 100);
  for (std::uint32_t piece = 1; piece <= 3; ++piece) {
    BOOST_TEST(one.cycle() == "a:0");
    one.planner.refused(piece);
  }

  BOOST_TEST(one.cycle() == "a:1");
  one.planner.refused(4);
  (void)one.quotas.set("a", 10);
  BOOST_TEST(one.cycle() == "a:1234567890", "the others are not enough");
  one.planner.refused(5);
  (void)one.quotas.set("a", 0);
  BOOST_TEST(one.cycle() == "a:0123456789", "a limit of nothing takes all, in the order of use");
}

BOOST_AUTO_TEST_CASE(what_was_asked_for_in_vain_is_asked_for_again) {
  storage one({.ratio = 0.2, .remembered = 30s});
  one.fill("a");
  (void)one.quotas.set("a", 100);
  ask_in_vain(one, 3);

  (void)one.quotas.set("a", 0);
  BOOST_TEST(one.cycle() == "a:0123456789", "a limit of nothing takes all, in the order of use");

  storage patient({.ratio = 0.2, .remembered = 30s});
  patient.fill("a");
  (void)patient.quotas.set("a", 100);
  ask_in_vain(patient, 3);
  (void)patient.quotas.set("a", 1'000);
  while (patient.planner.counters().cycles + 1 < evictor::cycles_until_retry) BOOST_TEST(patient.cycle() == "");
  (void)patient.quotas.set("a", 100);
  BOOST_TEST(patient.cycle() == "a:01", "now and then: whatever was wrong may have been mended");
}

BOOST_AUTO_TEST_CASE(when_nothing_else_is_left_what_is_set_aside_is_taken) {
  storage one({.ratio = 0.4, .remembered = 30s});
  one.fill("a");
  (void)one.quotas.set("a", 50);
  for (int time = 0; time < 3; ++time) {
    BOOST_TEST(one.cycle() == "a:0123");
    one.planner.refused(static_cast<std::uint32_t>(one.planner.counters().cycles));
  }
  for (const char* gone : {"4", "5", "6", "7", "9"}) one.ledger.remove(storage::key(gone, "a"));

  BOOST_TEST(one.cycle() == "a:80", "two of five: the others first, then the oldest");
}

BOOST_AUTO_TEST_CASE(a_failure_that_says_nothing_of_the_keys_sets_nothing_aside) {
  // A server that cannot be reached for a minute must not turn the order of use upside down.
  storage one({.ratio = 0.2, .remembered = 30s});
  one.fill("a");
  (void)one.quotas.set("a", 100);
  for (std::uint32_t piece = 1; piece <= 9; ++piece) {
    BOOST_TEST(one.cycle() == "a:01");
    if (piece % 2 == 0) {
      one.planner.failed(piece);
    } else {
      one.now += 30s;  // planned, and never sent
      BOOST_TEST(!one.planner.expire(one.now));
    }
  }
  BOOST_TEST(one.ledger.keys_set_aside() == 0U);
}

BOOST_AUTO_TEST_CASE(an_object_stored_again_may_go_again) {
  // The store came after the deletion, or instead of it: either way the object is there.
  storage one({.ratio = 0.2});
  one.fill("a");
  (void)one.quotas.set("a", 100);
  BOOST_TEST(one.cycle() == "a:01");

  (void)one.ledger.store(storage::key("0", "a"), 10);

  BOOST_TEST(one.keys(1) == "a:1");
  BOOST_TEST(one.ledger.keys_in_flight() == 1U);
  for (const char* gone : {"1", "2", "3", "4", "5", "6", "7", "8", "9"}) one.ledger.remove(storage::key(gone, "a"));
  (void)one.quotas.set("a", 0);
  BOOST_TEST(one.cycle() == "a:0");
}

BOOST_AUTO_TEST_CASE(events_between_slices_move_the_planner_along) {
  // The key under the cursor may be used, deleted, or the last of its salt.
  storage one({.ratio = 1.0});
  one.fill("a");
  one.fill("b");
  one.planner.begin();
  BOOST_TEST(!one.planner.step(3));  // the salt, "0" and "1"

  one.ledger.lookup(storage::key("2", "a"));
  one.ledger.remove(storage::key("3", "a"));
  BOOST_TEST(!one.planner.step(1));
  for (int i = 0; i < 10; ++i) one.ledger.remove(storage::key(std::to_string(i), "a"));
  while (!one.planner.step(2)) {
  }

  const auto pieces = one.planner.take_pieces(one.now);
  std::string all;
  for (const auto& each : pieces) all += one.keys(each.id);
  BOOST_TEST(all == "b:0123456789");
}

BOOST_AUTO_TEST_CASE(a_number_given_out_again_is_not_told_twice) {
  // A key leaves the piece that is being put together, and its number means another key of the same piece soon after.
  storage one({.ratio = 1.0});
  one.fill("a");
  one.fill("b");
  one.planner.begin();
  BOOST_TEST(!one.planner.step(3));
  one.ledger.remove(storage::key("0", "a"));
  (void)one.ledger.store(storage::key("new", "b"), 10);
  while (!one.planner.step(100)) {
  }

  std::string all;
  for (const auto& each : one.planner.take_pieces(one.now)) all += one.keys(each.id) + "|";
  BOOST_TEST(all == "a:1|a:23456789 b:0123456789new|");
}

BOOST_AUTO_TEST_CASE(keys_that_are_used_all_the_time_do_not_keep_a_cycle_from_ending) {
  // Each use puts a key behind the planner's cursor again; two such keys would be met in turns for ever.
  storage one({.ratio = 0.2});
  one.fill("a");
  (void)one.quotas.set("a", 100);
  BOOST_TEST(one.cycle() == "a:01");
  (void)one.quotas.set("a", 0);
  one.planner.begin();
  BOOST_TEST(!one.planner.step(1));
  for (int i = 2; i < 10; ++i) one.ledger.remove(storage::key(std::to_string(i), "a"));

  int slices = 0;
  while (!one.planner.step(1) && ++slices < 100) one.ledger.lookup(storage::key(slices % 2 == 0 ? "1" : "0", "a"));

  BOOST_TEST(slices < 20);
  BOOST_TEST(one.planner.take_pieces(one.now).empty());
}

BOOST_AUTO_TEST_CASE(a_slice_is_no_longer_than_its_budget) {
  // What the longest pause of a lane is made of.
  storage one({.ratio = 1.0});
  for (int salt = 0; salt < 5; ++salt) one.fill("salt-" + std::to_string(salt));
  one.planner.begin();
  int slices = 1;
  while (!one.planner.step(4)) ++slices;

  BOOST_TEST(slices >= 55 / 4);
  BOOST_TEST(one.planner.counters().planned == 50U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test
