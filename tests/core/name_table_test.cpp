#include "core/name_table.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <span>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/spread.hpp"

namespace kvc::test {
BOOST_AUTO_TEST_SUITE(name_table)

namespace {

/// Knows the hash of every place.
class written final : public core::named_records {
 public:
  std::map<std::uint32_t, std::uint64_t> hashes;

  void hashes_at(std::span<const std::uint32_t> places, std::uint64_t* at) const override {
    for (const std::uint32_t place : places) *at++ = hashes.at(place);
  }
};

/// Hashes that begin with four zeros, as if they were a sixteenth of the names of a table.
class a_sixteenth final : public core::named_records {
 public:
  [[nodiscard]] static std::uint64_t hash_at(std::uint32_t place) {
    std::uint64_t mixed = (place + 1ULL) * 0x9E37'79B9'7F4A'7C15U;
    mixed = (mixed ^ mixed >> 30) * 0xBF58'476D'1CE4'E5B9U;
    return (mixed ^ mixed >> 27) >> 4;
  }
  void hashes_at(std::span<const std::uint32_t> places, std::uint64_t* at) const override {
    for (const std::uint32_t place : places) *at++ = hash_at(place);
  }
};

bool has(const core::name_table& table, std::uint64_t hash, std::uint32_t wanted) {
  return table.find(hash, [&](std::uint32_t place) { return place == wanted; });
}

}  // namespace

BOOST_AUTO_TEST_CASE(entries_survive_growth_and_removal_of_others) {
  // A segment is divided again and again, and entries that found their bucket full stand in another one.
  constexpr std::uint64_t seed = 20'261'121;
  BOOST_TEST_MESSAGE("seed " << seed);
  std::mt19937_64 random(seed);
  core::name_table table;
  written all;
  std::map<std::uint64_t, std::uint32_t> model;
  for (std::uint32_t i = 0; i < 60'000; ++i) {
    const std::uint64_t hash = random();
    BOOST_REQUIRE(table.add(hash, i, all));
    all.hashes.emplace(i, hash);
    model.emplace(hash, i);
    if (i % 3 != 0) continue;
    const auto gone = model.lower_bound(random());
    if (gone == model.end()) continue;
    table.remove(gone->first, gone->second);
    BOOST_REQUIRE(!has(table, gone->first, gone->second));
    all.hashes.erase(gone->second);
    model.erase(gone);
  }

  BOOST_TEST(table.size() == model.size());
  for (const auto& [hash, place] : model) BOOST_REQUIRE(has(table, hash, place));
}

BOOST_AUTO_TEST_CASE(names_that_come_and_go_together_are_as_if_they_did_one_by_one) {
  constexpr std::uint64_t seed = 4'711;
  BOOST_TEST_MESSAGE("seed " << seed);
  std::mt19937_64 random(seed);
  const core::name_hasher hash_of(17);
  core::name_table table;
  written all;
  struct stretch {
    std::vector<core::engine_hash> names;
    std::uint32_t first;
  };
  std::vector<stretch> there;
  std::uint32_t next_place = 0;
  std::size_t names = 0;
  for (int i = 0; i < 6'000; ++i) {
    if (there.size() < 10 || random() % 5 < 3) {
      stretch now{{}, next_place};
      for (std::uint64_t left = random() % core::name_table::most_at_once + 1; left != 0; --left) {
        now.names.emplace_back(random());
        all.hashes.emplace(next_place++, hash_of(now.names.back()));
      }
      const auto rest = table.add_most(now.names, hash_of, now.first);
      for (const std::uint8_t which : rest.all()) BOOST_REQUIRE(table.add(hash_of(now.names[which]), now.first + which, all));
      names += now.names.size();
      there.push_back(std::move(now));
    } else {
      std::swap(there[random() % there.size()], there.back());
      const stretch& gone = there.back();
      const auto rest = table.remove_most(gone.names, hash_of, gone.first);
      for (const std::uint8_t which : rest.all()) table.remove(hash_of(gone.names[which]), gone.first + which);
      for (std::uint32_t which = 0; which < gone.names.size(); ++which) {
        BOOST_REQUIRE(!has(table, hash_of(gone.names[which]), gone.first + which));
        all.hashes.erase(gone.first + which);
      }
      names -= gone.names.size();
      there.pop_back();
    }
    BOOST_REQUIRE(table.size() == names);
  }

  for (const stretch& each : there) {
    for (std::uint32_t which = 0; which < each.names.size(); ++which)
      BOOST_REQUIRE(has(table, hash_of(each.names[which]), each.first + which));
  }
}

/// What a table of so many names takes, the i-th of which is `name_of(i)`.
template <class NameOf>
std::size_t bytes_with(std::uint32_t count, NameOf name_of) {
  const core::name_hasher hash_of(1);
  core::name_table table;
  written all;
  bool is_taken = true;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint64_t hash = hash_of(core::engine_hash{name_of(i)});
    all.hashes.emplace(i, hash);
    is_taken = is_taken && table.add(hash, i, all);
  }
  BOOST_REQUIRE(is_taken);
  bool is_there = true;  // millions of checks that each tell of themselves would take longer than what they check
  for (std::uint32_t i = 0; i < count; ++i) is_there = is_there && has(table, all.hashes.at(i), i);
  BOOST_REQUIRE(is_there);
  return table.bytes();
}

