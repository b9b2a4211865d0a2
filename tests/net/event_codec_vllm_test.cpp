#include <functional>

#include <boost/test/unit_test.hpp>

#include "net/event_codec.hpp"
#include "tests/net/decoding.hpp"

BOOST_AUTO_TEST_SUITE(vllm_events)

namespace {

using namespace kvc;
using namespace kvc::net;
using namespace kvc::net::test;
using core::engine_hash;

constexpr std::uint64_t first_hash = 0xf2f58c385525a1f5;  // the first two and the third block of the captured streams
constexpr std::uint64_t third_hash = 0x5e6a96ce6a96239b;
constexpr std::uint64_t second_hash = 0xc82e2a1e69c1d12a;

void write_tokens(msgpack_writer& to, std::uint32_t count) {
  to.array(count);
  for (std::uint32_t i = 0; i < count; ++i) to.unsigned_integer(1000 + i);
}

/// The first `length` fields of a current BlockStored of two blocks.
void write_stored(msgpack_writer& to, std::uint32_t length) {
  const std::vector<std::function<void()>> fields{
      [&] { to.string("BlockStored"); },
      [&] {
        to.array(2);
        to.unsigned_integer(7);
        to.integer(-2);
      },
      [&] { to.unsigned_integer(6); },
      [&] { write_tokens(to, 32); },
      [&] { to.unsigned_integer(16); },
      [&] { to.unsigned_integer(3); },
      [&] { to.string("cpu"); },
      [&] { to.string("sql-adapter"); },
      [&] { to.nil(); },
      [&] { to.unsigned_integer(2); },
      [&] { to.string("sliding_window"); },
      [&] { to.unsigned_integer(4096); },
      [&] { to.string("from the future"); },
  };
  to.array(length);
  for (std::uint32_t i = 0; i < length; ++i) fields.at(i)();
}

const std::vector<std::uint64_t> both_blocks{first_hash, third_hash};

}  // namespace

BOOST_AUTO_TEST_CASE(the_first_release_is_understood) {
  // Batch of two and removals of two: engines of 2025 still run in mixed fleets.
  decoding with;
  const auto& removed = with.sample<core::removed_event>(samples::vllm_2025_04_removed);
  BOOST_TEST(bare(removed.hashes) == std::vector<std::uint64_t>{second_hash}, boost::test_tools::per_element());
  BOOST_TEST(!removed.scope.medium.has_value());
  BOOST_TEST(!with.batch.rank.has_value());
  BOOST_TEST(with.batch.timestamp_s > 1.7e9);
}

BOOST_AUTO_TEST_CASE(integer_and_binary_names_of_the_same_blocks_meet) {
  // A default stream names GPU blocks by integers and their CPU copies by digests; only folding lets the tiers meet.
  decoding with;
  for (const auto hex : {samples::vllm_2025_09_cpu_placeholder, samples::vllm_2026_05_cpu_placeholder, samples::vllm_map_cpu_placeholder}) {
    const auto& stored = with.sample<core::stored_event>(hex);
    BOOST_TEST(bare(stored.hashes) == both_blocks, boost::test_tools::per_element());
    BOOST_TEST(!stored.has_tokens);
    BOOST_TEST(!stored.parent.has_value());
    BOOST_TEST(!stored.standard_hashes);
    BOOST_TEST(stored.scope.block_size == 0U);
    BOOST_TEST((stored.scope.medium == core::medium_id::cpu));
    BOOST_TEST((with.batch.rank == core::dp_rank{0}));
  }
}

BOOST_AUTO_TEST_CASE(removals_of_2026_are_understood_in_both_forms) {
  // The map has a 16-bit header for few entries, which is legal and easily got wrong.
  decoding with;
  for (const auto hex : {samples::vllm_2026_05_removed, samples::vllm_map_removed}) {
    const auto& removed = with.sample<core::removed_event>(hex);
    BOOST_TEST(bare(removed.hashes) == std::vector<std::uint64_t>{second_hash}, boost::test_tools::per_element());
    BOOST_TEST((removed.scope.medium == core::medium_id::gpu));
    BOOST_TEST(removed.scope.group == 0U);
  }
}

BOOST_AUTO_TEST_CASE(an_event_about_a_remote_tier_is_left_out) {
  // It says nothing about this instance's own cache.
  decoding with;
  BOOST_TEST(!with.decode(samples::from_hex(samples::vllm_map_removed_remote)));
  BOOST_TEST(with.batch.events.empty());
  BOOST_TEST(with.batch.rejected_events == 1U);
  BOOST_TEST(with.rejected(reject_reason::remote) == 1U);
}

