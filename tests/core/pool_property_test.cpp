// Pools against a naive model: after every step of random engines and stores, what counts is what the model counts.
//
// KVC_PROPERTY_STREAMS sets the number of streams, KVC_PROPERTY_SEED the first seed.
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "tests/support/pool_scene.hpp"
#include "tests/support/setting.hpp"

namespace kvc::test::pools {
BOOST_AUTO_TEST_SUITE(pool_property)

namespace {

constexpr unsigned chain = 4;         // blocks of the one prompt; block b stands behind block b - 1
constexpr std::uint64_t recipes = 2;  // engine r calls block b 100 * r + b + 1
constexpr unsigned nobody = ~0U;

words prompt(unsigned blocks) {
  words made;
  for (std::uint32_t i = 0; i < blocks * block_size; ++i) made.push_back(10 + i);
  return made;
}

/// What the pool's publisher may speak of: one object.
struct thing {
  std::string key;
  std::uint64_t name = 0;
  std::string layout;
  unsigned part = 0;
  std::optional<unsigned> tokens;  // the block they are of
  std::optional<std::uint64_t> parent;
};

std::vector<thing> things() {
  std::vector<thing> made;
  for (std::uint64_t recipe = 0; recipe < recipes; ++recipe) {
    for (unsigned block = 0; block < chain; ++block) {
      const std::uint64_t name = 100 * recipe + block + 1;
      for (unsigned rank = 0; rank < 2; ++rank) {
        made.push_back({vllm_key(name, rank), name, "vllm", rank, {}, {}});
        char hex[32];
        std::snprintf(hex, sizeof hex, "%llx", static_cast<unsigned long long>(name));
        made.push_back({"vllm@m@2@" + std::to_string(rank) + "@" + hex, name, "lmcache", rank, {}, {}});
        // By tokens, behind what engines of this recipe call the block before.
        const std::uint64_t own = 1'000 + name;
        made.push_back({"key_" + std::to_string(own) + "_" + std::to_string(rank), own, "whole", rank, block,
                        block == 0 ? std::optional<std::uint64_t>() : name - 1});
      }
    }
  }
  return made;
}

struct model {
  std::uint32_t shards = 0;
  std::map<std::string, std::pair<const thing*, media_mask>> objects;
  std::map<std::uint64_t, std::set<unsigned>> meanings;  // of watched names; two: doubtful
  std::vector<std::map<std::uint64_t, unsigned>> engines;
  std::map<std::string, std::set<unsigned>> parts;

