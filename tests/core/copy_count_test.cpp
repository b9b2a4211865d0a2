// Copies beyond what a count can hold: kv-events.md section 10, case 8. Loaded, since telling of four billion takes too long.
#include "core/copy_count.hpp"

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/reblocker.hpp"
#include "core/snapshot_loader.hpp"
#include "tests/support/page_stream.hpp"

BOOST_AUTO_TEST_SUITE(copy_count)

namespace {

using namespace kvc::core;
using namespace kvc::test::applier;

constexpr std::uint32_t most = std::numeric_limits<std::uint32_t>::max();
constexpr engine_hash parent{11};
constexpr engine_hash name{12};

/// A worker of blocks of four tokens that has been told of one block as often as can be counted.
struct full_count {
  kvc::core::catalog all;
  member who{.id = worker_id{1},
             .key = shared_key({}),
             .shared_pool = false,
             .status = nullptr,
             .media_seen = std::make_shared<std::atomic<media_mask>>(media_mask{0})};
  std::shared_ptr<partition> home = *all.join(large_key(), seed, who);
  lane_blocks blocks{{.worker = who.id}};
  apply_tally tally;

  void load(const dump_slice& slice) {
    snapshot_loader loader(blocks);
    loader.add_home(home);
    BOOST_REQUIRE(!loader.load(slice, tally));
    loader.finish(tally);
  }
  void load_waiting(std::optional<engine_hash> behind, local_hash local, medium_id medium) {
    dump_slice slice;
    slice.waiting.push_back({.name = name, .parent = behind, .local = local, .home = 0, .first_copy = 0, .count = 1});
    slice.waiting_copies.push_back({.medium = medium, .count = most});
    load(slice);
  }
  [[nodiscard]] std::vector<local_hash> locals_of(const words& tokens) const {
    std::vector<local_hash> made;
    hash_blocks(tokens, large, seed, made);
    return made;
  }
  void store(engine_hash what, std::optional<engine_hash> behind, const words& tokens) {
    const auto locals = locals_of(tokens);
    store_command command;
    command.home = home;
    command.medium = medium_id::gpu;
    command.link = behind ? store_link::parent : store_link::root;
    command.parent = behind.value_or(engine_hash{});
    command.names = std::span(&what, 1);
    command.locals = locals;
    blocks.store(command, tally);
  }
  void remove() { blocks.remove(std::span(&name, 1), medium_id::gpu, tally); }
  [[nodiscard]] std::uint32_t reach(const words& tokens, media_mask media = all_media) const {
    match_scope scope;
    scope.media = media;
    match_result answer;
    home->index().match(locals_of(tokens), scope, answer);
    return answer.of(who.id).any;
  }
};

BOOST_AUTO_TEST_CASE(counts_stay_at_the_most_they_can_hold) {
  BOOST_TEST(sum_of_copies(1, 2) == 3U);
  BOOST_TEST(sum_of_copies(most - 1, 1) == most);
  BOOST_TEST(sum_of_copies(most, 1) == most);
  BOOST_TEST(sum_of_copies(2, most) == most);
}

BOOST_AUTO_TEST_CASE(one_removal_does_not_take_a_block_of_more_copies_than_can_be_counted) {
  full_count at;
  dump_slice slice;
  slice.odd_names.push_back({.name = name, .first_copy = 0, .count = 1});
  slice.copies.emplace_back();
  slice.copies.back().block = first_in_sequence(at.locals_of({1, 2, 3, 4}).front());
  slice.copies.back().medium = medium_id::gpu;
  slice.copies.back().count = most;
  at.load(slice);
  BOOST_TEST_REQUIRE(at.reach({1, 2, 3, 4}) == 1U);

  for (int i = 0; i < 2; ++i) at.store(name, {}, {1, 2, 3, 4});
  at.remove();
  BOOST_TEST(at.reach({1, 2, 3, 4}) == 1U);
}

BOOST_AUTO_TEST_CASE(one_removal_does_not_take_a_block_that_waited_with_more_copies_than_can_be_counted) {
  full_count at;
  at.load_waiting(parent, at.locals_of({5, 6, 7, 8}).front(), medium_id::gpu);
  for (int i = 0; i < 2; ++i) at.store(name, parent, {5, 6, 7, 8});
  at.store(parent, {}, {1, 2, 3, 4});
  BOOST_TEST_REQUIRE(at.reach({1, 2, 3, 4, 5, 6, 7, 8}) == 2U);

  at.remove();
  BOOST_TEST(at.reach({1, 2, 3, 4, 5, 6, 7, 8}) == 2U);
}

BOOST_AUTO_TEST_CASE(one_removal_does_not_take_a_page_of_more_copies_than_can_be_counted) {
  full_count at;
  at.load_waiting({}, {}, medium_id::cpu);
  reblocker pages(at.blocks, true, {});
  const words tokens{1, 2, 3, 4, 5, 6, 7, 8};
  std::size_t next = 0;
  const page_stretch told{
      .home = at.home, .medium = medium_id::gpu, .parent = {}, .names = std::span(&name, 1), .tokens = tokens, .page_tokens = 8};
  BOOST_REQUIRE(pages.store_some(told, next, plenty, at.tally));
  BOOST_TEST_REQUIRE(at.reach(tokens, mask_of(medium_id::cpu)) == 2U);

  for (int i = 0; i < 2; ++i) BOOST_TEST(pages.store_copy(name, medium_id::cpu, at.tally));
  BOOST_TEST(pages.remove(name, medium_id::cpu, at.tally));
  BOOST_TEST(pages.settle(plenty, at.tally));
  BOOST_TEST(at.reach(tokens, mask_of(medium_id::cpu)) == 2U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
