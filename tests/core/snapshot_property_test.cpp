// Random event streams, dumped in the middle: what was loaded again answers, and goes on, like the strict model that never stopped.
//
// KVC_PROPERTY_STREAMS sets how many streams are run, KVC_PROPERTY_SEED the first seed.
#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/snapshot.hpp"
#include "tests/support/index_comparison.hpp"
#include "tests/support/index_subjects.hpp"
#include "tests/support/random_steps.hpp"
#include "tests/support/setting.hpp"

namespace kvc::test {
BOOST_AUTO_TEST_SUITE(snapshot_property)

namespace {

using namespace kvc::core;

constexpr std::uint32_t fleet = 3;

void expect(std::uint64_t got, std::uint64_t wanted, worker_id who, const char* what, std::ostream& out) {
  if (got != wanted) out << "\n  worker " << who.get() << ' ' << what << ": " << got << ", model " << wanted;
}

/// Some workers in the real index and in the model, fed with one stream; the real index may be exchanged for one loaded from its dump.
class relay {
 public:
  relay(std::uint64_t seed, const random_steps::shape& shape) : random_(seed, shape), shape_(shape) {}

  void hire(worker_id who, const worker_traits& traits) {
    traits_.emplace(who, traits);
    real_->add(who, traits);
    model_.add(who, traits);
  }

  /// Applies a step to either or both.
  static void apply(auto& to, worker_id who, const random_step& happened) {
    switch (happened.what) {
      case random_step::kind::store: to.store(who, happened.store); break;
      case random_step::kind::remove: to.remove(who, happened.name, happened.medium, happened.from); break;
      case random_step::kind::clear: to.clear(who, happened.which, happened.only, happened.budget); break;
    }
  }
  void step() {
    const worker_id who = any_worker();
    const random_step happened = random_.next();
    apply(*real_, who, happened);
    apply(model_, who, happened);
  }

  /// Every worker is told and loaded again, into an index of its own. Returns how many blocks were told.
  std::size_t pass_on() {
    auto next = std::make_unique<real_subject>();
    std::size_t blocks = 0;
    for (const auto& [who, traits] : traits_) {
      next->add(who, traits);
      const worker_dump told = real_->worker(who).dump(1 + random_.below(9));
      for (const dump_slice& each : told.slices) blocks += each.blocks();
      next->worker(who).load(told);
    }
    real_ = std::move(next);
    return blocks;
  }

  /// The same for one worker, with `steps` more steps of its stream between the slices and replayed after loading.
  void pass_on_while_writing(worker_id who, std::size_t steps) {
    auto next = std::make_unique<real_subject>();
    next->add(who, traits_.at(who));
    std::vector<random_step> tail;
    worker_dump told;
    {
      dump_cursor at;
      bool is_done = false;
      while (!is_done) {
        is_done = real_->worker(who).blocks().dump_some(at, 1 + random_.below(3), told.slices.emplace_back());
        if (tail.size() == steps || random_.chance(30)) continue;
        tail.push_back(rooted_step());
        apply(*real_, who, tail.back());
        apply(model_, who, tail.back());
      }
      for (const auto& each : at.homes()) told.homes.push_back(each->key());
    }
    next->worker(who).load(told);
    for (const random_step& each : tail) apply(*next, who, each);
    real_ = std::move(next);
  }

  [[nodiscard]] std::string difference() {
    std::ostringstream out;
    for (const auto& [who, traits] : traits_) {
      expect(real_->names(who), model_.names(who), who, "names", out);
      expect(real_->orphans(who), model_.orphans(who), who, "orphans", out);
      for (const unsigned number : {0U, 1U, 2U, 5U}) {
        const medium_id medium{static_cast<std::uint8_t>(number)};
        expect(real_->held_on(who, medium), model_.held_on(who, medium), who, "held", out);
      }
    }
    for (std::size_t home = 0; home < shape_.partitions; ++home) {
      const auto seen = real_->view(home);
      compare_members(seen.get(), model_.model(), home, out);
      for (const auto& query : random_.all_queries()) compare_query(seen.get(), model_.model(), home, query, random_.media(), out);
    }
    return out.str();
  }

