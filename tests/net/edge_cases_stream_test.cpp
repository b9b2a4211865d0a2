// The cases that break naive consumers, by their number in kv-events.md section 10: those that show over several events.
#include <boost/test/unit_test.hpp>

#include "core/replay_fsm.hpp"
#include "core/stream_cursor.hpp"
#include "net/zmq_frames.hpp"
#include "tests/net/heard_stream.hpp"

BOOST_AUTO_TEST_SUITE(edge_cases_of_streams)

namespace {

using namespace kvc;
using namespace kvc::net;
using namespace kvc::net::test;
using core::medium_id;
using core::publisher_type;
using core::seqno;
using verdict = core::stream_cursor::verdict::kind;
using namespace std::string_literals;

/// The views of the result are into `frames`.
result<batch_frames> live(const std::vector<std::string>& frames) {
  std::vector<std::span<const std::byte>> views;
  for (const std::string& each : frames) views.push_back(std::as_bytes(std::span(each)));
  return read_live(views);
}

const std::string seven("\0\0\0\0\0\0\0\7", 8);

}  // namespace

BOOST_AUTO_TEST_CASE(edge_case_06_an_unknown_parent_is_never_taken_for_a_root) {
  // A late subscriber, a gap, a connector that skips: the chain waits under its parent's name.
  heard_stream at(publisher_type::vllm);
  at.say(event_form::vllm_map, stored_of({.names = {2, 3}, .tokens = {3, 4, 5, 6}, .parent = 1}));
  BOOST_TEST(at.depth({3, 4, 5, 6}) == 0U);
  BOOST_TEST(at.applier->orphans() == 2U);
  at.say(event_form::vllm_array, stored_of({.names = {1}, .tokens = {1, 2}}));
  BOOST_TEST(at.depth({1, 2, 3, 4, 5, 6}) == 3U);
}

BOOST_AUTO_TEST_CASE(edge_case_07_a_hole_ends_a_hit_until_it_is_filled) {
  // Evictions take blocks from the middle as well; removal needs the name only.
  heard_stream at(publisher_type::vllm);
  at.say(event_form::vllm_map, stored_of({.names = {1, 2, 3}, .tokens = {1, 2, 3, 4, 5, 6}}));
  at.say(event_form::vllm_map, removed_of({2}));
  BOOST_TEST(at.depth({1, 2, 3, 4, 5, 6}) == 1U);
  at.say(event_form::vllm_map, stored_of({.names = {2}, .tokens = {3, 4}, .parent = 1}));
  BOOST_TEST(at.depth({1, 2, 3, 4, 5, 6}) == 3U);
}

BOOST_AUTO_TEST_CASE(edge_case_07_a_child_that_is_removed_while_it_waits_does_not_come_with_its_parent) {
  // Its name is all that is known of it, and enough.
  heard_stream at(publisher_type::vllm);
  at.say(event_form::vllm_map, stored_of({.names = {2, 3}, .tokens = {3, 4, 5, 6}, .parent = 1}));
  BOOST_TEST(at.applier->orphans() == 2U);
  at.say(event_form::vllm_map, removed_of({2}));
  BOOST_TEST(at.applier->orphans() == 1U);
  BOOST_TEST(at.tally.unknown_removals == 0U);
  at.say(event_form::vllm_map, stored_of({.names = {1}, .tokens = {1, 2}}));
  BOOST_TEST(at.depth({1, 2, 3, 4, 5, 6}) == 1U);
  at.say(event_form::vllm_map, stored_of({.names = {2}, .tokens = {3, 4}, .parent = 1}));  // what waits behind it comes with it
  BOOST_TEST(at.depth({1, 2, 3, 4, 5, 6}) == 3U);
  BOOST_TEST(at.applier->orphans() == 0U);

  heard_stream twice(publisher_type::vllm);  // copies are counted while they wait, too
  for (int i = 0; i < 2; ++i) twice.say(event_form::vllm_map, stored_of({.names = {2}, .tokens = {3, 4}, .parent = 1}));
  twice.say(event_form::vllm_map, removed_of({2}));
  twice.say(event_form::vllm_map, stored_of({.names = {1}, .tokens = {1, 2}}));
  BOOST_TEST(twice.depth({1, 2, 3, 4}) == 2U);
  twice.say(event_form::vllm_map, removed_of({2}));
  BOOST_TEST(twice.depth({1, 2, 3, 4}) == 1U);
}

