// Trees of pages against strict models: in the order of a radix cache, and in any order. The registered size is 4.
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/eviction.hpp"
#include "core/reblocker.hpp"
#include "tests/support/page_stream.hpp"
#include "tests/support/setting.hpp"

BOOST_AUTO_TEST_SUITE(reblocker_properties)

namespace {

using namespace kvc::core;
using namespace kvc::test::applier;

/// A page as the strict model of the test knows it: where its tokens stand in its prompt.
struct model_page {
  std::optional<std::uint64_t> parent;
  words tokens;
  bool is_held = false;
  std::uint32_t copies = 0;  ///< where they are counted, else 1
};

/// What connectors say of pages that are known: no parent, or one that nobody has told of.
std::optional<std::uint64_t> careless_parent(std::mt19937_64& random) {
  return random() % 2 == 0 ? std::nullopt : std::optional(1'000'000'007 + random() % 3);
}

/// Deepest prefix in blocks whose tokens are all in pages that are held, along the chain of pages that ends in `leaf`.
std::uint32_t model_depth(const std::map<std::uint64_t, model_page>& pages, std::uint64_t leaf) {
  std::vector<const model_page*> chain;
  for (std::optional<std::uint64_t> at = leaf; at; at = pages.at(*at).parent) chain.push_back(&pages.at(*at));
  std::size_t tokens = 0;
  for (auto each = chain.rbegin(); each != chain.rend() && (*each)->is_held; ++each) tokens += (*each)->tokens.size();
  return static_cast<std::uint32_t>(tokens / large);
}

BOOST_AUTO_TEST_CASE(random_trees_of_pages_agree_with_a_strict_model) {
  // Leaves come and go in the order of a radix cache: children after their parent, and gone before it. Pages of 1, 2, 3 and 9 tokens.
  constexpr std::uint64_t first_seed = 20261122;
  for (std::uint64_t round = 0; round < 20; ++round) {
    BOOST_TEST_CONTEXT("seed " << first_seed + round) {
      std::mt19937_64 random(first_seed + round);
      const std::uint32_t size = std::vector<std::uint32_t>{1, 2, 3, 9}[round % 4];
      page_stream at(round % 2 == 0);
      std::map<std::uint64_t, model_page> pages;
      const auto prompt_of = [&](std::uint64_t leaf) {
        std::vector<words> parts;
        for (std::optional<std::uint64_t> each = leaf; each; each = pages.at(*each).parent) parts.push_back(pages.at(*each).tokens);
        words prompt;
        for (auto part = parts.rbegin(); part != parts.rend(); ++part) prompt.insert(prompt.end(), part->begin(), part->end());
        return prompt;
      };
      for (std::uint64_t name = 1; name <= 120; ++name) {
        model_page made;
        if (name > 1 && random() % 8 != 0) made.parent = 1 + random() % (name - 1);
        for (std::uint32_t i = 0; i < size; ++i) made.tokens.push_back(static_cast<std::uint32_t>(name * 100 + i));
        pages[name] = made;
      }
      for (int step = 0; step < 400; ++step) {
        const std::uint64_t name = 1 + random() % pages.size();
        model_page& which = pages.at(name);
        const bool has_children =
            std::ranges::any_of(pages, [&](const auto& each) { return each.second.is_held && each.second.parent == name; });
        if (!which.is_held && (!which.parent || pages.at(*which.parent).is_held)) {
          which.is_held = true;
          which.copies = 1;
          at.page(name, which.parent, which.tokens);
        } else if (which.is_held && random() % 4 == 0) {
          at.page(name, careless_parent(random), which.tokens);
          if (round % 2 == 0) ++which.copies;
        } else if (which.is_held && !has_children) {
          which.is_held = false;
          for (; which.copies != 0; --which.copies) at.remove({name});
        } else {
          continue;
        }
        const std::uint64_t leaf = 1 + random() % pages.size();
        BOOST_TEST_REQUIRE(at.reach(prompt_of(leaf)) == model_depth(pages, leaf));
        BOOST_TEST_REQUIRE(at.reach(prompt_of(name)) == model_depth(pages, name));
      }
      BOOST_TEST(at.tally.unknown_removals == 0U);
      for (auto& [name, each] : pages) {
        for (; each.copies != 0; --each.copies) at.remove({name});
      }
      BOOST_TEST(at.applier->names() == 0U);
      BOOST_TEST(at.applier->orphans() == 0U);
    }
  }
}

/// A page of a publisher that removes and stores pages in any order.
struct any_page {
  std::optional<std::uint64_t> parent;
  words tokens;
  std::uint32_t borrowed = 0;  ///< tokens of its first block that lie in pages before
  bool is_held = false;
  bool is_placed = false;  ///< where it begins has been known since it was stored
};

/// The strict model of such a publisher: what reblocker's docstring says, block by block.
struct any_pages {
  std::map<std::uint64_t, any_page> all;

  [[nodiscard]] std::vector<std::uint64_t> lenders_of(std::uint64_t name) const {
    std::vector<std::uint64_t> found;
    std::size_t missing = all.at(name).borrowed;
    for (std::uint64_t at = name; missing != 0;) {
      at = *all.at(at).parent;
      found.push_back(at);
      missing -= std::min(missing, all.at(at).tokens.size());
    }
    return found;
  }
  void store(std::uint64_t name) {
    any_page& page = all.at(name);
    if (page.is_held) return;
    page.is_held = true;
    page.is_placed = !page.parent || (all.at(*page.parent).is_held && all.at(*page.parent).is_placed);
    if (page.is_placed) place_behind(name);
  }
  void place_behind(std::uint64_t name) {
    for (auto& [other, page] : all) {
      if (page.parent != name || !page.is_held || page.is_placed) continue;
      page.is_placed = true;
      place_behind(other);
    }
  }
  void remove(std::uint64_t name) { all.at(name).is_held = all.at(name).is_placed = false; }
  [[nodiscard]] bool has_first(std::uint64_t name) const {
    return std::ranges::all_of(lenders_of(name), [&](std::uint64_t each) { return all.at(each).is_placed; });
  }
  [[nodiscard]] words prompt_of(std::uint64_t leaf) const {
    words prompt = all.at(leaf).tokens;
    for (auto at = all.at(leaf).parent; at; at = all.at(*at).parent) {
      prompt.insert(prompt.begin(), all.at(*at).tokens.begin(), all.at(*at).tokens.end());
    }
    return prompt;
  }
  [[nodiscard]] std::uint32_t depth(std::uint64_t leaf) const {
    std::vector<std::uint64_t> chain{leaf};
    while (all.at(chain.back()).parent) chain.push_back(*all.at(chain.back()).parent);
    std::uint32_t blocks = 0;
    for (auto each = chain.rbegin(); each != chain.rend(); ++each) {
      const any_page& page = all.at(*each);
      const auto ends_here = static_cast<std::uint32_t>((page.borrowed + page.tokens.size()) / large);
      if (ends_here == 0) continue;
      if (!page.is_placed || !has_first(*each)) return blocks;
      blocks += ends_here;
    }
    return blocks;
  }
};

BOOST_AUTO_TEST_CASE(pages_that_come_and_go_in_any_order_agree_with_a_strict_model) {
  const std::uint64_t first_seed = kvc::test::setting("KVC_PROPERTY_SEED", 20261124);
  const std::uint64_t rounds = kvc::test::setting("KVC_PROPERTY_STREAMS", 40);
  for (std::uint64_t round = 0; round < rounds; ++round) {
    BOOST_TEST_CONTEXT("seed " << first_seed + round) {
      std::mt19937_64 random(first_seed + round);
      page_stream at;
      any_pages pages;
      const bool has_blocks = round % 4 == 2;  // of the registered size, among the pages
      for (std::uint64_t name = 1; name <= 60; ++name) {
        any_page made;
        if (name > 1 && random() % 8 != 0) made.parent = 1 + random() % (name - 1);
        const std::size_t size = round % 4 == 3 ? 9 : has_blocks && random() % 2 == 0 ? large : 1 + random() % 3;
        for (std::size_t i = 0; i < size; ++i) made.tokens.push_back(static_cast<std::uint32_t>(name * 100 + i));
        if (made.parent) {
          const any_page& before = pages.all.at(*made.parent);
          made.borrowed = static_cast<std::uint32_t>((before.borrowed + before.tokens.size()) % large);
        }
        pages.all[name] = made;
      }
      for (int step = 0; step < 600; ++step) {
        const std::uint64_t name = 1 + random() % pages.all.size();
        any_page& which = pages.all.at(name);
        const bool is_block = which.tokens.size() == large;  // believed whatever it says of its parent, and taken for a page by that only
        if (which.is_held && random() % 4 == 0) {
          if (is_block) continue;
          // Behind a block that waits, since a page before it lacks a part, it would be another page behind another parent.
          const auto parent = has_blocks ? std::nullopt : careless_parent(random);
          if (which.is_placed || !parent) at.page(name, parent, which.tokens);  // else nothing says which of the two parents it waits for
        } else if (which.is_held && random() % 4 != 0) {
          pages.remove(name);
          at.remove({name});
        } else if (is_block && which.borrowed != 0 ? pages.all.at(*which.parent).is_placed
                                                   : !which.parent || pages.all.at(*which.parent).is_held || random() % 4 == 0) {
          pages.store(name);
          at.page(name, which.parent, which.tokens);
        }
        for (const std::uint64_t leaf : {name, 1 + random() % pages.all.size()}) {
          BOOST_TEST_REQUIRE(at.reach(pages.prompt_of(leaf)) == pages.depth(leaf), "step " << step << ", page " << leaf);
        }
      }
      BOOST_TEST(at.tally.unknown_removals == 0U);
      for (auto& [name, each] : pages.all) {
        if (each.is_held) at.remove({name});
      }
      BOOST_TEST(at.applier->names() == 0U);
      BOOST_TEST(at.applier->orphans() == 0U);
    }
  }
}

/// Pages whose prompts are the same in places, cut in different ways: what is held of a prompt is asked for by its tokens.
struct cut_page {
  std::optional<std::uint64_t> parent;
  words prompt;           ///< with all pages before it
  std::size_t begin = 0;  ///< of its own tokens
};

/// Stands for the first tokens of a prompt. Sets of the tokens themselves took most of the time of what they are for.
class prefix {
 public:
  void add(std::uint32_t token) { digest_ = (digest_ ^ token) * 0x9E37'79B9'7F4A'7C15U + (digest_ >> 31U); }
  [[nodiscard]] std::uint64_t digest() const { return digest_; }

 private:
  std::uint64_t digest_ = 1;
};
using prefixes = std::set<std::uint64_t>;

struct cut_pages {
  std::map<std::uint64_t, cut_page> all;
  std::map<medium_id, std::set<std::uint64_t>> held;

  [[nodiscard]] bool is_held(std::uint64_t name) const {
    return std::ranges::any_of(held, [name](const auto& each) { return each.second.contains(name); });
  }
  /// Prefixes whose last block has all of its tokens in pages on this medium.
  [[nodiscard]] prefixes blocks_on(medium_id medium) const {
    prefixes found;
    const auto on_medium = held.find(medium);
    if (on_medium == held.end()) return found;
    for (const std::uint64_t name : on_medium->second) {
      const cut_page& page = all.at(name);
      prefix so_far;
      std::size_t added = 0;
      for (std::size_t end = (page.begin / large + 1) * large; end <= page.prompt.size(); end += large) {
        while (added < end) so_far.add(page.prompt[added++]);
        bool is_whole = true;
        for (std::uint64_t at = name; is_whole && all.at(at).begin + large > end;) {
          at = *all.at(at).parent;
          is_whole = on_medium->second.contains(at);
        }
        if (is_whole) found.insert(so_far.digest());
      }
    }
    return found;
  }
};

std::uint32_t depth_in(const std::vector<const prefixes*>& media, const words& prompt) {
  std::uint32_t blocks = 0;
  prefix so_far;
  for (std::size_t end = large; end <= prompt.size(); end += large, ++blocks) {
    for (std::size_t at = end - large; at < end; ++at) so_far.add(prompt[at]);
    if (std::ranges::none_of(media, [&](const prefixes* each) { return each->contains(so_far.digest()); })) break;
  }
  return blocks;
}

/// One part of a pass that takes about half of what there is; answers how many blocks went.
std::uint64_t evict_half(page_stream& at, std::mt19937_64& random) {
  std::uint64_t bytes = 0;
  const auto view = at.all.view().get();
  for (const auto& [key, home] : view->partitions) bytes += home->partition->index().bytes_in_use();
  index_budget budget(at.all, bytes / 2 + 1, 1);
  for (int i = 0; i < 8; ++i) budget.begin_round();
  const std::uint64_t before = at.tally.removed + at.tally.dropped_orphans;
  for (int passes = 0; passes < 40; ++passes) {
    (void)budget.look();
    const auto pass = budget.pass_for(0);
    if (!pass) break;
    std::size_t left = 0;
    do {
      left = 1 + random() % 4;
    } while (!at.applier->evict_some(
        *pass, left, [] {}, at.tally));
    (void)budget.finish(0, *pass);
  }
  return at.tally.removed + at.tally.dropped_orphans - before;
}

void play_cut_prompts(bool has_budget) {
  const std::uint64_t first_seed = kvc::test::setting("KVC_PROPERTY_SEED", 20261125);
  const std::uint64_t rounds = kvc::test::setting("KVC_PROPERTY_STREAMS", 40);
  std::uint64_t evicted = 0;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    BOOST_TEST_CONTEXT("seed " << first_seed + round) {
      bool is_exact = true;  // nothing has been evicted since nothing was held
      std::mt19937_64 random(first_seed + round);
      page_stream at;
      cut_pages pages;
      const auto tell = [&](std::uint64_t name, medium_id medium, bool is_careless = false) {
        const cut_page& page = pages.all.at(name);
        const auto parent = is_careless ? careless_parent(random) : page.parent;
        at.page(name, parent, {page.prompt.begin() + static_cast<std::ptrdiff_t>(page.begin), page.prompt.end()}, medium);
        pages.held[medium].insert(name);
      };
      for (int step = 0; step < 500; ++step) {
        std::vector<std::uint64_t> known;
        for (const auto& [name, page] : pages.all) {
          if (pages.is_held(name)) known.push_back(name);
        }
        const medium_id medium = random() % 3 == 0 ? medium_id::cpu : medium_id::gpu;
        const std::uint64_t any = known.empty() ? 0 : known[random() % known.size()];
        const std::uint64_t what = random() % 11;
        if (random() % 100 == 0) {
          at.clear(on(medium));
          pages.held[medium].clear();
        } else if (random() % 150 == 0) {
          while (!at.applier->drop_some(1 + random() % 3, at.tally)) continue;
          pages.held.clear();
        } else if (has_budget && random() % 60 == 0) {
          const std::uint64_t gone = evict_half(at, random);
          evicted += gone;
          is_exact = is_exact && gone == 0;
        }
        is_exact = is_exact || std::ranges::all_of(pages.held, [](const auto& each) { return each.second.empty(); });
        if (any != 0 && !pages.is_held(any)) continue;
        if (what < 5 || any == 0) {
          cut_page made;
          if (any != 0 && random() % 6 != 0 && pages.all.at(any).prompt.size() < 40) {
            made.parent = any;
            made.prompt = pages.all.at(any).prompt;
          }
          made.begin = made.prompt.size();
          std::uint64_t name = 17 + made.parent.value_or(1) * 0x9E37'79B9'7F4A'7C15U;
          for (std::size_t i = 0, size = 3 + random() % 3 * 2; i < size; ++i) {
            made.prompt.push_back(static_cast<std::uint32_t>(100 * made.prompt.size() + random() % 8 / 7));
            name = (name ^ made.prompt.back()) * 0x9E37'79B9'7F4A'7C15U + 1;
          }
          pages.all.emplace(name, made);
          tell(name, medium);
        } else if (what < 8) {
          if (pages.held[medium].erase(any) == 0) continue;
          at.remove({any}, on(medium));
        } else if (what == 8) {
          at.store({any}, {}, on(medium_id::cpu));
          pages.held[medium_id::cpu].insert(any);
        } else if (what == 9) {
          if (pages.held[medium].contains(any)) tell(any, medium);
        } else {
          tell(any, medium, true);
        }
        const auto on_gpu = pages.blocks_on(medium_id::gpu);
        const auto on_cpu = pages.blocks_on(medium_id::cpu);
        // What has just been touched and some others; from time to time all.
        const std::size_t asked = step % 50 == 49 ? 1 : known.size() / 6 + 1;
        for (std::size_t i = random() % asked; i < known.size(); i += asked) {
          const std::uint64_t name = i < asked ? any : known[i];
          const words& prompt = pages.all.at(name).prompt;
          const auto check = [&](std::uint32_t depth, std::uint32_t wanted, const char* where) {
            const bool is_right = depth == wanted || (depth < wanted && !is_exact);
            BOOST_TEST_REQUIRE(is_right, where << ", step " << step << ": " << depth << ", model " << wanted);
          };
          check(at.reach(prompt, mask_of(medium_id::gpu)), depth_in({&on_gpu}, prompt), "GPU");
          check(at.reach(prompt, mask_of(medium_id::cpu)), depth_in({&on_cpu}, prompt), "CPU");
          check(at.reach(prompt), depth_in({&on_gpu, &on_cpu}, prompt), "both");
        }
      }
      for (const auto& [medium, names] : pages.held) {
        for (const std::uint64_t name : names) at.remove({name}, on(medium));
      }
      BOOST_TEST(at.applier->names() == 0U);
      BOOST_TEST(at.applier->orphans() == 0U);
      BOOST_TEST(at.tally.unknown_removals == 0U);
    }
  }
  BOOST_TEST((evicted != 0) == has_budget);
}

BOOST_AUTO_TEST_CASE(prompts_that_are_cut_in_different_ways_agree_with_a_strict_model) {
  // Two pages may end in one block; either may go, from either medium, and copies without tokens come; so may all of them at once.
  play_cut_prompts(false);
}

BOOST_AUTO_TEST_CASE(pages_that_lose_blocks_to_the_byte_budget_never_say_more) {
  play_cut_prompts(true);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
