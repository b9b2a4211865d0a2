// Pages that are told of again: without their parent, behind one that nobody knows, or as another page. The registered size is 4.
#include <cstdint>
#include <optional>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/reblocker.hpp"
#include "tests/support/page_stream.hpp"

BOOST_AUTO_TEST_SUITE(reblocker_retelling)

namespace {

using namespace kvc::core;
using namespace kvc::test::applier;

constexpr media_mask on_gpu = mask_of(medium_id::gpu);
constexpr media_mask on_cpu = mask_of(medium_id::cpu);
constexpr std::uint64_t nobody = 99'999;  ///< a parent that is never told of

const words eight{10, 11, 12, 13, 14, 15, 16, 17};

/// Four pages of half a block, named from 1 on: the prompt `eight`.
struct known_pages : page_stream {
  static constexpr std::uint64_t count = 4;

  explicit known_pages(bool copy_counting) : page_stream(copy_counting) {
    for (std::uint64_t name = 1; name <= count; ++name) tell(name, name == 1 ? std::nullopt : std::optional(name - 1));
    BOOST_TEST_REQUIRE(reach(eight) == 2U);
  }
  void tell(std::uint64_t name, std::optional<std::uint64_t> parent, medium_id medium = medium_id::gpu) {
    const std::size_t first = 2 * (name - 1);
    page(name, parent, {eight[first], eight[first + 1]}, medium);
  }
};

BOOST_AUTO_TEST_CASE(a_known_page_told_of_without_its_parent_stays_where_it_is) {
  // LMCache names the chunk it has stored before, and none where that was there already.
  for (const bool copy_counting : {false, true}) {
    known_pages at(copy_counting);
    for (std::uint64_t name = 1; name <= at.count; ++name) {
      at.tell(name, {});
      BOOST_TEST(at.reach(eight) == 2U, "page " << name);
    }
    BOOST_TEST(at.reach({12, 13, 14, 15}) == 0U);  // no prompt of their own
    for (int copy = 0; copy < (copy_counting ? 2 : 1); ++copy) {
      BOOST_TEST(at.reach(eight) == 2U);
      for (std::uint64_t name = 1; name <= at.count; ++name) at.remove({name});
    }
    BOOST_TEST(at.applier->names() == 0U);
    BOOST_TEST(at.applier->orphans() == 0U);
    BOOST_TEST(at.tally.unknown_removals == 0U);
  }
}

BOOST_AUTO_TEST_CASE(a_known_page_told_of_behind_an_unknown_parent_stays_where_it_is) {
  for (const bool copy_counting : {false, true}) {
    for (const medium_id medium : {medium_id::gpu, medium_id::cpu}) {
      known_pages at(copy_counting);
      for (std::uint64_t name = 1; name <= at.count; ++name) {
        at.tell(name, nobody + name, medium);
        BOOST_TEST(at.reach(eight, on_gpu) == 2U, "page " << name);
      }
      BOOST_TEST(at.reach(eight, on_cpu) == (medium == medium_id::cpu ? 2U : 0U));
      BOOST_TEST(at.applier->orphans() == 0U);
      for (std::uint64_t name = at.count; name != 0; --name) {
        at.remove({name});
        if (copy_counting || medium == medium_id::cpu) at.remove({name}, on(medium));
      }
      BOOST_TEST(at.applier->names() == 0U);
      BOOST_TEST(at.applier->orphans() == 0U);
      BOOST_TEST(at.tally.unknown_removals == 0U);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_known_chunk_stays_where_it_is_with_what_hangs_behind_it) {
  // Whole blocks each: no tokens are kept, the blocks themselves tell that it is the same chunk.
  page_stream at;
  at.page(1, {}, {1, 2, 3, 4, 5, 6, 7, 8});
  at.page(2, 1, {11, 12, 13, 14, 15, 16, 17, 18});
  at.page(3, 2, {21, 22, 23, 24, 25, 26, 27, 28});
  const words prompt{1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 14, 15, 16, 17, 18, 21, 22, 23, 24, 25, 26, 27, 28};
  for (const std::optional<std::uint64_t> parent : {std::optional<std::uint64_t>{}, std::optional(nobody)}) {
    at.page(2, parent, {11, 12, 13, 14, 15, 16, 17, 18});
    BOOST_TEST(at.reach(prompt) == 6U);
    at.page(2, parent, {11, 12, 13, 14, 15, 16, 17, 18}, medium_id::cpu);
    BOOST_TEST(at.reach(prompt, on_gpu) == 6U);
  }
  at.page(1, nobody, {1, 2, 3, 4, 5, 6, 7, 8}, medium_id::cpu);
  BOOST_TEST(at.reach(prompt, on_cpu) == 4U);
  at.remove({1, 2, 3});
  BOOST_TEST(at.reach(prompt) == 4U);
  at.remove({1, 2}, on(medium_id::cpu));
  BOOST_TEST(at.applier->names() == 0U);
  BOOST_TEST(at.tally.unknown_removals == 0U);
}

BOOST_AUTO_TEST_CASE(other_tokens_are_another_page) {
  // Names of contents only, or of a publisher that has lost count: the newest telling counts.
  const words prompt{1, 2, 3, 4, 11, 12, 13, 14, 15, 16, 17, 18};
  for (const std::optional<std::uint64_t> parent : {std::optional<std::uint64_t>{}, std::optional(nobody)}) {
    page_stream at;
    at.page(1, {}, {1, 2});
    at.page(2, 1, {3, 4});
    at.page(3, 2, {11, 12, 13, 14, 15, 16, 17, 18});  // whole blocks, so that no tokens are kept
    at.page(2, parent, {30, 40});
    BOOST_TEST(at.reach(prompt) == 0U);
    at.page(2, 1, {3, 4});
    BOOST_TEST(at.reach(prompt) == 3U);
    at.page(3, parent, {11, 12, 13, 14, 15, 16, 17, 80});
    BOOST_TEST(at.reach(prompt) == 1U);
    BOOST_TEST(at.reach({11, 12, 13, 14, 15, 16, 17, 80}) == (parent ? 0U : 2U));
    at.remove({1, 2, 3});
    BOOST_TEST(at.applier->names() == 0U);
    BOOST_TEST(at.applier->orphans() == 0U);
  }
}

BOOST_AUTO_TEST_CASE(a_known_parent_that_is_another_one_is_believed) {
  page_stream at;
  at.page(1, {}, {1, 2});
  at.page(2, 1, {3, 4});
  at.page(5, {}, {7, 8});
  at.page(2, 5, {3, 4});
  BOOST_TEST(at.reach({1, 2, 3, 4}) == 0U);
  BOOST_TEST(at.reach({7, 8, 3, 4}) == 1U);
}

BOOST_AUTO_TEST_CASE(a_parent_with_another_name_for_the_same_place_changes_nothing) {
  // A chunk and the engine's last block of it end at one place.
  page_stream at;
  at.store({21, 22}, eight);
  at.page(31, {}, eight);
  at.page(40, 31, {1, 2});
  at.page(41, 40, {3, 4});
  at.page(40, 31, {1, 2}, medium_id::cpu);
  at.page(40, 22, {1, 2});
  at.page(41, 40, {3, 4}, medium_id::cpu);
  const words prompt{10, 11, 12, 13, 14, 15, 16, 17, 1, 2, 3, 4};
  BOOST_TEST(at.reach(prompt) == 3U);
  at.remove({40});
  BOOST_TEST(at.reach(prompt) == 3U);  // the copy that was there before
}

BOOST_AUTO_TEST_CASE(a_page_told_of_as_the_root_moves_when_its_parent_comes) {
  // The connector has left the parent out, the engine names it, and who tells of the parent does so last.
  for (const medium_id medium : {medium_id::gpu, medium_id::cpu}) {
    for (const bool is_block : {false, true}) {
      page_stream at;
      at.page(2, {}, {14, 15, 16, 17, 18, 19});
      at.page(3, 2, {20, 21});
      at.page(2, 1, {14, 15, 16, 17, 18, 19}, medium);
      BOOST_TEST(at.reach({14, 15, 16, 17, 18, 19, 20, 21}) == 2U);  // as long as nobody knows better
      BOOST_TEST(at.applier->orphans() == 0U);
      const words all{10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21};
      if (is_block) {
        at.store({1}, {10, 11, 12, 13});
      } else {
        at.page(7, {}, {10, 11});
        at.page(1, 7, {12, 13});
      }
      BOOST_TEST(at.reach(all) == 3U);
      BOOST_TEST(at.reach({14, 15, 16, 17}) == 0U);
      at.remove({1, 2, 3});
      if (!is_block) at.remove({7});
      if (medium == medium_id::cpu) at.remove({2}, on(medium));
      BOOST_TEST(at.applier->names() == 0U);
      BOOST_TEST(at.applier->orphans() == 0U);
      BOOST_TEST(at.tally.unknown_removals == 0U);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_page_that_waits_goes_on_waiting_when_its_parent_is_left_out) {
  page_stream at;
  at.page(2, 1, {12, 13});
  at.page(2, {}, {12, 13});
  at.page(3, 2, {14, 15});
  BOOST_TEST(at.reach({12, 13, 14, 15}) == 0U);
  at.page(1, {}, {10, 11});
  BOOST_TEST(at.reach({10, 11, 12, 13}) == 1U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