BOOST_AUTO_TEST_CASE(a_stored_map_is_understood) {
  // The current form, with tokens, nil medium and one block without extra keys.
  decoding with;
  const auto& stored = with.sample<core::stored_event>(samples::vllm_map_stored_medium_nil);
  BOOST_TEST(bare(stored.hashes) == std::vector<std::uint64_t>{first_hash}, boost::test_tools::per_element());
  BOOST_TEST(stored.has_tokens);
  BOOST_TEST_REQUIRE(stored.tokens.size() == 16U);
  BOOST_TEST(stored.tokens.front() == 1000U);
  BOOST_TEST(stored.tokens.back() == 1015U);
  BOOST_TEST(stored.scope.block_size == 16U);
  BOOST_TEST(!stored.scope.medium.has_value());
  BOOST_TEST(!stored.scope.lora.has_value());
  BOOST_TEST(stored.scope.prefix_complete);
  BOOST_TEST(stored.extra_keys.empty());
}

BOOST_AUTO_TEST_CASE(clears_are_understood_in_an_array_and_in_a_map_batch) {
  // One intermediate version made the batch itself a map.
  decoding with;
  with.sample<core::cleared_event>(samples::vllm_map_cleared);
  with.sample<core::cleared_event>(samples::vllm_all_map_cleared);
  BOOST_TEST((with.batch.rank == core::dp_rank{0}));
  const auto& cleared = with.only<core::cleared_event>(batch_of(1, [](msgpack_writer& to) {
    to.array(1);
    to.string("AllBlocksCleared");
  }));
  BOOST_TEST(!cleared.scope.medium.has_value());
}

BOOST_AUTO_TEST_CASE(stored_arrays_of_every_length_are_understood) {
  // Each version appended fields; the length is all that tells versions apart, and the future will append more.
  decoding with;
  for (std::uint32_t length = 6; length <= 13; ++length) {
    BOOST_TEST_CONTEXT("length " << length) {
      const auto& stored = with.only<core::stored_event>(batch_of(1, [length](msgpack_writer& to) { write_stored(to, length); }));
      BOOST_TEST(bare(stored.hashes) == (std::vector<std::uint64_t>{7, ~std::uint64_t{1}}), boost::test_tools::per_element());
      BOOST_TEST((stored.parent == engine_hash{6}));
      BOOST_TEST(stored.tokens.size() == 32U);
      BOOST_TEST(stored.scope.block_size == 16U);
      BOOST_TEST(stored.scope.medium.has_value() == (length > 6));
      BOOST_TEST(stored.scope.lora.value_or("none") == (length > 7 ? "sql-adapter" : "3"));
      BOOST_TEST(stored.scope.group == (length > 9 ? 2U : 0U));
      BOOST_TEST(stored.scope.prefix_complete == (length <= 10));
      BOOST_TEST(stored.scope.takes_kind_of_group == (length == 10));
    }
  }
  BOOST_TEST((with.batch.rank == core::dp_rank{1}));
  BOOST_TEST(with.batch.timestamp_s == 1763700000.5);
}

BOOST_AUTO_TEST_CASE(an_adapter_that_is_known_by_its_number_is_no_base_model) {
  // Engines before `lora_name` say no more, and a query may name the adapter by that number, too.
  using write = std::function<void(msgpack_writer&)>;
  const auto lora_of = [](const write& id, const write& name, bool has_adapter = false) {
    decoding with(core::publisher_type::vllm, has_adapter);
    const auto& stored = with.only<core::stored_event>(batch_of(1, [&](msgpack_writer& to) {
      to.array(8);
      to.string("BlockStored");
      to.array(1);
      to.unsigned_integer(7);
      to.nil();
      write_tokens(to, 16);
      to.unsigned_integer(16);
      id(to);
      to.string("GPU");
      name(to);
    }));
    return stored.scope.lora.value_or("none");
  };
  const write nil = [](msgpack_writer& to) { to.nil(); };
  const auto number = [](std::int64_t value) { return [value](msgpack_writer& to) { to.integer(value); }; };
  const auto text = [](std::string value) { return [value](msgpack_writer& to) { to.string(value); }; };
  BOOST_TEST(lora_of(number(7), nil) == "7");
  BOOST_TEST(lora_of([](msgpack_writer& to) { to.unsigned_integer(~std::uint64_t{0}); }, nil) == "18446744073709551615");
  BOOST_TEST(lora_of(text("sql"), nil) == "sql");
  // The name says more, also where it says that there is none; and so does a registration.
  BOOST_TEST(lora_of(number(7), text("sql-adapter")) == "sql-adapter");
  BOOST_TEST(lora_of(number(7), text("")).empty());
  BOOST_TEST(lora_of(number(7), nil, true) == "none");
  // No engine numbers an adapter so; a relay fills in 0 for none.
  for (const auto& none : {nil, write(number(0)), write(number(-1)), write(text(""))}) BOOST_TEST(lora_of(none, nil) == "none");
}

BOOST_AUTO_TEST_CASE(a_removal_may_name_its_adapter_by_number) {
  // No engine is known to, but what it says counts.
  decoding with;
  const auto& removed = with.only<core::removed_event>(batch_of(1, [](msgpack_writer& to) {
    to.map(3);
    to.string("type");
    to.string("BlockRemoved");
    to.string("block_hashes");
    to.array(1);
    to.unsigned_integer(7);
    to.string("lora_id");
    to.unsigned_integer(3);
  }));
  BOOST_TEST(removed.scope.lora.value_or("none") == "3");
}

