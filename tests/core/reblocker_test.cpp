// Blocks of another size than registered: chunks taken apart, pages joined. The registered size is 2 in small tests, 4 in those of pages.
#include "core/reblocker.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "tests/support/applier_stream.hpp"

namespace {

using namespace kvc::core;
using namespace kvc::test::applier;

constexpr std::uint32_t large = 4;

partition_key large_key() {
  partition_key key = registered(publisher_type::sglang).partition;
  key.block_size = large;
  return key;
}

registration in_large_blocks(bool copy_counting = false) {
  registration made = registered(publisher_type::sglang);
  made.partition = large_key();
  made.copy_counting = copy_counting;
  return made;
}

/// A stream of small pages under large blocks.
struct page_stream : stream {
  explicit page_stream(bool copy_counting = false) : stream(in_large_blocks(copy_counting)) {}

  void page(std::uint64_t name, std::optional<std::uint64_t> parent, const words& tokens, medium_id medium = medium_id::gpu) {
    stored_event made;
    made.scope = of_size(static_cast<std::uint32_t>(tokens.size()));
    made.scope.medium = medium;
    made.hashes = names({name});
    if (parent) made.parent = engine_hash{*parent};
    made.tokens = tokens;
    made.has_tokens = true;
    apply(made);
  }
  [[nodiscard]] std::uint32_t reach(const words& tokens, media_mask media = all_media) const { return depth(tokens, media, large_key()); }
};

BOOST_AUTO_TEST_SUITE(reblocker)

BOOST_AUTO_TEST_CASE(a_chunk_becomes_blocks_and_leaves_as_one) {
  // LMCache's chunks hold many blocks of the engine under one name.
  stream at(registered(publisher_type::vllm));
  at.store({21, 22}, {1, 2, 3, 4, 5, 6, 7, 8}, of_size(4));

  BOOST_TEST(at.depth({1, 2, 3, 4, 5, 6, 7, 8}) == 4U);
  at.remove({22});
  BOOST_TEST(at.depth({1, 2, 3, 4, 5, 6, 7, 8}) == 2U);
  at.remove({21});
  BOOST_TEST(at.applier->names() == 0U);
  BOOST_TEST(at.tally.unknown_removals == 0U);
}

BOOST_AUTO_TEST_CASE(what_hangs_behind_a_chunk_finds_its_place) {
  // A chunk's name is that of its last block, for chunks and for blocks of the ordinary size.
  stream at(registered(publisher_type::vllm));
  at.store({21}, {1, 2, 3, 4}, of_size(4));
  stored_event next;
  next.hashes = names({12});
  next.parent = engine_hash{21};
  next.tokens = {5, 6};
  at.apply(next);

  BOOST_TEST(at.depth({1, 2, 3, 4, 5, 6}) == 3U);
}

BOOST_AUTO_TEST_CASE(a_chunk_before_its_parent_waits_for_it) {
  // A late subscriber sees the second chunk first.
  stream at(registered(publisher_type::vllm));
  stored_event next;
  next.scope = of_size(4);
  next.hashes = names({22});
  next.parent = engine_hash{21};
  next.tokens = {5, 6, 7, 8};
  at.apply(next);
  BOOST_TEST(at.depth({1, 2, 3, 4, 5, 6, 7, 8}) == 0U);

  at.store({21}, {1, 2, 3, 4}, of_size(4));
  BOOST_TEST(at.depth({1, 2, 3, 4, 5, 6, 7, 8}) == 4U);
}

BOOST_AUTO_TEST_CASE(nothing_is_placed_behind_a_chunk_that_ends_inside_a_block) {
  // The tokens of a child would be hashed at the wrong places: that would be an answer about another prompt.
  stream at(registered(publisher_type::vllm));
  at.store({21}, {1, 2, 3, 4, 5}, of_size(5));
  stored_event next;
  next.hashes = names({12});
  next.parent = engine_hash{21};
  next.tokens = {6, 7};
  at.apply(next);

  BOOST_TEST(at.depth({1, 2, 3, 4, 6, 7}) == 2U);
  BOOST_TEST(at.applier->orphans() == 1U);
  next.scope = of_size(3);  // as a page of another size it goes on where the chunk ended
  next.hashes = names({13});
  next.tokens = {6, 7, 8};
  at.apply(next);
  BOOST_TEST(at.depth({1, 2, 3, 4, 5, 6, 7, 8}) == 4U);
}

BOOST_AUTO_TEST_CASE(copies_of_chunks_are_counted_as_chunks) {
  // Overlapping offloads store one chunk twice and remove it twice.
  stream at(registered(publisher_type::vllm));
  for (int i = 0; i < 2; ++i) at.store({21}, {1, 2, 3, 4}, of_size(4));
  at.remove({21});
  BOOST_TEST(at.depth({1, 2, 3, 4}) == 2U);
  at.remove({21});
  BOOST_TEST(at.depth({1, 2, 3, 4}) == 0U);
}

BOOST_AUTO_TEST_CASE(a_copy_without_tokens_takes_all_blocks_of_its_chunk) {
  // An offload event that names the chunk only.
  stream at(registered(publisher_type::vllm));
  at.store({21}, {1, 2, 3, 4}, of_size(4));
  at.store({21}, {}, on(medium_id::cpu));

  BOOST_TEST(at.depth({1, 2, 3, 4}, mask_of(medium_id::cpu)) == 2U);
  at.remove({21});
  BOOST_TEST(at.depth({1, 2, 3, 4}, mask_of(medium_id::gpu)) == 0U);
  BOOST_TEST(at.depth({1, 2, 3, 4}, mask_of(medium_id::cpu)) == 2U);
  at.remove({21}, on(medium_id::cpu));
  BOOST_TEST(at.applier->names() == 0U);
}

BOOST_AUTO_TEST_CASE(key_lists_cannot_be_taken_apart) {
  // Which of the blocks an image belongs to is not said; the blocks before it are good.
  stream at(registered(publisher_type::vllm));
  stored_event made;
  made.scope = of_size(4);
  made.hashes = names({21, 22});
  made.tokens = {1, 2, 3, 4, 5, 6, 7, 8};
  made.extra_keys = {"", "image"};
  at.apply(made);

  BOOST_TEST(at.depth({1, 2, 3, 4, 5, 6, 7, 8}) == 2U);
  BOOST_TEST(at.tally.skipped == 1U);
}

BOOST_AUTO_TEST_CASE(small_pages_are_joined_to_blocks) {
  // An engine with pages of 1 under a router that asks in blocks of 4.
  page_stream at;
  at.page(1, {}, {10, 11});
  BOOST_TEST(at.reach({10, 11, 12, 13}) == 0U);
  at.page(2, 1, {12, 13});
  BOOST_TEST(at.reach({10, 11, 12, 13}) == 1U);
  for (std::uint32_t i = 0; i < 4; ++i) at.page(3 + i, 2 + i, {14 + i});
  BOOST_TEST(at.reach({10, 11, 12, 13, 14, 15, 16, 17}) == 2U);

  at.remove({4});  // in the middle of the second block
  BOOST_TEST(at.reach({10, 11, 12, 13, 14, 15, 16, 17}) == 1U);
  at.page(4, 3, {15});
  at.page(6, 5, {17});  // the page it ends in is stored again
  BOOST_TEST(at.reach({10, 11, 12, 13, 14, 15, 16, 17}) == 2U);
  at.remove({5});
  BOOST_TEST(at.reach({10, 11, 12, 13, 14, 15, 16, 17}) == 1U);
  at.clear();
  BOOST_TEST(at.reach({10, 11, 12, 13}) == 0U);
  BOOST_TEST(at.applier->names() == 0U);
}

BOOST_AUTO_TEST_CASE(a_block_stands_where_all_of_its_pages_are) {
  // Half of a block in host memory is nothing in host memory.
  page_stream at;
  at.page(1, {}, {10, 11});
  at.page(2, 1, {12, 13});
  at.page(2, 1, {12, 13}, medium_id::cpu);
  BOOST_TEST(at.reach({10, 11, 12, 13}, mask_of(medium_id::cpu)) == 0U);
  at.page(1, {}, {10, 11}, medium_id::cpu);
  at.page(2, 1, {12, 13}, medium_id::cpu);
  BOOST_TEST(at.reach({10, 11, 12, 13}, mask_of(medium_id::cpu)) == 1U);
  at.remove({1}, on(medium_id::cpu));
  BOOST_TEST(at.reach({10, 11, 12, 13}, mask_of(medium_id::cpu)) == 0U);
  BOOST_TEST(at.reach({10, 11, 12, 13}, mask_of(medium_id::gpu)) == 1U);
}

BOOST_AUTO_TEST_CASE(branches_share_the_pages_before_them) {
  // Two prompts part in the middle of a block; the page before both is in each of their blocks.
  page_stream at;
  at.page(1, {}, {10, 11});
  at.page(2, 1, {12, 13});
  at.page(3, 1, {20, 21});
  BOOST_TEST(at.reach({10, 11, 12, 13}) == 1U);
  BOOST_TEST(at.reach({10, 11, 20, 21}) == 1U);
  at.remove({1});
  BOOST_TEST(at.reach({10, 11, 12, 13}) == 0U);
  BOOST_TEST(at.reach({10, 11, 20, 21}) == 0U);
}

BOOST_AUTO_TEST_CASE(pages_are_bounded) {
  // A publisher of ever new pages costs a bounded amount of memory, and is told in the count of skipped blocks.
  catalog all;
  member who{.id = worker_id{1},
             .key = shared_key({}),
             .shared_pool = false,
             .status = nullptr,
             .media_seen = std::make_shared<std::atomic<media_mask>>(media_mask{0})};
  const auto home = *all.join(large_key(), seed, who);
  lane_blocks blocks({.worker = who.id});
  kvc::core::reblocker pages(blocks, false, 3);
  apply_tally tally;
  for (std::uint64_t i = 1; i <= 5; ++i) {
    const std::vector<engine_hash> name{engine_hash{i}};
    const words tokens{7, 8};
    std::size_t next = 0;
    BOOST_TEST(pages.store_some({.home = home, .medium = medium_id::gpu, .parent = {}, .names = name, .tokens = tokens, .page_tokens = 2},
                                next, plenty, tally));
  }
  BOOST_TEST(pages.pages() == 3U);
  BOOST_TEST(tally.skipped == 2U);
}

/// Half a block that many prompts begin with, and what each of them goes on with.
struct shared_beginning : page_stream {
  static constexpr std::uint64_t shared = 1;
  static constexpr std::uint64_t prompts = 5'000;
  static words prompt_of(std::uint64_t number) { return {7, 8, static_cast<std::uint32_t>(number), 9}; }

