// The byte budget of the index and blocks of another size than registered.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/block_hasher.hpp"
#include "core/reblocker.hpp"
#include "tests/support/eviction_stage.hpp"

namespace kvc::test {

using namespace kvc::core;

namespace {

/// Chunks of several blocks, or of one and a half, which nobody ever says are gone.
struct page_stage : eviction_stage {
  static constexpr std::size_t most = 6;

  core::reblocker& pages() {
    if (!pages_) pages_.emplace(*actors.at(1).blocks, true, core::reblocker::bounds{.pages = most, .tokens = 100});
    return *pages_;
  }
  void page(std::uint64_t name, std::optional<std::uint64_t> parent, const std::vector<std::uint32_t>& tokens) {
    const std::vector<engine_hash> one{engine_hash{name}};
    page_stretch told{.home = actors.at(1).home, .medium = medium_id::cpu, .parent = {}, .names = one, .tokens = tokens};
    if (parent) told.parent = engine_hash{*parent};
    told.page_tokens = static_cast<std::uint32_t>(tokens.size());
    std::size_t next = 0;
    while (!pages().store_some(told, next, 1'000, tally)) continue;
  }
  void tell_conversation(std::uint64_t first_name, std::uint32_t who) {
    for (std::uint32_t i = 0; i < most; ++i) page(first_name + i, i == 0 ? std::nullopt : std::optional(first_name + i - 1), {who, i});
  }
  [[nodiscard]] std::uint32_t reach(const std::vector<std::uint32_t>& tokens) {
    std::vector<local_hash> query;
    hash_blocks(tokens, actors.at(1).home->key().block_size, test_seed, query);
    match_result answer;
    actors.at(1).home->index().match(query, {}, answer);
    return answer.of(worker_id{1}).any;
  }
  void evict_all() {
    set_budget(1);
    (void)relieve();
    BOOST_REQUIRE(actors.at(1).blocks->names() == 0U);
  }

  apply_tally tally;

 private:
  std::optional<core::reblocker> pages_;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(eviction_pages, page_stage)

BOOST_AUTO_TEST_CASE(chunks_that_were_evicted_make_room_for_others) {
  // LMCache never tells of a removal: else every later chunk would be refused, and never found again.
  hire(1);
  for (std::uint32_t i = 0; i < most; ++i) page(100 + i, {}, {i, 1'000});
  BOOST_TEST(pages().pages() == most);
  page(199, {}, {50, 51});
  BOOST_TEST(tally.beyond_pages == 1U);  // they are all there

  evict_all();
  for (std::uint32_t i = 0; i < 3 * most; ++i) {
    page(200 + i, {}, {2'000 + i, 1'000});
    BOOST_TEST(reach({2'000 + i, 1'000}) == 2U);
    if (i % 4 == 3) evict_all();
  }
  BOOST_TEST(tally.beyond_pages == 1U);
  BOOST_TEST(pages().pages() <= most);
}

BOOST_AUTO_TEST_CASE(a_conversation_of_chunks_can_be_told_again_after_it_was_evicted) {
  hire(1);
  tell_conversation(100, 7);
  BOOST_TEST(reach({7, 0, 7, 1, 7, 2}) == 6U);
  evict_all();
  tell_conversation(200, 8);
  BOOST_TEST(reach({8, 0, 8, 1, 8, 2, 8, 3, 8, 4, 8, 5}) == 12U);
  BOOST_TEST(tally.beyond_pages == 0U);
  evict_all();
  page(300, {}, {9, 9});
  page(205, 204, {8, 5});  // told once more, behind what has gone: it cannot be found until that is there again
  BOOST_TEST(reach({9, 9}) == 2U);
  BOOST_TEST(pages().pages() <= most);
}

BOOST_AUTO_TEST_CASE(chunks_that_share_blocks_make_room_one_after_the_other) {
  // Those before lend their tokens, and are needed until those behind have gone.
  hire(1, "default", true, 2);
  for (std::uint64_t i = 0; i < most; i += 2) {
    page(100 + i, {}, {static_cast<std::uint32_t>(i), 1, 2});
    page(101 + i, 100 + i, {3, 4, 5});
  }
  BOOST_TEST(reach({2, 1, 2, 3, 4, 5}) == 3U);
  BOOST_TEST(pages().pages() == most);
  evict_all();
  for (std::uint32_t i = 0; i < most / 2; ++i) {
    page(200 + i, {}, {i, 8});
    BOOST_TEST(reach({i, 8}) == 1U);
  }
  BOOST_TEST(tally.beyond_pages == 0U);
}

BOOST_AUTO_TEST_CASE(chunks_that_wait_in_vain_make_room_as_well) {
  // Their parents are never told of, and the budget gives up what waits first.
  hire(1);
  for (std::uint32_t i = 0; i < most / 2; ++i) page(100 + i, 10 + i, {i, 1'000});
  BOOST_TEST(pages().pages() == most);  // with the parents, known by name
  BOOST_TEST(actors.at(1).blocks->orphans() == most);
  set_budget(1);
  (void)relieve();
  BOOST_TEST(actors.at(1).blocks->orphans() == 0U);
  page(200, {}, {5, 6});
  BOOST_TEST(reach({5, 6}) == 2U);
  BOOST_TEST(tally.beyond_pages == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test
