// Blocks of another size than registered: chunks taken apart, pages joined. The registered size is 2 in small tests, 4 in those of pages.
#include "core/reblocker.hpp"

#include <cstdint>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "tests/support/page_stream.hpp"

BOOST_AUTO_TEST_SUITE(reblocker)

namespace {

using namespace kvc::core;
using namespace kvc::test::applier;

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

BOOST_AUTO_TEST_CASE(a_block_behind_a_chunk_that_ends_inside_a_block_goes_on_where_that_ended) {
  // Hashed by itself it would be an answer about another prompt, and waiting for a boundary it would never be found.
  stream at(registered(publisher_type::vllm));
  at.store({21}, {1, 2, 3, 4, 5}, of_size(5));
  stored_event next;
  next.hashes = names({12});
  next.parent = engine_hash{21};
  next.tokens = {6, 7};
  next.has_tokens = true;
  at.apply(next);

  BOOST_TEST(at.depth({1, 2, 3, 4, 6, 7}) == 2U);
  BOOST_TEST(at.depth({1, 2, 3, 4, 5, 6, 7, 8}) == 3U);
  next.scope = of_size(3);
  next.hashes = names({13});
  next.parent = engine_hash{12};
  next.tokens = {8, 9, 10};
  at.apply(next);
  BOOST_TEST(at.depth({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}) == 5U);
  at.remove({12});
  BOOST_TEST(at.depth({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}) == 2U);
  at.remove({21, 13});
  BOOST_TEST(at.applier->names() == 0U);
  BOOST_TEST(at.applier->orphans() == 0U);
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
  kvc::core::reblocker pages(blocks, false, {.pages = 3, .tokens = 100});
  apply_tally tally;
  for (std::uint64_t i = 1; i <= 5; ++i) {
    const std::vector<engine_hash> name{engine_hash{i}};
    const words tokens{7, 8};
    std::size_t next = 0;
    BOOST_TEST(pages.store_some({.home = home, .medium = medium_id::gpu, .parent = {}, .names = name, .tokens = tokens, .page_tokens = 2},
                                next, plenty, tally));
  }
  BOOST_TEST(pages.pages() == 3U);
  BOOST_TEST(tally.beyond_pages == 2U);
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
  stored_event again;
  again.scope = of_size(2);
  again.hashes = names({shared_beginning::shared});
  again.tokens = {7, 8};
  again.has_tokens = true;
  BOOST_TEST(at.pauses_of(again) >= 4U);
  BOOST_TEST(at.cached() == shared_beginning::prompts);
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

BOOST_AUTO_TEST_CASE(a_clear_behind_a_drop_in_parts_meets_every_page) {
  // Where the last page went with the last look of a part, the next clear began in the middle: copies that it should have taken kept
  // blocks from being removed.
  constexpr std::uint64_t pages = 100;
  page_stream at(true);
  const auto prompt_of = [](std::uint64_t page) { return words(2 * large, static_cast<std::uint32_t>(page)); };
  const auto store_all = [&] {
    for (std::uint64_t i = 1; i <= pages; ++i) at.page(i, {}, prompt_of(i));
  };
  store_all();
  while (!at.applier->drop_some(1, at.tally)) continue;
  store_all();
  at.clear();
  store_all();
  for (std::uint64_t i = 1; i <= pages; ++i) at.remove({i});
  BOOST_TEST(at.applier->names() == 0U);
  for (std::uint64_t i = 1; i <= pages; ++i) BOOST_TEST(at.reach(prompt_of(i)) == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
