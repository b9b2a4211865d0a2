// The first blocks on a second medium appear again and again, while the blocks on the first one are asked for.
//
// KVC_STRESS_STEPS sets how often each worker stores and forgets what it holds there.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/catalog.hpp"
#include "core/level_fold.hpp"
#include "core/quiescence.hpp"
#include "tests/support/real_worker.hpp"
#include "tests/support/setting.hpp"

namespace kvc::test {
BOOST_AUTO_TEST_SUITE(second_medium_stress)

namespace {

using namespace kvc::core;

constexpr std::uint64_t rounds_by_default = 100'000;
constexpr std::uint64_t length = 3'000;  ///< of the prompt, all of which one worker has on gpu: comparing it takes a while
constexpr std::uint32_t on_gpu = 4;      ///< blocks of it that another worker holds there for good
constexpr std::uint64_t on_disk = 8;     ///< and that he and a third one hold on disk now and then
constexpr worker_id on_both{1};
constexpr worker_id on_disk_only{2};
constexpr worker_id on_gpu_only{3};

store_step beginning(std::uint64_t blocks, medium_id medium) {
  store_step step{.partition = 0, .medium = medium, .how = link::root, .parent = {}, .names = {}, .locals = {}};
  for (std::uint64_t block = 1; block <= blocks; ++block) {
    step.names.emplace_back(block);
    step.locals.emplace_back(block);
  }
  return step;
}

/// In turn, so that disk has nobody in between.
void store_and_forget(const std::vector<std::unique_ptr<real_worker>>& staff, std::uint64_t rounds) {
  const store_step step = beginning(on_disk, medium_id::disk);
  std::vector<engine_hash> gone = step.names;
  std::ranges::reverse(gone);
  for (std::uint64_t round = 0; round < rounds; ++round) {
    for (const std::size_t who : {0U, 1U}) {
      const auto& each = staff[who];
      each->store(step);
      each->remove(gone, medium_id::disk);
    }
    (void)collect_retired();
  }
}

bool is_right(const worker_depth& both, const worker_depth& other) {
  return both.on[static_cast<std::size_t>(medium_id::gpu)] == on_gpu && both.device_or_host == on_gpu && other.device_or_host == 0;
}

/// How many answers were wrong until the writer was done.
std::uint64_t read_all(const partition_view& home, const std::atomic<bool>& done) {
  const auto query = beginning(length, medium_id::gpu).locals;
  const match_scope any_medium;
  match_scope gpu_only;
  gpu_only.media = mask_of(medium_id::gpu);
  const prefix_index& index = home.partition->index();
  match_result answer;
  match_levels levels;
  level_fold fold;
  std::vector<instance_reach> chosen;
  std::uint64_t wrong = 0;
  bool has_asked = false;
  while (!done.load(std::memory_order_acquire) || !has_asked) {
    has_asked = true;
    index.match(query, any_medium, answer);
    wrong += is_right(answer.of(on_both), answer.of(on_disk_only)) ? 0U : 1U;
    index.match(query, gpu_only, answer);
    wrong += answer.of(on_both).any == on_gpu && answer.of(on_disk_only).any == 0 ? 0U : 1U;
    const quiescent_scope reading;
    if (!index.match(query, any_medium, levels)) continue;
    fold.run(index.slots(), home.by_worker, levels, {.least = 1, .most = 3, .wanted = {}}, chosen, answer);
    wrong += is_right(answer.of(on_both), answer.of(on_disk_only)) ? 0U : 1U;
  }
  return wrong;
}

}  // namespace

BOOST_AUTO_TEST_CASE(blocks_on_a_medium_that_appears_are_not_taken_for_blocks_on_the_first) {
  catalog all;
  const auto names = std::make_shared<lane_names>();
  std::vector<std::unique_ptr<real_worker>> staff;
  for (const worker_id each : {on_both, on_disk_only, on_gpu_only}) {
    staff.push_back(std::make_unique<real_worker>(each, worker_traits{.instance = "instance-" + std::to_string(each.get())}, all, names));
    staff.back()->join(0);
  }
  staff[0]->store(beginning(on_gpu, medium_id::gpu));
  staff[2]->store(beginning(length, medium_id::gpu));
  const auto view = all.view().get();
  const partition_view& home = *view->find(partition_number(0));
  std::atomic<bool> done{false};
  std::latch ready(2);
  std::uint64_t wrong = 0;
  std::jthread reading([&] {
    ready.arrive_and_wait();
    wrong = read_all(home, done);
  });
  ready.arrive_and_wait();
  store_and_forget(staff, setting("KVC_STRESS_STEPS", rounds_by_default));
  done.store(true, std::memory_order_release);
  reading.join();
  for (const auto& each : staff) each->leave();

  BOOST_TEST(wrong == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test
