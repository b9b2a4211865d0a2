// The coordinator's tables when memory runs out at any moment of their lives: what could not be done has not happened, and all goes on.
//
// KVC_PROPERTY_STREAMS sets how many lives are led, KVC_PROPERTY_SEED the first seed.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <new>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/blend_query.hpp"
#include "core/blend_table.hpp"
#include "core/mp_registry.hpp"
#include "core/quota.hpp"
#include "core/sender_table.hpp"
#include "core/usage.hpp"
#include "core/usage_listing.hpp"
#include "tests/allocation/watched_heap.hpp"
#include "tests/support/setting.hpp"

namespace kvc::test {
BOOST_AUTO_TEST_SUITE(failed_tables)

namespace {

using namespace kvc::core;

/// Tables that are all changed in turn, and beside each what should be in it.
class short_of_memory {
 public:
  explicit short_of_memory(std::uint64_t seed) : random_(seed) {}

  void live() {
    for (int step = 0; step < 120; ++step) {
      change();
      compare();
    }
    leave();
  }
  [[nodiscard]] std::uint64_t failures() const { return failures_; }

 private:
  static constexpr std::size_t most_text = 4'000;
  using clock = std::chrono::steady_clock;

  /// Whether it could be done.
  template <class Work>
  bool attempt(Work work) {
    watched_heap::before_failure = random_() % 3 == 0 ? -1 : static_cast<long>(random_() % 7);
    bool is_done = true;
    try {
      work();
    } catch (const std::bad_alloc&) {
      is_done = false;
    }
    watched_heap::before_failure = -1;
    failures_ += is_done ? 0 : 1;
    return is_done;
  }
  /// Short ones stand where their owner is, long ones on the heap.
  std::string some_text(std::uint64_t different) {
    const std::string text = std::to_string(random_() % different);
    return text + std::string(random_() % 2 == 0 ? 60 : 0, 'x');
  }

  void change() {
    switch (random_() % 6) {
      case 0:
      case 1: return store_or_remove();
      case 2: return publish_or_remove();
      case 3: return register_or_leave();
      case 4: return set_or_remove_quota();
      default: return hear();
    }
  }

  using owned_key = std::array<std::string, 3>;
  static object_key key_of(const owned_key& key) { return {key[0], key[1], 0, 0, key[2]}; }
  void store_or_remove() {
    const owned_key key{some_text(12), some_text(4), some_text(4)};
    std::vector<owned_key>& order = order_[key[2]];
    const auto known = std::ranges::find(order, key);
    if (random_() % 3 == 0) {
      if (!attempt([&] { ledger_.remove(key_of(key)); })) return;
      if (known != order.end()) order.erase(known);
      bytes_.erase(key);
    } else {
      const std::uint64_t bytes = random_() % 100;
      if (!attempt([&] { BOOST_REQUIRE(ledger_.store(key_of(key), bytes).has_value()); })) return;
      if (known != order.end()) order.erase(known);
      order.push_back(key);
      bytes_[key] = bytes;
    }
  }

  void publish_or_remove() {
    const std::string scope = some_text(3);
    const std::string name = some_text(8);
    if (random_() % 4 == 0) {
      if (!attempt([&] { blend_.remove(name); })) return;
      std::erase_if(chunks_, [&](const auto& each) { return each.second == name; });
      return;
    }
    const std::uint64_t token = random_() % 20;
    const std::string_view names[] = {name};
    if (attempt([&] { blend_.publish(scope, std::span<const std::uint64_t>(&token, 1), names, 0); }))
      chunks_.try_emplace({scope, token}, name);
  }

