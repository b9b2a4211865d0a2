// TensorRT-LLM's own events and those of Dynamo's relay.
#include <cstdint>
#include <optional>

#include <boost/test/unit_test.hpp>

#include "tests/net/heard_stream.hpp"

BOOST_AUTO_TEST_SUITE(tensorrt_llm_events)

namespace {

using namespace kvc;
using namespace kvc::net;
using namespace kvc::net::test;

/// A relayed store of three blocks of two tokens: plain, with one item in two places, with an item without places.
void write_multimodal(msgpack_writer& to, std::optional<std::uint64_t> lora_id = {}) {
  const auto object = [&to](std::uint64_t hash, bool has_offsets) {
    to.map(1);
    to.string("mm_objects");
    to.array(1);
    to.map(has_offsets ? 2 : 1);
    to.string("mm_hash");
    to.unsigned_integer(hash);
    if (!has_offsets) return;
    to.string("offsets");
    to.array(2);
    for (const std::uint64_t begin : {0U, 9U}) {
      to.array(2);
      to.unsigned_integer(begin);
      to.unsigned_integer(begin + 4);
    }
  };
  to.map(7);
  to.string("type");
  to.string("BlockStored");
  to.string("block_hashes");
  to.array(3);
  for (const std::int64_t hash : {-1, 2, 3}) to.integer(hash);
  to.string("parent_block_hash");
  to.nil();
  to.string("token_ids");
  to.array(6);
  for (std::uint64_t i = 0; i < 6; ++i) to.unsigned_integer(i);
  to.string("block_size");
  to.unsigned_integer(2);
  to.string("lora_id");
  if (lora_id) {
    to.unsigned_integer(*lora_id);
  } else {
    to.nil();
  }
  to.string("block_mm_infos");
  to.array(3);
  to.nil();
  object(7, true);
  object(8, false);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_relayed_store_is_understood) {
  // It adds members of its own and sends signed hashes beside unsigned ones.
  decoding with;
  const auto& stored = with.sample<core::stored_event>(samples::tensorrt_llm_relay_stored);
  BOOST_TEST(bare(stored.hashes).front() == 0xdb5b7b30bb2995d4U);
  BOOST_TEST((stored.parent == core::engine_hash{0x3330d8a4cadda016}));
  BOOST_TEST(stored.tokens.size() == 16U);
  BOOST_TEST((with.batch.rank == core::dp_rank{0}));
  BOOST_TEST(with.batch.counts.events[static_cast<std::size_t>(core::event_dialect::tensorrt_llm)][0] == 1U);
  BOOST_TEST(with.batch.counts.unknown.empty());
}

BOOST_AUTO_TEST_CASE(multimodal_items_keep_blocks_apart) {
  // The tokens of an image are the same for every image: without its hash two prompts would meet. The form is that of vLLM's key lists.
  decoding with;
  const auto& stored = with.only<core::stored_event>(batch_of(1, [](msgpack_writer& to) { write_multimodal(to); }));
  BOOST_TEST_REQUIRE(stored.extra_keys.size() == 3U);
  BOOST_TEST(stored.extra_keys[0].empty());
  BOOST_TEST(stored.extra_keys[1] == samples::from_hex("9292070092"
                                                       "0709"));
  BOOST_TEST(stored.extra_keys[2] == samples::from_hex("9108"));
}

BOOST_AUTO_TEST_CASE(an_adapter_s_blocks_are_not_the_base_model_s) {
  // The relay knows adapters by their number only.
  decoding with(core::publisher_type::tensorrt_llm);
  const auto lora_of = [&with](std::optional<std::uint64_t> id) {
    const auto& stored = with.only<core::stored_event>(batch_of(1, [id](msgpack_writer& to) { write_multimodal(to, id); }));
    return stored.scope.lora.value_or("none");
  };
  BOOST_TEST(lora_of({}) == "none");
  BOOST_TEST(lora_of(0) == "none");
  BOOST_TEST(lora_of(7) == "7");
}

/// A store of one block whose items are still to be written.
void begin_block_with_items(msgpack_writer& to) {
  to.map(3);
  to.string("type");
  to.string("BlockStored");
  to.string("block_hashes");
  to.array(1);
  to.unsigned_integer(1);
  to.string("block_mm_infos");
  to.array(1);
}

BOOST_AUTO_TEST_CASE(items_that_are_none_cost_their_event_only) {
  // An event without its items would be about other blocks.
  decoding with;
  BOOST_TEST(!with.decode(batch_of(2, [](msgpack_writer& to) {
    begin_block_with_items(to);
    to.unsigned_integer(5);
    write_multimodal(to);
  })));
  BOOST_TEST(with.batch.events.size() == 1U);
  BOOST_TEST(with.rejected(reject_reason::wrong_type) == 1U);
}

BOOST_AUTO_TEST_CASE(ranges_of_items_are_bounded_like_other_keys) {
  // A range makes three keys, and may come in two bytes.
  const auto rejected = [](std::uint32_t ranges) {
    decoding with;
    BOOST_TEST(!with.decode(batch_of(1, [ranges](msgpack_writer& to) {
      begin_block_with_items(to);
      to.map(1);
      to.string("mm_objects");
      to.array(1);
      to.map(2);
      to.string("mm_hash");
      to.unsigned_integer(5);
      to.string("offsets");
      to.array(ranges);
      for (std::uint32_t i = 0; i < ranges; ++i) {
        to.array(1);
        to.unsigned_integer(i);
      }
    })));
    return with.rejected(reject_reason::wrong_type);
  };
  BOOST_TEST(rejected(max_extra_keys / 3) == 0U);
  BOOST_TEST(rejected(max_extra_keys / 3 + 1) == 1U);
}

BOOST_AUTO_TEST_CASE(both_publishers_move_the_same_blocks) {
  // Its own stream and the relayed one; removals are direct.
  for (const event_form form : {event_form::tensorrt_llm, event_form::tensorrt_llm_relay}) {
    heard_stream at(core::publisher_type::tensorrt_llm);
    at.say(form, stored_of({.names = {1, ~std::uint64_t{5}}, .tokens = {1, 2, 3, 4}}), false, 0);
    at.say(form, stored_of({.names = {1}, .tokens = {1, 2}}), false, 0);
    BOOST_TEST(at.depth({1, 2, 3, 4}) == 2U);
    at.say(form, removed_of({1}), false, 0);
    BOOST_TEST(at.depth({1, 2, 3, 4}) == 0U);
    at.say(form, stored_of({.names = {9}, .tokens = {1, 2}}), false, 1);  // another rank of the same port
    BOOST_TEST(at.depth({1, 2}) == 0U);
    BOOST_TEST(at.applier->owners() == 2U);
  }
}

BOOST_AUTO_TEST_SUITE_END()
