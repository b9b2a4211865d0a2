#include "core/text_spread.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <unordered_map>

#include <boost/test/unit_test.hpp>

#include "core/mixed_bits.hpp"
#include "core/mp_registry.hpp"
#include "core/object_key.hpp"
#include "core/sender_table.hpp"
#include "core/usage.hpp"

namespace kvc::test {
BOOST_AUTO_TEST_SUITE(texts_spread_by_a_secret)

namespace {

using namespace kvc::core;

/// A secret for as long as this lives; other tests have none.
struct secret_for_now {
  explicit secret_for_now(std::uint64_t secret) { set_spread_secret(secret); }
  ~secret_for_now() { set_spread_secret(0); }
  secret_for_now(const secret_for_now&) = delete;
  secret_for_now& operator=(const secret_for_now&) = delete;
};

/// What a call answers under a secret.
template <class Ask>
std::uint64_t under(std::uint64_t secret, Ask ask) {
  const secret_for_now set(secret);
  return ask();
}

std::uint64_t without_shift(std::uint64_t of, int bits) {
  std::uint64_t value = of;
  for (int known = 0; known < 64; known += bits) value = of ^ value >> bits;
  return value;
}
std::uint64_t inverse(std::uint64_t of) {
  std::uint64_t value = of;
  for (int i = 0; i < 6; ++i) value *= 2 - of * value;
  return value;
}
/// Undoes `mixed_bits`.
std::uint64_t unmixed(std::uint64_t of) {
  of = without_shift(of, 31) * inverse(0x94D0'49BB'1331'11EBU);
  of = without_shift(of, 27) * inverse(0xBF58'476D'1CE4'E5B9U);
  return without_shift(of, 30);
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_digest_of_what_clients_choose_depends_on_the_secret) {
  // Short and long texts go different ways, and each of them has to take the secret along.
  for (const std::size_t length : {0U, 1U, 8U, 16U, 17U, 128U, 129U, 240U, 241U, 4'096U}) {
    const std::string text(length, 'x');
    const auto ask = [&] { return spread(text); };
    BOOST_TEST(under(1, ask) == under(1, ask), length);
    BOOST_TEST(under(1, ask) != under(2, ask), length);
    BOOST_TEST(under(0, ask) == digest(std::as_bytes(std::span(text))), length);
  }
  const object_key key{"hash", "model", 16'777'472, 1, "salt"};
  BOOST_TEST(under(1, [&] { return key_digest(key); }) != under(2, [&] { return key_digest(key); }));
  BOOST_TEST(under(1, [&] { return layout_digest(key); }) != under(2, [&] { return layout_digest(key); }));
  const std::array<std::uint64_t, 3> numbers{1, 2, 3};
  BOOST_TEST(under(1, [&] { return spread(numbers); }) != under(2, [&] { return spread(numbers); }));
}

BOOST_AUTO_TEST_CASE(each_field_of_a_key_makes_another_digest) {
  const object_key one{"a", "b", 1, 2, "c"};
  std::set<std::uint64_t> digests{key_digest(one)};
  std::set<std::uint64_t> layouts{layout_digest(one)};
  for (const object_key& each : {object_key{"b", "b", 1, 2, "c"}, object_key{"a", "a", 1, 2, "c"}, object_key{"a", "b", 2, 2, "c"},
                                 object_key{"a", "b", 1, 1, "c"}, object_key{"a", "b", 1, 2, "a"}, object_key{"b", "a", 1, 2, "c"},
                                 object_key{"c", "b", 1, 2, "a"}, object_key{"a", "b", 2, 1, "c"}}) {
    BOOST_TEST(digests.insert(key_digest(each)).second);
    layouts.insert(layout_digest(each));
  }
  BOOST_TEST(layouts.size() == 5U);
}

BOOST_AUTO_TEST_CASE(a_rank_cannot_make_up_for_other_fields) {
  // A rank is any number a client likes: added to a group's or to a hash's digest, it could make all keys one place of the table.
  std::set<std::uint64_t> layouts;
  std::set<std::uint64_t> keys;
  usage_ledger ledger;
  for (std::uint64_t i = 0; i < 5'000; ++i) {
    const auto for_group = static_cast<std::int64_t>(-std::rotl(mixed_bits(i), 17));
    layouts.insert(layout_digest({"", "m", for_group, i, ""}));
    const std::string hash = "h" + std::to_string(i);
    const auto for_hash = static_cast<std::int64_t>(unmixed(std::rotr(digest(std::as_bytes(std::span(hash))), 21)));
    const object_key key{hash, "m", for_hash, 0, "t"};
    keys.insert(key_digest(key));
    (void)ledger.store(key, 1);
  }
  BOOST_TEST(layouts.size() == 5'000U);
  BOOST_TEST(keys.size() == 5'000U);
  BOOST_TEST(ledger.size() == 5'000U);
  BOOST_TEST(ledger.counters().refused == 0U);
}

BOOST_AUTO_TEST_CASE(tables_find_what_they_hold_under_any_secret) {
  const secret_for_now set(0x1234'5678'9ABC'DEF1U);
  usage_ledger ledger;
  sender_table<int> senders({.senders = 100, .id_bytes = 1'000});
  mp_registry servers({});
  for (int i = 0; i < 3'000; ++i) {
    const std::string text = std::to_string(i);
    BOOST_REQUIRE(ledger.store({text, text, i, 0, "s"}, 1).has_value());
    BOOST_REQUIRE(senders.hear(text).second);
    mp_server server;
    server.instance_id = text;
    BOOST_REQUIRE(servers.add(server, {}, {}).has_value());
  }
  BOOST_TEST(senders.size() == 100U);
  for (int i = 0; i < 3'000; ++i) {
    const std::string text = std::to_string(i);
    BOOST_REQUIRE(ledger.remove({text, text, i, 0, "s"}));
    BOOST_REQUIRE_EQUAL(senders.find(text) != nullptr, i >= 2'900);
    BOOST_REQUIRE(servers.remove(text));
  }
  BOOST_TEST(ledger.size() == 0U);

  std::unordered_map<std::string, int, text_spread> by_text{{"a", 1}};
  BOOST_TEST(by_text.contains("a"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test
