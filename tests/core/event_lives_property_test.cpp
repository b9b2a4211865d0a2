// Random fleets, from events to answers: what queries see is what the specification says of the events, whatever else goes on.
//
// KVC_PROPERTY_STREAMS sets how many fleets are run, KVC_PROPERTY_SEED the first seed.
#include <cstdint>
#include <string>

#include <boost/test/unit_test.hpp>

#include "core/arena.hpp"
#include "core/quiescence.hpp"
#include "tests/support/event_stage.hpp"
#include "tests/support/setting.hpp"

namespace kvc::test {
BOOST_AUTO_TEST_SUITE(event_lives_property)

namespace {

struct played {
  std::uint64_t events = 0;
  std::uint64_t evicted = 0;
  std::uint64_t dumps = 0;
};

std::string play(std::uint64_t seed, const event_stage::plan& with, played& so_far) {
  const std::uint64_t steps = setting("KVC_LIVES_STEPS", 250);
  event_stage all(seed, with);
  const auto story = [&](const std::string& when, const std::string& what) {
    for (const std::string& line : all.journal()) BOOST_TEST_MESSAGE(line);
    return "seed " + std::to_string(seed) + ", " + when + ": " + what;
  };
  for (std::uint64_t step = 0; step < steps; ++step) {
    all.step();
    if (step % 8 != 7) continue;
    const std::string difference = all.difference();
    if (!difference.empty()) return story("step " + std::to_string(step), difference);
  }
  all.end();
  so_far.events += all.applied();
  so_far.evicted += all.evicted();
  so_far.dumps += all.dumps();
  const std::string left = all.difference() + all.left_behind();
  return left.empty() ? "" : story("when all have left", left);
}

played play_all(const event_stage::plan& with) {
  const std::uint64_t fleets = setting("KVC_PROPERTY_STREAMS", 6);
  const std::uint64_t first = setting("KVC_PROPERTY_SEED", 20'261'129);
  BOOST_TEST_MESSAGE("fleets " << fleets << ", first seed " << first);
  (void)core::collect_retired();
  const std::size_t before = core::arena_now().used_in_all();
  played so_far;
  for (std::uint64_t i = 0; i < fleets; ++i) {
    const std::string failure = play(first + i, with, so_far);
    BOOST_REQUIRE_MESSAGE(failure.empty(), failure);
  }
  (void)core::collect_retired();
  BOOST_TEST(core::arena_now().used_in_all() <= before);
  BOOST_TEST(so_far.events > fleets * 100);
  BOOST_TEST(so_far.dumps > fleets);
  BOOST_TEST_MESSAGE("events " << so_far.events << ", evicted " << so_far.evicted << ", dumps " << so_far.dumps);
  return so_far;
}

}  // namespace

BOOST_AUTO_TEST_CASE(answers_are_what_the_events_say) {
  // Names move, wait, come back and mean several blocks.
  (void)play_all({.is_tidy = false});
}

BOOST_AUTO_TEST_CASE(answers_are_what_the_events_say_of_pages_as_well) {
  (void)play_all({.is_tidy = true, .has_pages = true});
}

BOOST_AUTO_TEST_CASE(answers_never_say_more_than_the_events_whatever_is_evicted) {
  // A stream is called incomplete before its first block goes, and holds exactly what it tells after a clear of everything.
  const played all = play_all({.is_tidy = true, .has_pages = true, .has_budget = true});
  BOOST_TEST(all.evicted > 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test