  [[nodiscard]] std::set<std::uint64_t> watched() const {
    std::set<std::uint64_t> names;
    for (const auto& [key, each] : objects) {
      names.insert(each.first->name);
      if (each.first->parent) names.insert(*each.first->parent);
    }
    return names;
  }
  /// Brings `meanings` up to what is watched now.
  void watch() {
    const auto names = watched();
    std::erase_if(meanings, [&](const auto& each) { return !names.contains(each.first); });
    for (const std::uint64_t name : names) {
      if (meanings.contains(name)) continue;
      auto& means = meanings[name];
      for (const auto& engine : engines) {
        if (const auto held = engine.find(name); held != engine.end()) means.insert(held->second);
      }
    }
  }
  void stored(std::size_t engine, std::uint64_t name, unsigned block) {
    engines[engine][name] = block;
    if (const auto means = meanings.find(name); means != meanings.end()) means->second.insert(block);
  }
  [[nodiscard]] unsigned block_of(const thing& what) const {
    const auto told = [&](std::uint64_t name) {
      const auto& means = meanings.at(name);
      return means.size() == 1 ? *means.begin() : nobody;
    };
    if (!what.tokens) return told(what.name);
    if (!what.parent) return *what.tokens;
    const unsigned parent = told(*what.parent);
    return parent != nobody && parent + 1 == *what.tokens ? *what.tokens : nobody;  // elsewhere: no block of the prompt
  }
  [[nodiscard]] std::size_t needed(const std::string& layout) const {
    if (layout == "whole") return std::max(1U, shards);
    if (shards != 0) return shards;
    return layout == "lmcache" ? 2 : parts.at(layout).size();
  }
  /// Blocks of the prompt from the first that are there on one of these media, or spread over several.
  [[nodiscard]] unsigned depth(media_mask media, bool with_mixed) const {
    std::map<std::pair<std::uint64_t, std::string>, std::vector<const std::pair<const thing*, media_mask>*>> records;
    for (const auto& [key, each] : objects) records[{each.first->name, each.first->layout}].push_back(&each);
    std::set<unsigned> there;
    for (const auto& [name, all] : records) {
      const std::size_t want = needed(name.second);
      bool is_somewhere = false;
      bool is_meant = false;
      for (const medium_id medium : {medium_id::cpu, medium_id::disk}) {
        std::size_t count = 0;
        for (const auto* each : all) count += (each->second & mask_of(medium)) != 0 ? 1U : 0U;
        if (count < want) continue;
        is_somewhere = true;
        is_meant = is_meant || (media & mask_of(medium)) != 0;
      }
      if (!is_somewhere && with_mixed && all.size() >= want) is_meant = true;
      if (is_meant) there.insert(block_of(*all.front()->first));
    }
    unsigned depth = 0;
    while (there.contains(depth)) ++depth;
    return depth;
  }
};

class random_run {
 public:
  explicit random_run(std::uint64_t seed) : random_(seed), things_(things()) {
    naive_.shards = chance(50) ? 2 : 0;
    for (std::uint64_t i = 0; i < recipes; ++i) {
      engines_.push_back(&scene_.engine("engine-" + std::to_string(i)));
      naive_.engines.emplace_back();
    }
    idle_ = &scene_.engine("idle");
    pool_ = &scene_.pool(naive_.shards);
  }

  void step() {
    const unsigned what = below(100);
    if (what < 30) return engine_stores();
    if (what < 38) return engine_forgets();
    if (what < 93) return object_moves();
    if (what < 97) return medium_clears();
    restart();
  }

  [[nodiscard]] bool is_right() {
    scene_.wait();
    const words all = prompt(chain);
    deepest_ = std::max(deepest_, naive_.depth(cpu | disk, true));
    return scene_.depth(*idle_, all, cpu) == naive_.depth(cpu, false) && scene_.depth(*idle_, all, disk) == naive_.depth(disk, false) &&
           scene_.depth(*idle_, all, static_cast<media_mask>(cpu | disk | mask_of(mixed))) == naive_.depth(cpu | disk, true);
  }
  [[nodiscard]] unsigned deepest() const { return deepest_; }
  [[nodiscard]] bool is_empty() {
    restart();
    const auto view = scene_.all.view().get();
    return pool_->applier->names() == 0 && pool_->applier->pooled().objects == 0 && pool_->applier->pooled().incomplete == 0 &&
           pool_->applier->pooled().doubtful == 0 && pool_->applier->pooled().waiting == 0 &&
           !view->partitions.begin()->second->partition->names()->is_in_use();
  }

 private:
  [[nodiscard]] unsigned below(std::size_t end) { return static_cast<unsigned>(random_() % end); }
  [[nodiscard]] bool chance(unsigned percent) { return below(100) < percent; }

