#include "core/reconcile.hpp"

#include <algorithm>
#include <initializer_list>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace kvc::test {
BOOST_AUTO_TEST_SUITE(reconciliations)

namespace {

using core::difference;
using core::medium_id;
using enum core::replica_kind;
using enum core::replica_state;
using copy = std::pair<core::replica_kind, core::replica_state>;

core::replica_set set_of(std::initializer_list<copy> copies) {
  core::replica_set all;
  for (const auto& [kind, state] : copies) all.add(kind, state);
  return all;
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_silence_of_a_store_is_found) {
  constexpr core::media_mask cpu = core::mask_of(medium_id::cpu);
  constexpr core::media_mask ssd = core::mask_of(medium_id::disk);
  struct row {
    core::replica_set known;
    core::replica_set truth;
    std::vector<difference> found;
    core::media_mask gained;
    core::media_mask lost;
  };
  const core::replica_set nothing;
  const auto in_memory = set_of({{memory, complete}});
  const auto on_local = set_of({{local_disk, complete}});
  const auto on_legacy = set_of({{disk, complete}});
  const auto on_both = set_of({{memory, complete}, {local_disk, complete}});
  const auto coming = set_of({{memory, in_flight}, {local_disk, complete}});
  const std::vector<row> table{
      {nothing, nothing, {}, 0, 0},
      {in_memory, in_memory, {}, 0, 0},
      {nothing, in_memory, {difference::appeared}, cpu, 0},
      {in_memory, nothing, {difference::vanished}, 0, cpu},
      {on_both, nothing, {difference::vanished}, 0, cpu | ssd},
      {in_memory, on_both, {difference::offloaded}, ssd, 0},
      {on_local, on_both, {difference::promoted}, cpu, 0},
      {on_both, on_local, {difference::evicted}, 0, cpu},
      {on_both, in_memory, {difference::disk_lost}, 0, ssd},
      {in_memory, on_local, {difference::evicted, difference::offloaded}, ssd, cpu},
      {on_local, on_legacy, {difference::other_disk}, 0, 0},
      {on_local, coming, {difference::in_flight}, 0, 0},
      {coming, on_both, {difference::promoted}, cpu, 0},
      {coming, on_local, {difference::in_flight}, 0, 0},
  };
  for (std::size_t i = 0; i < table.size(); ++i) {
    BOOST_TEST_CONTEXT("row " << i) {
      const core::reconciliation result = core::reconcile(table[i].known, table[i].truth);
      for (std::size_t kind = 0; kind < core::difference_count; ++kind) {
        const auto each = static_cast<difference>(kind);
        const bool is_wanted = std::find(table[i].found.begin(), table[i].found.end(), each) != table[i].found.end();
        BOOST_TEST(result.has(each) == is_wanted, core::difference_names[kind]);
      }
      BOOST_TEST(result.gained == table[i].gained);
      BOOST_TEST(result.lost == table[i].lost);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test
