#include "core/usage.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/usage_listing.hpp"

namespace kvc::test {
BOOST_AUTO_TEST_SUITE(usage)

namespace {

using namespace kvc::core;

object_key key(std::string_view hash, std::string_view salt = "a") {
  return {hash, "m", 16'777'472, 0, salt};
}

/// The hashes of a salt, least recently used first.
std::string order(const usage_ledger& ledger, std::string_view salt = "a") {
  const key_store& keys = ledger.keys();
  const std::uint32_t number = keys.salts().find(salt);
  if (number == no_record) return "";
  std::string text;
  for (std::uint32_t at = keys.salts()[number].oldest; at != no_record; at = keys[at].newer) text += keys[at].hash.view();
  return text;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_store_counts_once_however_often_it_is_told) {
  // Two servers that store the same object tell of it twice; the storage has it once.
  usage_ledger ledger;
  BOOST_TEST(ledger.store(key("1"), 100).has_value());
  BOOST_TEST(ledger.store(key("1"), 100).has_value());
  BOOST_TEST(ledger.bytes_of("a") == 100U);

  BOOST_TEST(ledger.store(key("1"), 40).has_value());

  BOOST_TEST(ledger.bytes_of("a") == 40U);
  BOOST_TEST(ledger.total_bytes() == 40U);
  BOOST_TEST(ledger.size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_removal_takes_what_was_stored) {
  // The bytes in a delete event mean nothing; clients send 0.
  usage_ledger ledger;
  (void)ledger.store(key("1"), 100);
  (void)ledger.store(key("2"), 7);
  const std::vector<usage_event> events{{.what = usage_event::kind::remove, .key = key("1"), .bytes = 0},
                                        {.what = usage_event::kind::remove, .key = key("unknown"), .bytes = 5}};

  ledger.apply(events);

  BOOST_TEST(ledger.total_bytes() == 7U);
  BOOST_TEST(ledger.counters().removals == 1U);
  BOOST_TEST(ledger.counters().unknown == 1U);
}

BOOST_AUTO_TEST_CASE(all_five_fields_make_the_key) {
  // Ranks of one chunk are different objects, and so are tenants' copies.
  usage_ledger ledger;
  const std::vector<object_key> keys{{"h", "m", 1, 0, "a"},  {"i", "m", 1, 0, "a"}, {"h", "n", 1, 0, "a"},
                                     {"h", "m", -1, 0, "a"}, {"h", "m", 1, 1, "a"}, {"h", "m", 1, 0, ""}};
  for (const object_key& each : keys) BOOST_TEST(ledger.store(each, 1).has_value());

  BOOST_TEST(ledger.size() == keys.size());
  for (const object_key& each : keys) BOOST_TEST(ledger.remove(each));
  BOOST_TEST(ledger.size() == 0U);
  BOOST_TEST(ledger.keys().salts().size() == 0U);
}

BOOST_AUTO_TEST_CASE(stores_and_lookups_are_uses) {
  // What was read lately must not be evicted first.
  usage_ledger ledger;
  for (const char* hash : {"1", "2", "3", "4"}) (void)ledger.store(key(hash), 1);
  BOOST_TEST(order(ledger) == "1234");

  BOOST_TEST(ledger.lookup(key("2")));
  (void)ledger.store(key("1"), 1);
  BOOST_TEST(!ledger.lookup(key("9")));

  BOOST_TEST(order(ledger) == "3421");
  BOOST_TEST(ledger.size() == 4U);
}

BOOST_AUTO_TEST_CASE(seeded_keys_are_older_than_all_that_was_heard_of) {
  // A listing says nothing about use, while an event is a use: the order among the listed ones is that of the listing.
  usage_ledger ledger;
  ledger.begin_seeding();
  (void)ledger.store(key("x"), 1);
  for (const char* hash : {"1", "2", "x", "3"}) (void)ledger.seed(key(hash), 1);
  BOOST_TEST(order(ledger) == "123x");

  (void)ledger.lookup(key("3"));
  (void)ledger.seed(key("4"), 1);

  BOOST_TEST(order(ledger) == "124x3");
  BOOST_TEST(ledger.counters().seeded == 4U);
  BOOST_TEST(ledger.counters().seeds_known == 1U);
}

BOOST_AUTO_TEST_CASE(what_was_deleted_while_a_page_was_on_its_way_stays_deleted) {
  // Otherwise the listing leaves a phantom that counts against the tenant for ever.
  usage_ledger ledger;
  ledger.begin_seeding();
  BOOST_TEST(!ledger.remove(key("1")));

  BOOST_TEST(!*ledger.seed(key("1"), 1));

  BOOST_TEST(ledger.counters().seeds_deleted == 1U);
  BOOST_TEST(ledger.store(key("1"), 1).has_value());
  ledger.end_seeding();
  BOOST_TEST(ledger.size() == 1U);
}

BOOST_AUTO_TEST_CASE(the_bounds_refuse_and_count) {
  // Memory and sums are bounded whatever clients send; what is known already goes on being kept.
  usage_ledger ledger({.keys = 2});
  (void)ledger.store(key("1"), 1);
  (void)ledger.store(key("2"), 1);

  BOOST_TEST((ledger.store(key("3"), 1).error() == make_error_code(errc::keys_exhausted)));
  BOOST_TEST((ledger.store(key("2"), ~std::uint64_t{0}).error() == make_error_code(errc::object_too_large)));
  BOOST_TEST(ledger.store(key("2"), 5).has_value());

  BOOST_TEST(ledger.total_bytes() == 6U);
  BOOST_TEST(ledger.counters().refused == 2U);
  usage_ledger small({.bytes = 1});
  (void)small.store(key("1"), 1);
  BOOST_TEST((small.store(key("2"), 1).error() == make_error_code(errc::keys_exhausted)));
}

BOOST_AUTO_TEST_CASE(nobody_s_object_keeps_those_of_others_out) {
  // One mistyped size would have left the sum without room, and the quotas of all tenants without effect.
  usage_ledger ledger({.keys = 3});
  const std::uint64_t most = ledger.most_object_bytes();
  BOOST_TEST((ledger.store(key("1"), most + 1).error() == make_error_code(errc::object_too_large)));
  for (const char* each : {"1", "2", "3"}) BOOST_TEST(ledger.store(key(each), most).has_value());
  BOOST_TEST((ledger.store(key("3"), most + 1).error() == make_error_code(errc::object_too_large)));

  BOOST_TEST(ledger.total_bytes() == 3 * most);
  BOOST_TEST(most > (std::uint64_t{1} << 60));
}

BOOST_AUTO_TEST_CASE(memory_is_used_again) {
  // A fleet that stores and deletes all day must not grow.
  usage_ledger ledger;
  const std::string long_hash(200, 'x');
  (void)ledger.store(key(long_hash), 1);
  (void)ledger.remove(key(long_hash));
  const std::size_t before = ledger.memory_bytes();
  for (int i = 0; i < 10'000; ++i) {
    const std::string hash = long_hash + std::to_string(i);
    const std::string salt = "salt-" + std::to_string(i);
    BOOST_REQUIRE(ledger.store(key(hash, salt), 1).has_value());
    BOOST_REQUIRE(ledger.remove(key(hash, salt)));
  }

  BOOST_TEST(ledger.memory_bytes() == before);
}

BOOST_AUTO_TEST_CASE(the_listing_is_the_union_of_usage_and_quotas) {
  // An operator sees who has bytes without a quota and who has a quota without bytes, the default tenant first.
  usage_ledger ledger;
  quota_table quotas;
  (void)ledger.store(key("1", "b"), 5);
  (void)ledger.store(key("1", ""), 7);
  (void)ledger.store(key("1", "empty objects"), 0);
  (void)quotas.set("b", 100);
  (void)quotas.set("a", 0);
  (void)quotas.set("\xC3\xA9", 3);
  std::string seen;

  each_usage_row(ledger, quotas, [&](const usage_row& row) {
    seen += std::string(row.salt) + ":" + std::to_string(row.used_bytes) + (row.quota_bytes ? "/" + std::to_string(*row.quota_bytes) : "") +
            " ";
  });

  BOOST_TEST(seen == ":7 a:0/0.000000 b:5/100.000000 \xC3\xA9:0/3.000000 ");
  BOOST_TEST(usage_of("nobody", ledger, quotas).used_bytes == 0U);
  BOOST_TEST(!usage_of("nobody", ledger, quotas).quota_bytes.has_value());
}

BOOST_AUTO_TEST_CASE(a_listing_stops_behind_the_row_that_is_enough) {
  // Who writes rows down counts their bytes, which a number of rows does not bound.
  usage_ledger ledger;
  quota_table quotas;
  for (const char* salt : {"a", "c", "d", "e"}) (void)quotas.set(salt, 1);
  (void)ledger.store(key("1", "b"), 0);  // not listed
  usage_place place;
  std::string seen;
  bool has_more = true;
  for (int calls = 0; has_more && calls < 10; ++calls) {
    has_more = some_usage_rows(ledger, quotas, place, 3, [&](const usage_row& row) {
      seen += row.salt;
      return row.salt == "a" || row.salt == "d";
    });
    seen += " ";
  }
  BOOST_TEST(seen == "ac de  ");
  BOOST_TEST(!has_more);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test
