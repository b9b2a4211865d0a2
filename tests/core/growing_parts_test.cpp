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
#include "core/lane_names.hpp"
#include "core/paged_list.hpp"
#include "core/run.hpp"
#include "core/slab.hpp"

namespace kvc::test {

BOOST_AUTO_TEST_SUITE(growing_parts)

using namespace kvc::core;

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

/// A gradual_map and what it should be.
class watched_map {
 public:
  void add(std::uint64_t key, std::uint32_t value) {
    subject_.add(key, value);
    model_.emplace(key, value);
  }
  void erase(std::uint64_t key) {
    subject_.erase(key);
    model_.erase(key);
  }
  [[nodiscard]] bool has(std::uint64_t key) const { return model_.contains(key); }
  void check(std::uint64_t key) const {
    const auto expected = model_.find(key);
    const std::uint32_t* const found = subject_.find(key);
    BOOST_REQUIRE((found == nullptr) == (expected == model_.end()));
    if (found != nullptr) BOOST_REQUIRE(*found == expected->second);
  }
  void check_all() const {
    BOOST_TEST(subject_.size() == model_.size());
    std::map<std::uint64_t, std::uint32_t> all;
    subject_.each([&](std::uint64_t key, std::uint32_t value) { BOOST_REQUIRE(all.emplace(key, value).second); });
    BOOST_TEST((all == model_));
    for (const auto& [key, value] : model_) check(key);
  }

 private:
  gradual_map subject_{arena_kind::names};
  std::map<std::uint64_t, std::uint32_t> model_;
};

BOOST_AUTO_TEST_CASE(a_gradual_map_is_a_map) {
  std::mt19937_64 random(13);
  watched_map both;
  for (std::uint32_t step = 0; step < 60'000; ++step) {
    const std::uint64_t key = random() % 20'000;
    if (!both.has(key)) {
      both.add(key, step);
    } else if (random() % 2 == 0) {
      both.erase(key);
    }
    both.check(random() % 20'000);
  }
  both.check_all();
}

BOOST_AUTO_TEST_CASE(a_gradual_map_gives_its_memory_back_with_its_last_entry) {
  const auto used = [] { return arena_now().used[static_cast<std::size_t>(arena_kind::names)]; };
  const std::size_t before = used();
  gradual_map subject(arena_kind::names);
  for (int round = 0; round < 2; ++round) {
    for (std::uint64_t key = 0; key < 5'000; ++key) subject.add(key, 1);
    BOOST_TEST(used() - before >= 5'000 * 16U);
    for (std::uint64_t key = 0; key < 5'000; ++key) subject.erase(key);
    BOOST_TEST(used() == before);
    BOOST_TEST(subject.find(7) == nullptr);
    subject.erase(7);
  }
}

BOOST_AUTO_TEST_CASE(a_gradual_map_of_keys_chosen_to_agree_stays_small) {
  // The inverse of the map's hash: keys of which the hashes agree in all but their last 12 bits.
  const auto inverse_of = [](std::uint64_t odd) {
    std::uint64_t inverse = odd;
    for (int i = 0; i < 6; ++i) inverse *= 2 - odd * inverse;
    return inverse;
  };
  const auto unhash = [&](std::uint64_t hash) {
    const auto unfold = [](std::uint64_t mixed) { return mixed ^ mixed >> 32; };
    return unfold(unfold(hash) * inverse_of(0xD6E8'FEB8'6659'FD93U)) * inverse_of(0x9E37'79B9'7F4A'7C15U);
  };
  const std::size_t before = arena_now().used[static_cast<std::size_t>(arena_kind::names)];
  watched_map both;
  constexpr std::uint64_t keys = 3'000;
  for (std::uint64_t i = 0; i < keys; ++i) both.add(unhash(0xABCD'EF01'2345'6000U + i), static_cast<std::uint32_t>(i));
  both.check_all();
  BOOST_TEST(arena_now().used[static_cast<std::size_t>(arena_kind::names)] - before < keys * 16 * 5 / 2);
  for (std::uint64_t i = 0; i < keys; i += 2) both.erase(unhash(0xABCD'EF01'2345'6000U + i));
  both.check_all();
}

BOOST_AUTO_TEST_CASE(elements_of_a_paged_list_stay_where_they_are) {
  paged_list<int, 4, arena_kind::names> list;
  list.grow();
  int& first = list[0];
  first = 7;
  for (int i = 0; i < 100; ++i) list.grow();
  BOOST_TEST(list.size() == 101U);
  BOOST_TEST(&list[0] == &first);
  BOOST_TEST(list[0] == 7);
  BOOST_TEST(list[100] == 0);
}

BOOST_AUTO_TEST_CASE(a_paged_list_shrinks_page_by_page) {
  paged_list<int, 4, arena_kind::names> list;
  for (int i = 0; i < 10; ++i) list.grow();
  list[5] = 7;
  list.drop_last_page();
  BOOST_TEST(list.size() == 8U);
  list.drop_last_page();
  BOOST_TEST(list.size() == 4U);
  list.grow();
  list.grow();
  BOOST_TEST(list[5] == 0);
}

BOOST_AUTO_TEST_CASE(the_last_list_of_names_gives_back_few_pages_at_once) {
  // After a peak of millions of runs all pages together would take longer than a lane may stand still.
  constexpr std::uint32_t many = 50'000;
  constexpr std::size_t most_at_once = 512U << 10;
  run of;
  lane_names names;
  std::vector<std::uint32_t> lists;
  for (std::uint32_t i = 0; i < many; ++i) lists.push_back(names.open(&of, 1, 0));
  const std::size_t peak = names.bytes();
  std::size_t most = 0;
  const auto close = [&](std::uint32_t list) {
    const std::size_t before = names.bytes();
    names.close(list);
    most = std::max(most, before - names.bytes());
  };
  for (const std::uint32_t list : lists) close(list);
  for (int i = 0; i < 50; ++i) close(names.open(&of, 1, 0));  // they go while few others come
  BOOST_TEST(most <= most_at_once);
  BOOST_TEST(names.bytes() < peak / 50);
}

BOOST_AUTO_TEST_CASE(records_given_back_take_memory_in_small_pieces) {
  // A list of free numbers in one piece would be copied as a whole while a lane deletes millions of keys.
  constexpr std::uint32_t all = 300'000;
  slab<std::uint64_t> records;
  for (std::uint32_t i = 0; i < all; ++i) BOOST_REQUIRE(records.take() == i);
  std::size_t longest = 0;
  for (std::uint32_t i = 0; i < all; ++i) {
    const std::size_t before = records.bytes();
    records.give_back(i);
    longest = std::max(longest, records.bytes() - before);
  }
  BOOST_TEST(longest <= 128U << 10);
  BOOST_TEST(records.size() == 0U);

  std::vector<bool> taken(all);
  for (std::uint32_t i = 0; i < all; ++i) taken[records.take()] = true;
  BOOST_TEST((std::ranges::find(taken, false) == taken.end()), "each number is given out once");
  BOOST_TEST(records.take() == all);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test