BOOST_AUTO_TEST_CASE(edge_case_11_arrays_are_as_long_as_their_version) {
  // Every generation of vLLM, from batches of two without a medium to lists of twelve, moves the same blocks.
  for (const event_form form :
       {event_form::vllm_2025_04, event_form::vllm_2025_06, event_form::vllm_2025_09, event_form::vllm_2025_12, event_form::vllm_2026_02,
        event_form::vllm_2026_04, event_form::vllm_array, event_form::vllm_map, event_form::vllm_map_batch}) {
    for (const bool is_binary : {false, true}) {
      heard_stream at(publisher_type::vllm);
      at.say(form, stored_of({.names = {1, 2}, .tokens = {1, 2, 3, 4}}), is_binary);
      at.say(form, stored_of({.names = {3}, .tokens = {5, 6}, .parent = 2}), is_binary);
      BOOST_TEST(at.depth({1, 2, 3, 4, 5, 6}) == 3U);
      at.say(form, removed_of({2}), is_binary);
      BOOST_TEST(at.depth({1, 2, 3, 4, 5, 6}) == 1U);
      at.say(form, core::cleared_event{});
      BOOST_TEST(at.depth({1, 2}) == 0U);
    }
  }
}

BOOST_AUTO_TEST_CASE(edge_case_11_arrays_of_the_future_are_longer_and_others_leave_out_the_end) {
  // What stands behind the last known field may be anything; what is not there is not said.
  heard_stream at(publisher_type::vllm);
  const auto hear = [&](const std::function<void(msgpack_writer&)>& write) {
    BOOST_TEST(at.hear(batch_of(1, write)));
    BOOST_TEST(at.with.batch.rejected_events == 0U);
    BOOST_TEST(at.with.batch.counts.unknown.empty());
  };
  const auto anything = [](msgpack_writer& to) {
    to.map(1);
    to.string("from");
    to.array(2);
    to.string("the future");
    to.nil();
  };
  const auto stored = [](msgpack_writer& to, std::uint32_t length) {
    to.array(length);
    to.string("BlockStored");
    to.array(1);
    to.unsigned_integer(1);
    to.nil();
    to.array(2);
    to.unsigned_integer(1);
    to.unsigned_integer(2);
    if (length > 4) to.unsigned_integer(2);
    for (std::uint32_t i = 5; i < length && i < 12; ++i) i == 6 ? to.string("GPU") : i == 9 ? to.unsigned_integer(0) : to.nil();
  };
  const auto removed = [](msgpack_writer& to, std::uint32_t length) {
    to.array(length);
    to.string("BlockRemoved");
    to.array(1);
    to.unsigned_integer(1);
    if (length > 2) to.string("GPU");
    if (length > 3) to.unsigned_integer(0);
  };
  const auto on_gpu = [&] { return at.applier->blocks_of({core::dp_rank{1}, {}}).held_on(medium_id::gpu); };  // of the batch's rank
  for (const std::uint32_t length : {4U, 5U, 6U, 12U, 13U, 16U, 40U}) {
    BOOST_TEST_CONTEXT("length " << length) {
      hear([&](msgpack_writer& to) {
        stored(to, length);
        for (std::uint32_t i = 12; i < length; ++i) anything(to);
      });
      BOOST_TEST(on_gpu() == 1U);
      const std::uint32_t shorter = length < 12 ? 2 : length - 8;
      hear([&](msgpack_writer& to) {
        removed(to, shorter);
        for (std::uint32_t i = 4; i < shorter; ++i) anything(to);
      });
      BOOST_TEST(on_gpu() == 0U);
      hear([&](msgpack_writer& to) { stored(to, 6); });
      hear([&](msgpack_writer& to) {
        to.array(length < 12 ? 1 : 3);
        to.string("AllBlocksCleared");
        for (std::uint32_t i = 1; i < 3 && length >= 12; ++i) anything(to);
      });
      BOOST_TEST(on_gpu() == 0U);
    }
  }
}

