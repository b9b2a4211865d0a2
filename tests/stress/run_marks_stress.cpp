// A run that grows and gets children while others ask for its hashes, which whoever comes first writes down.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/block_hasher.hpp"
#include "core/quiescence.hpp"
#include "core/run_store.hpp"
#include "core/run_walk.hpp"

namespace kvc::test {
BOOST_AUTO_TEST_SUITE(run_marks_stress)

namespace {

using namespace kvc::core;

constexpr std::uint64_t seed = 1337;
constexpr std::size_t readers = 3;
constexpr std::uint32_t longest = 3'000;

/// What everybody knows, and how much of it is stored.
struct scene {
  std::vector<local_hash> blocks;
  std::vector<seq_hash> rolled;
  core::run_store store{seed};
  std::atomic<std::uint32_t> stored{0};

  explicit scene(std::uint64_t number) {
    for (std::uint64_t i = 0; i < longest; ++i) blocks.emplace_back(number * 1'000'000 + i);
    roll_from_root(blocks, seed, rolled);
  }

  /// Stores all blocks, some at a time, and a block of another content behind one of them now and then.
  void grow(std::uint64_t by_seed) {
    std::mt19937_64 random(by_seed);
    std::vector<run*> visited;
    run* in = nullptr;
    for (std::uint32_t length = 0; length < longest;) {
      const quiescent_scope working;
      const std::uint32_t more = std::min<std::uint32_t>(1 + static_cast<std::uint32_t>(random() % 40), longest - length);
      const run_place end = length == 0 ? run_place{} : run_place{in, length - 1};
      const run_stretch part = store.follow(end, std::span(blocks).subspan(length, more));
      visited.push_back(in = part.in);
      stored.store(length += part.count, std::memory_order_release);
      if (length > 1 && random() % 4 == 0) {
        const std::vector<local_hash> other{local_hash{random()}};
        visited.push_back(store.follow({in, static_cast<std::uint32_t>(random() % (length - 1))}, other).in);
      }
    }
    const quiescent_scope working;
    for (run* each : visited) store.leave(each);
  }

  /// Asks until all is stored; answers how many answers were wrong.
  std::size_t ask(std::uint64_t by_seed) {
    std::mt19937_64 random(by_seed);
    std::size_t wrong = 0;
    for (std::uint32_t known = 0; known < longest;) {
      known = stored.load(std::memory_order_acquire);
      if (known == 0 || known == longest) continue;
      const quiescent_scope reading;
      run_segment found;
      const bool by_hash = random() % 2 == 0;
      const bool is_there = by_hash ? next_segment(store.directory(), sequence_walk(rolled, seed), run_segment{}, 0, found)
                                    : next_segment(store.directory(), local_walk(blocks, seed), run_segment{}, 0, found);
      if (!is_there) {  // all has been stored meanwhile, and let go of
        wrong += stored.load(std::memory_order_acquire) == longest ? 0U : 1U;
        continue;
      }
      wrong += found.length >= known ? 0U : 1U;
      const auto offset = static_cast<std::uint32_t>(random() % found.length);
      wrong += seq_hash_in(*found.column, found.in->first_hash, offset, seed) == rolled[offset] ? 0U : 1U;
    }
    return wrong;
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(hashes_are_right_whoever_writes_them_down) {
  for (std::uint64_t round = 1; round <= 10; ++round) {
    scene all(round);
    std::vector<std::size_t> wrong(readers, 0);
    {
      std::vector<std::jthread> running;
      for (std::size_t i = 0; i < readers; ++i) running.emplace_back([&, i] { wrong[i] = all.ask(100 * round + i); });
      running.emplace_back([&] { all.grow(round); });
    }
    for (const std::size_t each : wrong) BOOST_TEST(each == 0U, "round " << round);
    BOOST_TEST(all.store.blocks() == 0U);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test
