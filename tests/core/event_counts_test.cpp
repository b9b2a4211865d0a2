// What is counted by name: batches, words of strangers, digests that end alike, groups that are tracked only.
#include "core/event_counts.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/digest_names.hpp"
#include "core/name_counts.hpp"
#include "core/uncounted_groups.hpp"
#include "core/worker_numbers.hpp"

BOOST_AUTO_TEST_SUITE(event_counts)

namespace {

using namespace kvc::core;

std::vector<std::byte> digest_bytes(std::uint64_t front, std::uint64_t back) {
  std::vector<std::byte> bytes;
  for (const std::uint64_t word : {front, back}) {
    for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<std::byte>(word >> (56 - 8 * i) & 0xff));
  }
  return bytes;
}

BOOST_AUTO_TEST_CASE(every_value_has_a_word_of_its_own) {
  // Words are label values of metrics: two alike would be one series.
  for (std::size_t i = 0; i < event_dialect_count; ++i) BOOST_TEST(to_string(static_cast<event_dialect>(i)) != "unknown");
  for (std::size_t i = 0; i < event_kind_count; ++i) BOOST_TEST(to_string(static_cast<event_kind>(i)) != "unknown");
  for (std::size_t i = 0; i < reject_reason_count; ++i) BOOST_TEST(to_string(static_cast<reject_reason>(i)) != "unknown");
  BOOST_TEST(to_string(reject_reason::remote) == "remote");
  BOOST_TEST(to_string(word_kind::medium) == "medium");
}

BOOST_AUTO_TEST_CASE(tallies_of_batches_add_up) {
  event_tally sum;
  for (std::uint32_t batch = 1; batch <= 3; ++batch) {
    batch_counts counts;
    std::uint32_t next = batch;
    for (auto& kinds : counts.events) {
      for (std::uint32_t& each : kinds) each = next++;
    }
    for (std::uint32_t& each : counts.rejected) each = next++;
    sum.add(counts);
  }
  std::uint32_t expected = 1 + 2 + 3;
  for (const auto& kinds : sum.events) {
    for (const std::uint32_t each : kinds) {
      BOOST_TEST(each == expected);
      expected += 3;
    }
  }
  for (const std::uint32_t each : sum.rejected) {
    BOOST_TEST(each == expected);
    expected += 3;
  }
}

