// SGLang's seven layouts.
#include <boost/test/unit_test.hpp>

#include "tests/net/heard_stream.hpp"

BOOST_AUTO_TEST_SUITE(sglang_events)

namespace {

using namespace kvc;
using namespace kvc::net;
using namespace kvc::net::test;

std::uint32_t counted(const decoding& with, core::event_dialect dialect) {
  std::uint32_t sum = 0;
  for (const std::uint32_t each : with.batch.counts.events[static_cast<std::size_t>(dialect)]) sum += each;
  return sum;
}

}  // namespace

BOOST_AUTO_TEST_CASE(signed_names_become_unsigned) {
  // Half of its hashes are negative, and the same block must have one name.
  decoding with;
  BOOST_TEST(bare(with.sample<core::removed_event>(samples::sglang_2025_05_removed).hashes).front() == 0xfc228fb55a288afeU);
  BOOST_TEST(bare(with.sample<core::removed_event>(samples::sglang_2026_09_removed).hashes).front() == 0xfc228fb55a288afeU);
}

BOOST_AUTO_TEST_CASE(a_short_page_keeps_its_own_block_size) {
  // The tail page of a prompt is shorter than the engine's page; whether to index it is decided elsewhere.
  decoding with;
  const auto& stored = with.sample<core::stored_event>(samples::sglang_2026_07_short_page);
  BOOST_TEST(stored.scope.block_size == 8U);
  BOOST_TEST(stored.tokens.size() == 8U);
}

BOOST_AUTO_TEST_CASE(the_salt_is_read_from_the_place_of_vllm_s_adapter) {
  // Index 7 means two things; the type of the value tells which.
  decoding with;
  const auto& stored = with.sample<core::stored_event>(samples::sglang_2026_08_salted);
  BOOST_TEST(stored.scope.salt.value_or("") == "tenant-a");
  BOOST_TEST(!stored.scope.lora.has_value());
  BOOST_TEST(counted(with, core::event_dialect::sglang_array) == 1U);
}

BOOST_AUTO_TEST_CASE(a_map_carries_the_salt_as_a_member) {
  // And leaves out what is not set.
  heard_stream at(core::publisher_type::sglang);
  core::stored_event salted = stored_of({.names = {1}, .tokens = {7, 8}});
  salted.scope.salt = "tenant-a";
  for (const event_form form : {event_form::sglang_2026_02, event_form::sglang_map}) {
    at.say(form, salted);
    const auto& heard = std::get<core::stored_event>(at.with.batch.events.at(0));
    BOOST_TEST(heard.scope.salt.value_or("") == "tenant-a");
    BOOST_TEST(heard.tokens.size() == 2U);
  }
  BOOST_TEST(counted(at.with, core::event_dialect::sglang_map) == 1U);
  BOOST_TEST(at.depth({7, 8}) == 0U);  // a salt is a partition of its own
}

BOOST_AUTO_TEST_CASE(every_generation_moves_the_same_blocks) {
  // Arrays of 6, 7 and 8, batches of 2 and 3, and maps: one page per event, chained by parent, gone in one removal.
  for (const event_form form :
       {event_form::sglang_2025_05, event_form::sglang_2025_06, event_form::sglang_2026_02, event_form::sglang_map}) {
    heard_stream at(core::publisher_type::sglang);
    at.say(form, stored_of({.names = {~std::uint64_t{0}}, .tokens = {1, 2}}));
    at.say(form, stored_of({.names = {12}, .tokens = {3, 4}, .parent = ~std::uint64_t{0}}));
    BOOST_TEST(at.depth({1, 2, 3, 4}) == 2U);
    at.say(form, stored_of({.names = {12}, .tokens = {3, 4}, .parent = ~std::uint64_t{0}}));  // logical: said twice is there once
    at.say(form, removed_of({12}));
    BOOST_TEST(at.depth({1, 2, 3, 4}) == 1U);
    at.say(form, core::cleared_event{});
    BOOST_TEST(at.depth({1, 2}) == 0U);
    BOOST_TEST(counted(at.with, form == event_form::sglang_map ? core::event_dialect::sglang_map : core::event_dialect::sglang_array) ==
               1U);
  }
}

BOOST_AUTO_TEST_CASE(host_and_disk_tiers_are_folded) {
  // HiCache announces its tiers under its own words.
  decoding with;
  for (const auto& [word, medium] : std::vector<std::pair<std::string, core::medium_id>>{
           {"CPU_PINNED", core::medium_id::cpu}, {"DISK", core::medium_id::disk}, {"EXTERNAL", static_cast<core::medium_id>(3)}}) {
    const auto& removed = with.only<core::removed_event>(batch_of(1, [&name = word](msgpack_writer& to) {
      to.array(3);
      to.string("BlockRemoved");
      to.array(1);
      to.integer(-5);
      to.string(name);
    }));
    BOOST_TEST((removed.scope.medium == medium), word);
    BOOST_TEST(with.batch.counts.unknown.empty());
  }
}

BOOST_AUTO_TEST_SUITE_END()
