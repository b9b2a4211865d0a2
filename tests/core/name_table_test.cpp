#include "core/name_table.hpp"

#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <map>
#include <random>
#include <vector>

namespace kvc::test {
namespace {

using core::name_spot;

bool has(const core::name_table& table, std::uint64_t hash, name_spot wanted) {
  return table.find(hash, [&](name_spot spot) { return spot == wanted; });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(name_table)

BOOST_AUTO_TEST_CASE(entries_survive_growth_and_removal_of_others) {
  // A segment is divided again and again, and entries that found their bucket full stand in another one.
  constexpr std::uint64_t seed = 20'261'121;
  BOOST_TEST_MESSAGE("seed " << seed);
  std::mt19937_64 random(seed);
  core::name_table table;
  std::map<std::uint64_t, name_spot> model;
  for (std::uint32_t i = 0; i < 60'000; ++i) {
    const std::uint64_t hash = random();
    const name_spot spot{i, i % 4'096};
    BOOST_REQUIRE(table.add(hash, spot));
    model.emplace(hash, spot);
    if (i % 3 != 0) continue;
    const auto gone = model.lower_bound(random());
    if (gone == model.end()) continue;
    table.remove(gone->first, gone->second);
    BOOST_REQUIRE(!has(table, gone->first, gone->second));
    model.erase(gone);
  }

  BOOST_TEST(table.size() == model.size());
  for (const auto& [hash, spot] : model) BOOST_REQUIRE(has(table, hash, spot));
}

BOOST_AUTO_TEST_CASE(one_hash_may_lead_to_several_spots) {
  // Different names may share a hash; the caller tells them apart, and removal takes the right one.
  core::name_table table;
  for (std::uint32_t i = 0; i < 20; ++i) BOOST_REQUIRE(table.add(7, {i, 0}));

  table.remove(7, {4, 0});
  table.remove(7, {99, 0});

  BOOST_TEST(table.size() == 19U);
  BOOST_TEST(!has(table, 7, {4, 0}));
  BOOST_TEST(has(table, 7, {19, 0}));
}

BOOST_AUTO_TEST_CASE(a_full_segment_that_cannot_be_divided_refuses) {
  // Names chosen to share their leading bits must not make the table grow for ever.
  core::name_table table;
  std::uint32_t accepted = 0;
  while (accepted < 10'000 && table.add(accepted, {accepted, 0})) ++accepted;

  BOOST_TEST(accepted > 1'000U);
  BOOST_TEST(accepted < 2'000U);
  for (std::uint32_t i = 0; i < accepted; ++i) BOOST_REQUIRE(has(table, i, {i, 0}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test
