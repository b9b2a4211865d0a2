// Two lanes whose workers fork, grow, join and cut off the same few runs at the same moment, and the model asked after every such moment.
//
// What two lanes do to each other within some hundred nanoseconds may be gone from the answers long before the end of a longer run. Under a
// sanitizer, where every object comes from its allocator, lanes lose their turn there now and then, in the midst of what they do.
// KVC_STRESS_ROUNDS chooses how many seeds are tried, KVC_STRESS_SEED the first.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/catalog.hpp"
#include "core/quiescence.hpp"
#include "tests/support/index_comparison.hpp"
#include "tests/support/real_worker.hpp"
#include "tests/support/setting.hpp"
#include "tests/support/strict_model.hpp"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
// Of the sanitizers' libraries; not every compiler brings their header.
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*taken)(const volatile void*, std::size_t),
                                                         void (*given)(const volatile void*));
#endif

namespace kvc::test {
BOOST_AUTO_TEST_SUITE(fork_stress)

namespace {

using namespace kvc::core;

constexpr std::size_t lanes = 2;
constexpr std::uint32_t workers_per_lane = 3;
constexpr std::uint64_t rounds_by_default = 1'000;
constexpr unsigned phases = 3;
constexpr unsigned first_steps = 8;  ///< of a round, taken in turn

/// When this thread loses its turn at an allocation: a generator's state; 0: never.
thread_local std::uint64_t yields = 0;

[[maybe_unused]] void yield_now_and_then(const volatile void*, std::size_t) {
  if (yields == 0) return;
  yields ^= yields << 13U;
  yields ^= yields >> 7U;
  yields ^= yields << 17U;
  if (yields % 4 == 0) std::this_thread::yield();
}

/// What one worker does: stores blocks behind one another, or forgets some.
struct fork_step {
  worker_id who{};
  store_step store;  ///< without names: none
  std::vector<engine_hash> removed;
};

using path = std::vector<std::uint64_t>;

/// Steps of workers who know what they hold: no block is told of twice, and whole branches are forgotten from their ends, so that
/// runs are cut off.
class fork_steps {
 public:
  explicit fork_steps(std::uint64_t seed) : random_(seed) {}

  [[nodiscard]] fork_step next(std::size_t lane) {
    const auto index = static_cast<std::uint32_t>(lane * workers_per_lane + below(workers_per_lane));
    std::map<engine_hash, path>& held = held_.at(index);
    fork_step step;
    step.who = worker_id{index + 1};
    const std::uint64_t kind = below(10);
    const path chosen = held.empty() ? path{} : std::next(held.begin(), static_cast<std::ptrdiff_t>(below(held.size())))->second;
    if (chosen.empty() || kind < 6) {
      fill_store(index, kind < 2 ? path{} : chosen, held, step.store);
    } else {
      std::vector<path> gone{chosen};
      if (kind < 9) gone = branch_of(chosen, held);
      for (const path& each : gone) {
        step.removed.push_back(name_of(index, each));
        held.erase(step.removed.back());
      }
    }
    return step;
  }

  /// The prompts that end with a block behind which nobody holds another.
  [[nodiscard]] std::vector<std::vector<local_hash>> queries() const {
    std::vector<std::vector<local_hash>> made;
    for (const auto& held : held_) {
      for (const auto& [name, of] : held) {
        auto& query = made.emplace_back();
        for (std::size_t i = 0; i < of.size(); ++i) query.push_back(local_of(of, i));
      }
    }
    std::ranges::sort(made);
    std::vector<std::vector<local_hash>> longest;
    for (auto& each : made) {  // in order, what goes on with a prompt comes right behind it
      if (!longest.empty() && std::ranges::equal(longest.back(), std::span(each).first(std::min(each.size(), longest.back().size())))) {
        longest.pop_back();
      }
      longest.push_back(std::move(each));
    }
    return longest;
  }

  [[nodiscard]] std::uint64_t below(std::uint64_t bound) { return random_() % bound; }

