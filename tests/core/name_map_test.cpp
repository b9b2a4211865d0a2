#include "core/name_map.hpp"

#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/spread.hpp"

BOOST_AUTO_TEST_SUITE(name_maps)

namespace {

using kvc::core::engine_hash;
using kvc::core::name_map;
using kvc::core::name_walk;

std::multiset<std::uint64_t> all_of(const name_map<int>& map) {
  std::multiset<std::uint64_t> met;
  name_walk at;
  for (std::vector<engine_hash> names; map.next_bucket(at, names);) {
    for (const engine_hash each : names) met.insert(each.get());
  }
  return met;
}

}  // namespace

BOOST_AUTO_TEST_CASE(it_keeps_what_a_plain_map_keeps_at_any_size) {
  std::mt19937_64 random(20'261'123);
  name_map<int> map;
  std::map<std::uint64_t, int> model;
  const auto compare = [&] {
    BOOST_TEST(map.size() == model.size());
    BOOST_TEST(map.empty() == model.empty());
    for (const auto& [name, value] : model) {
      const int* const found = map.find(engine_hash{name});
      BOOST_TEST_REQUIRE(found != nullptr);
      BOOST_TEST_REQUIRE(*found == value);
    }
    const auto met = all_of(map);
    BOOST_TEST(met.size() == model.size());
  };
  for (const std::size_t most : {100U, 40'000U, 0U, 20'000U, 0U}) {  // through the size at which it is divided, and back
    while (model.size() < most) {
      const std::uint64_t name = random() % 1'000'000;
      const int value = static_cast<int>(random() % 1'000);
      map[engine_hash{name}] = value;
      model[name] = value;
    }
    while (model.size() > most) {
      const std::uint64_t name = model.begin()->first;
      map.erase(engine_hash{name});
      map.erase(engine_hash{name});  // nothing happens
      model.erase(name);
    }
    compare();
  }
  BOOST_TEST(!map.contains(engine_hash{7}));
}

BOOST_AUTO_TEST_CASE(values_stay_where_they_are) {
  name_map<int> map;
  int& first = map[engine_hash{1}];
  first = 5;
  for (std::uint64_t name = 2; name < 50'000; ++name) map[engine_hash{name}] = 0;
  BOOST_TEST(map.find(engine_hash{1}) == &first);
}

BOOST_AUTO_TEST_CASE(a_walk_meets_all_that_stays_whatever_comes_meanwhile) {
  name_map<int> map;
  for (std::uint64_t name = 0; name < 10'000; ++name) map[engine_hash{name}] = 0;
  std::set<std::uint64_t> met;
  name_walk at;
  std::uint64_t fresh = 1'000'000;
  for (std::vector<engine_hash> names; map.next_bucket(at, names);) {
    for (const engine_hash each : names) met.insert(each.get());
    if (fresh < 1'030'000) map[engine_hash{fresh++}] = 0;  // it is divided on the way, and its parts grow
  }
  for (std::uint64_t name = 0; name < 10'000; ++name) BOOST_TEST_REQUIRE(met.contains(name));
}

BOOST_AUTO_TEST_CASE(it_never_grows_in_one_piece) {
  // What has moved is met again by a walk, so that this tells how much moved when a name came.
  constexpr std::size_t most_moved = 1'100;
  for (const std::uint64_t many : {16'000U, 300'000U}) {
    name_map<int> map;
    for (std::uint64_t name = 0; name < many; ++name) map[engine_hash{name}] = 0;
    std::vector<bool> met(many);
    std::size_t seen = 0;
    std::size_t repeated = 0;
    name_walk at;
    std::uint64_t fresh = many;
    for (std::vector<engine_hash> names; map.next_bucket(at, names);) {
      for (const engine_hash each : names) {
        if (each.get() >= many) continue;
        if (met[each.get()]) ++repeated;
        met[each.get()] = true;
        ++seen;
      }
      if (seen < many / 2) continue;
      for (; fresh < many * 2; ++fresh) {  // all parts grow, that in hand may do so once or twice
        map[engine_hash{fresh}] = 0;
      }
    }
    BOOST_TEST(repeated <= most_moved);
  }
}

BOOST_AUTO_TEST_CASE(a_map_of_names_that_agree_by_intention_is_a_map) {
  // Whoever knew the secret could choose names of one part; then it is slow, but no list of parts takes all memory.
  std::vector<std::uint64_t> names;
  for (std::uint64_t name = 0; names.size() < 3'000; ++name) {
    if (kvc::core::spread(name) >> 52 == 0) names.push_back(name);
  }
  name_map<int> map;
  for (const std::uint64_t name : names) map[engine_hash{name}] = 1;
  BOOST_TEST(map.size() == names.size());
  for (const std::uint64_t name : names) BOOST_TEST_REQUIRE(map.contains(engine_hash{name}));
  BOOST_TEST(all_of(map).size() == names.size());
  for (const std::uint64_t name : names) map.erase(engine_hash{name});
  BOOST_TEST(map.empty());
}

BOOST_AUTO_TEST_CASE(chosen_names_do_not_fall_together) {
  // A table of the standard library has a prime number of buckets, which is no secret: multiples of it would all be in one.
  constexpr std::uint64_t buckets = 85'229;
  const kvc::core::name_spread hash;
  std::set<std::size_t> used;
  for (std::uint64_t i = 1; i <= 10'000; ++i) used.insert(hash(engine_hash{i * buckets}) % buckets);
  BOOST_TEST(used.size() > 9'000U);  // by chance some 9,440

  const std::uint64_t before = kvc::core::spread(1);
  kvc::core::set_spread_secret(12'345);
  const std::uint64_t after = kvc::core::spread(1);
  kvc::core::set_spread_secret(0);
  BOOST_TEST(before != after);
}

BOOST_AUTO_TEST_SUITE_END()
