#include "core/run_finder.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <new>
#include <random>
#include <set>
#include <sys/mman.h>
#include <thread>
#include <unordered_map>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/quiescence.hpp"
#include "core/run.hpp"

namespace kvc::test {
BOOST_AUTO_TEST_SUITE(run_finder)

namespace {

using kvc::core::run;
using kvc::core::seq_hash;

std::unique_ptr<run> run_at(std::uint64_t first) {
  auto made = std::make_unique<run>();
  made->first_hash = seq_hash{first};
  made->pins.store(run::one_user);
  return made;
}

struct plain_overflow final : core::run_overflow {
  [[nodiscard]] run* find(std::uint64_t first) const override {
    const auto found = all.find(first);
    return found == all.end() ? nullptr : found->second;
  }
  void put(run* fresh) override { all[fresh->first_hash.get()] = fresh; }
  bool remove(const run* gone) override {
    const auto found = all.find(gone->first_hash.get());
    if (found == all.end() || found->second != gone) return false;
    all.erase(found);
    return true;
  }

  std::map<std::uint64_t, run*> all;
};

/// Addresses whose memory comes when it is touched.
class reserved_memory {
 public:
  explicit reserved_memory(std::size_t bytes)
      : bytes_(bytes), start_(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    BOOST_REQUIRE(start_ != MAP_FAILED);
  }
  ~reserved_memory() { ::munmap(start_, bytes_); }
  reserved_memory(const reserved_memory&) = delete;
  reserved_memory& operator=(const reserved_memory&) = delete;

  [[nodiscard]] void* at(std::size_t offset) const noexcept { return static_cast<std::byte*>(start_) + offset; }

