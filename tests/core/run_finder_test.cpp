#include "core/run_finder.hpp"

#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <memory>
#include <random>
#include <unordered_map>
#include <vector>

#include "core/quiescence.hpp"
#include "core/run.hpp"

namespace kvc::test {
namespace {

using kvc::core::run;
using kvc::core::seq_hash;

std::unique_ptr<run> run_at(std::uint64_t first) {
  auto made = std::make_unique<run>();
  made->first_hash = seq_hash{first};
  return made;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(run_finder)

BOOST_AUTO_TEST_CASE(finds_what_is_there_and_nothing_else_while_it_grows_and_shrinks) {
  // The directory of a partition with thousands of runs, in an order a map would have.
  const core::quiescent_scope working;
  core::run_finder finder;
  std::mt19937_64 random(7);
  std::unordered_map<std::uint64_t, std::unique_ptr<run>> there;
  std::vector<std::uint64_t> known;
  for (int step = 0; step < 20'000; ++step) {
    if (known.empty() || random() % 3 != 0) {
      const std::uint64_t first = random() % 5 == 0 ? random() % 1'000 : random();
      if (there.contains(first)) continue;
      there[first] = run_at(first);
      finder.add(there[first].get());
      known.push_back(first);
    } else {
      std::swap(known[random() % known.size()], known.back());
      finder.remove(there.at(known.back()).get());
      there.erase(known.back());
      known.pop_back();
    }
  }
  for (const auto& [first, each] : there) BOOST_REQUIRE(finder.find(first) == each.get());
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t first = random();
    if (!there.contains(first)) BOOST_REQUIRE(finder.find(first) == nullptr);
  }
  BOOST_TEST(!finder.is_partial());
  for (const auto& [first, each] : there) finder.remove(each.get());
  for (const auto& [first, each] : there) BOOST_REQUIRE(finder.find(first) == nullptr);
}

BOOST_AUTO_TEST_CASE(hashes_chosen_to_meet_are_kept_apart) {
  // A publisher on the standard hash may send any numbers.
  const core::quiescent_scope working;
  core::run_finder finder;
  std::vector<std::unique_ptr<run>> there;
  for (std::uint64_t i = 0; i < 2'000; ++i) {
    there.push_back(run_at(i << 40));
    finder.add(there.back().get());
  }
  for (std::uint64_t i = 0; i < 2'000; ++i) BOOST_REQUIRE(finder.find(i << 40) == there[i].get());
  BOOST_TEST(finder.find(1) == nullptr);
  const auto instead = run_at(5ULL << 40);
  finder.replace(there[5].get(), instead.get());
  BOOST_TEST(finder.find(5ULL << 40) == instead.get());
}

BOOST_AUTO_TEST_CASE(where_a_column_stands_is_a_hint_that_nobody_looks_at) {
  const core::quiescent_scope working;
  core::run_finder finder;
  std::vector<std::unique_ptr<run>> there;
  for (std::uint64_t i = 1; i <= 500; ++i) there.push_back(run_at(i));
  // Columns near and far, where nothing is, on both sides of the run, and beyond what a hint can say.
  const auto move_column = [](run& of, std::uint64_t by) {
    of.column.store(reinterpret_cast<core::run_column*>(reinterpret_cast<std::uintptr_t>(&of) + by), std::memory_order_relaxed);
  };
  for (std::size_t i = 0; i < there.size(); ++i) {
    move_column(*there[i], (i % 2 == 0 ? 1 : -1) * (std::uint64_t{64} << i % 50));
    if (i % 3 != 0) finder.add(there[i].get());
  }
  for (std::size_t i = 0; i < there.size(); ++i) {
    move_column(*there[i], std::uint64_t{64} << (i + 25) % 50);
    finder.note_column(*there[i]);  // of runs that are not there, too
  }
  for (std::size_t i = 0; i < there.size(); ++i) BOOST_REQUIRE(finder.find(i + 1) == (i % 3 != 0 ? there[i].get() : nullptr));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test
