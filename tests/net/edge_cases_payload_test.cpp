// The cases that break naive consumers, by their number in kv-events.md section 10: those whose point is in the bytes.
#include <boost/test/unit_test.hpp>

#include "tests/net/heard_stream.hpp"

BOOST_AUTO_TEST_SUITE(edge_cases_of_payloads)

namespace {

using namespace kvc;
using namespace kvc::net;
using namespace kvc::net::test;
using core::medium_id;
using core::publisher_type;
using writing = std::function<void(msgpack_writer&)>;

void list(msgpack_writer& to, std::initializer_list<std::int64_t> values) {
  to.array(static_cast<std::uint32_t>(values.size()));
  for (const std::int64_t value : values) to.integer(value);
}

std::string digest_text(char front) {  // 32 bytes that all end with the same 8
  std::string digest(32, front);
  for (std::size_t i = 0; i < 8; ++i) digest[24 + i] = static_cast<char>(i + 1);
  return digest;
}

void binary(msgpack_writer& to, const std::string& bytes) {
  to.binary(std::as_bytes(std::span(bytes)));
}

/// `[tag, hashes, medium]`.
void write_removed(msgpack_writer& to, const writing& hash, std::string_view medium = "GPU") {
  to.array(3);
  to.string("BlockRemoved");
  to.array(1);
  hash(to);
  to.string(medium);
}

/// One block of two tokens at the root, `[tag, hashes, parent, tokens, block_size, lora_id, medium]`.
void write_block(
    msgpack_writer& to, const writing& hash, std::int64_t first_token, const writing& medium = [](msgpack_writer& out) { out.nil(); }) {
  to.array(7);
  to.string("BlockStored");
  to.array(1);
  hash(to);
  to.nil();
  list(to, {first_token, first_token + 1});
  to.unsigned_integer(2);
  to.nil();
  medium(to);
}

/// A batch of the registered rank.
std::string one_batch(std::uint32_t events, const writing& write) {
  std::string batch = batch_of(events, write);
  batch.back() = '\0';
  return batch;
}

writing number(std::int64_t value) {
  return [value](msgpack_writer& to) { to.integer(value); };
}

}  // namespace

BOOST_AUTO_TEST_CASE(edge_case_01_negative_names_are_the_same_bits) {
  // Stored as signed, removed as unsigned: one block.
  heard_stream at(publisher_type::sglang);
  BOOST_TEST(at.hear(one_batch(1, [](msgpack_writer& to) { write_block(to, number(-7), 10); })));
  BOOST_TEST(at.depth({10, 11}) == 1U);
  BOOST_TEST(at.hear(one_batch(1, [](msgpack_writer& to) {
    write_removed(to, [](msgpack_writer& out) { out.unsigned_integer(static_cast<std::uint64_t>(-7)); });
  })));
  BOOST_TEST(at.depth({10, 11}) == 0U);
}

BOOST_AUTO_TEST_CASE(edge_case_02_digests_and_integers_of_one_block_meet) {
  // A default vLLM stream with offloading: the GPU block is an integer, its copy in host memory a digest of 32 or of 16 bytes.
  for (const std::size_t length : {32U, 16U}) {
    heard_stream at(publisher_type::vllm);
    const std::string digest = digest_text('x').substr(32 - length);
    BOOST_TEST(at.hear(one_batch(2, [&](msgpack_writer& to) {
      write_block(to, number(0x0102030405060708), 10);
      to.array(7);
      to.string("BlockStored");
      to.array(1);
      binary(to, digest);
      to.nil();
      to.array(0);
      to.unsigned_integer(0);
      to.nil();
      to.string("CPU");
    })));
    BOOST_TEST(at.depth({10, 11}, core::mask_of(medium_id::cpu)) == 1U);
    BOOST_TEST(at.depth({10, 11}, core::mask_of(medium_id::gpu)) == 1U);
  }
}

BOOST_AUTO_TEST_CASE(edge_case_03_digests_that_end_alike_are_different_blocks) {
  // Folded, they would be one block: removing one would remove the other.
  heard_stream at(publisher_type::vllm);
  BOOST_TEST(at.hear(one_batch(2, [](msgpack_writer& to) {
    write_block(
        to, [](msgpack_writer& out) { binary(out, digest_text('a')); }, 10);
    write_block(
        to, [](msgpack_writer& out) { binary(out, digest_text('b')); }, 20);
  })));
  BOOST_TEST(at.depth({10, 11}) == 1U);
  BOOST_TEST(at.depth({20, 21}) == 1U);
  BOOST_TEST(
      at.hear(one_batch(1, [](msgpack_writer& to) { write_removed(to, [](msgpack_writer& out) { binary(out, digest_text('a')); }); })));
  BOOST_TEST(at.depth({10, 11}) == 0U);
  BOOST_TEST(at.depth({20, 21}) == 1U);
}