 private:
  std::size_t bytes_;
  void* start_;
};

std::set<const run*> listed(const core::run_finder& of) {
  std::set<const run*> all;
  of.each([&](run* there) { BOOST_TEST(all.insert(there).second); });
  return all;
}

}  // namespace

BOOST_AUTO_TEST_CASE(finds_what_is_there_and_nothing_else_while_it_grows_and_shrinks) {
  // The directory of a partition with thousands of runs, in an order a map would have.
  const core::quiescent_scope working;
  plain_overflow overflow;
  core::run_finder finder(overflow);
  std::mt19937_64 random(7);
  std::unordered_map<std::uint64_t, std::unique_ptr<run>> there;
  std::vector<std::uint64_t> known;
  for (int step = 0; step < 20'000; ++step) {
    if (known.empty() || random() % 3 != 0) {
      const std::uint64_t first = random() % 5 == 0 ? random() % 1'000 : random();
      if (there.contains(first)) continue;
      there[first] = run_at(first);
      BOOST_REQUIRE(finder.add(there[first].get()) == there[first].get());
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
  BOOST_TEST(finder.size() == there.size());
  BOOST_TEST(listed(finder).size() == there.size());
  for (const auto& [first, each] : there) finder.remove(each.get());
  for (const auto& [first, each] : there) BOOST_REQUIRE(finder.find(first) == nullptr);
  BOOST_TEST(finder.size() == 0);
  BOOST_TEST(listed(finder).empty());
}

BOOST_AUTO_TEST_CASE(what_it_has_grown_to_is_given_back) {
  // A partition whose fleet has moved on to other prompts for a day keeps no room for those of the day before.
  const core::quiescent_scope working;
  plain_overflow overflow;
  core::run_finder finder(overflow);
  const std::size_t at_first = finder.bytes();
  std::vector<std::unique_ptr<run>> there;
  std::mt19937_64 random(9);
  for (int i = 0; i < 50'000; ++i) {
    there.push_back(run_at(random()));
    finder.add(there.back().get());
  }
  const std::size_t at_most = finder.bytes();
  std::ranges::shuffle(there, random);
  while (there.size() > 500) {
    finder.remove(there.back().get());
    there.pop_back();
  }
  BOOST_TEST(finder.bytes() < at_most / 10);
  for (const auto& each : there) BOOST_REQUIRE(finder.find(each->first_hash.get()) == each.get());
  BOOST_TEST(listed(finder).size() == there.size());

  for (int i = 0; i < 20'000; ++i) {  // and grows again
    there.push_back(run_at(random()));
    finder.add(there.back().get());
  }
  for (const auto& each : there) BOOST_REQUIRE(finder.find(each->first_hash.get()) == each.get());
  for (const auto& each : there) finder.remove(each.get());
  BOOST_TEST(finder.bytes() == at_first);
}

BOOST_AUTO_TEST_CASE(hashes_chosen_to_meet_are_kept_apart) {
  // A publisher on the standard hash may send any numbers.
  const core::quiescent_scope working;
  plain_overflow overflow;
  core::run_finder finder(overflow);
  std::vector<std::unique_ptr<run>> there;
  for (std::uint64_t i = 0; i < 2'000; ++i) {
    there.push_back(run_at(i << 40));
    finder.add(there.back().get());
  }
  for (std::uint64_t i = 0; i < 2'000; ++i) BOOST_REQUIRE(finder.find(i << 40) == there[i].get());
  BOOST_TEST(finder.find(1) == nullptr);
}

BOOST_AUTO_TEST_CASE(a_run_is_entered_once_and_a_dead_one_makes_way) {
  const core::quiescent_scope working;
  plain_overflow overflow;
  core::run_finder finder(overflow);
  const auto first = run_at(5);
  const auto second = run_at(5);
  BOOST_TEST(finder.add(first.get()) == first.get());
  BOOST_TEST(finder.add(second.get()) == first.get());
  BOOST_TEST(finder.find(5) == first.get());
  first->pins.store(0);  // whoever let go of it last has not taken it out yet
  BOOST_TEST(finder.add(second.get()) == second.get());
  finder.remove(first.get());
  BOOST_TEST(finder.find(5) == second.get());
  BOOST_TEST(finder.size() == 1);
  finder.remove(second.get());
  BOOST_TEST(finder.find(5) == nullptr);
  BOOST_TEST(finder.size() == 0);
}

BOOST_AUTO_TEST_CASE(what_finds_no_room_is_found_all_the_same) {
  // A finder that has two segments at most, which is what one with all of its 65,536 comes to after 15 million runs.
  const core::quiescent_scope working;
  plain_overflow overflow;
  core::run_finder finder(overflow, 1);
  constexpr std::uint64_t runs = 2'000;
  std::vector<std::unique_ptr<run>> there;
  for (std::uint64_t i = 0; i < runs; ++i) {
    there.push_back(run_at(i + 1));
    BOOST_REQUIRE(finder.add(there.back().get()) == there.back().get());
  }
  BOOST_TEST(finder.is_partial());
  BOOST_TEST(finder.size() == runs);
  BOOST_TEST(listed(finder).size() + overflow.all.size() == runs);
  BOOST_TEST(listed(finder).size() > 500);
  for (const auto& each : there) BOOST_REQUIRE(finder.find(each->first_hash.get()) == each.get());
  BOOST_TEST(finder.find(runs + 1) == nullptr);
  // Wherever a run stands, a second one with its hash is told of it, and takes its place once it is dead.
  for (auto& each : there) {
    auto other = run_at(each->first_hash.get());
    BOOST_REQUIRE(finder.add(other.get()) == each.get());
    each->pins.store(0);
    BOOST_REQUIRE(finder.add(other.get()) == other.get());
    finder.remove(each.get());
    BOOST_REQUIRE(finder.find(each->first_hash.get()) == other.get());
    each = std::move(other);
  }
  BOOST_TEST(finder.size() == runs);
  // Room that comes free among the segments does not hide what stands in the overflow, nor lets it in twice.
  const std::set<const run*> within = listed(finder);
  for (const auto& each : there) {
    if (within.contains(each.get())) finder.remove(each.get());
  }
  for (const auto& each : there) {
    if (within.contains(each.get())) continue;
    const auto other = run_at(each->first_hash.get());
    BOOST_REQUIRE(finder.add(other.get()) == each.get());
    BOOST_REQUIRE(finder.find(each->first_hash.get()) == each.get());
    finder.remove(each.get());
    BOOST_REQUIRE(finder.find(each->first_hash.get()) == nullptr);
  }
  BOOST_TEST(finder.size() == 0);
  BOOST_TEST(overflow.all.empty());
}

BOOST_AUTO_TEST_CASE(lanes_that_add_the_same_runs_at_once_agree_whose_stay) {
  constexpr std::size_t lanes = 4;
  constexpr std::uint64_t runs = 3'000;
  plain_overflow overflow;
  core::run_finder finder(overflow);
  std::array<std::vector<std::unique_ptr<run>>, lanes> made;
  std::array<std::vector<run*>, lanes> told;
  std::barrier start(lanes);
  {
    std::vector<std::jthread> all;
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      for (std::uint64_t i = 0; i < runs; ++i) made[lane].push_back(run_at(i + 1));
      told[lane].resize(runs);
    }
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      all.emplace_back([&, lane] {
        start.arrive_and_wait();
        for (std::uint64_t i = 0; i < runs; ++i) told[lane][i] = finder.add(made[lane][i].get());
      });
    }
  }
  const core::quiescent_scope working;
  BOOST_TEST(finder.size() == runs);
  for (std::uint64_t i = 0; i < runs; ++i) {
    run* const there = finder.find(i + 1);
    BOOST_REQUIRE(there != nullptr);
    for (std::size_t lane = 0; lane < lanes; ++lane) BOOST_REQUIRE(told[lane][i] == there);
  }
}

BOOST_AUTO_TEST_CASE(who_stays_is_found_while_lanes_fill_and_empty_it) {
  // Segments divide and join all the time here, next to each other, under readers.
  constexpr std::size_t lanes = 3;
  constexpr std::uint64_t runs = 1'500;
  constexpr int rounds = 12;
  plain_overflow overflow;
  core::run_finder finder(overflow);
  std::array<std::vector<std::unique_ptr<run>>, lanes> made;
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    for (std::uint64_t i = 0; i < runs; ++i) made[lane].push_back(run_at(1 + lane * runs + i));
  }
  std::vector<std::unique_ptr<run>> stay;
  for (std::uint64_t i = 0; i < 50; ++i) {
    stay.push_back(run_at(1'000'000 + i));
    BOOST_REQUIRE(finder.add(stay.back().get()) == stay.back().get());
  }
  std::atomic<std::size_t> writing{lanes};
  std::atomic<std::uint64_t> missed{0};
  std::barrier start(lanes + 1);
  {
    std::vector<std::jthread> all;
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      all.emplace_back([&, lane] {
        start.arrive_and_wait();
        for (int round = 0; round < rounds; ++round) {
          for (const auto& each : made[lane]) missed += finder.add(each.get()) == each.get() ? 0U : 1U;
          for (const auto& each : made[lane]) finder.remove(each.get());
          (void)core::collect_retired();
        }
        --writing;
      });
    }
    all.emplace_back([&] {
      start.arrive_and_wait();
      while (writing.load() != 0) {
        const core::quiescent_scope reading;
        for (const auto& each : stay) missed += finder.find(each->first_hash.get()) == each.get() ? 0U : 1U;
      }
    });
  }
  BOOST_TEST(missed.load() == 0U);
  BOOST_TEST(finder.size() == stay.size());
  BOOST_TEST(listed(finder).size() == stay.size());
}

