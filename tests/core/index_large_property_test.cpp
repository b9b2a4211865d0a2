// Long chains and large fleets, at random: where runs have digests, cells are dense, lists of names are many and tables divide, the index
// still equals the model on every query.
//
// KVC_PROPERTY_STREAMS sets how many streams are run, KVC_PROPERTY_SEED the first seed.
#include <cstdint>
#include <memory>
#include <sstream>
#include <string>

#include <boost/test/unit_test.hpp>

#include "core/eviction.hpp"
#include "tests/support/large_fleet.hpp"
#include "tests/support/placed_model.hpp"
#include "tests/support/random_steps.hpp"
#include "tests/support/setting.hpp"
#include "tests/support/strict_model.hpp"

namespace kvc::test {
BOOST_AUTO_TEST_SUITE(index_large_property)

namespace {

using namespace kvc::core;

/// Runs one stream; the failure, or empty.
/// `evicted` is given for one under a byte budget, and raised by what went.
std::string run_stream(std::uint64_t seed, std::uint64_t* evicted = nullptr) {
  const large_shape& shape = large_shapes[seed % large_shapes.size()];
  large_fleet both(seed, seed, shape, nullptr, 0);
  if (evicted != nullptr) {
    both.keep_within(std::make_shared<core::index_budget>(both.all(), 100'000 << seed % 4, 2), 0);
  }
  const auto where = [&](int step) {
    return "seed " + std::to_string(seed) + " (" + std::string(shape.what) + "), step " + std::to_string(step);
  };
  for (int step = 1; step <= shape.steps; ++step) {
    both.step();
    if (step % shape.between_checks != 0 && step != shape.steps) continue;
    const std::string difference = both.difference();
    if (!difference.empty()) return where(step) + ", after one that " + both.last() + difference.substr(0, 2'000);
  }
  if (evicted != nullptr) *evicted += both.evicted();
  return both.ends_empty() ? "" : where(shape.steps) + ": something left behind when everybody had left";
}

/// The two models fed with one small stream without pools; what differs at its end.
std::string models_differ(std::uint64_t seed) {
  random_steps random(seed, {.partitions = 2, .letters = 2, .longest = 5, .wild_names = 5});
  strict_model strict;
  placed_model placed;
  std::ostringstream out;
  constexpr std::uint32_t fleet = 3;
  for (std::uint32_t i = 1; i <= fleet; ++i) {
    worker_traits traits = random.traits();
    traits.is_pool = traits.is_shared = false;
    strict.add_worker(worker_id{i}, traits);
    placed.add_worker(worker_id{i}, traits);
  }
  for (int step = 0; step < 120; ++step) {
    const worker_id who{1 + static_cast<std::uint32_t>(random.below(fleet))};
    const random_step happened = random.next();
    const auto apply = [&](auto& model) {
      switch (happened.what) {
        case random_step::kind::store: model.store(who, happened.store); break;
        case random_step::kind::remove: model.remove(who, happened.name, happened.medium, happened.from); break;
        case random_step::kind::clear: model.clear(who, happened.which, happened.only); break;
      }
    };
    apply(strict);
    apply(placed);
    if (strict.names(who) != placed.names(who)) out << "\n  names after step " << step << ": " << happened.text();
    if (strict.orphans(who) != placed.orphans(who)) out << "\n  orphans after step " << step << ": " << happened.text();
    for (std::size_t home = 0; home < 2; ++home) {
      if (strict.distinct_blocks(home) != placed.distinct_blocks(home)) out << "\n  blocks after step " << step << ": " << happened.text();
      if (strict.members(home) != placed.members(home)) out << "\n  members after step " << step;
      const auto query = random.query();
      const media_mask media = random.media();
      const std::uint32_t wanted = strict.depth(home, who, media, query);
      const std::uint32_t got = strict_model::depth(placed.usable(home, who, query), media);
      if (got != wanted) out << "\n  depth " << got << " in place of " << wanted << " after step " << step << ": " << happened.text();
      if (strict.has_row(home, who, media, query) != placed.has_row(home, who, media, query)) out << "\n  a row after step " << step;
    }
    if (!out.str().empty()) return "seed " + std::to_string(seed) + out.str();
  }
  return {};
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_model_for_large_fleets_is_the_strict_one) {
  const std::uint64_t first = setting("KVC_PROPERTY_SEED", 20'261'126);
  for (std::uint64_t i = 0; i < 4 * setting("KVC_PROPERTY_STREAMS", 25); ++i) {
    const std::string failure = models_differ(first + i);
    BOOST_REQUIRE_MESSAGE(failure.empty(), failure);
  }
}

BOOST_AUTO_TEST_CASE(random_streams_of_large_fleets_answer_like_the_model) {
  // Twins, moves, holes, orphans and copies like those of small streams, where everything the index keeps has grown out of its first form.
  const std::uint64_t streams = setting("KVC_PROPERTY_STREAMS", 10);
  const std::uint64_t first = setting("KVC_PROPERTY_SEED", 20'261'126);
  BOOST_TEST_MESSAGE("streams " << streams << ", first seed " << first);

  for (std::uint64_t i = 0; i < streams; ++i) {
    const std::string failure = run_stream(first + i);
    BOOST_REQUIRE_MESSAGE(failure.empty(), failure);
  }
}

BOOST_AUTO_TEST_CASE(under_a_byte_budget_answers_of_large_fleets_are_never_deeper_than_the_model) {
  const std::uint64_t streams = setting("KVC_PROPERTY_STREAMS", 5);
  const std::uint64_t first = setting("KVC_PROPERTY_SEED", 20'261'126);
  std::uint64_t evicted = 0;
  for (std::uint64_t i = 0; i < streams; ++i) {
    const std::string failure = run_stream(first + i, &evicted);
    BOOST_REQUIRE_MESSAGE(failure.empty(), failure);
  }
  BOOST_TEST(evicted > streams * 100);  // else nothing was tested
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test
