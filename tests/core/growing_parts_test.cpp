// Memory and tables that grow in small pieces: arena, gradual_map, paged_list.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <random>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/arena.hpp"
#include "core/gradual_map.hpp"
#include "core/paged_list.hpp"

namespace kvc::test {

using namespace kvc::core;

BOOST_AUTO_TEST_SUITE(growing_parts)

BOOST_AUTO_TEST_CASE(pieces_of_the_arena_do_not_overlap_and_are_accounted) {
  const std::size_t before = arena_now().used[static_cast<std::size_t>(arena_kind::names)];
  std::mt19937_64 random(11);
  struct piece {
    unsigned char* at;
    std::size_t bytes;
    unsigned char mark;
  };
  std::vector<piece> pieces;
  std::size_t held = 0;
  for (int step = 0; step < 20'000; ++step) {
    if (pieces.empty() || random() % 5 < 3) {
      const std::size_t bytes = 1 + random() % (random() % 10 == 0 ? 40'000 : 700);
      piece made{static_cast<unsigned char*>(arena_take(arena_kind::names, bytes)), bytes, static_cast<unsigned char>(random())};
      BOOST_REQUIRE(reinterpret_cast<std::uintptr_t>(made.at) % (bytes % 64 == 0 ? 64 : 16) == 0);
      std::memset(made.at, made.mark, bytes);
      held += bytes;
      pieces.push_back(made);
    } else {
      std::swap(pieces[random() % pieces.size()], pieces.back());
      const piece gone = pieces.back();
      pieces.pop_back();
      BOOST_REQUIRE(gone.at[0] == gone.mark);
      BOOST_REQUIRE(gone.at[gone.bytes - 1] == gone.mark);
      arena_give(arena_kind::names, gone.at, gone.bytes);
      held -= gone.bytes;
    }
  }
  BOOST_TEST(arena_now().used[static_cast<std::size_t>(arena_kind::names)] - before == held);
  for (const piece& each : pieces) arena_give(arena_kind::names, each.at, each.bytes);
  BOOST_TEST(arena_now().used[static_cast<std::size_t>(arena_kind::names)] == before);
  (void)arena_trim();
  BOOST_TEST(arena_now().used_in_all() <= arena_now().mapped + before);
}

BOOST_AUTO_TEST_CASE(a_gradual_map_is_a_map) {
  std::mt19937_64 random(13);
  gradual_map<std::uint64_t, std::uint32_t> subject;
  std::map<std::uint64_t, std::uint32_t> model;
  for (std::uint32_t step = 0; step < 60'000; ++step) {
    const std::uint64_t key = random() % 20'000;
    const auto known = model.find(key);
    if (known == model.end()) {
      subject.add(key, step);
      model.emplace(key, step);
    } else if (random() % 2 == 0) {
      subject.erase(key);
      model.erase(known);
    }
    const std::uint64_t asked = random() % 20'000;
    const auto expected = model.find(asked);
    const std::uint32_t* const found = subject.find(asked);
    BOOST_REQUIRE((found == nullptr) == (expected == model.end()));
    if (found != nullptr) BOOST_REQUIRE(*found == expected->second);
  }
  BOOST_TEST(subject.size() == model.size());
  std::map<std::uint64_t, std::uint32_t> all;
  subject.each([&](std::uint64_t key, std::uint32_t value) { BOOST_REQUIRE(all.emplace(key, value).second); });
  BOOST_TEST((all == model));
}

BOOST_AUTO_TEST_CASE(any_entry_of_a_gradual_map_on_the_move_may_be_erased) {
  // Among them the one that would move next. 1,800 entries: the second table has been begun a hundred or so before.
  constexpr std::uint64_t size = 1'800;
  for (std::size_t which = 0; which < size; ++which) {
    gradual_map<std::uint64_t, std::uint32_t> subject;
    for (std::uint64_t key = 0; key < size; ++key) subject.add(key, static_cast<std::uint32_t>(key));
    std::vector<std::uint64_t> keys;
    subject.each([&](std::uint64_t key, std::uint32_t) { keys.push_back(key); });
    subject.erase(keys[which]);
    BOOST_REQUIRE(subject.size() == size - 1);
    BOOST_REQUIRE(subject.find(keys[which]) == nullptr);
    for (std::size_t other = which + 1; other < std::min<std::size_t>(which + 20, size); ++other) {
      BOOST_REQUIRE(*subject.find(keys[other]) == keys[other]);
    }
  }
}

BOOST_AUTO_TEST_CASE(elements_of_a_paged_list_stay_where_they_are) {
  paged_list<int, 4> list;
  list.grow();
  int& first = list[0];
  first = 7;
  for (int i = 0; i < 100; ++i) list.grow();
  BOOST_TEST(list.size() == 101U);
  BOOST_TEST(&list[0] == &first);
  BOOST_TEST(list[0] == 7);
  BOOST_TEST(list[100] == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test
