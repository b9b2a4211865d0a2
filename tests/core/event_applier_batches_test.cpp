// Batches applied together come to what they come to one by one.
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "tests/support/applier_stream.hpp"

BOOST_AUTO_TEST_SUITE(event_applier_batches)

namespace {

using namespace kvc::test::applier;

constexpr std::uint64_t letters = 3;
constexpr std::uint64_t most_names = 12;

/// Small alphabets: chains meet, names move, removals name what is not there, parents are unknown.
class random_batches {
 public:
  explicit random_batches(std::uint64_t seed) : random_(seed) {}

  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }

  event_batch next() {
    event_batch batch;
    const std::uint64_t count = below(5);  // none, too
    for (std::uint64_t i = 0; i < count; ++i) batch.events.push_back(one());
    if (below(6) == 0) batch.rank = dp_rank{static_cast<std::uint32_t>(below(2))};
    return batch;
  }

 private:
  event one() {
    const std::uint64_t what = below(12);
    if (what == 0) return cleared_event{};
    if (what < 5) {
      removed_event made;
      made.scope = on(medium());
      for (std::uint64_t i = below(4) + 1; i > 0; --i) made.hashes.emplace_back(below(most_names));
      return made;
    }
    stored_event made;
    made.scope = on(medium());
    if (below(10) == 0) made.scope.group = 1;
    const std::uint64_t first = below(most_names);
    const std::uint64_t blocks = below(4) + 1;
    for (std::uint64_t i = 0; i < blocks; ++i) {
      made.hashes.emplace_back((first + i) % most_names);
      for (std::uint32_t k = 0; k < block_size; ++k) made.tokens.push_back(static_cast<std::uint32_t>(below(letters)));
    }
    made.has_tokens = true;
    if (below(3) != 0) made.parent = engine_hash{(first + most_names - 1) % most_names};
    return made;
  }

  medium_id medium() { return below(3) == 0 ? medium_id::cpu : medium_id::gpu; }

  std::mt19937_64 random_;
};

std::vector<words> all_prompts(std::size_t blocks) {
  std::vector<words> made;
  std::uint64_t count = 1;
  for (std::size_t i = 0; i < blocks * block_size; ++i) count *= letters;
  for (std::uint64_t n = 0; n < count; ++n) {
    words one;
    std::uint64_t rest = n;
    for (std::size_t i = 0; i < blocks * block_size; ++i, rest /= letters) one.push_back(static_cast<std::uint32_t>(rest % letters));
    made.push_back(std::move(one));
  }
  return made;
}

}  // namespace

BOOST_AUTO_TEST_CASE(together_is_the_same_as_one_by_one) {
  const auto prompts = all_prompts(2);
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      random_batches source(seed);
      stream one(registered(publisher_type::vllm));
      stream many(registered(publisher_type::vllm));
      for (int round = 0; round < 12; ++round) {
        std::vector<event_batch> batches(source.below(6) + 1);
        for (event_batch& each : batches) each = source.next();
        for (const event_batch& each : batches) {
          event_applier::progress at;
          BOOST_REQUIRE(one.applier->apply_some(each, at, plenty, one.tally));
        }
        event_applier::progress at;
        while (!many.applier->apply_some(std::span<const event_batch>(batches), at, source.below(9) + 1, many.tally)) continue;

        BOOST_REQUIRE(one.applier->names() == many.applier->names());
        BOOST_REQUIRE(one.applier->orphans() == many.applier->orphans());
        BOOST_REQUIRE(one.applier->uncounted() == many.applier->uncounted());
        for (const medium_id each : {medium_id::gpu, medium_id::cpu}) {
          BOOST_REQUIRE(one.applier->held_on(each) == many.applier->held_on(each));
        }
        BOOST_REQUIRE(one.tally.stored == many.tally.stored);
        BOOST_REQUIRE(one.tally.repeated == many.tally.repeated);
        BOOST_REQUIRE(one.tally.moved == many.tally.moved);
        BOOST_REQUIRE(one.tally.removed == many.tally.removed);
        BOOST_REQUIRE(one.tally.unknown_removals == many.tally.unknown_removals);
        BOOST_REQUIRE(one.tally.joined == many.tally.joined);
      }
      for (const words& each : prompts) {
        BOOST_REQUIRE(one.depth(each) == many.depth(each));
        BOOST_REQUIRE(one.depth(each, media_mask{1}) == many.depth(each, media_mask{1}));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_batch_without_events_is_passed) {
  stream at(registered(publisher_type::vllm));
  std::vector<event_batch> batches(4);
  stored_event made;
  made.hashes = names({1});
  made.tokens = {1, 2};
  made.has_tokens = true;
  batches[2].events.emplace_back(made);
  event_applier::progress where;
  BOOST_TEST(at.applier->apply_some(std::span<const event_batch>(batches), where, plenty, at.tally));
  BOOST_TEST(at.depth({1, 2}) == 1U);
  BOOST_TEST(at.applier->apply_some(std::span<const event_batch>(), where = {}, plenty, at.tally));
}

BOOST_AUTO_TEST_SUITE_END()