  void register_or_leave() {
    const std::string id = some_text(9);
    if (random_() % 3 == 0) {
      servers_.remove(id);
      std::erase_if(registered_, [&](const auto& each) { return each.first == id; });
      return;
    }
    const auto port = static_cast<std::uint16_t>(1 + random_() % 1'000);
    mp_server server{.instance_id = id, .ip = "i", .http_port = port, .metadata = {}, .p2p_advertised_url = {}};
    bool is_taken = false;
    if (!attempt([&] { is_taken = servers_.add(std::move(server), clock::time_point(), {}).has_value(); }) || !is_taken) return;
    const auto known = std::ranges::find(registered_, id, &std::pair<std::string, std::uint16_t>::first);
    if (known != registered_.end()) {
      known->second = port;
    } else {
      registered_.emplace_back(id, port);
    }
  }

  void set_or_remove_quota() {
    const std::string salt = some_text(9);
    const auto limit = static_cast<double>(random_() % 100);
    if (random_() % 3 == 0) {
      quotas_.remove(salt);
      limits_.erase(salt);
    } else if (attempt([&] { BOOST_REQUIRE(quotas_.set(salt, limit).has_value()); })) {
      limits_[salt] = limit;
    }
  }

  void hear() {
    const std::string id = some_text(9);
    bool is_first = false;
    if (!attempt([&] {
          auto [count, is_fresh] = senders_.hear(id);
          ++count;
          is_first = is_fresh;
        })) {
      return;
    }
    BOOST_REQUIRE(is_first == (++heard_[id] == 1));
  }

  void compare() {
    std::map<std::string, std::uint64_t> sums;
    std::uint64_t total = 0;
    for (const auto& [key, bytes] : bytes_) {
      sums[key[2]] += bytes;
      total += bytes;
    }
    BOOST_REQUIRE(ledger_.size() == bytes_.size());
    BOOST_REQUIRE(ledger_.total_bytes() == total);
    std::size_t salts = 0;
    for (const auto& [salt, order] : order_) {
      salts += order.empty() ? 0 : 1;
      BOOST_REQUIRE(ledger_.bytes_of(salt) == sums[salt]);
      std::vector<owned_key> told;
      if (const std::uint32_t number = ledger_.keys().salts().find(salt); number != no_record) {
        BOOST_REQUIRE(ledger_.keys().salts()[number].keys == order.size());
        for (std::uint32_t each = ledger_.keys().salts()[number].oldest; each != no_record; each = ledger_.keys()[each].newer) {
          const object_key key = ledger_.keys().key_of(each);
          told.push_back({std::string(key.hash), std::string(key.model), std::string(key.salt)});
        }
      }
      BOOST_REQUIRE((told == order));
    }
    BOOST_REQUIRE(ledger_.keys().salts().size() == salts);
    BOOST_REQUIRE(ledger_.keys().salts().by_name().size() == salts);

    BOOST_REQUIRE(blend_.size() == chunks_.size());
    std::vector<std::string> names;
    for (const auto& [place, name] : chunks_) {
      blend_query query(blend_, place.first);
      BOOST_REQUIRE(query.advance(blend_, std::span<const std::uint64_t>(&place.second, 1), 1));
      BOOST_REQUIRE(query.matches().size() == 1U);
      BOOST_REQUIRE(query.matches().front().object_key == name);
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
    BOOST_REQUIRE(blend_.objects() == names.size());

    BOOST_REQUIRE(servers_.all().size() == registered_.size());
    for (std::size_t i = 0; const auto& [number, member] : servers_.all()) {
      BOOST_REQUIRE(member.server.instance_id == registered_[i].first);
      BOOST_REQUIRE(member.server.http_port == registered_[i++].second);
      BOOST_REQUIRE(servers_.find(member.server.instance_id) == &member);
    }

    BOOST_REQUIRE(std::ranges::equal(quotas_.all(), limits_));
    BOOST_REQUIRE(senders_.size() == heard_.size());
    for (const auto& [id, times] : heard_) BOOST_REQUIRE(*senders_.find(id) == times);
  }

  /// With nothing in them they have room for as much as ever.
  void leave() {
    for (const auto& [key, bytes] : std::exchange(bytes_, {})) BOOST_REQUIRE(ledger_.remove(key_of(key)));
    order_.clear();
    BOOST_REQUIRE(ledger_.size() == 0U);
    BOOST_REQUIRE(ledger_.keys().salts().by_age().empty());
    for (const auto& [place, name] : std::exchange(chunks_, {})) blend_.remove(name);
    BOOST_REQUIRE(blend_.objects() == 0U);
    for (int scope = 0; scope < 3; ++scope) {
      BOOST_REQUIRE(!blend_.find_scope(std::to_string(scope)));
      BOOST_REQUIRE(!blend_.find_scope(std::to_string(scope) + std::string(60, 'x')));
    }
    for (const auto& [id, port] : registered_) BOOST_REQUIRE(servers_.remove(id));
    BOOST_REQUIRE(
        servers_.add({.instance_id = std::string(most_text, 'i'), .ip = {}, .metadata = {}, .p2p_advertised_url = {}}, {}, {}).has_value());
    for (const auto& [salt, limit] : limits_) BOOST_REQUIRE(quotas_.remove(salt));
    BOOST_REQUIRE(quotas_.set(std::string(most_text, 's'), 1).has_value());
  }

  std::mt19937_64 random_;
  std::uint64_t failures_ = 0;

  usage_ledger ledger_;
  std::map<std::string, std::vector<owned_key>> order_;  ///< by salt, least recently used first
  std::map<owned_key, std::uint64_t> bytes_;
  blend_table blend_{{.chunk_tokens = 1, .most_chunks = 200, .seed = 1}};
  std::map<std::pair<std::string, std::uint64_t>, std::string> chunks_;
  mp_registry servers_{{.text_bytes = most_text}};
  std::vector<std::pair<std::string, std::uint16_t>> registered_;  ///< in order
  quota_table quotas_{{.salt_bytes = most_text}};
  std::map<std::string, double> limits_;
  sender_table<std::uint64_t> senders_{{}};
  std::map<std::string, std::uint64_t> heard_;
};

}  // namespace

BOOST_AUTO_TEST_CASE(what_could_not_be_done_has_not_happened) {
  const std::uint64_t first = setting("KVC_PROPERTY_SEED", 31);
  const std::uint64_t lives = setting("KVC_PROPERTY_STREAMS", 40);
  BOOST_TEST_MESSAGE("seeds from " << first << ", " << lives << " lives");
  std::uint64_t failures = 0;
  for (std::uint64_t seed = first; seed < first + lives; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      short_of_memory one(seed);
      one.live();
      failures += one.failures();
    }
  }
  BOOST_TEST(failures > lives);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test