  /// What is left when every name and block has been let go of by itself.
  [[nodiscard]] std::size_t blocks_left_behind() {
    std::vector<std::shared_ptr<const partition_view>> homes;
    for (std::size_t home = 0; home < shape_.partitions; ++home) homes.push_back(real_->view(home));
    for (const auto& [who, traits] : traits_) real_->drop(who);
    std::size_t left = 0;
    for (const auto& each : homes) left += each ? each->partition->index().blocks() : 0;
    return left;
  }

  [[nodiscard]] random_steps& random() { return random_; }

 private:
  [[nodiscard]] worker_id any_worker() { return worker_id{1 + static_cast<std::uint32_t>(random_.below(traits_.size()))}; }

  /// A step whose effect does not depend on what was there before: only such a tail may be replayed over a dump that has part of it. Names
  /// that mean several blocks are left out, since what they mean in between decides where orphans go.
  [[nodiscard]] random_step rooted_step() {
    for (;;) {
      const random_step made = random_.next();
      const bool is_rooted = made.what == random_step::kind::store && (made.store.how == link::root || made.store.how == link::standard);
      const bool is_plain = std::ranges::none_of(made.store.names, [&](engine_hash name) { return name.get() <= shape_.wild_names; });
      if (made.what == random_step::kind::remove || (is_rooted && is_plain)) return made;
    }
  }

  random_steps random_;
  random_steps::shape shape_;
  std::map<worker_id, worker_traits> traits_;
  std::unique_ptr<real_subject> real_ = std::make_unique<real_subject>();
  model_subject model_;
};

constexpr std::array<random_steps::shape, 3> shapes{random_steps::shape{.partitions = 1, .letters = 2, .longest = 6, .wild_names = 4},
                                                    random_steps::shape{.partitions = 3, .letters = 2, .longest = 5, .wild_names = 8},
                                                    random_steps::shape{.partitions = 2, .letters = 3, .longest = 4, .wild_names = 3}};

std::string run_stream(std::uint64_t seed) {
  constexpr int legs = 3;
  constexpr int steps = 30;
  relay both(seed, shapes[seed % shapes.size()]);
  for (std::uint32_t i = 1; i <= fleet; ++i) both.hire(worker_id{i}, both.random().traits());
  for (int leg = 1; leg <= legs; ++leg) {
    for (int step = 0; step < steps; ++step) both.step();
    both.pass_on();
    for (const bool is_later : {false, true}) {
      for (int step = 0; is_later && step < steps; ++step) both.step();
      const std::string difference = both.difference();
      const std::string when = is_later ? " and further steps" : "";
      if (!difference.empty()) return "seed " + std::to_string(seed) + ", after dump " + std::to_string(leg) + when + difference;
    }
  }
  return both.blocks_left_behind() == 0 ? "" : "seed " + std::to_string(seed) + ": blocks left behind when everybody had left";
}

std::string run_stream_with_tail(std::uint64_t seed) {
  relay both(seed, shapes.front());  // in one partition, where a name of a chain means one block
  worker_traits traits = both.random().traits();
  traits.copy_counting = false;
  traits.max_orphans = 1'000;
  both.hire(worker_id{1}, traits);
  for (int step = 0; step < 60; ++step) both.step();
  both.pass_on_while_writing(worker_id{1}, 20);
  const std::string difference = both.difference();
  return difference.empty() ? "" : "seed " + std::to_string(seed) + difference;
}

void run_streams(std::string (*run)(std::uint64_t)) {
  const std::uint64_t streams = setting("KVC_PROPERTY_STREAMS", 150);
  const std::uint64_t first = setting("KVC_PROPERTY_SEED", 20'261'121);
  BOOST_TEST_MESSAGE("streams " << streams << ", first seed " << first);
  for (std::uint64_t i = 0; i < streams; ++i) {
    const std::string failure = run(first + i);
    BOOST_REQUIRE_MESSAGE(failure.empty(), failure);
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_loaded_dump_answers_and_goes_on_like_the_original) {
  // Holes, moved names, copies and orphans included: later removals, stores and parents must mean the same.
  run_streams(run_stream);
}

BOOST_AUTO_TEST_CASE(a_dump_made_while_events_go_on_is_made_exact_by_replaying_them) {
  // Writers are never stopped, so a dump has some of what happens meanwhile; it must not lose anything else.
  run_streams(run_stream_with_tail);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test