BOOST_AUTO_TEST_CASE(unknown_words_of_a_batch_are_bounded) {
  // A publisher that invents a field per event must not grow the batch.
  batch_counts counts;
  for (int i = 0; i < 100; ++i) counts.add_unknown(word_kind::field, "field-" + std::to_string(i));
  counts.add_unknown(word_kind::field, "field-3");
  counts.add_unknown(word_kind::tag, "field-3");
  counts.add_unknown(word_kind::tag, std::string(1'000, 'x'));
  BOOST_TEST(counts.unknown.size() <= batch_counts::max_words + word_kind_count);
  BOOST_TEST(counts.unknown[3].times == 2U);
  std::uint64_t others = 0;
  for (const unknown_word& each : counts.unknown) {
    BOOST_TEST(each.text.size() <= batch_counts::max_word_bytes);
    if (each.text.empty()) others += each.times;
  }
  BOOST_TEST(others == 86U);
  counts.reset();
  BOOST_TEST(counts.unknown.empty());
}

BOOST_AUTO_TEST_CASE(names_are_counted_up_to_a_bound) {
  // What comes beyond shares one count; nothing unprintable reaches a metrics page.
  name_counts counts;
  for (int i = 0; i < 20; ++i) counts.add("name-" + std::to_string(i), 2);
  counts.add("name-0");
  counts.add("");
  BOOST_TEST(counts.size() == name_counts::max_names);
  BOOST_TEST(counts.name(0) == "name-0");
  BOOST_TEST(counts.times(0) == 3U);
  BOOST_TEST(counts.others() == 9U);

  name_counts rubbish;
  rubbish.add("a\nb\"c\xff");
  BOOST_TEST(rubbish.name(0) == "a?b\"c?");
  rubbish.add(std::string(300, 'y'));
  BOOST_TEST(rubbish.name(1).size() == name_counts::max_bytes);
}

BOOST_AUTO_TEST_CASE(digests_that_end_alike_are_kept_apart) {
  // Their fold is the same integer; only the whole digest tells the blocks apart.
  digest_names names;
  const engine_hash first = names.name_of(digest_bytes(1, 7));
  const engine_hash second = names.name_of(digest_bytes(2, 7));
  BOOST_TEST(first.get() == 7U);
  BOOST_TEST(second.get() != 7U);
  BOOST_TEST((names.name_of(digest_bytes(1, 7)) == first));
  BOOST_TEST((names.name_of(digest_bytes(2, 7)) == second));
  BOOST_TEST((names.name_of(digest_bytes(3, 7)) != second));
  const std::vector<std::byte> number{std::byte{1}, std::byte{2}};
  BOOST_TEST(names.name_of(number).get() == 0x0102U);
}

BOOST_AUTO_TEST_CASE(digests_are_forgotten_when_they_are_old) {
  // The memory of a stream's digests is bounded, and one in use is not forgotten.
  digest_names names;
  const engine_hash second = [&] {
    (void)names.name_of(digest_bytes(1, 7));
    return names.name_of(digest_bytes(2, 7));
  }();
  for (std::uint64_t i = 0; i < digest_names::generation_size; ++i) (void)names.name_of(digest_bytes(i, 1'000 + i));
  BOOST_TEST((names.name_of(digest_bytes(2, 7)) == second));
  for (std::uint64_t i = 0; i < 2 * digest_names::generation_size + 1; ++i) (void)names.name_of(digest_bytes(i, 10'000'000 + i));
  BOOST_TEST(names.name_of(digest_bytes(2, 7)).get() == 7U);
}

BOOST_AUTO_TEST_CASE(tracked_groups_count_names_and_copies) {
  // What a sliding window holds is shown, and never vouches for a prefix.
  kvc::core::uncounted_groups tracked(true);
  event_scope window;
  window.group = 1;
  event_scope full;
  BOOST_TEST(!tracked.covers(window));
  window.prefix_complete = false;
  BOOST_TEST(tracked.covers(window));
  BOOST_TEST(tracked.knows(1));
  BOOST_TEST(!tracked.knows(0));
  window.prefix_complete = true;
  BOOST_TEST(!tracked.covers(window));  // a store is what it says it is
  window.takes_kind_of_group = true;
  BOOST_TEST(tracked.covers(window));
  BOOST_TEST(!tracked.covers(full));

  const std::vector<engine_hash> both{engine_hash{1}, engine_hash{2}};
  tracked.store(both, 1, medium_id::gpu);
  tracked.store(both, 1, medium_id::gpu);
  tracked.store(both, 1, medium_id::cpu);
  tracked.store(both, 2, medium_id::gpu);
  BOOST_TEST(tracked.blocks() == 6U);
  BOOST_TEST(tracked.remove(both, 1, mask_of(medium_id::gpu)).empty());
  BOOST_TEST(tracked.blocks() == 6U);
  BOOST_TEST(tracked.remove(both, 1, mask_of(medium_id::gpu)).empty());
  BOOST_TEST(tracked.blocks() == 4U);
  BOOST_TEST(tracked.remove(both, 1, mask_of(medium_id::gpu)).size() == 2U);  // somebody else's
  BOOST_TEST(tracked.blocks() == 4U);
  tracked.clear(mask_of(medium_id::gpu));
  BOOST_TEST(tracked.blocks() == 2U);
}

BOOST_AUTO_TEST_CASE(worker_numbers_are_never_given_twice) {
  // A late reader must not confuse two workers.
  worker_numbers numbers;
  BOOST_TEST(numbers.next()->get() == 0U);
  BOOST_TEST(numbers.next()->get() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
