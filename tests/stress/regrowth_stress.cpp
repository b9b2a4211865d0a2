// A run whose end is cut off and grows anew with other blocks, again and again, while it is read.
//
// KVC_STRESS_STEPS sets how often each side stores and forgets its end.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <latch>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/catalog.hpp"
#include "core/quiescence.hpp"
#include "tests/support/index_comparison.hpp"
#include "tests/support/real_worker.hpp"
#include "tests/support/setting.hpp"

namespace kvc::test {
BOOST_AUTO_TEST_SUITE(regrowth_stress)

namespace {

using namespace kvc::core;

constexpr std::size_t sides = 3;
constexpr std::size_t readers = 2;
constexpr std::uint64_t rounds_by_default = 1'500;

/// What all sides hold for good, and an end that only one of them ever holds.
struct prompt_of_side {
  std::vector<local_hash> locals;
  std::vector<engine_hash> names;
};

prompt_of_side prompt_of(std::uint64_t side, std::size_t common, std::size_t length) {
  prompt_of_side made;
  for (std::size_t i = 0; i < length; ++i) {
    const std::uint64_t block = i < common ? 1 + i : 1'000'000 * (side + 1) + i;
    made.locals.emplace_back(block);
    made.names.emplace_back(block);
  }
  return made;
}

/// Stores the end of a side's prompt and forgets it from its last block on, in one event or in one for each.
void store_and_forget(real_worker& who, const prompt_of_side& mine, std::size_t common, std::uint64_t rounds, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const std::size_t end = common + 1 + random() % (mine.names.size() - common);
    store_step step{
        .partition = 0, .medium = medium_id::gpu, .how = link::parent, .parent = mine.names[common - 1], .names = {}, .locals = {}};
    step.names.assign(mine.names.begin() + static_cast<std::ptrdiff_t>(common), mine.names.begin() + static_cast<std::ptrdiff_t>(end));
    step.locals.assign(mine.locals.begin() + static_cast<std::ptrdiff_t>(common), mine.locals.begin() + static_cast<std::ptrdiff_t>(end));
    who.store(step);
    std::ranges::reverse(step.names);
    if (random() % 2 == 0) {
      who.remove(step.names, medium_id::gpu);
    } else {
      for (const engine_hash each : step.names) who.remove(each, medium_id::gpu);
    }
    (void)collect_retired();
  }
}

/// Asks for every side's prompt until all are done. A side reaches as far as all do in the prompts of others, and at least so far in its
/// own.
std::uint64_t read_all(const catalog& all, const std::array<prompt_of_side, sides>& prompts, std::size_t common, std::uint64_t seed,
                       const std::atomic<bool>& done) {
  std::mt19937_64 random(seed);
  published<catalog_view>::reader view(all.view());
  match_result answer;
  std::uint64_t wrong = 0;
  bool has_asked = false;
  while (!done.load(std::memory_order_acquire) || !has_asked) {
    has_asked = true;
    for (std::size_t asked = 0; asked < sides; ++asked) {
      ask(*view.get().find(partition_number(0)), prompts[asked].locals, random() % 4 == 0, all_media, answer);
      for (std::uint32_t side = 0; side < sides; ++side) {
        const std::uint32_t depth = answer.of(worker_id{side + 1}).any;
        wrong += depth < common || (side != asked && depth > common) ? 1U : 0U;
      }
    }
  }
  return wrong;
}

std::uint64_t wrong_answers(std::size_t common, std::size_t length) {
  catalog all;
  std::array<prompt_of_side, sides> prompts;
  std::vector<std::unique_ptr<real_worker>> staff;
  for (std::uint32_t side = 0; side < sides; ++side) {
    prompts[side] = prompt_of(side, common, length);
    staff.push_back(std::make_unique<real_worker>(worker_id{side + 1}, worker_traits{}, all));
    store_step step;
    step.names.assign(prompts[side].names.begin(), prompts[side].names.begin() + static_cast<std::ptrdiff_t>(common));
    step.locals.assign(prompts[side].locals.begin(), prompts[side].locals.begin() + static_cast<std::ptrdiff_t>(common));
    staff.back()->store(step);
  }
  const std::uint64_t rounds = setting("KVC_STRESS_STEPS", rounds_by_default);
  std::atomic<bool> done{false};
  std::latch ready(sides + readers);
  std::vector<std::uint64_t> wrong(readers, 0);
  std::vector<std::jthread> reading;
  for (std::size_t i = 0; i < readers; ++i) {
    reading.emplace_back([&, i] {
      ready.arrive_and_wait();
      wrong[i] = read_all(all, prompts, common, 100 + i, done);
    });
  }
  std::vector<std::jthread> writing;
  for (std::size_t side = 0; side < sides; ++side) {
    writing.emplace_back([&, side] {
      ready.arrive_and_wait();
      store_and_forget(*staff[side], prompts[side], common, rounds, 1 + side);
    });
  }
  writing.clear();
  done.store(true, std::memory_order_release);
  reading.clear();
  for (const auto& each : staff) each->leave();
  std::uint64_t sum = 0;
  for (const std::uint64_t each : wrong) sum += each;
  return sum;
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_end_that_is_exchanged_is_never_credited_to_who_holds_another) {
  // A reader who has compared the old end must not take the cutoffs of the new one for it.
  BOOST_TEST(wrong_answers(20, 30) == 0U);
}

BOOST_AUTO_TEST_CASE(nor_is_a_long_one) {
  // Far enough for digests, columns of their own, and more than one piece of names.
  BOOST_TEST(wrong_answers(700, 1'500) == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test
