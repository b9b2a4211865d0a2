// Which instances are chosen from levels made by hand: ties, floors, instances of several ranks, workers that are no members.
#include "core/level_fold.hpp"

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/catalog.hpp"

namespace kvc::core {

static std::ostream& operator<<(std::ostream& out, const instance_reach& reach) {
  return out << reach.instance << '@' << reach.depth;
}

}  // namespace kvc::core

BOOST_AUTO_TEST_SUITE(level_folds)

namespace {

using namespace kvc::core;
using reaches = std::vector<instance_reach>;

/// Instances `a`, `b`, ... with some ranks each; every rank has a slot, numbered as the members are.
struct small_fleet {
  explicit small_fleet(const std::vector<std::uint32_t>& ranks) {
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      for (std::uint32_t rank = 0; rank < ranks[i]; ++rank) {
        member each;
        each.id = worker_id{static_cast<std::uint32_t>(1'000 - members.size())};  // not in the order of the names
        each.key =
            shared_key({.tenant = "default", .instance = std::string(1, static_cast<char>('a' + i)), .rank = dp_rank{rank}, .kind = {}});
        BOOST_REQUIRE(slots.take(each.id, medium_id::gpu) == members.size());
        members.push_back(each);
      }
    }
    map = member_map(members);
  }

  std::vector<member> members;
  slot_table slots;
  member_map map;
  match_levels levels;
  level_fold fold;
  reaches chosen;
  match_result rows;

  void reach(std::uint32_t slot, std::uint32_t depth) { levels.reaches.push_back({slot, depth}); }
  void level(std::uint64_t slots_in_it, std::uint32_t depth) {
    levels.levels.push_back({depth, static_cast<std::uint32_t>(levels.sets.size()), 1});
    levels.sets.push_back(slots_in_it);
  }
  const reaches& choose(const fold_bounds& bounds) {
    fold.run(slots, map, levels, bounds, chosen, rows);
    return chosen;
  }
  [[nodiscard]] std::uint32_t depth_of(std::size_t member) const { return rows.of(members[member].id).any; }
};

}  // namespace

BOOST_AUTO_TEST_CASE(the_deepest_come_first_and_the_rest_is_left_out) {
  // Reaches and levels are two forms of the same thing and are gone through together.
  small_fleet fleet({1, 1, 1, 1, 1});
  fleet.reach(0, 3);
  fleet.reach(1, 9);
  fleet.level(0b0'1100, 5);
  fleet.level(0b1'0000, 12);

  BOOST_TEST(fleet.choose({.least = 0, .most = 2, .wanted = {}}) == (reaches{{4, 12}, {1, 9}}), boost::test_tools::per_element());
  BOOST_TEST(fleet.rows.workers.size() == 2U);
  BOOST_TEST(fleet.depth_of(4) == 12U);
  BOOST_TEST(fleet.depth_of(2) == 0U);  // nobody asked
}

BOOST_AUTO_TEST_CASE(ties_go_by_name) {
  // Whatever the order of slots: all of the last depth have to be seen before one is left out.
  small_fleet fleet({1, 1, 1, 1});
  for (const std::uint32_t slot : {3U, 1U, 0U, 2U}) fleet.reach(slot, slot == 3 ? 8 : 4);

  BOOST_TEST(fleet.choose({.least = 0, .most = 2, .wanted = {}}) == (reaches{{3, 8}, {0, 4}}), boost::test_tools::per_element());
  BOOST_TEST(fleet.choose({.least = 0, .most = 1, .wanted = {}}) == (reaches{{3, 8}}), boost::test_tools::per_element());
  BOOST_TEST(fleet.choose({.least = 0, .most = 0, .wanted = {}}).empty());
}

BOOST_AUTO_TEST_CASE(who_holds_nothing_fills_up_by_name) {
  // A router that asks for three gets three.
  small_fleet fleet({1, 1, 1, 1});
  fleet.reach(2, 4);

  BOOST_TEST(fleet.choose({.least = 0, .most = 3, .wanted = {}}) == (reaches{{2, 4}, {0, 0}, {1, 0}}), boost::test_tools::per_element());
  const std::vector<std::uint8_t> wanted{0, 1, 1, 1};
  BOOST_TEST(fleet.choose({.least = 0, .most = 2, .wanted = wanted}) == (reaches{{2, 4}, {1, 0}}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_floor_leaves_out_who_reaches_less) {
  // By name while nobody is left out for his place, by depth otherwise.
  small_fleet fleet({1, 1, 1, 1});
  for (std::uint32_t slot = 0; slot < 4; ++slot) fleet.reach(slot, 2 + slot);

  BOOST_TEST(fleet.choose({.least = 3, .most = fold_bounds::any_number, .wanted = {}}) == (reaches{{1, 3}, {2, 4}, {3, 5}}),
             boost::test_tools::per_element());
  BOOST_TEST(fleet.choose({.least = 3, .most = 3, .wanted = {}}) == (reaches{{1, 3}, {2, 4}, {3, 5}}), boost::test_tools::per_element());
  BOOST_TEST(fleet.choose({.least = 3, .most = 2, .wanted = {}}) == (reaches{{3, 5}, {2, 4}}), boost::test_tools::per_element());
  BOOST_TEST(fleet.choose({.least = 6, .most = 2, .wanted = {}}).empty());
  BOOST_TEST(fleet.choose({.least = std::uint64_t{1} << 40, .most = 2, .wanted = {}}).empty());
}

BOOST_AUTO_TEST_CASE(other_ranks_of_a_chosen_instance_are_told) {
  // They are shown in its row, however little they hold; those of others are not looked for.
  small_fleet fleet({3, 2});
  fleet.reach(0, 2);
  fleet.reach(3, 4);
  fleet.reach(4, 1);
  fleet.level(0b0'0010, 7);

  BOOST_TEST(fleet.choose({.least = 0, .most = 1, .wanted = {}}) == (reaches{{0, 7}}), boost::test_tools::per_element());
  BOOST_TEST(fleet.depth_of(0) == 2U);
  BOOST_TEST(fleet.depth_of(1) == 7U);
  BOOST_TEST(fleet.depth_of(2) == 0U);
  BOOST_TEST(fleet.rows.workers.size() == 2U);
  BOOST_TEST((fleet.rows.workers[0].worker < fleet.rows.workers[1].worker));
  BOOST_TEST(fleet.rows.workers[0].on[0] == fleet.rows.workers[0].any);
  BOOST_TEST(fleet.rows.workers[0].device_or_host == fleet.rows.workers[0].any);
}

BOOST_AUTO_TEST_CASE(strangers_and_second_sights_do_not_count) {
  // A worker that has left may still hold blocks; one whose cell moves may be seen twice, and its deeper cell counts.
  small_fleet fleet({1, 1});
  const std::uint32_t stranger = fleet.slots.take(worker_id{7}, medium_id::gpu);
  fleet.reach(stranger, 20);
  fleet.reach(1, 3);
  fleet.reach(1, 6);
  fleet.reach(0, 5);

  BOOST_TEST(fleet.choose({.least = 1, .most = 5, .wanted = {}}) == (reaches{{0, 5}, {1, 6}}), boost::test_tools::per_element());
  BOOST_TEST(fleet.depth_of(1) == 6U);
}

BOOST_AUTO_TEST_CASE(a_slot_of_a_medium_that_came_later_does_not_count) {
  // What a worker holds on gpu is told while its first blocks appear on disk, and who holds some there only is not found on gpu.
  small_fleet fleet({1, 1, 1});
  fleet.levels.media = mask_of(medium_id::gpu);
  fleet.reach(0, 4);
  fleet.reach(1, 3);
  fleet.reach(fleet.slots.take(fleet.members[0].id, medium_id::disk), 64);
  const std::uint32_t other = fleet.slots.take(fleet.members[2].id, medium_id::disk);
  fleet.level(std::uint64_t{1} << other, 32);

  BOOST_TEST(fleet.choose({.least = 1, .most = 5, .wanted = {}}) == (reaches{{0, 4}, {1, 3}}), boost::test_tools::per_element());
  BOOST_TEST(fleet.rows.of(fleet.members[0].id).on[static_cast<std::size_t>(medium_id::gpu)] == 4U);
  BOOST_TEST(fleet.rows.of(fleet.members[0].id).on[static_cast<std::size_t>(medium_id::disk)] == 0U);
  BOOST_TEST(fleet.choose({.least = 0, .most = 1, .wanted = {}}) == (reaches{{0, 4}}), boost::test_tools::per_element());
  BOOST_TEST(fleet.rows.workers.size() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()
