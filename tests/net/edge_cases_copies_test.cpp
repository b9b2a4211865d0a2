// The eighth case of kv-events.md section 10: a block stored more than once. Copies are counted per rank, group, medium and name.
#include <boost/test/unit_test.hpp>

#include "core/stream_cursor.hpp"
#include "tests/net/heard_stream.hpp"

BOOST_AUTO_TEST_SUITE(edge_cases_of_copies)

namespace {

using namespace kvc;
using namespace kvc::net;
using namespace kvc::net::test;
using core::medium_id;
using core::publisher_type;
using core::seqno;
using verdict = core::stream_cursor::verdict::kind;

}  // namespace

BOOST_AUTO_TEST_CASE(edge_case_08_copies_are_counted_where_the_publisher_announces_them) {
  // vLLM's blocks are physical: two stores need two removals, per group and medium. SGLang and TensorRT-LLM say a thing once.
  // (What becomes of more copies than can be counted is in core/copy_count_test.)
  heard_stream physical(publisher_type::vllm);
  for (int i = 0; i < 2; ++i) physical.say(event_form::vllm_map, stored_of({.names = {1}, .tokens = {1, 2}}));
  physical.say(event_form::vllm_map, stored_of({.names = {1}, .tokens = {1, 2}, .medium = medium_id::cpu}));
  physical.say(event_form::vllm_map, removed_of({1}));
  BOOST_TEST(physical.depth({1, 2}, core::mask_of(medium_id::gpu)) == 1U);
  physical.say(event_form::vllm_map, removed_of({1}));
  BOOST_TEST(physical.depth({1, 2}, core::mask_of(medium_id::gpu)) == 0U);
  BOOST_TEST(physical.depth({1, 2}, core::mask_of(medium_id::cpu)) == 1U);
  physical.say(event_form::vllm_map, stored_of({.names = {1}, .tokens = {1, 2}}));
  physical.say(event_form::vllm_map, core::cleared_event{});  // forgets the counts as well
  physical.say(event_form::vllm_map, stored_of({.names = {1}, .tokens = {1, 2}}));
  physical.say(event_form::vllm_map, removed_of({1}));
  BOOST_TEST(physical.depth({1, 2}, core::mask_of(medium_id::gpu)) == 0U);

  for (const publisher_type type : {publisher_type::sglang, publisher_type::tensorrt_llm}) {
    heard_stream logical(type);
    for (int i = 0; i < 2; ++i) logical.say(event_form::sglang_map, stored_of({.names = {1}, .tokens = {1, 2}}));
    logical.say(event_form::sglang_map, removed_of({1}));
    BOOST_TEST(logical.depth({1, 2}) == 0U);
  }
  // What a replay has brought already is dropped by its number before it can be counted twice.
  core::stream_cursor cursor;
  (void)cursor.observe_live(seqno{0});
  cursor.applied(seqno{0});
  cursor.applied(seqno{1});
  BOOST_TEST((cursor.observe_live(seqno{1}).what == verdict::duplicate));
}

BOOST_AUTO_TEST_CASE(edge_case_08_copies_are_counted_for_each_rank_by_itself) {
  // One name, twice on one rank and once on another: removals take away exactly their rank's own.
  heard_stream at(publisher_type::vllm);
  const auto held = [&](std::uint32_t rank) { return at.applier->blocks_of({core::dp_rank{rank}, {}}).held_on(medium_id::gpu); };
  for (const std::uint32_t rank : {1U, 0U, 1U}) at.say(event_form::vllm_map, stored_of({.names = {1}, .tokens = {1, 2}}), false, rank);
  BOOST_TEST_REQUIRE(at.applier->owners() == 2U);
  at.say(event_form::vllm_map, removed_of({1}), false, 1);
  BOOST_TEST(held(1) == 1U);
  BOOST_TEST(held(0) == 1U);
  at.say(event_form::vllm_map, removed_of({1}), false, 0);
  BOOST_TEST(held(0) == 0U);
  BOOST_TEST(at.depth({1, 2}) == 0U);
  BOOST_TEST(held(1) == 1U);
  at.say(event_form::vllm_map, removed_of({1}), false, 0);  // one more than there were: not the other rank's
  BOOST_TEST(held(1) == 1U);
  at.say(event_form::vllm_map, removed_of({1}), false, 1);
  BOOST_TEST(held(1) == 0U);
}

BOOST_AUTO_TEST_CASE(edge_case_08_copies_are_counted_for_each_group_by_itself) {
  // The same of groups, whose names are alike and mean different blocks, and of names in one group.
  heard_stream at(publisher_type::vllm);
  const auto in_group = [](auto event, std::uint32_t group) {
    event.scope.group = group;
    return event;
  };
  const core::stored_event first = stored_of({.names = {1}, .tokens = {1, 2}});
  const core::stored_event second = in_group(stored_of({.names = {1}, .tokens = {5, 6}}), 1);
  const core::stored_event other = stored_of({.names = {2}, .tokens = {7, 8}});
  for (const auto& each : {second, first, second, other}) at.say(event_form::vllm_map, each);
  at.say(event_form::vllm_map, in_group(removed_of({1}), 1));
  BOOST_TEST(at.depth({5, 6}) == 1U);
  BOOST_TEST(at.depth({1, 2}) == 1U);
  at.say(event_form::vllm_map, removed_of({1}));
  BOOST_TEST(at.depth({1, 2}) == 0U);
  BOOST_TEST(at.depth({5, 6}) == 1U);
  at.say(event_form::vllm_map, removed_of({1}));  // one more than there were: neither the other group's nor the other name's
  BOOST_TEST(at.depth({5, 6}) == 1U);
  BOOST_TEST(at.depth({7, 8}) == 1U);
  at.say(event_form::vllm_map, in_group(removed_of({1}), 1));
  BOOST_TEST(at.depth({5, 6}) == 0U);
  BOOST_TEST(at.depth({7, 8}) == 1U);
}

BOOST_AUTO_TEST_CASE(edge_case_08_a_registration_says_whether_copies_are_counted) {
  // Whatever its type does by itself.
  for (const publisher_type type : {publisher_type::vllm, publisher_type::sglang}) {
    for (const bool counts : {false, true}) {
      core::registration as = heard_stream::registered_with_defaults(type, core::publisher_class::engine);
      as.copy_counting = counts;
      heard_stream at(as);
      for (int i = 0; i < 2; ++i) at.say(event_form::vllm_map, stored_of({.names = {1}, .tokens = {1, 2}}));
      at.say(event_form::vllm_map, removed_of({1}));
      BOOST_TEST(at.depth({1, 2}) == (counts ? 1U : 0U));
      at.say(event_form::vllm_map, removed_of({1}));
      BOOST_TEST(at.depth({1, 2}) == 0U);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
