// One prompt that every worker of every lane stores at the same moment, as when a fleet is sent a new system prompt.
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/catalog.hpp"
#include "tests/support/index_comparison.hpp"
#include "tests/support/real_worker.hpp"

namespace kvc::test {
BOOST_AUTO_TEST_SUITE(shared_run_stress)

namespace {

using namespace kvc::core;

constexpr std::size_t lanes = 4;
constexpr std::size_t workers_per_lane = 12;  // together more than a run's cells hold before they are laid out otherwise
constexpr std::uint64_t rounds = 400;

store_step new_prompt(std::uint64_t number) {
  store_step step;
  step.names = {engine_hash{number}};
  step.locals = {local_hash{number}};
  return step;
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_worker_of_every_lane_holds_a_new_prompt_at_once) {
  core::catalog all;
  std::vector<std::uint64_t> missing(lanes, 0);
  std::barrier together(lanes);
  std::vector<std::jthread> running;
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    running.emplace_back([&, lane] {
      std::vector<std::unique_ptr<real_worker>> staff;
      for (std::size_t i = 0; i < workers_per_lane; ++i) {
        staff.push_back(
            std::make_unique<real_worker>(worker_id{static_cast<std::uint32_t>(lane * workers_per_lane + i + 1)}, worker_traits{}, all));
        staff.back()->join(0);
      }
      published<catalog_view>::reader view(all.view());
      match_result answer;
      for (std::uint64_t round = 1; round <= rounds; ++round) {
        together.arrive_and_wait();
        for (const auto& each : staff) each->store(new_prompt(round));
        together.arrive_and_wait();
        const auto now = view.share();
        now->find(partition_number(0))->partition->index().match(std::vector<local_hash>{local_hash{round}}, {}, answer);
        for (std::uint32_t who = 1; who <= lanes * workers_per_lane; ++who) missing[lane] += answer.of(worker_id{who}).any == 1 ? 0U : 1U;
        together.arrive_and_wait();
        for (const auto& each : staff) each->remove(engine_hash{round}, new_prompt(round).medium);
      }
      for (const auto& each : staff) each->leave();
    });
  }
  running.clear();

  for (const std::uint64_t each : missing) BOOST_TEST(each == 0U);
  BOOST_TEST(all.view().get()->partitions.empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test