  void engine_stores() {
    const std::size_t which = below(engines_.size());
    const unsigned from = below(chain);
    const unsigned count = 1 + below(chain - from);
    std::vector<std::uint64_t> named;
    const auto name_of_block = [&](unsigned block) { return 100 * which + block + 1; };
    for (unsigned i = 0; i < from + count; ++i) named.push_back(name_of_block(i));
    if (chance(5)) named.back() = 100 * (1 - which) + below(chain) + 1;  // the other's name, most probably for another block
    if (std::set<std::uint64_t>(named.begin(), named.end()).size() != named.size()) return;
    engines_[which]->apply(store_of(named, prompt(from + count)));
    for (unsigned i = 0; i < named.size(); ++i) naive_.stored(which, named[i], i);
  }
  void engine_forgets() {
    const std::size_t which = below(engines_.size());
    if (chance(30)) {
      engines_[which]->apply(cleared_event{});
      naive_.engines[which].clear();
    } else if (!naive_.engines[which].empty()) {
      const auto gone = std::next(naive_.engines[which].begin(), below(naive_.engines[which].size()));
      // Copies are counted: one is taken away for each store.
      while (engines_[which]->applier->names() == naive_.engines[which].size()) engines_[which]->apply(remove_of({gone->first}));
      naive_.engines[which].erase(gone);
    }
  }
  void object_moves() {
    const thing& what = things_[below(things_.size())];
    const media_mask choices[] = {0, cpu, disk, static_cast<media_mask>(cpu | disk), cpu, disk};
    const media_mask on = choices[below(6)];
    if (on == 0) {
      pool_->apply(chance(50) ? listed_of(what.key, {}) : object_of(what.key, change::removed));
      naive_.objects.erase(what.key);
    } else {
      object_event made;
      made.scope.object_key = what.key;
      made.what = naive_.objects.contains(what.key) && chance(50) ? change::updated : change::stored;
      for (const medium_id each : {medium_id::cpu, medium_id::disk}) {
        if ((on & mask_of(each)) != 0) made.replicas.push_back({each, "x"});
      }
      if (what.tokens) {
        const words all = prompt(*what.tokens + 1);
        made.name = engine_hash{what.name};
        if (what.parent) made.parent = engine_hash{*what.parent};
        made.tokens.assign(all.end() - block_size, all.end());
      }
      pool_->apply(made);
      naive_.objects[what.key] = {&what, on};
      naive_.parts[what.layout].insert(what.part);
    }
    scene_.settle();
    naive_.watch();
  }
  void medium_clears() {
    cleared_event cleared;
    cleared.scope.medium = chance(50) ? medium_id::cpu : medium_id::disk;
    pool_->apply(cleared);
    for (auto& [key, each] : naive_.objects) each.second = static_cast<media_mask>(each.second & ~mask_of(*cleared.scope.medium));
    std::erase_if(naive_.objects, [](const auto& each) { return each.second.second == 0; });
    naive_.watch();
  }
  void restart() {
    while (!pool_->applier->drop_some(1 + below(3), pool_->tally)) continue;
    naive_.objects.clear();
    naive_.meanings.clear();
    naive_.parts.clear();
  }

  std::mt19937_64 random_;
  std::vector<thing> things_;
  scene scene_;
  model naive_;
  std::vector<one_stream*> engines_;
  one_stream* idle_ = nullptr;
  one_stream* pool_ = nullptr;
  unsigned deepest_ = 0;
};

BOOST_AUTO_TEST_CASE(what_counts_is_what_a_naive_model_counts) {
  // Engines of two recipes, names used twice, parts, media, parents, clears and restarts in any order.
  const std::uint64_t first = setting("KVC_PROPERTY_SEED", std::random_device{}());
  const std::uint64_t streams = setting("KVC_PROPERTY_STREAMS", 60);
  std::uint64_t reaching = 0;
  for (std::uint64_t seed = first; seed < first + streams; ++seed) {
    random_run run(seed);
    for (int step = 0; step < 150; ++step) {
      run.step();
      BOOST_TEST_REQUIRE(run.is_right(), "seed " << seed << ", step " << step);
    }
    reaching += run.deepest() >= 2 ? 1U : 0U;
    BOOST_TEST_REQUIRE(run.is_empty(), "seed " << seed);
  }
  BOOST_TEST(reaching > streams / 4, "seed " << first << ": hardly anything was ever there to be compared");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace kvc::test::pools