  shared_beginning() {
    page(shared, {}, {7, 8});
    for (std::uint64_t each = 2; each < 2 + prompts; ++each) go_on(each);
  }
  void go_on(std::uint64_t number) { page(number, shared, {static_cast<std::uint32_t>(number), 9}); }
  /// How often the lane could turn to something else before all was applied.
  std::size_t pauses_of(event happened) {
    event_batch batch;
    batch.events.push_back(std::move(happened));
    event_applier::progress at;
    std::size_t pauses = 0;
    while (!applier->apply_some(batch, at, 1'000, tally)) ++pauses;
    return pauses;
  }
  [[nodiscard]] std::uint64_t cached() const {
    std::uint64_t found = 0;
    for (std::uint64_t each = 2; each < 2 + prompts; ++each) found += reach(prompt_of(each));
    return found;
  }
};

BOOST_AUTO_TEST_CASE(a_page_that_many_have_borrowed_from_leaves_in_parts) {
  shared_beginning at;
  BOOST_TEST(at.cached() == shared_beginning::prompts);

  BOOST_TEST(at.pauses_of(removed_event{.scope = {}, .hashes = names({shared_beginning::shared})}) >= 4U);
  BOOST_TEST(at.cached() == 0U);
  BOOST_TEST(at.tally.unknown_removals == 0U);
  at.page(shared_beginning::shared, {}, {7, 8});
  at.go_on(17);
  BOOST_TEST(at.cached() == 1U);
  for (std::uint64_t each = 2; each < 2 + shared_beginning::prompts; ++each) at.remove({each});
  at.remove({shared_beginning::shared});
  BOOST_TEST(at.applier->names() == 0U);
  BOOST_TEST(at.tally.unknown_removals == 0U);
}

BOOST_AUTO_TEST_CASE(a_shared_page_that_means_something_else_takes_along_what_was_borrowed_from_it) {
  shared_beginning at;
  stored_event other;
  other.scope = of_size(2);
  other.hashes = names({99'999, shared_beginning::shared});
  other.tokens = {1, 2, 7, 8};
  other.has_tokens = true;
  BOOST_TEST(at.pauses_of(other) >= 4U);
  BOOST_TEST(at.cached() == 0U);
  BOOST_TEST(at.reach({1, 2, 7, 8}) == 1U);
}

BOOST_AUTO_TEST_CASE(pages_are_cleared_in_parts) {
  shared_beginning at;
  at.page(50'001, shared_beginning::shared, {50'001, 9}, medium_id::cpu);
  BOOST_TEST(at.pauses_of(cleared_event{}) >= 4U);
  BOOST_TEST(at.cached() == 0U);
  BOOST_TEST(at.applier->names() == 0U);
  at.page(shared_beginning::shared, {}, {7, 8});
  at.go_on(3);
  BOOST_TEST(at.cached() == 1U);
}

BOOST_AUTO_TEST_CASE(a_removal_left_in_the_middle_does_not_keep_pages_from_being_dropped) {
  // The stream starts again while a removal is half applied.
  shared_beginning at;
  event_batch batch;
  batch.events.emplace_back(removed_event{.scope = {}, .hashes = names({shared_beginning::shared, 3})});
  event_applier::progress progress;
  BOOST_TEST(!at.applier->apply_some(batch, progress, 1'000, at.tally));
  while (!at.applier->drop_some(1'000, at.tally)) {
  }
  BOOST_TEST(at.applier->names() == 0U);
  BOOST_TEST(at.cached() == 0U);
  at.page(shared_beginning::shared, {}, {7, 8});
  at.go_on(3);
  BOOST_TEST(at.cached() == 1U);
}

/// A page as the strict model of the test knows it: where its tokens stand in its prompt.
struct model_page {
  std::optional<std::uint64_t> parent;
  words tokens;
  bool is_held = false;
};

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
          at.page(name, which.parent, which.tokens);
        } else if (which.is_held && !has_children) {
          which.is_held = false;
          at.remove({name});
        } else {
          continue;
        }
        const std::uint64_t leaf = 1 + random() % pages.size();
        BOOST_TEST_REQUIRE(at.reach(prompt_of(leaf)) == model_depth(pages, leaf));
        BOOST_TEST_REQUIRE(at.reach(prompt_of(name)) == model_depth(pages, name));
      }
      BOOST_TEST(at.tally.unknown_removals == 0U);
      for (auto& [name, each] : pages) {
        if (each.is_held) at.remove({name});
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
  bool is_placed = false;  ///< where it begins was known when it was stored
  bool has_first = false;  ///< its first block stands
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
    if (!page.is_held) {
      const any_page* const before = page.parent ? &all.at(*page.parent) : nullptr;
      page.is_placed = before != nullptr && before->is_held ? before->is_placed : page.borrowed == 0;
    }
    page.is_held = true;
    page.has_first =
        std::ranges::all_of(lenders_of(name), [&](std::uint64_t each) { return all.at(each).is_held && all.at(each).is_placed; });
  }
  void remove(std::uint64_t name) {
    all.at(name).is_held = false;
    for (auto& [other, page] : all) {
      const auto lenders = lenders_of(other);
      if (std::ranges::find(lenders, name) != lenders.end()) page.has_first = false;
    }
  }
  [[nodiscard]] words prompt_of(std::uint64_t leaf) const {
    words prompt = all.at(leaf).tokens;
    for (auto at = all.at(leaf).parent; at; at = all.at(*at).parent) {
      prompt.insert(prompt.begin(), all.at(*at).tokens.begin(), all.at(*at).tokens.end());
    }
    return prompt;
  }
  [[nodiscard]] std::uint32_t depth(std::uint64_t leaf) const {
    std::vector<const any_page*> chain{&all.at(leaf)};
    while (chain.back()->parent) chain.push_back(&all.at(*chain.back()->parent));
    std::uint32_t blocks = 0;
    for (auto each = chain.rbegin(); each != chain.rend(); ++each) {
      const auto ends_here = static_cast<std::uint32_t>(((*each)->borrowed + (*each)->tokens.size()) / large);
      if (ends_here == 0) continue;
      if (!(*each)->is_held || !(*each)->is_placed || !(*each)->has_first) return blocks;
      blocks += ends_here;
    }
    return blocks;
  }
};

BOOST_AUTO_TEST_CASE(pages_that_come_and_go_in_any_order_agree_with_a_strict_model) {
  constexpr std::uint64_t first_seed = 20261124;
  for (std::uint64_t round = 0; round < 40; ++round) {
    BOOST_TEST_CONTEXT("seed " << first_seed + round) {
      std::mt19937_64 random(first_seed + round);
      page_stream at;
      any_pages pages;
      for (std::uint64_t name = 1; name <= 60; ++name) {
        any_page made;
        if (name > 1 && random() % 8 != 0) made.parent = 1 + random() % (name - 1);
        const std::size_t size = round % 4 == 3 ? 9 : 1 + random() % 3;
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
        if (which.is_held && random() % 4 != 0) {
          pages.remove(name);
          at.remove({name});
        } else if (!which.parent || pages.all.at(*which.parent).is_held || random() % 4 == 0) {
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

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