BOOST_AUTO_TEST_CASE(edge_case_04_names_as_text_are_read_for_what_they_are) {
  // Hexadecimal with and without mark, decimal, opaque, and empty for unset: Mooncake writes all of them.
  decoding with(publisher_type::mooncake);
  const auto name_of = [&](std::string_view text) {
    const auto& heard = with.only<core::object_event>(one_batch(1, [text](msgpack_writer& to) {
      to.array(8);
      to.string("BlockStoreEvent");
      to.string("key");
      to.array(0);
      to.string("");
      to.unsigned_integer(0);
      to.string(text);
      to.string("");
      to.array(0);
    }));
    return heard.name;
  };
  BOOST_TEST(!name_of("").has_value());
  BOOST_TEST(name_of("0x41234125")->get() == 0x41234125U);
  BOOST_TEST(name_of("abcdef")->get() == 0xabcdefU);
  BOOST_TEST(name_of("12345")->get() == 12345U);
  BOOST_TEST(name_of("-1")->get() == ~std::uint64_t{0});
  // Digits alone are a decimal number, however many: so the master reads a key, whose hexadecimal ones are marked (section 6.2).
  BOOST_TEST(name_of("1234567890123456")->get() == 1'234'567'890'123'456U);
  BOOST_TEST(name_of("0x1234567890123456")->get() == 0x1234567890123456U);
  BOOST_TEST(name_of("0012345678901234")->get() == 12'345'678'901'234U);
  BOOST_TEST(name_of("18446744073709551615")->get() == ~std::uint64_t{0});
  BOOST_TEST(name_of("28446744073709551616")->get() != name_of("28446744073709551617")->get());  // no number of 64 bits any more
  BOOST_TEST(name_of("123456789012345a")->get() == 0x123456789012345aU);
  BOOST_TEST(name_of("749fdc796f99efd836e0126282116392f5a5e4ea5c7ed009f2f58c385525a1f5")->get() == 0xf2f58c385525a1f5U);
  BOOST_TEST(name_of("any/thing").has_value());
  BOOST_TEST((name_of("any/thing") != name_of("any/thing else")));
  // An engine's names are never text: there it is a mistake, which costs its event.
  decoding engine;
  BOOST_TEST(!engine.decode(one_batch(1, [](msgpack_writer& to) { write_removed(to, [](msgpack_writer& out) { out.string("12"); }); })));
  BOOST_TEST(engine.rejected(reject_reason::wrong_type) == 1U);
}

BOOST_AUTO_TEST_CASE(edge_case_05_nil_means_absent_everywhere) {
  // Without tokens and parent an event is no root: it is a list of names.
  heard_stream at(publisher_type::vllm);
  BOOST_TEST(at.hear(one_batch(1, [](msgpack_writer& to) {
    to.array(7);
    to.string("BlockStored");
    list(to, {1});
    for (int i = 0; i < 5; ++i) to.nil();
  })));
  BOOST_TEST(at.with.batch.rejected_events == 0U);
  BOOST_TEST(at.applier->names() == 0U);
  BOOST_TEST(at.applier->orphans() == 1U);
  at.say(event_form::vllm_map, stored_of({.names = {2}, .tokens = {10, 11}}));  // with tokens a nil parent is the root
  BOOST_TEST(at.depth({10, 11}) == 1U);
}

BOOST_AUTO_TEST_CASE(edge_case_09_a_chain_that_loops_costs_its_event_only) {
  // Its own parent, or a name twice: applied, a block would be its own ancestor.
  heard_stream at(publisher_type::sglang);
  BOOST_TEST(at.hear(one_batch(3, [](msgpack_writer& to) {
    to.array(5);
    to.string("BlockStored");
    list(to, {1});
    to.integer(1);
    list(to, {10, 11});
    to.unsigned_integer(2);
    to.array(5);
    to.string("BlockStored");
    list(to, {2, 2});
    to.nil();
    list(to, {10, 11, 12, 13});
    to.unsigned_integer(2);
    write_block(to, number(3), 20);
  })));
  BOOST_TEST(at.with.rejected(reject_reason::own_parent) == 1U);
  BOOST_TEST(at.with.rejected(reject_reason::repeated_hash) == 1U);
  BOOST_TEST(at.depth({10, 11}) == 0U);
  BOOST_TEST(at.depth({20, 21}) == 1U);
}

BOOST_AUTO_TEST_CASE(edge_case_10_unknown_tags_are_counted_by_name_and_skipped) {
  // The neighbours stay, whatever form the stranger has.
  heard_stream at(publisher_type::vllm);
  BOOST_TEST(at.hear(one_batch(4, [](msgpack_writer& to) {
    to.array(1);
    to.string("BlockMoved");
    to.map(1);
    to.string("type");
    to.string("BlockMoved");
    to.map(1);
    to.string("event_type");
    to.string("moved");
    write_block(to, number(3), 20);
  })));
  BOOST_TEST(at.depth({20, 21}) == 1U);
  BOOST_TEST(at.with.batch.rejected_events == 3U);
  BOOST_TEST_REQUIRE(at.with.batch.counts.unknown.size() == 2U);
  BOOST_TEST(at.with.batch.counts.unknown[0].text == "BlockMoved");
  BOOST_TEST(at.with.batch.counts.unknown[0].times == 2U);
  BOOST_TEST(at.with.batch.counts.unknown[1].text == "moved");
}

BOOST_AUTO_TEST_CASE(edge_case_12_the_eighth_element_means_what_its_type_says) {
  // A text is vLLM's adapter, a map SGLang's salt, nil nothing.
  decoding with;
  const auto eighth = [&](const writing& write) -> const core::stored_event& {
    return with.only<core::stored_event>(one_batch(1, [&](msgpack_writer& to) {
      to.array(8);
      to.string("BlockStored");
      list(to, {1});
      to.nil();
      list(to, {1, 2});
      to.unsigned_integer(2);
      to.nil();
      to.nil();
      write(to);
    }));
  };
  BOOST_TEST(eighth([](msgpack_writer& to) { to.string("sql"); }).scope.lora.value_or("") == "sql");
  const auto& salted = eighth([](msgpack_writer& to) {
    to.map(1);
    to.string("cache_salt");
    to.string("acme");
  });
  BOOST_TEST(salted.scope.salt.value_or("") == "acme");
  BOOST_TEST(!salted.scope.lora.has_value());
  for (const writing& none : {writing([](msgpack_writer& to) { to.nil(); }), writing([](msgpack_writer& to) { to.unsigned_integer(3); }),
                              writing([](msgpack_writer& to) { to.map(0); })}) {
    const auto& plain = eighth(none);
    BOOST_TEST(!plain.scope.lora.has_value());
    BOOST_TEST(!plain.scope.salt.has_value());
  }
}

BOOST_AUTO_TEST_CASE(edge_case_13_batches_of_any_shape_carry_the_same_events) {
  // Two elements, three, or a map; whole milliseconds or seconds with a fraction; no rank.
  decoding with;
  for (const char* hex :
       {"92cb41dac0430393955691", "93cf000001a1fc20185f91", "93cb41dac0430393955691", "82a27473cb41dac04303939556a66576656e747391"}) {
    std::string payload = samples::from_hex(hex);
    msgpack_writer writer(payload);
    write_removed(writer, number(5));
    if (hex[1] == '3') writer.nil();
    BOOST_TEST_CONTEXT(hex) {
      const auto& removed = with.only<core::removed_event>(payload);
      BOOST_TEST(removed.hashes.size() == 1U);
      BOOST_TEST(with.batch.timestamp_s > 1.7e9);
      BOOST_TEST(with.batch.timestamp_s < 2e9);
      BOOST_TEST(!with.batch.rank.has_value());
    }
  }
}

BOOST_AUTO_TEST_CASE(edge_case_16_tokens_that_do_not_fit_the_names_are_not_distributed) {
  // Masked blocks are missing among the names: the second name may be the third block.
  heard_stream at(publisher_type::vllm);
  at.say(event_form::vllm_map, stored_of({.names = {1, 2}, .tokens = {1, 2, 3, 4, 5, 6}}));
  BOOST_TEST(at.with.batch.rejected_events == 0U);
  BOOST_TEST(at.depth({1, 2, 3, 4, 5, 6}) == 0U);
  at.say(event_form::vllm_map, stored_of({.names = {}, .tokens = {1, 2}}));  // even without any name it is valid
  BOOST_TEST(at.with.batch.rejected_events == 0U);
  at.say(event_form::vllm_map, stored_of({.names = {1}, .tokens = {1, 2}}));  // known from elsewhere, a name counts
  BOOST_TEST(at.depth({1, 2, 3, 4, 5, 6}) == 1U);
}

BOOST_AUTO_TEST_CASE(edge_case_18_the_first_word_of_a_pair_is_the_token) {
  // Pages of bigrams send every token with the one behind it.
  heard_stream at(publisher_type::sglang);
  BOOST_TEST(at.hear(one_batch(1, [](msgpack_writer& to) {
    to.array(5);
    to.string("BlockStored");
    list(to, {1});
    to.nil();
    to.array(2);
    list(to, {10, 11});
    list(to, {11, 12});
    to.unsigned_integer(2);
  })));
  BOOST_TEST(at.depth({10, 11}) == 1U);
}

BOOST_AUTO_TEST_CASE(edge_case_20_media_are_folded_whatever_their_spelling) {
  // What nobody has heard of is a medium of its own, counted by its name.
  const std::vector<std::pair<std::string, medium_id>> spellings{{"GPU", medium_id::gpu},
                                                                 {"gpu", medium_id::gpu},
                                                                 {"cuda:0", medium_id::gpu},
                                                                 {"", medium_id::gpu},
                                                                 {"CPU", medium_id::cpu},
                                                                 {"cpu", medium_id::cpu},
                                                                 {"CPU_PINNED", medium_id::cpu},
                                                                 {"CPU_TIER1", medium_id::cpu},
                                                                 {"cpu_tier2", medium_id::cpu},
                                                                 {"DISK", medium_id::disk},
                                                                 {"storage", medium_id::disk},
                                                                 {"FS", medium_id::disk},
                                                                 {"OBJ", static_cast<medium_id>(3)},
                                                                 {"External", static_cast<medium_id>(3)},
                                                                 {"tape", static_cast<medium_id>(3)}};
  for (const auto& [word, medium] : spellings) {
    heard_stream at(publisher_type::vllm);
    BOOST_TEST(at.hear(one_batch(1, [&spelling = word](msgpack_writer& to) {
      write_block(to, number(1), 10, [&](msgpack_writer& out) { out.string(spelling); });
    })));
    BOOST_TEST(at.depth({10, 11}, core::mask_of(medium)) == 1U, word);
    BOOST_TEST(at.with.batch.counts.unknown.size() == (word == "tape" ? 1U : 0U), word);
  }
}

BOOST_AUTO_TEST_CASE(edge_case_21_what_lies_elsewhere_is_left_out) {
  // A remote cache, or a tier that somebody else owns, is not this instance's own.
  heard_stream at(publisher_type::vllm);
  const auto hear = [&](std::initializer_list<std::string_view> names_and_values) {
    BOOST_TEST(at.hear(one_batch(1, [&](msgpack_writer& to) {
      to.map(4 + static_cast<std::uint32_t>(names_and_values.size() / 2));
      to.string("type");
      to.string("BlockStored");
      to.string("block_hashes");
      list(to, {1});
      to.string("token_ids");
      list(to, {10, 11});
      to.string("block_size");
      to.unsigned_integer(2);
      for (const std::string_view each : names_and_values) to.string(each);
    })));
  };
  hear({"locality", "REMOTE"});
  hear({"locality", "somewhere"});
  hear({"ownership", "tier-1"});
  hear({"locality", "LOCAL", "ownership", "tier-1"});  // near, but somebody else's
  BOOST_TEST(at.depth({10, 11}) == 0U);
  BOOST_TEST(at.with.rejected(reject_reason::remote) == 4U);
  hear({"locality", "LOCAL"});
  BOOST_TEST(at.depth({10, 11}) == 1U);
}

BOOST_AUTO_TEST_CASE(edge_case_27_claimed_sizes_are_never_believed) {
  // Four billion names in five bytes: refused before anything is allocated; true lists are bounded as well.
  decoding with;
  for (const char* hex : {"93cb41dac04303939556dd"
                          "ffffffff",
                          "93cb41dac0430393955691"
                          "93ac426c6f636b52656d6f766564ddffffffff",
                          "93cb41dac0430393955691"
                          "92ac426c6f636b52656d6f766564c6ffffffff",
                          "93cb41dac0430393955691"
                          "dfffffffff"}) {
    BOOST_TEST_CONTEXT(hex) {
      BOOST_TEST(with.decode(samples::from_hex(hex)) == make_error_code(errc::malformed_msgpack));
    }
  }
  BOOST_TEST(!with.decode(one_batch(1, [](msgpack_writer& to) {
    to.array(2);
    to.string("BlockRemoved");
    to.array(max_event_hashes + 1);
    for (std::size_t i = 0; i <= max_event_hashes; ++i) to.unsigned_integer(1);
  })));
  BOOST_TEST(with.rejected(reject_reason::too_many_elements) == 1U);
}

BOOST_AUTO_TEST_CASE(edge_case_28_wide_headers_any_order_and_repeated_keys_are_read) {
  // msgspec writes 16-bit headers for two members; of a member that comes twice the last one counts.
  decoding with;
  std::string event = samples::from_hex("de0005");
  msgpack_writer to(event);
  to.string("medium");
  to.string("GPU");
  to.string("block_hashes");
  list(to, {1, 2});
  to.unsigned_integer(7);  // a key that is no text
  to.nil();
  to.string("type");
  to.string("BlockRemoved");
  to.string("medium");
  to.string("CPU");
  const auto& removed = with.only<core::removed_event>(one_batch(1, [&](msgpack_writer&) {}).substr(0, 11) + event + '\x01');
  BOOST_TEST(removed.hashes.size() == 2U);
  BOOST_TEST((removed.scope.medium == medium_id::cpu));
}

BOOST_AUTO_TEST_SUITE_END()