BOOST_AUTO_TEST_CASE(edge_case_14_a_batch_speaks_for_the_rank_it_names) {
  // One port for all ranks of an instance: each has blocks of its own.
  heard_stream at(publisher_type::tensorrt_llm);
  for (const std::uint32_t rank : {0U, 1U})
    at.say(event_form::tensorrt_llm_relay, stored_of({.names = {1}, .tokens = {rank, 9}}), false, rank);
  BOOST_TEST(at.applier->owners() == 2U);
  BOOST_TEST(at.depth({0, 9}) == 1U);
  BOOST_TEST(at.depth({1, 9}) == 0U);  // of the registered rank
}

BOOST_AUTO_TEST_CASE(edge_case_15_groups_have_names_of_their_own_and_only_whole_ones_answer) {
  // A hybrid model's groups use one hash for different blocks; a sliding window must not vouch for what it has forgotten.
  heard_stream at(publisher_type::vllm);
  core::stored_event full = stored_of({.names = {1}, .tokens = {1, 2}});
  core::stored_event window = stored_of({.names = {1}, .tokens = {5, 6}});
  window.scope.group = 1;
  window.scope.prefix_complete = false;
  core::stored_event other = stored_of({.names = {1}, .tokens = {7, 8}});
  other.scope.group = 2;
  for (const event_form form : {event_form::vllm_array, event_form::vllm_map}) {
    for (const auto& each : {full, window, other}) at.say(form, each);
  }
  BOOST_TEST(at.depth({1, 2}) == 1U);
  BOOST_TEST(at.depth({5, 6}) == 0U);
  BOOST_TEST(at.depth({7, 8}) == 1U);
  BOOST_TEST(at.applier->uncounted() == 1U);
  core::removed_event gone = removed_of({1});
  gone.scope.group = 1;
  for (int i = 0; i < 2; ++i) at.say(event_form::vllm_map, gone);
  BOOST_TEST(at.depth({1, 2}) == 1U);
  BOOST_TEST(at.applier->uncounted() == 0U);
}

