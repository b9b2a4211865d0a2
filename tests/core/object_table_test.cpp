#include "core/object_table.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace kvc::test {
BOOST_AUTO_TEST_SUITE(object_tables)

namespace {

using core::no_record;
using core::object_table;
using core::replica_view;
using enum core::replica_kind;
using enum core::replica_state;

using replica = std::tuple<core::replica_kind, core::replica_state, std::string>;

std::vector<replica> replicas_of(const object_table& table, std::uint32_t object) {
  std::vector<replica> all;
  table.each_replica(object, [&](const replica_view& each) { all.emplace_back(each.kind, each.state, std::string(each.location)); });
  std::ranges::sort(all);
  return all;
}

std::vector<replica_view> views_of(const std::vector<replica>& all) {
  std::vector<replica_view> views;
  for (const auto& [kind, state, location] : all) views.push_back({kind, state, location});
  return views;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_full_list_replaces_what_was_known_and_an_empty_one_ends_it) {
  object_table table({});
  const std::uint32_t owner = table.owner("store-1", "default");
  const std::vector<replica> first{{memory, complete, "10.0.0.1:6000"}, {local_disk, complete, "10.0.0.2:6000"}};
  const std::vector<replica> second{{local_disk, complete, "10.0.0.2:6000"}};

  BOOST_TEST(table.set(owner, "key", views_of(first), 1) != no_record);
  BOOST_TEST((replicas_of(table, table.find(owner, "key")) == first));
  table.set(owner, "key", views_of(second), 2);
  BOOST_TEST((replicas_of(table, table.find(owner, "key")) == second));
  BOOST_TEST(table.with_complete(memory) == 0U);
  BOOST_TEST(table.with_complete(local_disk) == 1U);
  table.set(owner, "key", {}, 3);
  BOOST_TEST(table.find(owner, "key") == no_record);
  BOOST_TEST(table.size() == 0U);
}

BOOST_AUTO_TEST_CASE(tenants_and_backends_do_not_see_each_other) {
  object_table table({});
  const replica_view here{memory, complete, "a"};
  table.add(table.owner("store-1", "ada"), "key", here, 1);

  BOOST_TEST(table.find(table.owner("store-1", "bob"), "key") == no_record);
  BOOST_TEST(table.find(table.owner("store-2", "ada"), "key") == no_record);
  BOOST_TEST(table.find(table.owner("store-1", "ada"), "key") != no_record);
}

BOOST_AUTO_TEST_CASE(bad_keys_are_refused_and_counted) {
  object_table table({.longest_key = 16});
  const std::uint32_t owner = table.owner("store", "default");
  const replica_view here{memory, complete, ""};
  for (const std::string_view bad :
       {std::string_view(""), std::string_view("longer than sixteen"), std::string_view("a\nb"), std::string_view("\xC0\x80"),
        std::string_view("\xED\xA0\x80"), std::string_view("cut \xE2\x82"), std::string_view("a\0b", 3)}) {
    BOOST_TEST(!table.is_key(bad));
    BOOST_TEST(table.add(owner, bad, here, 1) == no_record);
  }
  BOOST_TEST(table.counts().refused == 7U);
  BOOST_TEST(table.is_key("caf\xC3\xA9 \xE2\x82\xAC"));
}

BOOST_AUTO_TEST_CASE(a_copy_that_is_complete_now_takes_the_place_of_the_one_in_flight) {
  object_table table({});
  const std::uint32_t owner = table.owner("store", "default");
  table.add(owner, "key", {memory, in_flight, "a"}, 1);
  table.add(owner, "key", {memory, complete, "a"}, 2);

  const std::vector<replica> expected{{memory, complete, "a"}};
  BOOST_TEST((replicas_of(table, table.find(owner, "key")) == expected));
}

BOOST_AUTO_TEST_CASE(more_replicas_than_anybody_has_are_counted_and_left_out) {
  object_table table({});
  const std::uint32_t owner = table.owner("store", "default");
  std::vector<replica> many;
  for (int i = 0; i < 20; ++i) many.emplace_back(memory, complete, "place " + std::to_string(i));
  table.set(owner, "key", views_of(many), 1);

  BOOST_TEST(replicas_of(table, table.find(owner, "key")).size() == object_table::most_replicas);
  BOOST_TEST(table.counts().replicas_left_out == 20U - object_table::most_replicas);
}

BOOST_AUTO_TEST_CASE(a_copy_whose_place_is_told_later_is_the_same_copy) {
  // Envelopes of a master tell the medium only; where the copy lies is read from the master.
  object_table table({});
  const std::uint32_t owner = table.owner("store", "default");
  table.add(owner, "key", {memory, complete, ""}, 1);
  table.add(owner, "key", {memory, complete, "10.0.0.1:6000"}, 2);
  table.add(owner, "key", {memory, in_flight, ""}, 3);

  const std::vector<replica> expected{{memory, in_flight, "10.0.0.1:6000"}};
  BOOST_TEST((replicas_of(table, table.find(owner, "key")) == expected));
}

BOOST_AUTO_TEST_CASE(many_look_ups_find_what_single_ones_do) {
  object_table table({});
  const std::uint32_t owner = table.owner("store", "ada");
  const std::uint32_t other = table.owner("store", "bob");
  for (int i = 0; i < 1'000; i += 2) table.add(owner, "key " + std::to_string(i), {memory, complete, ""}, 1);
  for (int i = 0; i < 1'000; i += 3) table.add(other, "key " + std::to_string(i), {memory, complete, ""}, 1);
  std::vector<std::string> names;
  for (int i = 0; i < 1'000; ++i) names.push_back("key " + std::to_string(i));
  const std::vector<std::string_view> keys(names.begin(), names.end());
  std::vector<std::uint32_t> found(keys.size());
  table.find_all(owner, keys, found);

  for (std::size_t i = 0; i < keys.size(); ++i) BOOST_REQUIRE(found[i] == table.find(owner, keys[i]));
  BOOST_TEST((table.owners_of("store") == std::vector<std::uint32_t>{owner, other}));
  BOOST_TEST(table.owners_of("stor").empty());
  BOOST_TEST(table.tenant_of(other) == "bob");
}

BOOST_AUTO_TEST_CASE(owners_are_bounded) {
  object_table table({.most_owners = 2});

  for (const char* tenant : {"x", "y"}) {
    BOOST_TEST(table.add(table.owner("a", tenant), "key", {memory, complete, ""}, 1) != no_record);
  }
  BOOST_TEST(table.owner("a", "z") == no_record);
  BOOST_TEST(table.owner("a", "x") == 0U);
}

BOOST_AUTO_TEST_CASE(an_owner_without_objects_gives_way_to_another_one) {
  // Tenants come and go for as long as the process runs.
  object_table table({.most_owners = 3});
  const std::uint32_t stays = table.owner("a", "stays");
  table.add(stays, "key", {memory, complete, ""}, 1);
  for (int i = 0; i < 20; ++i) {
    const std::uint32_t owner = table.owner("a", "tenant " + std::to_string(i));
    BOOST_REQUIRE(owner != no_record);
    BOOST_TEST(table.objects_of(owner) == 0U);
    const std::uint32_t object = table.add(owner, "key", {memory, complete, ""}, 5);
    BOOST_TEST(table.known_at(object) == 5U);
    BOOST_TEST(table.tenant_of(owner) == "tenant " + std::to_string(i));
    table.doubt_all(owner, 9);
    table.remove(owner, "key", {}, 1);
  }

  BOOST_TEST(table.find_owner("a", "stays") == stays);
  BOOST_TEST(table.find(stays, "key") != no_record);
  BOOST_TEST(table.find_owner("a", "tenant 0") == no_record);
  BOOST_TEST(table.owners_of("a").size() == 3U);
}

BOOST_AUTO_TEST_CASE(some_kinds_of_replicas_are_cleared_a_few_objects_at_a_time) {
  object_table table({});
  const std::uint32_t mine = table.owner("store", "ada");
  const std::uint32_t other = table.owner("store-2", "ada");
  for (int i = 0; i < 10; ++i) {
    table.add(mine, "both " + std::to_string(i), {memory, complete, ""}, 1);
    table.add(mine, "both " + std::to_string(i), {local_disk, complete, ""}, 1);
    table.add(mine, "disk " + std::to_string(i), {disk, complete, ""}, 1);
    table.add(other, "key " + std::to_string(i), {local_disk, complete, ""}, 1);
  }
  constexpr std::array kinds{local_disk, disk};
  std::uint32_t at = 0;
  int steps = 1;
  while (!table.clear_kinds_some("store", std::nullopt, kinds, at, 4, 2)) ++steps;

  BOOST_TEST(steps == 8);
  BOOST_TEST(table.objects_of(mine) == 10U);
  BOOST_TEST(table.with_complete(memory) == 10U);
  BOOST_TEST(table.with_complete(local_disk) == 10U);
  BOOST_TEST(table.objects_of(other) == 10U);
}

BOOST_AUTO_TEST_CASE(of_too_many_replicas_one_of_each_kind_is_kept) {
  // What is left out must not look like a difference at each look.
  object_table table({});
  const std::uint32_t owner = table.owner("store", "default");
  std::vector<replica_view> all(30, {local_disk, complete, ""});
  all.push_back({memory, complete, ""});
  const std::uint32_t object = table.set(owner, "key", all, 1);

  BOOST_TEST(replicas_of(table, object).size() == object_table::most_replicas);
  BOOST_TEST(table.replicas(object).has(memory, complete));
  BOOST_TEST(table.replicas(object).has(local_disk, complete));
}

BOOST_AUTO_TEST_CASE(parts_of_a_block_are_found_by_its_name_whatever_comes_and_goes) {
  constexpr std::uint64_t seed = 20'261'122;
  BOOST_TEST_MESSAGE("seed " << seed);
  std::mt19937_64 random(seed);
  object_table table({});
  const std::uint32_t owner = table.owner("store", "default");
  std::map<std::string, std::optional<std::uint64_t>> model;
  for (int step = 0; step < 20'000; ++step) {
    const std::string key = "key " + std::to_string(random() % 300);
    if (random() % 3 == 0) {
      model.erase(key);
      table.remove(owner, key, std::nullopt, 1);
    } else {
      const std::uint32_t object = table.add(owner, key, {memory, complete, ""}, 1);
      model.try_emplace(key);
      if (random() % 2 == 0) {
        const std::uint64_t block = (random() % 40) << 32;  // low bits that do not tell them apart
        model[key] = block;
        table.set_block(object, block);
      }
    }
  }
  std::map<std::uint64_t, std::vector<std::string>> blocks;
  for (const auto& [key, block] : model) {
    BOOST_REQUIRE((table.block_of(table.find(owner, key)) == block));
    if (block) blocks[*block].push_back(key);
  }
  for (std::uint64_t i = 0; i < 40; ++i) {
    std::vector<std::string> found;
    const std::uint32_t first = table.first_of_block(i << 32);
    for (std::uint32_t at = first; at != no_record;) {
      found.emplace_back(table.key(at));
      at = table.next_of_block(at);
      if (at == first) break;
    }
    std::ranges::sort(found);
    BOOST_TEST((found == blocks[i << 32]));
  }
}

BOOST_AUTO_TEST_CASE(an_object_takes_no_more_than_it_may) {
  // The bar is 160 bytes with a key of 64 characters, one replica and a block; pages and segments are taken whole, so few objects would
  // lie.
  object_table table({});
  const std::uint32_t owner = table.owner("store", "default");
  constexpr std::uint32_t objects = 1'000'000;
  for (std::uint32_t i = 0; i < objects; ++i) {
    std::string key = std::to_string(i);
    key.insert(0, 64 - key.size(), 'k');
    table.set_block(table.add(owner, key, {memory, complete, "10.0.0.1:6000"}, 1), i);
  }
  BOOST_TEST_MESSAGE(table.bytes() / objects << " bytes per object");
  BOOST_TEST(table.bytes() <= 160U * objects);
}

BOOST_AUTO_TEST_CASE(it_equals_a_plain_map_after_any_events) {
  constexpr std::uint64_t seed = 20'261'121;
  BOOST_TEST_MESSAGE("seed " << seed);
  std::mt19937_64 random(seed);
  object_table table({});
  std::map<std::pair<std::uint32_t, std::string>, std::vector<replica>> model;
  const std::array owners{table.owner("a", "x"), table.owner("a", "y"), table.owner("b", "x")};
  const auto some_replica = [&] {
    return replica{static_cast<core::replica_kind>(random() % 3), static_cast<core::replica_state>(random() % 2),
                   "place " + std::to_string(random() % 9)};
  };
  for (int step = 0; step < 30'000; ++step) {
    const std::uint32_t owner = owners[random() % owners.size()];
    const std::string key = "key " + std::to_string(random() % 500);
    std::vector<replica>& known = model[{owner, key}];
    switch (random() % 8) {
      case 0: {
        known.clear();
        for (std::uint64_t i = random() % 6; i != 0; --i) known.push_back(some_replica());
        table.set(owner, key, views_of(known), 1);
        break;
      }
      case 1: {
        const auto kind = static_cast<core::replica_kind>(random() % 3);
        std::erase_if(known, [&](const replica& each) { return std::get<0>(each) == kind; });
        table.remove(owner, key, kind, 1);
        break;
      }
      case 2:
        known.clear();
        table.remove(owner, key, std::nullopt, 1);
        break;
      case 3:
        if (random() % 500 != 0) break;
        for (auto& [whose, all] : model) {
          if (whose.first == owner) all.clear();
        }
        while (!table.clear_some(owner, 100, 0)) continue;
        break;
      default: {
        const replica one = some_replica();
        const auto same = std::ranges::find_if(
            known, [&](const replica& each) { return std::get<0>(each) == std::get<0>(one) && std::get<2>(each) == std::get<2>(one); });
        if (same != known.end()) {
          *same = one;
        } else if (known.size() < object_table::most_replicas) {
          known.push_back(one);
        }
        table.add(owner, key, views_of({one})[0], 1);
      }
    }
  }
  std::size_t objects = 0;
  std::array<std::size_t, core::replica_kinds> complete_ones{};
  for (auto& [whose, all] : model) {
    const std::uint32_t object = table.find(whose.first, whose.second);
    BOOST_REQUIRE((object == no_record) == all.empty());
    if (all.empty()) continue;
    ++objects;
    std::ranges::sort(all);
    BOOST_REQUIRE((replicas_of(table, object) == all));
    for (std::size_t kind = 0; kind < core::replica_kinds; ++kind) {
      if (table.replicas(object).has(static_cast<core::replica_kind>(kind), complete)) ++complete_ones[kind];
    }
  }
  BOOST_TEST(table.size() == objects);
  for (std::size_t kind = 0; kind < core::replica_kinds; ++kind)
    BOOST_TEST(table.with_complete(static_cast<core::replica_kind>(kind)) == complete_ones[kind]);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test