 private:
  static local_hash local_of(const path& of, std::size_t offset) { return local_hash{of[offset] * 1'000 + offset + 1}; }

  /// Two workers of a lane use the same names as two of the other do; the third has its own.
  static engine_hash name_of(std::uint32_t index, const path& of) {
    const bool is_shared = index % workers_per_lane != 2;
    std::uint64_t name = is_shared ? 7 : 100 + index;
    for (const std::uint64_t each : of) name = (name * 31 + each + 1) * 0x9E37'79B9'7F4A'7C15U;
    return engine_hash{name};
  }

  static std::vector<path> branch_of(const path& from, const std::map<engine_hash, path>& held) {
    std::vector<path> all;
    for (const auto& [name, of] : held) {
      if (of.size() >= from.size() && std::equal(from.begin(), from.end(), of.begin())) all.push_back(of);
    }
    std::ranges::sort(all, std::ranges::greater{});
    return all;
  }

  /// Up to six blocks of a chain behind `behind`: those that are not held, up to the next one that is.
  void fill_store(std::uint32_t index, path behind, std::map<engine_hash, path>& held, store_step& step) {
    for (std::uint64_t more = 1 + below(6); more != 0; --more) {
      path next = behind;
      next.push_back(next.empty() || below(3) != 0 ? 1 : 2);
      const engine_hash name = name_of(index, next);
      if (held.contains(name)) {
        if (!step.names.empty()) return;
      } else {
        if (step.names.empty() && !behind.empty()) {
          step.how = link::parent;
          step.parent = name_of(index, behind);
        }
        step.names.push_back(name);
        step.locals.push_back(local_of(next, next.size() - 1));
        held.emplace(name, next);
      }
      behind = std::move(next);
    }
  }

  std::mt19937_64 random_;
  std::array<std::map<engine_hash, path>, lanes * workers_per_lane> held_;
};

/// Both lanes meet here, spinning: who wakes up from a wait comes much too late.
class meeting {
 public:
  void meet() {
    const unsigned round = round_.load(std::memory_order_acquire);
    if (there_.fetch_add(1, std::memory_order_acq_rel) + 1 == lanes) {
      there_.store(0, std::memory_order_relaxed);
      round_.fetch_add(1, std::memory_order_release);
      return;
    }
    for (unsigned spins = 0; round_.load(std::memory_order_acquire) == round; ++spins) {
      if (spins % 1'024 == 1'023) std::this_thread::yield();
    }
  }

 private:
  std::atomic<std::size_t> there_{0};
  std::atomic<unsigned> round_{0};
};

class fork_round {
 public:
  fork_round() {
    for (std::uint32_t i = 0; i < lanes * workers_per_lane; ++i) {
      if (i % workers_per_lane == 0) names_ = std::make_shared<lane_names>();
      const worker_traits traits{.instance = "instance-" + std::to_string(i), .copy_counting = i % workers_per_lane == 1};
      staff_.push_back(std::make_unique<real_worker>(worker_id{i + 1}, traits, all_, names_));
      staff_.back()->join(0);
      model_.add_worker(worker_id{i + 1}, traits);
      model_.join(worker_id{i + 1}, 0);
    }
  }

  void take(const fork_step& step) {
    real_worker& who = *staff_[step.who.get() - 1];
    if (!step.store.names.empty()) who.store(step.store);
    if (!step.removed.empty()) who.remove(step.removed, medium_id::gpu);
  }

  /// The model takes the steps of both lanes one after the other: workers have nothing to do with each other there.
  void note(const fork_step& step) {
    if (!step.store.names.empty()) model_.store(step.who, step.store);
    for (const engine_hash each : step.removed) model_.remove(step.who, each, medium_id::gpu);
  }

  /// All that differs in the number of blocks and in how deep each worker reaches into what somebody holds.
  [[nodiscard]] std::string difference(const fork_steps& from) {
    std::ostringstream out;
    const auto view = all_.view().get();
    const partition_view* const home = view->find(partition_number(0));
    compare_members(home, model_, 0, out);
    for (const auto& query : from.queries()) {
      home->partition->index().match(query, {}, answer_);
      for (std::uint32_t who = 1; who <= staff_.size(); ++who) {
        const std::uint32_t depth = model_.depth(0, worker_id{who}, all_media, query);
        const std::uint32_t answered = answer_.of(worker_id{who}).any;
        if (answered != depth) out << "\n  worker " << who << " of " << query.size() << " blocks: " << answered << ", model " << depth;
      }
    }
    return out.str();
  }

  /// Everybody forgets everything; answers how many blocks and runs are left.
  [[nodiscard]] std::size_t clear() {
    const auto home = all_.view().get()->find(partition_number(0))->partition;
    for (const auto& each : staff_) each->clear(all_media, std::nullopt);
    for (std::uint32_t i = 0; i < staff_.size(); ++i) model_.clear(worker_id{i + 1}, all_media, std::nullopt);
    return home->index().blocks() + home->index().run_count();
  }

  void leave() {
    for (const auto& each : staff_) each->leave();
  }

 private:
  core::catalog all_;
  std::shared_ptr<lane_names> names_;
  std::vector<std::unique_ptr<real_worker>> staff_;
  strict_model model_;
  match_result answer_;
};

/// What is wrong after one of the moments of a round; empty: nothing.
std::string what_is_wrong(std::uint64_t seed, meeting& both, std::array<std::vector<fork_step>, lanes>& now, fork_round& round) {
  fork_steps steps(seed);
  for (unsigned i = 0; i < first_steps; ++i) {
    const fork_step step = steps.next(steps.below(lanes));
    round.take(step);
    round.note(step);
  }
  for (unsigned phase = 0; phase < phases; ++phase) {
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      now[lane].clear();
      for (std::uint64_t count = 1 + steps.below(2); count != 0; --count) now[lane].push_back(steps.next(lane));
    }
    both.meet();
    yields = seed + phase + 1;
    for (const fork_step& each : now[0]) round.take(each);
    yields = 0;
    both.meet();
    for (const auto& lane : now) {
      for (const fork_step& each : lane) round.note(each);
    }
    if (const std::string wrong = round.difference(steps); !wrong.empty()) return "phase " + std::to_string(phase) + ": " + wrong;
  }
  const std::size_t left = round.clear();
  return left == 0 ? "" : std::to_string(left) + " blocks and runs are left";
}

}  // namespace

BOOST_AUTO_TEST_CASE(lanes_that_fork_the_same_runs_agree_with_the_model_after_every_moment) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  BOOST_REQUIRE(__sanitizer_install_malloc_and_free_hooks(yield_now_and_then, [](const volatile void*) {}) != 0);
#endif
  const std::uint64_t rounds = setting("KVC_STRESS_ROUNDS", rounds_by_default);
  const std::uint64_t first_seed = setting("KVC_STRESS_SEED", 20'261'127);
  BOOST_TEST_MESSAGE(rounds << " rounds from seed " << first_seed);
  meeting both;
  std::array<std::vector<fork_step>, lanes> now;
  std::unique_ptr<fork_round> round;
  std::atomic<bool> is_over{false};
  std::jthread other_lane([&] {
    for (std::uint64_t i = 1;; ++i) {
      both.meet();
      if (is_over) return;
      yields = i * 0x9E37'79B9'7F4A'7C15U;
      for (const fork_step& each : now[1]) round->take(each);
      yields = 0;
      both.meet();
    }
  });
  std::string wrong;
  std::uint64_t seed = first_seed;
  for (; seed < first_seed + rounds && wrong.empty(); ++seed) {
    if (!round) round = std::make_unique<fork_round>();
    wrong = what_is_wrong(seed, both, now, *round);
    (void)collect_retired();
  }
  is_over = true;
  both.meet();
  other_lane.join();
  if (round) round->leave();

  BOOST_TEST(wrong.empty(), "seed " << seed - 1 << ", " << wrong);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test
