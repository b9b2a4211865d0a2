#include "core/cell_sweep.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/quiescence.hpp"
#include "core/run_store.hpp"

namespace kvc::test {

BOOST_AUTO_TEST_SUITE(cell_sweep)

using namespace kvc::core;

BOOST_AUTO_TEST_CASE(vectors_say_what_plain_code_says) {
  // Whatever instructions the CPU has, for every length at the edges and cells with and without the mark of holes.
  std::mt19937_64 random(20'261'121);
  for (const std::size_t count : {64U, 128U, 1'024U}) {
    std::vector<dense_cell> cells(count);
    for (auto& each : cells) {
      const auto cutoff = static_cast<std::uint32_t>(random() % 4 == 0 ? 0 : random() % (max_run_blocks + 1));
      each.store(cell_word(cutoff, random() % 8 == 0).bits());
    }
    for (const std::uint32_t length : {1U, 2U, 63U, 2'048U, max_run_blocks - 1, max_run_blocks}) {
      std::vector<std::uint64_t> full(count / 64);
      std::vector<std::uint64_t> partial(count / 64);
      std::vector<std::uint64_t> plain_full(count / 64);
      std::vector<std::uint64_t> plain_partial(count / 64);
      sweep_cells(cells.data(), count, length, full.data(), partial.data());
      sweep_cells_scalar(cells.data(), count, length, plain_full.data(), plain_partial.data());
      BOOST_TEST(full == plain_full, boost::test_tools::per_element());
      BOOST_TEST(partial == plain_partial, boost::test_tools::per_element());
    }
  }
}

BOOST_AUTO_TEST_CASE(a_cell_is_full_partial_or_neither) {
  std::vector<dense_cell> cells(64);
  cells[0].store(cell_word(5, false).bits());
  cells[1].store(cell_word(4, true).bits());
  cells[2].store(cell_word(0, true).bits());  // holds blocks behind a hole only
  std::uint64_t full = 0;
  std::uint64_t partial = 0;
  sweep_cells(cells.data(), cells.size(), 5, &full, &partial);
  BOOST_TEST(full == 1U);
  BOOST_TEST(partial == 2U);
}

BOOST_AUTO_TEST_CASE(who_reaches_is_found_wherever_his_cell_is) {
  // Beside the run, in a list, or in one of several tables; compared with a look at every cell.
  constexpr std::uint64_t first_seed = 20'261'127;
  for (std::uint64_t seed = first_seed; seed < first_seed + 40; ++seed) {
    std::mt19937_64 random(seed);
    const quiescent_scope working;
    core::run_store store(1);
    const std::vector<local_hash> blocks(100, local_hash{1U});
    const run_stretch only = store.follow({}, blocks);
    for (std::uint32_t left = 1U << random() % 12; left != 0; --left) {
      const std::uint32_t slot = store.slots().take(worker_id{left}, medium_id::gpu);
      const std::uint32_t cutoff = random() % 30 == 0 ? 60 : 20;
      if (random() % 3 != 0) (void)store.take_cell(*only.in, slot, cell_word(cutoff, false));
    }
    for (const std::uint32_t length : {1U, 20U, 21U, 60U, 61U}) {
      std::vector<std::uint32_t> reaching;
      only.in->each_cell([&](std::uint32_t slot, cell_word word) {
        if (word.cutoff() >= length) reaching.push_back(slot);
      });
      for (const std::uint32_t enough : {1U, 2U, 100'000U}) {
        const reaching_slots found = find_reaching(*only.in, length, enough);
        BOOST_TEST(found.count == std::min<std::size_t>(reaching.size(), enough), "seed " << seed << ", length " << length);
        if (!reaching.empty()) BOOST_TEST((std::ranges::find(reaching, found.last) != reaching.end()), "seed " << seed);
      }
    }
    store.leave(only.in);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test
