#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

#include <boost/test/unit_test.hpp>

#include "perf/sim_mix.hpp"
#include "perf/sim_mp_fleet.hpp"
#include "tests/support/net/coordinator_fixture.hpp"
#include "tests/support/net/held_port.hpp"

BOOST_AUTO_TEST_SUITE(mp_chaos)

using namespace kvc;

namespace {

/// Everything goes on by itself, and fast.
test::coordinator_options busy_coordinator() {
  test::coordinator_options options;
  net::coordinator_settings& settings = options.coordinator;
  settings.health_check_interval = net::seconds_setting(0.05);
  settings.instance_timeout = net::seconds_setting(1);
  settings.eviction_check_interval = net::seconds_setting(0.03);
  settings.enable_startup_resync = true;
  settings.resync_poll_interval = net::seconds_setting(0.01);
  settings.resync_max_wait = net::seconds_setting(0.5);
  settings.resync_page_size = 40;
  settings.call_timeout = net::seconds_setting(0.3);
  return options;
}

sim::mp_options small_fleet(std::uint64_t seed, std::uint16_t port) {
  sim::mp_options chosen;
  chosen.coordinator_port = port;
  chosen.seed = seed;
  chosen.turns = 12;
  chosen.plans = 2;
  chosen.preload = 150;
  chosen.quota = 40;
  chosen.slow_s = 0.02;
  chosen.drain = true;
  return chosen;
}

/// The same with as many servers and salts, and told of over such routes, as chance has it.
sim::mp_options drawn_fleet(std::uint64_t seed, std::uint16_t port, sim::dice& dice) {
  sim::mp_options chosen = small_fleet(seed, port);
  chosen.servers = dice.between(1, 4);
  chosen.salts = dice.between(1, 5);
  chosen.route = static_cast<sim::mp_event_route>(dice.below(3));
  return chosen;
}

void require_agreement(const sim::mp_outcome& outcome) {
  for (const std::string& each : outcome.complaints) BOOST_ERROR(each);
  BOOST_TEST(outcome.complaint_count == 0U);
  BOOST_TEST(outcome.was_compared);
  BOOST_TEST(outcome.was_drained);
}

}  // namespace

BOOST_AUTO_TEST_CASE(without_trouble_the_ledger_is_what_lies_in_the_storage) {
  // The measure of the rest: where nothing is lost, nothing may be missing, and no prefetch may fail.
  test::coordinator_fixture coordinator(busy_coordinator());
  sim::mp_fleet fleet(small_fleet(1, coordinator.port()));

  const sim::mp_outcome outcome = fleet.run(false);

  require_agreement(outcome);
  BOOST_TEST(outcome.model_keys == outcome.stored_objects);
  BOOST_TEST(outcome.model_bytes == outcome.stored_bytes);
  BOOST_TEST(outcome.counts.pages > 1U);
  BOOST_TEST(outcome.counts.deletion_requests >= 2U);
  BOOST_TEST(outcome.counts.prefetches_failed == 0U);
  BOOST_TEST(outcome.counts.deregistrations == 3U);
}

BOOST_AUTO_TEST_CASE(after_any_trouble_ledger_and_order_of_use_are_those_of_the_model) {
  // Servers that refuse, hang, lie, restart and leave, batches that are lost, repeated and overtaken: what the coordinator has acknowledged
  // is what it knows, in the order in which it was told.
  constexpr std::uint64_t seeds = 24;
  std::uint64_t faults = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      BOOST_TEST_MESSAGE("seed " << seed);
      sim::dice dice(seed);
      test::coordinator_options options = busy_coordinator();
      options.lanes = dice.between(1, 3);
      options.coordinator.eviction_unit = dice.below(2) == 0 ? core::eviction_unit::keys : core::eviction_unit::bytes;
      options.coordinator.eviction_ratio = 0.1 + 0.4 * dice.unit();
      test::coordinator_fixture coordinator(options);
      sim::mp_options chosen = drawn_fleet(seed, coordinator.port(), dice);
      // Every other seed has all kinds, the others some.
      chosen.faults = (1U << sim::mp_fault_kinds) - 1;
      if (seed % 2 == 0) chosen.faults &= static_cast<std::uint32_t>(dice.next());
      chosen.fault_rate = 0.05 + 0.25 * dice.unit();
      sim::mp_fleet fleet(chosen);

      const sim::mp_outcome outcome = fleet.run(false);

      require_agreement(outcome);
      for (const std::uint64_t each : outcome.counts.faults) faults += each;
    }
  }
  BOOST_TEST(faults > seeds);
}

BOOST_AUTO_TEST_CASE(a_coordinator_that_starts_anew_knows_the_storage_and_every_server_again) {
  // It has forgotten members, ledger, order of use and quotas, in the middle of plans and listings of its own. Servers learn of it by the
  // 404 of their next heartbeat; the listing brings back what nobody tells again.
  constexpr std::uint64_t seeds = 16;
  std::uint64_t listed = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      BOOST_TEST_MESSAGE("seed " << seed);
      sim::dice dice(seed);
      test::coordinator_options options = busy_coordinator();
      options.lanes = dice.between(1, 3);
      std::optional<test::held_port> port;
      std::optional<test::coordinator_fixture> coordinator;
      for (int tries = 1; !coordinator; ++tries) {
        port.emplace();
        options.first_port = port->number();
        try {
          coordinator.emplace(options);
        } catch (const std::runtime_error&) {
          if (tries == 20) throw;
        }
      }
      sim::mp_options chosen = drawn_fleet(seed, port->number(), dice);
      // Every fourth seed has no other trouble.
      if (seed % 4 != 0) chosen.faults = static_cast<std::uint32_t>(dice.next()) & ((1U << sim::mp_fault_kinds) - 1);
      chosen.fault_rate = 0.05 + 0.2 * dice.unit();
      const std::uint32_t restarts = dice.between(1, 3);
      const auto restart = [&] {
        // A connection of somebody else's may have been given the port, as the system does with one that was in use shortly before.
        for (const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);;) {
          try {
            coordinator.emplace(options);
            return;
          } catch (const std::runtime_error&) {
            if (std::chrono::steady_clock::now() > deadline) throw;
            std::this_thread::yield();
          }
        }
      };
      sim::mp_fleet fleet(chosen, {.times = restarts, .restart = restart});

      const sim::mp_outcome outcome = fleet.run(false);

      require_agreement(outcome);
      BOOST_TEST(outcome.counts.coordinator_restarts == restarts);
      BOOST_TEST(outcome.counts.registrations > chosen.servers);
      if (chosen.faults == 0) {
        BOOST_TEST(outcome.counts.unknown_heartbeats >= chosen.servers);
        // Whatever is there is known. What was deleted while nobody listened may be known as well, until it is asked for once more.
        BOOST_TEST(outcome.model_keys >= outcome.stored_objects);
      }
      listed += outcome.counts.listed;
    }
  }
  BOOST_TEST(listed > 0U);
}

BOOST_AUTO_TEST_SUITE_END()
