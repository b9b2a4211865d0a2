// Prompts told by the engines' names for their blocks: what they mean is found where somebody holds them.
#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/block_hasher.hpp"
#include "tests/support/index_comparison.hpp"
#include "tests/support/real_worker.hpp"

namespace kvc::test {
BOOST_AUTO_TEST_SUITE(index_following)

namespace {

using namespace kvc::core;
using path = std::vector<local_hash>;

/// What every engine of a fleet with one seed calls the last block of a path.
engine_hash name_of(const path& blocks, std::size_t length) {
  std::vector<seq_hash> rolled;
  roll_from_root(std::span(blocks).first(length), 99, rolled);  // another seed than the index has
  return engine_hash{rolled.back().get()};
}

std::vector<engine_hash> names_of(const path& blocks, std::size_t from = 0) {
  std::vector<engine_hash> names;
  for (std::size_t length = from + 1; length <= blocks.size(); ++length) names.push_back(name_of(blocks, length));
  return names;
}

path path_of(std::initializer_list<std::uint64_t> letters) {
  path made;
  for (const std::uint64_t letter : letters) made.emplace_back(letter);
  return made;
}

/// Workers on two lanes, each of which has its own names.
struct fleet {
  catalog all;
  std::array<std::shared_ptr<lane_names>, 2> lanes{std::make_shared<lane_names>(), std::make_shared<lane_names>()};
  std::vector<std::unique_ptr<real_worker>> workers;

  explicit fleet(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      worker_traits traits;
      traits.instance = "instance-" + std::to_string(i);
      traits.copy_counting = i % 2 == 0;
      workers.push_back(std::make_unique<real_worker>(worker_id{static_cast<std::uint32_t>(i + 1)}, traits, all, lanes[i % lanes.size()]));
      workers.back()->join(0);
    }
  }
  ~fleet() {
    for (const auto& each : workers) each->leave();
  }
  fleet(const fleet&) = delete;
  fleet& operator=(const fleet&) = delete;

  [[nodiscard]] std::shared_ptr<const partition_view> home(std::size_t number = 0) {
    return all.view().get()->partitions.at(partition_number(number));
  }
  void store(std::size_t who, const path& blocks, std::size_t from, medium_id medium = medium_id::gpu) {
    store_step step;
    step.medium = medium;
    step.how = from == 0 ? link::root : link::parent;
    if (from != 0) step.parent = name_of(blocks, from);
    step.names = names_of(blocks, from);
    step.locals.assign(blocks.begin() + static_cast<std::ptrdiff_t>(from), blocks.end());
    workers[who]->store(step);
  }
  /// What the workers of one lane know of a prompt, one after the other.
  std::vector<seq_hash> follow(std::size_t lane, const std::vector<engine_hash>& names, std::size_t budget = 1'000,
                               std::size_t number = 0) {
    const auto view = home(number);
    std::vector<seq_hash> blocks;
    for (std::size_t i = lane; i < workers.size(); i += lanes.size()) workers[i]->follow(*view->partition, names, blocks, budget);
    return blocks;
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(names_of_one_seed_find_what_local_hashes_find) {
  // Random stores, with holes and forks, and removals: asked by names, every worker is as deep as asked by local hashes.
  const std::uint64_t first_seed = 20'261'126;
  for (std::uint64_t seed = first_seed; seed < first_seed + 60; ++seed) {
    std::mt19937_64 random(seed);
    const auto below = [&](std::uint64_t bound) { return random() % bound; };
    const auto any_path = [&] {
      path made(1 + below(7));
      for (local_hash& each : made) each = local_hash{1 + below(2)};
      return made;
    };
    fleet at(5);
    for (int step = 0; step < 150; ++step) {
      const path blocks = any_path();
      const std::size_t who = below(at.workers.size());
      const auto medium = below(3) == 0 ? medium_id::cpu : medium_id::gpu;
      if (below(5) < 3) {
        at.store(who, blocks, below(blocks.size()), medium);
      } else {
        at.workers[who]->remove(name_of(blocks, blocks.size()), medium);
      }
      if (step % 10 != 9) continue;
      const path query = any_path();
      std::vector<seq_hash> blocks_of_names;
      for (std::size_t lane = 0; lane < at.lanes.size(); ++lane) {
        auto told = at.follow(lane, names_of(query));
        if (told.size() > blocks_of_names.size()) blocks_of_names = std::move(told);
      }
      match_result by_names;
      match_result by_locals;
      const auto view = at.home();
      view->partition->index().match(std::span<const seq_hash>(blocks_of_names), view->scope, by_names);
      ask(*view, query, false, all_media, by_locals);
      for (std::uint32_t i = 1; i <= at.workers.size(); ++i) {
        BOOST_TEST_REQUIRE(by_names.of(worker_id{i}).any == by_locals.of(worker_id{i}).any, "seed " << seed << " step " << step);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_prompt_goes_on_with_what_another_worker_of_the_lane_knows) {
  // Also within a budget, which is for all of them; and no further than anybody knows.
  fleet at(4);
  const path prompt = path_of({1, 2, 3, 4, 5});
  at.store(0, path_of({1, 2}), 0);
  at.store(2, prompt, 0);
  at.workers[2]->remove(name_of(prompt, 5), medium_id::gpu);
  std::vector<seq_hash> rolled;
  roll_from_root(prompt, test_seed, rolled);

  const std::vector<seq_hash> four(rolled.begin(), rolled.begin() + 4);
  BOOST_TEST((at.follow(0, names_of(prompt)) == four));
  BOOST_TEST((at.follow(0, names_of(prompt), 3) == std::vector<seq_hash>(rolled.begin(), rolled.begin() + 3)));
  BOOST_TEST(at.follow(1, names_of(prompt)).empty());  // the other lane's workers hold nothing
}

BOOST_AUTO_TEST_CASE(names_mean_blocks_of_the_partition_that_is_asked) {
  // An engine with adapters calls blocks of each by names of their own; those of another adapter are unknown here.
  fleet at(1);
  const path prompt = path_of({1, 2});
  store_step step;
  step.partition = 1;
  step.names = names_of(prompt);
  step.locals = prompt;
  at.workers[0]->store(step);

  BOOST_TEST(at.follow(0, names_of(prompt)).empty());
  BOOST_TEST(at.follow(0, names_of(prompt), 1'000, 1).size() == 2U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test
