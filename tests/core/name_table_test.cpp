#include "core/name_table.hpp"

#include <cstdint>
#include <map>
#include <random>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace kvc::test {
namespace {

/// Knows the hash of every place.
class written final : public core::named_records {
 public:
  std::map<std::uint32_t, std::uint64_t> hashes;

  [[nodiscard]] std::uint64_t hash_at(std::uint32_t place) const override { return hashes.at(place); }
  void expect_at(unsigned, std::uint32_t) const noexcept override {}
};

/// Hashes that begin with four zeros, as if they were a sixteenth of the names of a table.
class a_sixteenth final : public core::named_records {
 public:
  [[nodiscard]] std::uint64_t hash_at(std::uint32_t place) const override {
    std::uint64_t mixed = (place + 1ULL) * 0x9E37'79B9'7F4A'7C15U;
    mixed = (mixed ^ mixed >> 30) * 0xBF58'476D'1CE4'E5B9U;
    return (mixed ^ mixed >> 27) >> 4;
  }
  void expect_at(unsigned, std::uint32_t) const noexcept override {}
};

bool has(const core::name_table& table, std::uint64_t hash, std::uint32_t wanted) {
  return table.find(hash, [&](std::uint32_t place) { return place == wanted; });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(name_table)

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

BOOST_AUTO_TEST_CASE(a_full_segment_that_cannot_be_divided_refuses) {
  // Names chosen to share their leading bits must not make the table grow for ever.
  core::name_table table;
  written all;
  std::uint32_t accepted = 0;
  for (; accepted < 10'000 && table.add(accepted, accepted, all); ++accepted) all.hashes.emplace(accepted, accepted);

  BOOST_TEST(accepted > 1'000U);
  BOOST_TEST(accepted < 3'000U);
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
