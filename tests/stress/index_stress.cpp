// The index under load from many threads, for the thread sanitizer: four lanes write, four read; at rest it equals the strict model.
//
// KVC_STRESS_STEPS sets how many steps each lane takes, KVC_STRESS_SEED the seed.
#include <atomic>
#include <cstdint>
#include <latch>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/catalog.hpp"
#include "core/counters.hpp"
#include "tests/support/index_comparison.hpp"
#include "tests/support/random_steps.hpp"
#include "tests/support/real_worker.hpp"
#include "tests/support/setting.hpp"
#include "tests/support/strict_model.hpp"

namespace kvc::test {
BOOST_AUTO_TEST_SUITE(index_stress)

namespace {

using namespace kvc::core;

constexpr std::size_t writers = 4;
constexpr std::size_t readers = 4;
constexpr random_steps::shape shape{.partitions = 2, .letters = 2, .longest = 6, .wild_names = 6};
constexpr local_hash never_stored{777};
constexpr local_hash private_block{999};  // outside of the random alphabet: only the lane's own check stores it

/// The steps of one lane's workers: the same seed gives the same steps, so that the model can be fed with them afterwards.
/// `Sink` has hire(id, traits), dismiss(id), and apply(id, step).
template <class Sink>
void run_lane(std::size_t lane, std::uint64_t seed, std::uint64_t steps, Sink& sink) {
  random_steps random(seed * writers + lane, shape);
  std::vector<std::pair<worker_id, worker_traits>> staff;
  std::uint32_t hired = 0;
  const auto hire = [&](const worker_traits& traits) {
    const worker_id who{static_cast<std::uint32_t>(1'000'000 * (lane + 1)) + ++hired};
    sink.hire(who, traits);
    staff.emplace_back(who, traits);
  };
  for (int i = 0; i < 6; ++i) hire(random.traits());
  for (std::uint64_t step = 0; step < steps; ++step) {
    const std::size_t chosen = random.below(staff.size());
    if (random.below(200) == 0) {
      const worker_traits next = random.chance(70) ? staff[chosen].second : random.traits();
      sink.dismiss(staff[chosen].first);
      staff.erase(staff.begin() + static_cast<std::ptrdiff_t>(chosen));
      hire(next);
    } else {
      sink.apply(staff[chosen].first, random.next());
    }
  }
}

/// A lane's side of the real index.
struct real_lane {
  core::catalog* catalog;
  lane_counters* counters;
  std::map<worker_id, std::unique_ptr<real_worker>> workers;
  published<catalog_view>::reader view;
  match_result answer;
  std::uint64_t surprises = 0;

  real_lane(core::catalog& all, lane_counters& mine) : catalog(&all), counters(&mine), view(all.view()) {}

  void hire(worker_id who, const worker_traits& traits) {
    auto& added = workers[who] = std::make_unique<real_worker>(who, traits, *catalog);
    added->join(0);
    added->status().state.store(stream_state::whole, std::memory_order_relaxed);
  }

  void dismiss(worker_id who) {
    const auto found = workers.find(who);
    found->second->status().state.store(stream_state::stopped, std::memory_order_relaxed);
    found->second->leave();
    workers.erase(found);
  }

  void apply(worker_id who, const random_step& step) {
    real_worker& worker = *workers.at(who);
    switch (step.what) {
      case random_step::kind::store: worker.store(step.store); break;
      case random_step::kind::remove: worker.remove(step.name, step.medium, step.from); break;
      case random_step::kind::clear: worker.clear(step.which, step.only, step.budget); break;
    }
    counters->batches.add();
    counters->apply_batch.observe_ns(step.store.names.size() * 100);
    stream_status& status = worker.status();
    stream_status::add(status.batches, 1);
    status.orphans.store(worker.blocks().orphans(), std::memory_order_relaxed);
    status.blocks[0].store(worker.blocks().held_on(medium_id::gpu), std::memory_order_relaxed);
    check_own(who, worker);
  }

  /// A lane sees its own stores and removals at once.
  void check_own(worker_id who, real_worker& worker) {
    store_step mine;
    mine.names = {engine_hash{~std::uint64_t{who.get()}}};
    mine.locals = {private_block};
    worker.store(mine);
    if (own_depth(who) != 1) ++surprises;
    worker.remove(mine.names[0], mine.medium);
    if (own_depth(who) != 0) ++surprises;
  }

  [[nodiscard]] std::uint32_t own_depth(worker_id who) {
    const auto now = view.share();
    const partition_view* home = now->find(partition_number(0));
    if (home == nullptr) return 99;
    home->partition->index().match(std::vector<local_hash>{private_block}, {}, answer);
    return answer.of(who).any;
  }
};

/// The model's side: the same words.
struct model_lane {
  strict_model* model;