BOOST_AUTO_TEST_CASE(only_prefix_complete_groups_may_answer_for_a_prefix) {
  // Models with MLA have no full-attention group; sliding windows must not vouch for what they have forgotten.
  decoding with;
  for (const auto& [word, complete] : std::vector<std::pair<std::string, bool>>{
           {"full_attention", true}, {"mla_attention", true}, {"sink_full_attention", true}, {"mamba", false}, {"unknown", false}}) {
    const auto& stored = with.only<core::stored_event>(batch_of(1, [&kind = word](msgpack_writer& to) {
      to.map(3);
      to.string("kv_cache_spec_kind");
      to.string(kind);
      to.string("block_hashes");
      to.array(0);
      to.string("type");
      to.string("BlockStored");
    }));
    BOOST_TEST(stored.scope.prefix_complete == complete, word);
  }
}

BOOST_AUTO_TEST_CASE(arrays_and_maps_stand_in_one_batch) {
  // A fleet, and even one stream through a relay, mixes both.
  decoding with;
  const std::string payload = batch_of(3, [](msgpack_writer& to) {
    write_stored(to, 12);
    to.map(1);
    to.string("type");
    to.string("AllBlocksCleared");
    to.array(2);
    to.string("BlockRemoved");
    to.array(1);
    to.unsigned_integer(5);
  });
  BOOST_TEST(!with.decode(payload));
  BOOST_TEST_REQUIRE(with.batch.events.size() == 3U);
  BOOST_TEST(std::holds_alternative<core::cleared_event>(with.batch.events[1]));
  BOOST_TEST(std::holds_alternative<core::removed_event>(with.batch.events[2]));
}

BOOST_AUTO_TEST_CASE(extra_keys_lose_the_adapter_and_the_salt) {
  // Both are dimensions of the partition and must not enter a hash; what remains is in canonical form.
  decoding with;
  const auto& stored = with.only<core::stored_event>(batch_of(1, [](msgpack_writer& to) {
    to.array(9);
    to.string("BlockStored");
    to.array(3);
    for (std::uint64_t hash = 1; hash <= 3; ++hash) to.unsigned_integer(hash);
    to.nil();
    write_tokens(to, 6);
    to.unsigned_integer(2);
    to.nil();
    to.nil();
    to.string("sql-adapter");
    to.array(3);
    to.array(2);  // block 0: nothing but what the partition says
    to.string("sql-adapter");
    to.string("tenant-salt");
    to.array(2);
    to.string("sql-adapter");
    to.array(2);
    to.string("image");
    to.unsigned_integer(5);
    to.array(1);
    to.string("tenant-salt");  // not the first block: this is no salt
  }));
  BOOST_TEST_REQUIRE(stored.extra_keys.size() == 3U);
  BOOST_TEST(stored.extra_keys[0].empty());
  BOOST_TEST(stored.extra_keys[1] == samples::from_hex("9192a5696d61676505"));
  BOOST_TEST(stored.extra_keys[2] == samples::from_hex("91ab74656e616e742d73616c74"));
}

BOOST_AUTO_TEST_CASE(events_are_counted_by_dialect_and_kind) {
  // Whoever looks at a mixed fleet wants to know who speaks what.
  decoding with;
  const auto counted = [&](core::event_dialect dialect, core::event_kind kind) {
    return with.batch.counts.events[static_cast<std::size_t>(dialect)][static_cast<std::size_t>(kind)];
  };
  (void)with.sample<core::removed_event>(samples::vllm_2026_05_removed);
  BOOST_TEST(counted(core::event_dialect::vllm_array, core::event_kind::removed) == 1U);
  (void)with.sample<core::cleared_event>(samples::vllm_map_cleared);
  BOOST_TEST(counted(core::event_dialect::vllm_map, core::event_kind::cleared) == 1U);
  BOOST_TEST(counted(core::event_dialect::vllm_array, core::event_kind::removed) == 0U);
  BOOST_TEST(!with.decode(samples::from_hex(samples::vllm_map_removed_remote)));
  BOOST_TEST(with.batch.counts.rejected[static_cast<std::size_t>(reject_reason::remote)] == 1U);
}

BOOST_AUTO_TEST_CASE(events_of_lmcache_ride_in_the_stream) {
  // One chunk per event, of its own size, behind the chunk stored before; its last chunk is shorter. (kv-events.md section 5)
  decoding with;
  for (const std::uint32_t tokens : {256U, 100U}) {
    const auto& stored = with.only<core::stored_event>(batch_of(1, [tokens](msgpack_writer& to) {
      to.array(7);
      to.string("BlockStored");
      to.array(1);
      to.unsigned_integer(77);
      to.unsigned_integer(76);
      write_tokens(to, tokens);
      to.unsigned_integer(tokens);
      to.nil();
      to.string("cpu");
    }));
    BOOST_TEST(stored.scope.block_size == tokens);
    BOOST_TEST(stored.tokens.size() == tokens);
    BOOST_TEST((stored.scope.medium == core::medium_id::cpu));
  }
}

BOOST_AUTO_TEST_SUITE_END()
