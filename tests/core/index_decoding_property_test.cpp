// Engines that decode: prompts come at once, answers block by block, and what makes room for them goes from the ends of old chains.
#include <algorithm>
#include <array>
#include <cstdint>
#include <list>
#include <map>
#include <ostream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/block_hasher.hpp"
#include "tests/support/index_comparison.hpp"
#include "tests/support/index_subjects.hpp"

namespace kvc::test {
BOOST_AUTO_TEST_SUITE(index_decoding_property)

namespace {

using namespace kvc::core;

/// One event of one engine; of a removal only the names.
struct decoding_event {
  worker_id who{};
  bool is_store = true;
  store_step what;
};

/// A fleet of engines with small caches, whose events are made some steps before they are applied, so that they can be looked ahead for.
class decoding_fleet {
 public:
  explicit decoding_fleet(std::uint64_t seed) : random_(seed), engines_(2 + below(4)) {
    for (std::uint32_t i = 0; i < engines_.size(); ++i) {
      worker_traits traits;
      traits.instance = "instance-" + std::to_string(i);
      traits.copy_counting = false;
      real_.add(number_of(i), traits);
      model_.add(number_of(i), traits);
    }
  }

  /// A request at one engine, or some blocks of an answer.
  void make() {
    const auto which = static_cast<std::uint32_t>(below(engines_.size()));
    engine& at = engines_[which];
    if (at.chain.empty() || below(4) == 0) {
      at.chain.clear();
      // Few letters, so that prompts begin alike and some go on behind others' answers.
      for (std::uint64_t i = 0, length = 1 + below(40); i < length; ++i) at.chain.push_back(local_hash{1 + (i < 5 ? 0 : below(2))});
      prompts_.push_back(at.chain);
      extend(which, 0);
      return;
    }
    for (std::uint64_t i = 0, blocks = 1 + below(5); i < blocks; ++i) {
      at.chain.push_back(local_hash{1 + below(3)});
      extend(which, at.chain.size() - 1);
    }
    prompts_.push_back(at.chain);
  }

  /// Applies all events made, each looked ahead for in five steps.
  void apply() {
    for (std::size_t i = 0; i < events_.size(); ++i) {
      for (unsigned step = 0; step <= 4; ++step) {
        if (i + 5 - step < events_.size()) expect(step, events_[i + 5 - step]);
      }
      const decoding_event& now = events_[i];
      if (now.is_store) {
        real_.store(now.who, now.what);
        model_.store(now.who, now.what);
      } else {
        real_.worker(now.who).remove(now.what.names, medium_id::gpu);
        for (const engine_hash name : now.what.names) model_.remove(now.who, name, medium_id::gpu);
      }
    }
    events_.clear();
  }

  [[nodiscard]] std::string difference() {
    std::ostringstream out;
    const auto seen = real_.view(0);
    compare_members(seen.get(), model_.model(), 0, out);
    for (int i = 0; i < 4 && !prompts_.empty(); ++i) {
      compare_query(seen.get(), model_.model(), 0, prompts_[below(prompts_.size())], all_media, out);
    }
    for (std::uint32_t i = 0; i < engines_.size(); ++i) {
      const std::uint64_t held = real_.held_on(number_of(i), medium_id::gpu);
      if (held != engines_[i].cached.size()) out << "\n  engine " << i << " holds " << engines_[i].cached.size() << ", index " << held;
    }
    return out.str();
  }

 private:
  static constexpr std::size_t room = 120;  ///< blocks of an engine's cache
  struct engine {
    std::vector<local_hash> chain;  ///< of the request in hand
    std::list<engine_hash> cached;  ///< least recently used first, a chain's end before its beginning
    std::map<engine_hash, std::list<engine_hash>::iterator> where;
  };

  static worker_id number_of(std::uint32_t engine) { return worker_id{engine + 1}; }
  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }

  /// The names of a chain at every engine. From the 13th block on the letters 2 and 3 are one to the names, so that some name means two
  /// blocks, and moves.
  std::vector<engine_hash> names_of(const std::vector<local_hash>& chain) {
    std::vector<local_hash> told = chain;
    for (std::size_t i = 12; i < told.size(); ++i) told[i] = local_hash{std::min<std::uint64_t>(told[i].get(), 2)};
    std::vector<seq_hash> rolled;
    roll_from_root(told, 99, rolled);
    std::vector<engine_hash> names;
    for (const seq_hash each : rolled) names.emplace_back(each.get());
    return names;
  }

  /// The request in hand has its blocks up to the end of its chain; those from `from` on are new to it, and may be cached.
  void extend(std::uint32_t which, std::size_t from) {
    engine& at = engines_[which];
    const std::vector<engine_hash> names = names_of(at.chain);
    std::size_t hit = from;
    while (hit < names.size() && at.where.contains(names[hit])) ++hit;
    // What is used now goes to the end, and cannot be evicted.
    std::size_t used = 0;
    for (std::size_t i = hit; i-- > 0;) {
      const auto found = at.where.find(names[i]);
      if (found == at.where.end()) continue;
      at.cached.splice(at.cached.end(), at.cached, found->second);
      ++used;
    }
    if (hit == names.size()) return;
    const std::vector<engine_hash> news(names.begin() + static_cast<std::ptrdiff_t>(hit), names.end());
    decoding_event gone{number_of(which), false, {}};
    while (at.cached.size() + news.size() > room && at.cached.size() > used) {
      gone.what.names.push_back(at.cached.front());
      at.where.erase(at.cached.front());
      at.cached.pop_front();
    }
    if (!gone.what.names.empty()) events_.push_back(gone);
    decoding_event come{number_of(which), true, {}};
    come.what.how = hit == 0 ? link::root : link::parent;
    if (hit != 0) come.what.parent = names[hit - 1];
    come.what.names = news;
    come.what.locals.assign(at.chain.begin() + static_cast<std::ptrdiff_t>(hit), at.chain.end());
    events_.push_back(come);
    for (auto name = news.rbegin(); name != news.rend(); ++name) {
      if (const auto known = at.where.find(*name); known != at.where.end()) at.cached.erase(known->second);
      at.where[*name] = at.cached.insert(at.cached.end(), *name);
    }
  }

  void expect(unsigned step, const decoding_event& soon) {
    const bool has_parent = soon.is_store && soon.what.how == link::parent;
    real_.worker(soon.who).blocks().expect(step, has_parent ? &soon.what.parent : nullptr, soon.what.names);
  }

  std::mt19937_64 random_;
  std::vector<engine> engines_;
  std::vector<std::vector<local_hash>> prompts_;
  std::vector<decoding_event> events_;
  real_subject real_;
  model_subject model_;
};

}  // namespace

BOOST_AUTO_TEST_CASE(engines_that_decode_in_turn_answer_like_the_strict_model) {
  // Removals and stores of single blocks come in turn, each kind going on where it ended, while other engines have their turns in between.
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    decoding_fleet fleet(seed);
    for (int step = 1; step <= 160; ++step) {
      fleet.make();
      if (step % 5 != 0) continue;
      fleet.apply();
      const std::string difference = fleet.difference();
      BOOST_REQUIRE_MESSAGE(difference.empty(), "seed " << seed << ", step " << step << difference);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test