  void hire(worker_id who, const worker_traits& traits) {
    model->add_worker(who, traits);
    model->join(who, 0);
  }
  void dismiss(worker_id who) { model->drop_worker(who); }
  void apply(worker_id who, const random_step& step) {
    switch (step.what) {
      case random_step::kind::store: model->store(who, step.store); break;
      case random_step::kind::remove: model->remove(who, step.name, step.medium, step.from); break;
      case random_step::kind::clear: model->clear(who, step.which, step.only); break;
    }
  }
};

/// Whether an answer is possible at all, whatever the writers are doing.
bool is_possible(const match_result& answer, std::size_t stored_blocks) {
  worker_id last{0};
  for (const worker_depth& row : answer.workers) {
    if (row.worker <= last || row.any > stored_blocks || row.device_or_host > row.any || row.any < answer.pools_alone.any) return false;
    for (const std::uint32_t alone : row.on) {
      if (alone > row.any) return false;
    }
    last = row.worker;
  }
  return true;
}

/// Queries and looks at every number there is, until the writers are done. Returns how many answers were impossible.
std::uint64_t read_all(std::uint64_t seed, const core::catalog& all, const std::vector<lane_counters>& counters,
                       const std::atomic<bool>& done) {
  random_steps random(seed, shape);
  published<catalog_view>::reader view(all.view());
  match_result answer;
  std::uint64_t impossible = 0;
  std::uint64_t seen = 0;
  while (!done.load(std::memory_order_acquire)) {
    for (const auto& [key, home] : view.get().partitions) {
      auto query = random.query();
      const std::size_t stored = random.below(query.size() + 1);
      query.insert(query.begin() + static_cast<std::ptrdiff_t>(stored), never_stored);
      ask(*home, query, random.chance(50), random.media(), answer);
      if (!is_possible(answer, stored)) ++impossible;
      for (const member& each : home->members) {
        seen += each.status->batches.load(std::memory_order_relaxed) + each.status->blocks[0].load(std::memory_order_relaxed);
        if (each.status->state.load(std::memory_order_relaxed) == stream_state::incomplete) ++impossible;
      }
      seen += home->partition->index().blocks() + home->partition->index().bytes();
    }
    for (const lane_counters& each : counters) seen += each.batches.get() + each.apply_batch.sum_ns() + each.apply_batch.in_bucket(0);
  }
  return seen == 0 ? impossible + 1 : impossible;
}

}  // namespace

BOOST_AUTO_TEST_CASE(writers_and_readers_at_once_then_equal_to_the_model) {
  // Lanes share the index, the catalog's view, counters and states, and nothing else; a race here is a wrong answer in production.
  const std::uint64_t steps = setting("KVC_STRESS_STEPS", 4'000);
  const std::uint64_t seed = setting("KVC_STRESS_SEED", 20'261'121);
  BOOST_TEST_MESSAGE("steps per lane " << steps << ", seed " << seed);
  core::catalog all;
  std::vector<lane_counters> counters(writers);
  std::vector<std::unique_ptr<real_lane>> lanes;
  for (std::size_t i = 0; i < writers; ++i) lanes.push_back(std::make_unique<real_lane>(all, counters[i]));
  std::vector<std::uint64_t> impossible(readers, 0);
  std::atomic<bool> done{false};
  std::latch ready(writers + readers);

  std::vector<std::jthread> reading;
  for (std::size_t i = 0; i < readers; ++i) {
    reading.emplace_back([&, i] {
      ready.arrive_and_wait();
      impossible[i] = read_all(seed + i, all, counters, done);
    });
  }
  std::vector<std::jthread> writing;
  for (std::size_t i = 0; i < writers; ++i) {
    writing.emplace_back([&, i] {
      ready.arrive_and_wait();
      run_lane(i, seed, steps, *lanes[i]);
    });
  }
  writing.clear();
  done.store(true, std::memory_order_release);
  reading.clear();

  for (const std::uint64_t each : impossible) BOOST_TEST(each == 0U);
  for (const auto& each : lanes) BOOST_TEST(each->surprises == 0U);
  strict_model model;
  model_lane replayed{&model};
  for (std::size_t i = 0; i < writers; ++i) run_lane(i, seed, steps, replayed);
  std::ostringstream difference;
  const auto view = all.view().get();
  const random_steps every(seed, shape);
  for (std::size_t home = 0; home < shape.partitions; ++home) {
    const partition_view* seen = view->find(partition_number(home));
    compare_members(seen, model, home, difference);
    for (const auto& query : every.all_queries()) compare_query(seen, model, home, query, mask_of(medium_id::cpu), difference);
  }
  BOOST_TEST(difference.str().empty(), "seed " << seed << difference.str());

  for (const auto& lane : lanes) {
    while (!lane->workers.empty()) lane->dismiss(lane->workers.begin()->first);
  }
  BOOST_TEST(all.view().get()->partitions.empty());
  for (const auto& [key, home] : view->partitions) BOOST_TEST(home->partition->index().blocks() == 0U);
}

BOOST_AUTO_TEST_CASE(media_are_learned_by_all_lanes_at_once) {
  // The first event with a new word may arrive on several lanes together; all must agree on its number.
  medium_table table;
  std::latch ready(writers);
  std::vector<std::vector<medium_id>> learned(writers);
  std::vector<std::jthread> lanes;
  for (std::size_t lane = 0; lane < writers; ++lane) {
    lanes.emplace_back([&, lane] {
      ready.arrive_and_wait();
      for (int i = 0; i < 40; ++i) {
        learned[lane].push_back(table.intern("WORD-" + std::to_string(i)));
        if (table.name(learned[lane].back()).empty()) learned[lane].clear();
      }
    });
  }
  lanes.clear();

  BOOST_TEST(table.name(learned[0].back()) == "OTHER");
  BOOST_TEST(learned[0].size() == 40U);
  for (std::size_t lane = 1; lane < writers; ++lane) BOOST_TEST((learned[lane] == learned[0]));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test