BOOST_AUTO_TEST_CASE(where_a_column_stands_is_a_hint_that_nobody_looks_at) {
  // Columns near and far, on both sides of the run, and beyond what a hint can say (16 GiB), in memory of which hardly any is touched.
  constexpr std::size_t half = std::size_t{1} << 35;
  const reserved_memory all(2 * half);
  const core::quiescent_scope working;
  plain_overflow overflow;
  core::run_finder finder(overflow);
  std::vector<run*> there;
  for (std::uint64_t i = 1; i <= 500; ++i) {
    there.push_back(new (all.at(half + i * sizeof(run))) run());
    there.back()->first_hash = seq_hash{i};
    there.back()->pins.store(run::one_user);
  }
  const auto move_column = [&](std::size_t which, std::size_t shift) {
    const std::size_t by = std::size_t{64} << shift % 29;
    const std::size_t from = half + (which + 1) * sizeof(run);
    auto* const column = static_cast<core::run_column*>(all.at(which % 2 == 0 ? from + by : from - by));
    if (by > 2 * there.size() * sizeof(run)) column->capacity = static_cast<std::uint16_t>(which * 9 % 4'096);
    there[which]->column.store(column, std::memory_order_relaxed);
  };
  for (std::size_t i = 0; i < there.size(); ++i) {
    if (i % 7 != 0) move_column(i, i);
    if (i % 3 != 0) finder.add(there[i]);
  }
  for (std::size_t i = 0; i < there.size(); ++i) {
    move_column(i, i + 13);
    finder.note_column(*there[i]);  // of runs that are not there, too
  }
  for (std::size_t i = 0; i < there.size(); ++i) BOOST_REQUIRE(finder.find(i + 1) == (i % 3 != 0 ? there[i] : nullptr));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test