BOOST_AUTO_TEST_CASE(edge_case_17_blocks_of_another_size_are_made_to_fit) {
  // LMCache's chunks in a vLLM stream, small pages, and a short page at the end of a prompt. The registered size is 2.
  heard_stream at(publisher_type::vllm);
  at.say(event_form::vllm_array, stored_of({.names = {50}, .tokens = {1, 2, 3, 4, 5, 6}, .medium = medium_id::cpu, .block_size = 6}));
  at.say(event_form::vllm_array, stored_of({.names = {51}, .tokens = {7, 8, 9}, .parent = 50, .medium = medium_id::cpu, .block_size = 3}));
  BOOST_TEST(at.depth({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, core::mask_of(medium_id::cpu)) == 4U);

  heard_stream pages(publisher_type::sglang);
  for (std::uint32_t i = 0; i < 3; ++i) {
    told page{.names = {i + 1}, .tokens = {i}, .block_size = 1};
    if (i != 0) page.parent = i;
    pages.say(event_form::sglang_map, stored_of(page));
  }
  BOOST_TEST(pages.depth({0, 1, 2, 3}) == 1U);  // the third page is half a block
  BOOST_TEST(pages.tally.reblocked_pages == 3U);
}

BOOST_AUTO_TEST_CASE(edge_case_19_tokens_are_unsigned) {
  // Up to 2^32-1; folded into a signed number two prompts would look alike.
  heard_stream at(publisher_type::vllm);
  at.say(event_form::vllm_array, stored_of({.names = {1}, .tokens = {0x8000'0000U, 0xFFFF'FFFFU}}));
  BOOST_TEST(at.depth({0x8000'0000U, 0xFFFF'FFFFU}) == 1U);
  BOOST_TEST(at.depth({0x8000'0000U, 0x7FFF'FFFFU}) == 0U);
}

BOOST_AUTO_TEST_CASE(edge_case_22_a_clear_reaches_as_far_as_its_publisher_does) {
  // An engine resets its device; a store's backend empties all its media, and leaves the other backends and tenants alone.
  heard_stream engine(publisher_type::vllm);
  engine.say(event_form::vllm_map, stored_of({.names = {1}, .tokens = {1, 2}}));
  engine.say(event_form::vllm_map, stored_of({.names = {1}, .tokens = {1, 2}, .medium = medium_id::cpu}));
  BOOST_TEST(engine.hear_hex(samples::vllm_map_cleared));
  BOOST_TEST(engine.depth({1, 2}, core::mask_of(medium_id::gpu)) == 0U);
  BOOST_TEST(engine.depth({1, 2}, core::mask_of(medium_id::cpu)) == 1U);

  heard_stream pool(publisher_type::mooncake, core::publisher_class::pool);
  const auto at_backend = [](std::string name, std::uint64_t hash, std::vector<std::uint32_t> tokens, medium_id medium) {
    core::stored_event made = stored_of({.names = {hash}, .tokens = std::move(tokens), .medium = medium});
    made.scope.backend = std::move(name);
    return made;
  };
  pool.apply(at_backend("node-1", 1, {1, 2}, medium_id::cpu));
  pool.apply(at_backend("node-1", 2, {3, 4}, medium_id::disk));
  pool.apply(at_backend("node-2", 3, {5, 6}, medium_id::cpu));
  BOOST_TEST(pool.applier->names() == 3U);
  core::cleared_event cleared;
  cleared.scope.backend = "node-1";
  cleared.scope.tenant = "another";
  pool.say(event_form::mooncake_branch, cleared);
  BOOST_TEST(pool.applier->names() == 3U);
  cleared.scope.tenant = "default";
  pool.say(event_form::mooncake_branch, cleared);
  BOOST_TEST(pool.applier->names() == 1U);

  // The first stores name neither backend nor tenant, and mean all their media.
  heard_stream old(publisher_type::mooncake, core::publisher_class::pool);
  for (const medium_id medium : {medium_id::cpu, medium_id::disk}) {
    old.apply(stored_of({.names = {static_cast<std::uint64_t>(medium) + 1}, .tokens = {1, 2}, .medium = medium}));
    BOOST_TEST(old.depth({1, 2}, core::mask_of(medium)) == 1U);
  }
  BOOST_TEST(old.hear_hex(samples::mooncake_old_remove_all));
  BOOST_TEST(old.with.batch.rejected_events == 0U);
  for (const medium_id medium : {medium_id::cpu, medium_id::disk}) BOOST_TEST(old.depth({1, 2}, core::mask_of(medium)) == 0U);
  BOOST_TEST(old.applier->names() == 0U);
}

BOOST_AUTO_TEST_CASE(edge_case_23_a_number_that_goes_back_is_a_new_life) {
  // A restarted engine says nothing; what it held is gone, and its numbers begin anew.
  core::stream_cursor cursor;
  for (std::uint64_t i = 0; i < 3; ++i) {
    BOOST_TEST((cursor.observe_live(seqno{i}).what == verdict::contiguous));
    cursor.applied(seqno{i});
  }
  BOOST_TEST((cursor.observe_live(seqno{0}).what == verdict::restart));
  heard_stream at(publisher_type::vllm);
  at.say(event_form::vllm_map, stored_of({.names = {1}, .tokens = {1, 2}}));
  while (!at.applier->drop_some(1, at.tally)) continue;
  cursor.reset();
  BOOST_TEST(at.depth({1, 2}) == 0U);
  BOOST_TEST((cursor.observe_live(seqno{0}).what == verdict::contiguous));
}

BOOST_AUTO_TEST_CASE(edge_case_24_a_first_number_above_the_first_asks_for_the_beginning) {
  // A publisher drops what was before the subscription: absence proves nothing until it has been replayed.
  core::stream_cursor cursor;
  const auto late = cursor.observe_live(seqno{40});
  BOOST_TEST((late.what == verdict::gap));
  core::replay_fsm recovery(late.missing_from, late.missing_to, {});
  BOOST_TEST((recovery.start() == core::replay_fsm::action::request));
  BOOST_TEST(recovery.request_from().get() == 0U);
}

BOOST_AUTO_TEST_CASE(edge_case_25_a_gap_that_cannot_be_filled_is_listed_and_passed) {
  // A batch that could not be encoded has a number and no bytes: asking for it again would never end.
  using action = core::replay_fsm::action;
  core::replay_fsm recovery(seqno{5}, seqno{7}, {.attempts = 2});
  BOOST_TEST((recovery.start() == action::request));
  BOOST_TEST((recovery.on_batch(seqno{5}) == action::apply));
  BOOST_TEST((recovery.on_batch(seqno{7}) == action::request));  // dropped on the way, or never there: asked once more
  BOOST_TEST(recovery.request_from().get() == 6U);
  BOOST_TEST((recovery.on_batch(seqno{7}) == action::apply));
  BOOST_TEST(recovery.is_complete());
  BOOST_TEST(recovery.lost_count() == 1U);
  BOOST_TEST_REQUIRE(recovery.lost().size() == 1U);
  BOOST_TEST(recovery.lost()[0].from.get() == 6U);
}

BOOST_AUTO_TEST_CASE(edge_case_26_messages_of_another_shape_are_refused_one_by_one) {
  // Ancient publishers send two frames; whatever arrives, the next message is read.
  BOOST_TEST(live({seven, "payload"}).error() == make_error_code(errc::bad_frame_count));
  BOOST_TEST(live({"", "", seven, "payload"}).error() == make_error_code(errc::bad_frame_count));
  BOOST_TEST(live({"", "four", "payload"}).error() == make_error_code(errc::bad_seqno_frame));
  BOOST_TEST(live({"", seven, "payload"}).has_value());
}

BOOST_AUTO_TEST_CASE(edge_case_29_an_empty_batch_is_a_batch) {
  // It says nothing and takes its number.
  heard_stream at(publisher_type::vllm);
  BOOST_TEST(at.hear(batch_of(0, [](msgpack_writer&) {})));
  BOOST_TEST(at.with.batch.events.empty());
  core::stream_cursor cursor;
  BOOST_TEST((cursor.observe_live(seqno{0}).what == verdict::contiguous));
  cursor.applied(seqno{0});
  BOOST_TEST((cursor.observe_live(seqno{1}).what == verdict::contiguous));
}

BOOST_AUTO_TEST_CASE(edge_case_30_topics_are_told_apart_whole) {
  // A subscription is a prefix, so `kv@10.0.0.1` also gets `kv@10.0.0.10`: the whole topic of a message is compared.
  const std::string wanted = "kv@10.0.0.1";
  const std::vector<std::string> own_frames{wanted, seven, "payload"};
  const std::vector<std::string> other_frames{"kv@10.0.0.10", seven, "payload"};
  const auto own = live(own_frames);
  const auto other = live(other_frames);
  BOOST_TEST_REQUIRE((own.has_value() && other.has_value()));
  BOOST_TEST(core::is_topic_wanted(wanted, own->topic));
  BOOST_TEST(other->topic.starts_with(core::topic_prefix(wanted)));
  BOOST_TEST(!core::is_topic_wanted(wanted, other->topic));
  BOOST_TEST(core::is_topic_wanted("", other->topic));
  BOOST_TEST(core::is_topic_wanted("kv@*", other->topic));
  BOOST_TEST(core::topic_prefix("kv@*") == "kv@");
}

BOOST_AUTO_TEST_SUITE_END()
