#include "core/run_store.hpp"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <span>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/block_hasher.hpp"
#include "core/quiescence.hpp"
#include "core/run_walk.hpp"

namespace kvc::test {
BOOST_AUTO_TEST_SUITE(run_store)

namespace {

using namespace kvc::core;

constexpr std::uint64_t seed = 1337;

std::vector<local_hash> chain(std::initializer_list<std::uint64_t> blocks) {
  std::vector<local_hash> made;
  for (const std::uint64_t each : blocks) made.emplace_back(each);
  return made;
}

std::vector<local_hash> long_chain(std::size_t length) {
  std::vector<local_hash> made;
  for (std::size_t i = 0; i < length; ++i) made.emplace_back(1'000 + i);
  return made;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_block_stands_in_one_place) {
  // Whoever brings the same chain joins the run; divergence hangs a child and splits nothing.
  const quiescent_scope working;
  core::run_store store(seed);
  const run_stretch first = store.follow({}, chain({1, 2, 3, 4}));
  const run_stretch again = store.follow({}, chain({1, 2, 3, 4}));
  const run_stretch fork = store.follow({first.in, 1}, chain({7, 8}));
  const run_stretch joined = store.follow({first.in, 1}, chain({7, 8}));
  const run_stretch inside = store.follow({first.in, 0}, chain({2, 3, 9}));

  BOOST_TEST(again.in == first.in);
  BOOST_TEST(again.count == 4U);
  BOOST_TEST(fork.in != first.in);
  BOOST_TEST(joined.in == fork.in);
  BOOST_TEST(inside.in == first.in);
  BOOST_TEST(inside.start == 1U);
  BOOST_TEST(inside.count == 2U);
  BOOST_TEST(store.blocks() == 6U);
  for (const run_stretch& each : {first, again, fork, joined, inside}) store.leave(each.in);
  BOOST_TEST(store.blocks() == 0U);
}

BOOST_AUTO_TEST_CASE(a_run_grows_at_its_end_unless_the_block_hangs_there) {
  // A chain that many workers take further in turn stays one run; a block never stands twice.
  const quiescent_scope working;
  core::run_store store(seed);
  const run_stretch first = store.follow({}, chain({1, 2}));
  const run_stretch grown = store.follow({first.in, 1}, chain({3}));
  const run_stretch fork = store.follow({first.in, 1}, chain({9}));
  const run_stretch behind_fork = store.follow({first.in, 1}, chain({9}));

  BOOST_TEST(grown.in == first.in);
  BOOST_TEST(grown.start == 2U);
  BOOST_TEST(fork.in != first.in);
  BOOST_TEST(behind_fork.in == fork.in);
  for (const run_stretch& each : {first, grown, fork, behind_fork}) store.leave(each.in);
}

BOOST_AUTO_TEST_CASE(long_chains_go_on_in_children) {
  // Runs are bounded, and the sequence hash of every block can be told across the border.
  const quiescent_scope working;
  core::run_store store(seed);
  const auto blocks = long_chain(max_run_blocks + 100);
  std::vector<seq_hash> rolled;
  roll_from_root(blocks, seed, rolled);
  const run_stretch head = store.follow({}, blocks);
  const run_stretch tail = store.follow({head.in, head.count - 1}, std::span(blocks).subspan(head.count));

  BOOST_TEST(head.count == max_run_blocks);
  BOOST_TEST(tail.count == 100U);
  BOOST_TEST(tail.in->base == max_run_blocks);
  for (std::uint32_t i = 0; i < head.count; i += 7) BOOST_REQUIRE(seq_hash_at(*head.in, i, seed) == rolled[i]);
  for (std::uint32_t i = 0; i < tail.count; ++i) BOOST_REQUIRE(seq_hash_at(*tail.in, i, seed) == rolled[head.count + i]);
  store.leave(head.in);
  BOOST_TEST(store.blocks() == blocks.size());  // the child keeps its parent
  store.leave(tail.in);
  BOOST_TEST(store.blocks() == 0U);
}

BOOST_AUTO_TEST_CASE(hashes_are_the_same_whichever_is_asked_for_first) {
  // They are rolled from the last block whose hash somebody has asked for: from any point of a run, and behind what has grown since.
  constexpr std::uint64_t first_seed = 20261124;
  for (std::uint64_t round = 0; round < 30; ++round) {
    BOOST_TEST_CONTEXT("seed " << first_seed + round) {
      std::mt19937_64 random(first_seed + round);
      const quiescent_scope working;
      core::run_store store(seed);
      const auto blocks = long_chain(1 + random() % 1'500);
      std::vector<seq_hash> rolled;
      roll_from_root(blocks, seed, rolled);
      run_stretch grown = store.follow({}, std::span(blocks).first(1));
      std::vector<run_stretch> visits{grown};
      for (std::size_t length = 1; length < blocks.size();) {
        const std::size_t more = std::min<std::size_t>(1 + random() % 200, blocks.size() - length);
        visits.push_back(store.follow({grown.in, static_cast<std::uint32_t>(length - 1)}, std::span(blocks).subspan(length, more)));
        length += more;
        for (unsigned i = 0; i < random() % 3; ++i) {
          const auto offset = static_cast<std::uint32_t>(random() % length);
          BOOST_TEST_REQUIRE((seq_hash_at(*grown.in, offset, seed) == rolled[offset]), "block " << offset << " of " << length);
        }
      }
      if (round % 2 == 0) {  // by hashes, without anybody having asked for those in between
        run_segment found;
        BOOST_TEST_REQUIRE(next_segment(store.directory(), sequence_walk(rolled, seed), run_segment{}, 0, found));
        BOOST_TEST(found.length == blocks.size());
      }
      for (std::uint32_t i = 0; i < blocks.size(); ++i) BOOST_TEST_REQUIRE((seq_hash_at(*grown.in, i, seed) == rolled[i]), "block " << i);
      for (const run_stretch& each : visits) store.leave(each.in);
    }
  }
}

BOOST_AUTO_TEST_CASE(cells_are_given_out_again) {
  // Workers come and go: a run keeps as many cells as it ever had holders at once.
  const quiescent_scope working;
  core::run_store store(seed);
  const run_stretch only = store.follow({}, chain({1}));
  std::vector<std::uint32_t> slots;
  std::vector<cell_ref> cells;
  for (std::uint32_t who = 0; who < 400; ++who) slots.push_back(store.slots().take(worker_id{who}, medium_id::gpu));
  for (const std::uint32_t slot : slots) cells.push_back(store.take_cell(*only.in, slot, cell_word(1, false)));
  const std::size_t full = store.bytes();
  for (const cell_ref each : cells) store.give_back(*only.in, each);
  std::size_t left = 0;
  only.in->each_cell([&](std::uint32_t, cell_word) { ++left; });
  for (const std::uint32_t slot : slots) (void)store.take_cell(*only.in, slot, cell_word(1, true));

  std::vector<bool> seen(slots.size());
  only.in->each_cell([&](std::uint32_t slot, cell_word word) { seen.at(slot) = word.cutoff() == 1 && word.has_more(); });
  BOOST_TEST(left == 0U);
  BOOST_TEST(std::ranges::count(seen, true) == 400);
  BOOST_TEST(store.bytes() == full);
  store.leave(only.in);
}

BOOST_AUTO_TEST_CASE(a_query_on_its_way_is_not_led_astray_by_a_cut) {
  // It has compared blocks that are gone by now, and asks what stands behind them: once, it read beyond the shorter column.
  const quiescent_scope working;
  core::run_store store(seed);
  const auto blocks = long_chain(4'000);
  const run_stretch whole = store.follow({}, blocks);
  const local_walk query(blocks, seed);
  run_segment compared;
  BOOST_REQUIRE(next_segment(store.directory(), query, run_segment{}, 0, compared));
  BOOST_REQUIRE(compared.length == blocks.size());
  const seq_hash before = seq_hash_at(*whole.in, 3'987, seed);
  compared.length = 3'988;  // had the query ended there

  BOOST_REQUIRE(store.try_cut(*whole.in, 3, 1));

  BOOST_TEST((query.behind(compared, 3'988) == roll(before, blocks[3'988], seed)));
  BOOST_TEST(compared.was_cut());
  store.leave(whole.in);
}

BOOST_AUTO_TEST_CASE(what_nobody_needs_behind_a_block_can_be_cut_off) {
  const quiescent_scope working;
  core::run_store store(seed);
  const auto blocks = long_chain(100);
  const run_stretch whole = store.follow({}, blocks);
  const std::uint32_t slot = store.slots().take(worker_id{1}, medium_id::gpu);
  const cell_ref cell = store.take_cell(*whole.in, slot, cell_word(50, false));

  BOOST_TEST(!store.try_cut(*whole.in, 40, 1));  // held
  BOOST_TEST(!store.try_cut(*whole.in, 60, 0));  // somebody works with it: us
  const run_stretch child = store.follow({whole.in, 79}, chain({7}));
  BOOST_TEST(!store.try_cut(*whole.in, 60, 1));  // a child stands behind it
  BOOST_TEST(store.try_cut(*whole.in, 80, 1));
  BOOST_TEST(whole.in->blocks().size() == 80U);
  BOOST_TEST(store.blocks() == 81U);
  // The child is found again, and another continuation grows where the old one was.
  const run_stretch again = store.follow({whole.in, 79}, chain({7}));
  const run_stretch other = store.follow({whole.in, 79}, chain({8, 9}));
  BOOST_TEST(again.in == child.in);
  BOOST_TEST(other.in == whole.in);
  BOOST_TEST(other.start == 80U);
  std::vector<local_hash> expected(blocks.begin(), blocks.begin() + 80);
  expected.emplace_back(8U);
  expected.emplace_back(9U);
  std::vector<seq_hash> rolled;
  roll_from_root(expected, seed, rolled);
  for (std::uint32_t i = 0; i < expected.size(); ++i) BOOST_REQUIRE(seq_hash_at(*whole.in, i, seed) == rolled[i]);
  store.give_back(*whole.in, cell);
  for (const run_stretch& each : {whole, child, again, other}) store.leave(each.in);
  BOOST_TEST(store.blocks() == 0U);
}

BOOST_AUTO_TEST_CASE(nothing_is_cut_off_where_somebody_is_about_to_hang_a_child) {
  // Else the run grows on with the very block that the child begins with, and queries find the holders of one of the two only.
  const quiescent_scope working;
  core::run_store store(seed);
  const run_stretch whole = store.follow({}, chain({1, 2, 3, 10, 11, 12}));
  core::run_store::use(*whole.in);
  store.leave(whole.in);
  // Whoever hangs 50 behind 3 stops half way: he finds another run with the same hash, which is being cut off for as long as it takes here.
  const run_stretch twin = store.follow({}, chain({77}));
  whole.in->child_filter.fetch_or(run::filter_bit(2, 50));
  store.directory().erase(twin.in);
  twin.in->first_hash = roll(seq_hash_at(*whole.in, 2, seed), local_hash{50U}, seed);
  BOOST_REQUIRE(store.directory().add(twin.in) == twin.in);
  twin.in->lock.lock();
  twin.in->is_being_cut = true;
  run_stretch hung;
  std::jthread other_lane([&] {
    const quiescent_scope working_too;
    hung = store.follow({whole.in, 2}, chain({50, 51}));
  });
  while (twin.in->pins.load() == run::one_visit) std::this_thread::yield();

  BOOST_TEST(!store.try_cut(*whole.in, 3, 0));
  BOOST_TEST(whole.in->blocks().size() == 6U);

  twin.in->is_being_cut = false;
  twin.in->lock.unlock();
  other_lane.join();
  BOOST_TEST(hung.in == nullptr);              // two prefixes, one hash
  BOOST_TEST(store.try_cut(*whole.in, 3, 0));  // he is gone, and so is his visit
  store.leave(twin.in);
  store.end_use(whole.in);
  BOOST_TEST(store.blocks() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test
