// Names on several lanes at once, for the thread sanitizer: engines store and forget, pools watch and let go; at rest everything is
// explained.
//
// KVC_STRESS_STEPS sets how many steps each lane takes, KVC_STRESS_SEED the seed.
#include <atomic>
#include <functional>
#include <latch>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "tests/support/pool_scene.hpp"
#include "tests/support/setting.hpp"

namespace kvc::test::pools {
BOOST_AUTO_TEST_SUITE(name_board_stress)

namespace {

constexpr std::size_t engines = 3;
constexpr std::size_t stores = 2;
constexpr std::uint64_t names_used = 40;

/// What is posted to a lane.
class inbox {
 public:
  void post(name_question what) {
    const std::lock_guard lock(changing_);
    waiting_.push_back(std::move(what));
  }
  std::vector<name_question> take() {
    const std::lock_guard lock(changing_);
    return std::exchange(waiting_, {});
  }

 private:
  std::mutex changing_;
  std::vector<name_question> waiting_;
};

words content(std::uint64_t name) {
  return {static_cast<std::uint32_t>(name), static_cast<std::uint32_t>(name)};
}

BOOST_AUTO_TEST_CASE(names_are_explained_across_lanes) {
  // Every store of an engine is told of, or found when it is asked for: no order of the two may lose a name.
  const std::uint64_t seed = setting("KVC_STRESS_SEED", std::random_device{}());
  const std::uint64_t steps = setting("KVC_STRESS_STEPS", 4'000);
  BOOST_TEST_MESSAGE("seed " << seed);
  scene at;
  std::vector<one_stream*> lanes;
  for (std::size_t i = 0; i < engines; ++i) lanes.push_back(&at.engine("engine-" + std::to_string(i)));
  for (std::size_t i = 0; i < stores; ++i) {
    registration with = scene::pool_registration(1);
    with.worker.instance = "store-" + std::to_string(i);
    lanes.push_back(&at.add(with));
  }
  std::vector<inbox> asked(engines);
  std::latch begin(static_cast<std::ptrdiff_t>(lanes.size()));
  std::vector<std::thread> threads;
  for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
    threads.emplace_back([&, lane] {
      std::mt19937_64 random(seed * 31 + lane);
      one_stream& self = *lanes[lane];
      const bool is_engine = lane < engines;
      begin.arrive_and_wait();
      for (std::uint64_t step = 0; step < steps; ++step) {
        const std::uint64_t name = 1 + random() % names_used;
        const auto what = random() % 10;
        if (is_engine) {
          if (what < 6) self.apply(store_of({name}, content(name)));
          if (what >= 6) self.apply(remove_of({name}));
          for (const name_question& each : asked[lane].take()) self.applier->answer(each);
          continue;
        }
        if (what == 9 && random() % 100 == 0) {
          while (!self.applier->drop_some(7, self.tally)) continue;
        } else {
          self.apply(object_of(vllm_key(name), what < 6 ? change::stored : change::removed));
        }
        while (!self.applier->catch_up_some(16, self.tally)) continue;
        std::vector<name_question> questions;
        while (self.applier->take_questions(questions, 16)) continue;
        for (const name_question& each : questions) {
          for (inbox& engine : asked) engine.post(each);
        }
      }
    });
  }
  for (std::thread& each : threads) each.join();

  for (std::uint64_t name = 1; name <= names_used; ++name) {
    lanes[0]->apply(store_of({name}, content(name)));
    for (std::size_t i = 0; i < stores; ++i) lanes[engines + i]->apply(object_of(vllm_key(name)));
  }
  at.settle();
  auto& idle = at.engine("idle");
  for (std::size_t i = 0; i < engines; ++i) lanes[i]->apply(cleared_event{});
  for (std::uint64_t name = 1; name <= names_used; ++name) {
    BOOST_TEST(at.depth(idle, content(name)) == 1U, "seed " << seed << ", name " << name);
  }
  for (std::size_t i = 0; i < stores; ++i) {
    BOOST_TEST(lanes[engines + i]->applier->pooled().waiting == 0U);
    BOOST_TEST(lanes[engines + i]->applier->pooled().doubtful == 0U);
    while (!lanes[engines + i]->applier->drop_some(100, lanes[engines + i]->tally)) continue;
  }
  BOOST_TEST(!at.all.view().get()->partitions.begin()->second->partition->names()->is_in_use());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace kvc::test::pools
