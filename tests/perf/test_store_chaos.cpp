#include <cstdint>
#include <string>

#include <boost/test/unit_test.hpp>

#include "perf/sim_mix.hpp"
#include "perf/sim_store_play.hpp"
#include "tests/support/net/store_fixture.hpp"
#include "tests/support/setting.hpp"

BOOST_AUTO_TEST_SUITE(store_chaos)

using namespace kvc;
using namespace std::chrono_literals;

namespace {

/// Everything goes on by itself, and fast.
net::store_settings busy_stores() {
  net::store_settings settings;
  settings.prefetch_dedup = 50ms;
  settings.prefetch_cooldown = 50ms;
  settings.prefetch_deadline = 600ms;
  settings.store_call_timeout = 200ms;
  settings.reconcile_age = 100ms;
  settings.reconcile_rate = 50'000;
  return settings;
}

sim::store_options small_store(std::uint64_t seed, std::uint16_t port) {
  sim::store_options chosen;
  chosen.conductor_host = "127.0.0.1";
  chosen.conductor_port = port;
  chosen.seed = seed;
  chosen.turns = 25;
  chosen.objects = 60;
  chosen.object_bytes = 10;
  chosen.memory_objects = 64;
  chosen.rules.capacity = 640;
  chosen.rules.lease = 20ms;
  chosen.rules.copy = 5ms;
  chosen.rules.late_copy = 900ms;
  chosen.slow_s = 0.02;
  return chosen;
}

void require_agreement(const sim::store_outcome& outcome) {
  for (const std::string& each : outcome.complaints) BOOST_ERROR(each);
  BOOST_TEST(outcome.complaint_count == 0U);
  BOOST_TEST(outcome.was_compared);
}

}  // namespace

BOOST_AUTO_TEST_CASE(without_trouble_probes_say_what_the_store_has) {
  // The measure of the rest, in each generation: where nothing is lost, nothing may be unknown, and prefetches bring things back.
  for (const auto generation :
       {sim::store_generation::array, sim::store_generation::master, sim::store_generation::branch, sim::store_generation::later}) {
    BOOST_TEST_CONTEXT("generation " << sim::store_generation_words[static_cast<std::size_t>(generation)]) {
      net::store_settings settings = busy_stores();
      settings.store_call_timeout = 20s;  // however busy the machine, the master is not to be given up
      test::store_fixture service(settings);
      sim::store_options chosen = small_store(1, service.port());
      chosen.generation = generation;
      sim::store_play play(chosen);

      const sim::store_outcome outcome = play.run(false);

      require_agreement(outcome);
      BOOST_TEST(outcome.unheard == 0U);
      BOOST_TEST(outcome.keys_compared > 60U);
      BOOST_TEST(outcome.storage.promoted > 0U);
      BOOST_TEST(outcome.counts.longest_query <= 128U);
    }
  }
}

BOOST_AUTO_TEST_CASE(after_any_trouble_probes_say_what_the_store_has) {
  // Masters that hang, lie and lead in turn, memory that is short, objects, segments and clients that vanish without a word, events that
  // are lost: within the bound of reconciliation the answers are what the store has.
  const std::uint64_t first = test::setting("KVC_CHAOS_SEED", 1);
  const std::uint64_t seeds = test::setting("KVC_CHAOS_SEEDS", 24);
  std::uint64_t faults = 0;
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      BOOST_TEST_MESSAGE("seed " << seed);
      sim::dice dice(seed);
      test::store_fixture service(busy_stores());
      sim::store_options chosen = small_store(seed, service.port());
      chosen.generation = static_cast<sim::store_generation>(dice.below(4));
      chosen.keys = static_cast<sim::store_key_form>(dice.below(4));
      chosen.marker = static_cast<sim::store_end_marker>(dice.below(2));
      chosen.masters = dice.between(1, 3);
      chosen.rules.segments = dice.between(1, 4);
      chosen.rules.offloads = dice.below(4) != 0;
      chosen.rules.queue = dice.between(4, 40);
      // Every other seed has all kinds, the others some.
      chosen.faults = (1U << sim::store_fault_kinds) - 1;
      if (seed % 2 == 0) chosen.faults &= static_cast<std::uint32_t>(dice.next());
      chosen.fault_rate = 0.05 + 0.2 * dice.unit();
      sim::store_play play(chosen);

      const sim::store_outcome outcome = play.run(false);

      require_agreement(outcome);
      for (const std::uint64_t each : outcome.counts.faults) faults += each;
    }
  }
  BOOST_TEST(faults > seeds);
}

BOOST_AUTO_TEST_SUITE_END()
