// Several pools and engines of one family of partitions against a naive model: names that are explained late, contradicted, moved and told
// by tokens as well; and a pool's dump, loaded elsewhere, answers as the pool does.
//
// KVC_PROPERTY_STREAMS sets the number of streams, KVC_PROPERTY_SEED the first seed.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/snapshot.hpp"
#include "core/snapshot_loader.hpp"
#include "tests/support/pool_model.hpp"
#include "tests/support/pool_scene.hpp"
#include "tests/support/setting.hpp"

namespace kvc::test::pools {
BOOST_AUTO_TEST_SUITE(pool_fleet_property)

namespace {

constexpr unsigned longest = 3;  // blocks of a prompt
constexpr std::size_t recipes = 2;
const std::vector<std::string> adapters{"", "sql"};

words tokens_of(const std::string& letters) {
  words made;
  for (const char letter : letters) {
    for (std::uint32_t i = 0; i < block_size; ++i) made.push_back(static_cast<std::uint32_t>(10 * letter) + i);
  }
  return made;
}

std::uint64_t name_of_block(std::size_t recipe, const pool_block& of) {
  std::uint64_t path = 1;
  for (const char letter : of.second) path = path * 2 + (letter == 'b' ? 1U : 0U);
  return 1'000 * (recipe + 1) + (of.first.empty() ? 0 : 100) + path;
}

class random_run {
 public:
  explicit random_run(std::uint64_t seed) : random_(seed), is_late_(seed % 2 == 0) {
    for (std::size_t i = 0; i < 3; ++i) {
      registration with = applier::registered(publisher_type::vllm);
      with.worker.instance = "engine-" + std::to_string(i);
      with.copy_counting = false;
      engines_.push_back(&scene_.add(with));
      known_.emplace_back();
    }
    for (std::size_t i = 0; i < 2; ++i) {
      const std::uint32_t shards = chance(40) ? 2 : 0;
      registration with = scene::pool_registration(shards);
      with.worker.instance = "store-" + std::to_string(i);
      with.shared = i == 0 || chance(50);
      pools_.push_back(&scene_.add(with));
      is_shared_.push_back(with.shared);
      models_.emplace_back();
      models_.back().shards = shards;
      models_.back().names_adapters = chance(30);
      models_.back().board = &board_;
    }
    // Engine 0 is asked what it can use, and has to be a member everywhere.
    for (const std::string& lora : adapters) {
      engines_[0]->apply(stored({7'000 + lora.size()}, {lora, "c"}));
      known_[0][7'000 + lora.size()] = {lora, "c"};
    }
  }

  void step() {
    const unsigned what = below(100);
    if (what < 30) {
      engine_stores();
    } else if (what < 38) {
      engine_forgets();
    } else {
      settle();
      what < 90 ? object_moves() : what < 93 ? block_goes() : what < 97 ? medium_clears() : restart(below(pools_.size()));
      settle();
    }
    if (!is_late_ || chance(30)) settle();
  }

  [[nodiscard]] std::string difference() {
    scene_.wait();
    settle();
    std::string wrong;
    std::set<pool_block> lent[3];
    const std::array<media_mask, 3> asked{cpu, disk, static_cast<media_mask>(cpu | disk | mask_of(mixed))};
    for (std::size_t i = 0; i < asked.size(); ++i) {
      for (std::size_t which = 0; which < pools_.size(); ++which) {
        if (is_shared_[which]) lent[i].merge(models_[which].blocks_on(asked[i], i == 2));
      }
      for (std::size_t which = 0; which < pools_.size(); ++which) {
        auto there = models_[which].blocks_on(asked[i], i == 2);
        there.insert(lent[i].begin(), lent[i].end());
        for (const pool_block& prompt : prompts()) check(*pools_[which], prompt, asked[i], depth_of(there, prompt), wrong);
      }
    }
    for (std::size_t i = 0; i < asked.size(); ++i) {
      for (const pool_block& prompt : prompts()) check(*engines_[0], prompt, asked[i], depth_of(lent[i], prompt), wrong);
    }
    return wrong;
  }

  /// A pool's dump, loaded into an index of its own, answers as the pool does where it lends nothing and nobody lends to it.
  [[nodiscard]] std::string difference_of_dump() {
    const std::size_t which = below(pools_.size());
    const one_stream& of = *pools_[which];
    const auto owner = of.applier->next_owner({}, {});
    dump_cursor at;
    std::vector<dump_slice> slices;
    while (!of.applier->blocks_of(*owner).dump_some(at, 1 + below(6), slices.emplace_back())) continue;
    catalog other;
    member loaded = of.who;
    loaded.media_seen = std::make_shared<std::atomic<media_mask>>(media_mask{0});
    lane_blocks blocks({.worker = loaded.id, .copy_counting = false});
    apply_tally tally;
    snapshot_loader loader(blocks);
    for (const auto& home : at.homes()) loader.add_home(other.join(home->key(), home->seed(), loaded).value());
    for (const dump_slice& each : slices) {
      if (loader.load(each, tally)) return "a dump cannot be loaded";
    }
    loader.finish(tally);
    for (const media_mask media : {cpu, disk, all_media}) {
      const auto there = models_[which].blocks_on(media, media == all_media);
      for (const pool_block& prompt : prompts()) {
        if (depth_in(other, of.who.id, prompt, media) != depth_of(there, prompt)) return "a dump answers otherwise";
      }
    }
    return {};
  }

  [[nodiscard]] bool is_empty() {
    for (std::size_t i = 0; i < pools_.size(); ++i) restart(i);
    settle();
    for (const one_stream* each : pools_) {
      const auto now = each->applier->pooled();
      if (each->applier->names() != 0 || now.objects + now.incomplete + now.doubtful + now.waiting != 0) return false;
    }
    return board_.names.empty() && !scene_.all.view().get()->partitions.begin()->second->partition->names()->is_in_use();
  }
  [[nodiscard]] std::uint64_t deep() const { return deep_; }

 private:
  [[nodiscard]] unsigned below(std::size_t end) { return static_cast<unsigned>(random_() % end); }
  [[nodiscard]] bool chance(unsigned percent) { return below(100) < percent; }

  [[nodiscard]] static std::vector<pool_block> prompts() {
    std::vector<pool_block> all;
    for (const std::string& lora : adapters) {
      for (unsigned number = 0; number < 1U << longest; ++number) {
        std::string letters;
        for (unsigned i = 0; i < longest; ++i) letters += (number >> i & 1U) != 0 ? 'b' : 'a';
        all.emplace_back(lora, letters);
      }
    }
    return all;
  }
  [[nodiscard]] static std::uint32_t depth_in(const catalog& all, worker_id who, const pool_block& prompt, media_mask media) {
    const auto view = all.view().get();
    const auto* home = view->find(applier::with_lora(prompt.first));
    if (home == nullptr) return 0;
    std::vector<local_hash> query;
    hash_blocks(tokens_of(prompt.second), block_size, applier::seed, query);
    match_scope scope = home->scope;
    scope.media = media;
    match_result answer;
    home->partition->index().match(query, scope, answer);
    return answer.of(who).any;
  }
  void check(const one_stream& of, const pool_block& prompt, media_mask media, unsigned wanted, std::string& wrong) {
    const std::uint32_t got = depth_in(scene_.all, of.who.id, prompt, media);
    if (got >= 2) ++deep_;
    if (got == wanted) return;
    wrong += "\n  worker " + std::to_string(of.who.id.get()) + " '" + prompt.first + "' " + prompt.second + " on " + std::to_string(media) +
             ": " + std::to_string(got) + ", model " + std::to_string(wanted);
  }

  [[nodiscard]] pool_block any_block() {
    pool_block made{adapters[below(adapters.size())], ""};
    for (unsigned left = 1 + below(longest); left > 0; --left) made.second += chance(50) ? 'a' : 'b';
    return made;
  }
  [[nodiscard]] std::uint64_t any_name() { return chance(70) ? name_of_block(below(recipes), any_block()) : 5'000 + below(8); }

  static event stored(const std::vector<std::uint64_t>& named, const pool_block& upto) {
    stored_event made = std::get<stored_event>(store_of(named, tokens_of(upto.second)));
    if (!upto.first.empty()) made.scope.lora = upto.first;
    return made;
  }

  void engine_stores() {
    const std::size_t which = below(engines_.size());
    const pool_block upto = any_block();
    std::vector<std::uint64_t> named;
    for (std::size_t i = 1; i <= upto.second.size(); ++i) {
      named.push_back(name_of_block(which % recipes, {upto.first, upto.second.substr(0, i)}));
    }
    if (chance(6)) named[below(named.size())] = any_name();
    if (std::set<std::uint64_t>(named.begin(), named.end()).size() != named.size()) return;
    engines_[which]->apply(stored(named, upto));
    for (std::size_t i = 0; i < named.size(); ++i) {
      const pool_block means{upto.first, upto.second.substr(0, i + 1)};
      known_[which][named[i]] = means;
      board_.tell(named[i], means);
    }
  }
  void engine_forgets() {
    const std::size_t which = 1 + below(engines_.size() - 1);
    if (chance(30)) {
      engines_[which]->apply(cleared_event{});
      known_[which].clear();
    } else if (!known_[which].empty()) {
      const auto gone = std::next(known_[which].begin(), below(known_[which].size()));
      removed_event removed = std::get<removed_event>(remove_of({gone->first}));
      if (!gone->second.first.empty()) removed.scope.lora = gone->second.first;
      engines_[which]->apply(removed);
      known_[which].erase(gone);
    }
  }
  void object_moves() {
    const std::size_t which = below(pools_.size());
    pool_model& naive = models_[which];
    const media_mask choices[] = {0, cpu, disk, static_cast<media_mask>(cpu | disk), cpu, disk};
    const media_mask on = choices[below(6)];
    object_event made;
    const bool is_by_name = chance(40);
    const unsigned part = below(2);
    const std::uint64_t key_number = below(8);
    const std::uint64_t name = is_by_name ? name_of_block(below(recipes), any_block()) : any_name();
    made.scope.object_key = is_by_name ? vllm_key(name, part) : "key_of_" + std::to_string(key_number) + "_" + std::to_string(part);
    std::string lora;
    if (naive.names_adapters) {
      made.scope.lora = lora = adapters[below(adapters.size())];
    } else if (!is_by_name && chance(30)) {
      made.scope.lora = lora = adapters.back();
    }
    const auto known = naive.objects.find(made.scope.object_key);
    if (on == 0) {
      made.what = change::removed;
      pools_[which]->apply(made);
      if (known != naive.objects.end()) naive.objects.erase(known);
      return;
    }
    made.what = known != naive.objects.end() && chance(30) ? change::updated : change::stored;
    for (const medium_id each : told_media) {
      if ((on & mask_of(each)) != 0) made.replicas.push_back({each, "x"});
    }
    std::string letters;
    std::optional<std::uint64_t> parent;
    if (!is_by_name) {
      made.name = engine_hash{name};
      for (unsigned left = below(3); left > 0; --left) letters += chance(50) ? 'a' : 'b';
      if (!letters.empty() && chance(70)) parent = any_name();
      if (parent == name) parent.reset();
      if (parent) made.parent = engine_hash{*parent};
      made.tokens = tokens_of(letters);
    }
    pools_[which]->apply(made);
    if (made.what == change::updated) {
      known->second.on = on;
      return;
    }
    const pool_name of{lora, name};
    if (known != naive.objects.end() && known->second.of != of) {  // it is another block's from now on
      naive.objects.erase(known);
      naive.prune();
    }
    naive.objects[made.scope.object_key] = {of, is_by_name, on};
    pool_model::node& named = naive.nodes[of];
    if (!is_by_name) named.may_be_sequence = true;
    if (is_by_name) naive.parts[lora].insert(part);
    if (!letters.empty()) naive.take_tokens(of, letters, parent);
    (void)naive.watch(of);
  }
  void block_goes() {
    const std::size_t which = below(pools_.size());
    const std::uint64_t name = any_name();
    const medium_id medium = told_media[below(2)];
    removed_event removed = std::get<removed_event>(remove_of({name}));
    removed.scope.medium = medium;
    const std::string lora = models_[which].names_adapters ? adapters[below(adapters.size())] : "";
    if (models_[which].names_adapters) removed.scope.lora = lora;
    pools_[which]->apply(removed);
    auto& objects = models_[which].objects;
    for (auto& [text, each] : objects) {
      if (each.of == pool_name{lora, name}) each.on = static_cast<media_mask>(each.on & ~mask_of(medium));
    }
    std::erase_if(objects, [](const auto& each) { return each.second.on == 0; });
  }
  void medium_clears() {
    const std::size_t which = below(pools_.size());
    cleared_event cleared;
    cleared.scope.medium = told_media[below(2)];
    pools_[which]->apply(cleared);
    auto& objects = models_[which].objects;
    for (auto& [text, each] : objects) each.on = static_cast<media_mask>(each.on & ~mask_of(*cleared.scope.medium));
    std::erase_if(objects, [](const auto& each) { return each.second.on == 0; });
  }
  void restart(std::size_t which) {
    while (!pools_[which]->applier->drop_some(1 + below(3), pools_[which]->tally)) continue;
    models_[which].forget();
  }
  void settle() {
    for (unsigned i = 0; i <= 2 * longest; ++i) scene_.settle();
    for (pool_model& each : models_) each.prune();
    do {
      // Whoever is asked tells everybody who wants to know.
      for (const auto& [name, whose] : std::exchange(board_.asked, {})) {
        for (const auto& engine : known_) {
          if (const auto held = engine.find(name); held != engine.end()) board_.tell(name, held->second);
        }
      }
      for (pool_model& each : models_) each.follow();
    } while (!board_.asked.empty());
  }

  std::mt19937_64 random_;
  bool is_late_ = false;  // engines say much before anybody hears of it
  scene scene_;
  told_board board_;
  std::vector<one_stream*> engines_;
  std::vector<std::map<std::uint64_t, pool_block>> known_;  // by engine: what its names mean
  std::vector<one_stream*> pools_;
  std::vector<bool> is_shared_;
  std::vector<pool_model> models_;
  std::uint64_t deep_ = 0;
};

BOOST_AUTO_TEST_CASE(what_counts_is_what_a_naive_model_of_several_pools_counts) {
  const std::uint64_t first = setting("KVC_PROPERTY_SEED", std::random_device{}());
  const std::uint64_t streams = setting("KVC_PROPERTY_STREAMS", 40);
  std::uint64_t deep = 0;
  for (std::uint64_t seed = first; seed < first + streams; ++seed) {
    random_run run(seed);
    for (int step = 0; step < 150; ++step) {
      run.step();
      if (step % 3 != 0) continue;
      std::string wrong = run.difference();
      if (step % 10 == 0) wrong += run.difference_of_dump();
      BOOST_TEST_REQUIRE(wrong.empty(), "seed " << seed << ", step " << step << ": " << wrong);
    }
    deep += run.deep();
    BOOST_TEST_REQUIRE(run.is_empty(), "seed " << seed);
  }
  BOOST_TEST(deep > streams * 10, "seed " << first << ": hardly anything was ever there to be compared");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace kvc::test::pools