BOOST_AUTO_TEST_CASE(names_that_follow_a_pattern_take_no_more_room_than_random_ones) {
  constexpr std::uint32_t count = 1U << 16;
  constexpr std::uint64_t seed = 20'261'126;
  BOOST_TEST_MESSAGE("seed " << seed);
  std::mt19937_64 random(seed);
  for (const std::uint64_t secret : {std::uint64_t{0}, random(), random()}) {
    core::set_spread_secret(secret);
    const std::size_t usual = bytes_with(count, [&](std::uint32_t) { return random(); });
    const auto looks_usual = [&](std::size_t bytes) { return bytes < usual + usual / 4; };
    for (unsigned shift = 0; shift <= 48; shift += 8) {
      BOOST_TEST_INFO("secret " << secret << ", names count up at bit " << shift);
      BOOST_TEST(looks_usual(bytes_with(count, [=](std::uint32_t i) { return std::uint64_t{i} << shift; })));
    }
    constexpr std::uint64_t undoes_the_usual_multiplier = 0xCFEE'444D'8B59'A89BU;  // the product of both is 1 in 64 bits
    for (const std::uint64_t step : {0x9E37'79B9'7F4A'7C15U, 0xD6E8'FEB8'6659'FD93U, undoes_the_usual_multiplier, 0x1001'0010'0100'1001U}) {
      BOOST_TEST_INFO("secret " << secret << ", multiples of " << step);
      BOOST_TEST(looks_usual(bytes_with(count, [=](std::uint32_t i) { return i * step; })));
    }
    BOOST_TEST(looks_usual(bytes_with(count, [](std::uint32_t i) { return i * 0x1'0000'0001ULL; })));
    BOOST_TEST(looks_usual(bytes_with(count, [](std::uint32_t i) { return ~std::uint64_t{i}; })));
  }
  core::set_spread_secret(0);
}

BOOST_AUTO_TEST_CASE(names_that_get_other_places_are_found_there_and_nowhere_else) {
  constexpr std::uint64_t seed = 20'261'125;
  BOOST_TEST_MESSAGE("seed " << seed);
  std::mt19937_64 random(seed);
  const core::name_hasher hash_of(3);
  core::name_table table;
  written all;
  std::vector<core::engine_hash> names;
  constexpr std::uint32_t count = 30'000;
  constexpr std::uint32_t further = 1'000'000;
  for (std::uint32_t i = 0; i < count; ++i) {
    names.emplace_back(random());
    all.hashes.emplace(i, hash_of(names[i]));
    all.hashes.emplace(further + i, hash_of(names[i]));
    BOOST_REQUIRE(table.add(hash_of(names[i]), i, all));
  }

  for (std::uint32_t from = 0; from < count;) {
    const auto some = std::min<std::uint32_t>(count - from, static_cast<std::uint32_t>(random() % core::name_table::most_at_once + 1));
    const auto these = std::span(names).subspan(from, some);
    const auto rest = table.renumber_most(these, hash_of, from, further + from);
    for (const std::uint8_t which : rest.all()) table.renumber(hash_of(these[which]), from + which, further + from + which);
    from += some;
  }

  BOOST_TEST(table.size() == count);
  for (std::uint32_t i = 0; i < count; ++i) {
    BOOST_REQUIRE(has(table, hash_of(names[i]), further + i));
    BOOST_REQUIRE(!has(table, hash_of(names[i]), i));
  }
  table.renumber(hash_of(names[0]), 0, 7);  // is not there, so nothing happens
  BOOST_TEST(!has(table, hash_of(names[0]), 7));
  for (std::uint32_t i = 0; i < count; ++i) table.remove(hash_of(names[i]), further + i);
  BOOST_TEST(table.size() == 0U);
}

BOOST_AUTO_TEST_CASE(a_table_gives_back_what_a_peak_took) {
  // Up and down by turns, of chance; whatever is there is found, and a small table is small however large it was.
  constexpr std::uint64_t seed = 815;
  BOOST_TEST_MESSAGE("seed " << seed);
  std::mt19937_64 random(seed);
  core::name_table table;
  struct by_place final : core::named_records {
    std::vector<std::uint64_t> hashes;
    void hashes_at(std::span<const std::uint32_t> places, std::uint64_t* at) const override {
      for (const std::uint32_t place : places) *at++ = hashes.at(place);
    }
  } all;
  std::vector<std::uint32_t> there;
  std::size_t peak = 0;
  for (const std::size_t wanted : {200'000U, 1'500U, 60'000U, 20'000U, 90'000U, 0U, 3'000U, 700U}) {
    while (there.size() < wanted) {
      there.push_back(static_cast<std::uint32_t>(all.hashes.size()));
      all.hashes.push_back(random());
      BOOST_REQUIRE(table.add(all.hashes.back(), there.back(), all));
    }
    peak = std::max(peak, table.bytes());
    while (there.size() > wanted) {
      std::swap(there[random() % there.size()], there.back());
      const std::uint32_t gone = there.back();
      there.pop_back();
      table.remove(all.hashes[gone], gone);
      if (gone % 16 == 0) table.join_sparse(all.hashes[gone], all);
      BOOST_REQUIRE(!has(table, all.hashes[gone], gone));
    }
    BOOST_TEST(table.size() == wanted);
    for (const std::uint32_t each : there) BOOST_REQUIRE(has(table, all.hashes[each], each));
    BOOST_TEST(table.bytes() <= 300'000 + wanted * 64);
  }
  BOOST_TEST(peak > 2'000'000U);
}

BOOST_AUTO_TEST_CASE(of_equal_names_that_come_together_only_the_first_is_added_at_once) {
  const core::name_hasher hash_of(0);
  core::name_table table;
  written all;
  all.hashes.emplace(100, hash_of(core::engine_hash{1}));
  BOOST_REQUIRE(table.add(hash_of(core::engine_hash{1}), 100, all));
  const std::vector<core::engine_hash> names{core::engine_hash{2}, core::engine_hash{3}, core::engine_hash{2}, core::engine_hash{1}};

  const auto rest = table.add_most(names, hash_of, 0);

  const std::vector<std::uint8_t> left(rest.all().begin(), rest.all().end());
  BOOST_TEST((left == std::vector<std::uint8_t>{2, 3}));
  BOOST_TEST(has(table, hash_of(core::engine_hash{2}), 0));
}

BOOST_AUTO_TEST_CASE(one_hash_may_lead_to_several_places) {
  // Different names may share a hash; the caller tells them apart, and removal takes the right one.
  written all;
  core::name_table table;
  for (std::uint32_t i = 0; i < 20; ++i) BOOST_REQUIRE(table.add(7, i, all));

  table.remove(7, 4);
  table.remove(7, 99);

  BOOST_TEST(table.size() == 19U);
  BOOST_TEST(!has(table, 7, 4));
  BOOST_TEST(has(table, 7, 19));
}

BOOST_AUTO_TEST_CASE(what_went_on_from_a_bucket_that_counts_no_further_is_found) {
  // A bucket counts fifteen entries of one kind that went on from it; here it is fifty, of which most come back.
  written all;
  core::name_table table;
  for (std::uint32_t i = 0; i < 60; ++i) {
    BOOST_REQUIRE(table.add(7, i, all));
    all.hashes.emplace(i, 7);
  }
  for (std::uint32_t i = 0; i < 60; ++i) {
    if (i % 12 != 11) table.remove(7, i);
  }
  BOOST_TEST(table.size() == 5U);
  for (std::uint32_t i = 0; i < 60; ++i) BOOST_TEST(has(table, 7, i) == (i % 12 == 11));

  for (std::uint32_t i = 100; i < 160; ++i) BOOST_REQUIRE(table.add(7, i, all));
  for (std::uint32_t i = 100; i < 160; ++i) BOOST_TEST(has(table, 7, i));
}

BOOST_AUTO_TEST_CASE(a_full_segment_that_cannot_be_divided_refuses) {
  // Names chosen to share their leading bits must not make the table grow for ever.
  core::name_table table;
  written all;
  std::uint32_t accepted = 0;
  for (; accepted < 10'000 && table.add(accepted, accepted, all); ++accepted) all.hashes.emplace(accepted, accepted);

  BOOST_TEST(accepted > 500U);
  BOOST_TEST(accepted < 1'500U);
  for (std::uint32_t i = 0; i < accepted; ++i) BOOST_REQUIRE(has(table, i, i));
}

BOOST_AUTO_TEST_CASE(a_table_as_deep_as_a_hundred_million_names_make_it_goes_on) {
  // Its segments were once told apart by 16 bits at most, and a lane that had come to 92 million names took no more of them.
  core::name_table table;
  const a_sixteenth all;
  constexpr std::uint32_t names = 10'000'000;
  std::uint32_t accepted = 0;
  while (accepted < names && table.add(all.hash_at(accepted), accepted, all)) ++accepted;

  BOOST_TEST(accepted == names);
  for (std::uint32_t i = 0; i < accepted; i += 1'000) BOOST_REQUIRE(has(table, all.hash_at(i), i));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test
