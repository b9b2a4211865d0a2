#include "core/mp_registry.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace kvc::test {
BOOST_AUTO_TEST_SUITE(mp_registry_suite)

namespace {

using namespace kvc::core;
using namespace std::chrono_literals;

const mp_registry::time_point t0{};
const std::chrono::system_clock::time_point noon{};

mp_server server(const std::string& id, const std::string& ip = "10.0.0.1") {
  return {.instance_id = id, .ip = ip, .http_port = 8'080, .metadata = {{"zone", "a"}}, .p2p_advertised_url = {}, .mq_port = 0};
}

std::string listed(const mp_registry& registry) {
  std::string text;
  for (const auto& [number, each] : registry.all()) text += each.server.instance_id + " ";
  return text;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_list_is_in_order_of_first_registration) {
  // Operators compare listings; a server that only registers again must not jump.
  mp_registry registry({});
  for (const char* id : {"a", "b", "c"}) BOOST_TEST(!*registry.add(server(id), t0, noon));

  BOOST_TEST(*registry.add(server("a", "10.9.9.9"), t0 + 1s, noon + 1s));
  BOOST_TEST(listed(registry) == "a b c ");
  BOOST_TEST(registry.find("a")->server.ip == "10.9.9.9");
  BOOST_TEST((registry.find("a")->registered_at == noon + 1s));

  BOOST_TEST(registry.remove("b"));
  BOOST_TEST(!registry.remove("b"));
  BOOST_TEST(!*registry.add(server("b"), t0, noon));
  BOOST_TEST(listed(registry) == "a c b ");
  BOOST_TEST(registry.all().upper_bound(2)->second.server.instance_id == "c", "who stood behind somebody that has left is found again");
  BOOST_TEST(registry.all().rbegin()->first == 4U, "and who returns is told of once more");
}

BOOST_AUTO_TEST_CASE(silence_beyond_the_timeout_ends_a_membership_at_the_next_sweep) {
  // At the timeout itself a server is still there; a heartbeat or a registration counts from its own time.
  mp_registry registry({.timeout = 30s});
  for (const char* id : {"silent", "beating", "again"}) (void)registry.add(server(id), t0, noon);
  BOOST_TEST(registry.heartbeat("beating", t0 + 10s));
  (void)registry.add(server("again"), t0 + 20s, noon);

  BOOST_TEST(registry.sweep(t0 + 30s).empty());
  const auto gone = registry.sweep(t0 + 30s + 1ns);

  BOOST_TEST_REQUIRE(gone.size() == 1U);
  BOOST_TEST(gone[0] == "silent");
  BOOST_TEST(listed(registry) == "beating again ");
  BOOST_TEST(!registry.heartbeat("silent", t0 + 31s));
  BOOST_TEST(registry.find("silent") == nullptr);
}

BOOST_AUTO_TEST_CASE(the_fleet_is_bounded) {
  // Ids are made up by whoever can reach the port; those who are in may still register again.
  mp_registry registry({.servers = 1});
  (void)registry.add(server("a"), t0, noon);

  BOOST_TEST((registry.add(server("b"), t0, noon).error() == make_error_code(errc::servers_exhausted)));
  BOOST_TEST(*registry.add(server("a"), t0, noon));

  mp_registry wordy({.text_bytes = 1'000});
  BOOST_TEST(wordy.add(server("a", std::string(400, 'x')), t0, noon).has_value());
  BOOST_TEST(!wordy.add(server("b", std::string(800, 'x')), t0, noon).has_value());
  BOOST_TEST(*wordy.add(server("a", std::string(800, 'y')), t0, noon));
  BOOST_TEST(wordy.remove("a"));
  BOOST_TEST(wordy.add(server("b", std::string(800, 'x')), t0, noon).has_value());
}

BOOST_AUTO_TEST_CASE(every_server_is_as_likely_to_be_picked) {
  // Deletions of the whole fleet are spread by this.
  mp_registry registry({});
  BOOST_TEST(registry.pick(7) == nullptr);
  for (const char* id : {"a", "b", "c"}) (void)registry.add(server(id), t0, noon);
  std::map<std::string, int> picked;
  std::mt19937_64 random(5);
  for (int i = 0; i < 3'000; ++i) ++picked[registry.pick(random())->server.instance_id];

  for (const auto& [id, count] : picked) BOOST_TEST(count > 850, id << " " << count);
  BOOST_TEST(picked.size() == 3U);
}

BOOST_AUTO_TEST_CASE(made_up_ids_are_random_uuids) {
  // Version and variant as RFC 9562 has them, without dashes.
  BOOST_TEST(made_up_instance_id(0, 0) == "mp-00000000000040008000000000000000");
  BOOST_TEST(made_up_instance_id(~0ULL, ~0ULL) == "mp-ffffffffffff4fffbfffffffffffffff");
  BOOST_TEST(made_up_instance_id(0x0123456789ABCDEF, 0x0123456789ABCDEF) == "mp-0123456789ab4def8123456789abcdef");
}

BOOST_AUTO_TEST_CASE(random_fleets_equal_the_model) {
  // Joins, beats, leaves and sweeps in any order.
  constexpr std::uint64_t first = 321;
  BOOST_TEST_MESSAGE("seeds from " << first);
  for (std::uint64_t seed = first; seed < first + 60; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      std::mt19937_64 random(seed);
      mp_registry registry({.timeout = 10s});
      std::vector<std::pair<std::string, mp_registry::time_point>> model;
      auto now = t0;
      for (int step = 0; step < 300; ++step) {
        now += std::chrono::milliseconds(random() % 1'500);
        const std::string id = std::to_string(random() % 8);
        const auto known = std::ranges::find(model, id, &std::pair<std::string, mp_registry::time_point>::first);
        const bool is_known = known != model.end();
        switch (random() % 4) {
          case 0:
            BOOST_REQUIRE(*registry.add(server(id), now, noon) == is_known);
            if (is_known) known->second = now;
            if (!is_known) model.emplace_back(id, now);
            break;
          case 1:
            BOOST_REQUIRE(registry.heartbeat(id, now) == is_known);
            if (is_known) known->second = now;
            break;
          case 2:
            BOOST_REQUIRE(registry.remove(id) == is_known);
            if (is_known) model.erase(known);
            break;
          default:
            std::vector<std::string> gone;
            for (const auto& [name, heard] : model) {
              if (now - heard > 10s) gone.push_back(name);
            }
            std::erase_if(model, [&](const auto& each) { return now - each.second > 10s; });
            BOOST_REQUIRE((registry.sweep(now) == gone));
        }
        std::string wanted;
        for (const auto& [name, heard] : model) wanted += name + " ";
        BOOST_REQUIRE(listed(registry) == wanted);
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test
