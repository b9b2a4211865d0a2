#include <boost/test/unit_test.hpp>

#include "tests/net/decoding.hpp"
#include "tests/net/heard_stream.hpp"

BOOST_AUTO_TEST_SUITE(standard_events)

namespace {

using namespace kvc;
using namespace kvc::net;
using namespace kvc::net::test;

enum class tokens { absent, nil, none, two };

/// A stored event with every member of the envelope, as the seed's example has them.
void write_envelope(msgpack_writer& to, std::string_view word, tokens with_tokens = tokens::nil, bool as_type = false) {
  to.map(with_tokens == tokens::absent ? 14 : 15);
  to.string("event_id");
  to.unsigned_integer(42);
  to.string("timestamp");
  to.unsigned_integer(1739145600000);
  to.string(as_type ? "type" : "event_type");
  to.string(word);
  to.string("model_name");
  to.string("llama-3.1-8b");
  to.string("block_size");
  to.unsigned_integer(2);
  to.string("additional_salt");
  to.string("w8a8");
  to.string("lora_name");
  to.string("");
  to.string("tenant_id");
  to.string("acme");
  to.string("backend_id");
  to.string("worker-0");
  to.string("medium");
  to.string("gpu");
  to.string("dp_rank");
  to.unsigned_integer(3);
  to.string("seq_hashes");
  to.array(1);
  to.unsigned_integer(1234567890);
  to.string("base_block_idx");
  to.unsigned_integer(5);
  to.string("parent_hash");
  to.unsigned_integer(9999999999);
  if (with_tokens == tokens::absent) return;
  to.string("token_ids");
  if (with_tokens == tokens::nil) return to.nil();
  if (with_tokens == tokens::none) return to.array(0);
  to.array(2);
  to.unsigned_integer(1);
  to.unsigned_integer(0xFFFFFFFF);
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_envelope_carries_its_own_dimensions) {
  // A central publisher speaks for many models and tenants on one stream.
  decoding with;
  const auto& stored = with.only<core::stored_event>(batch_of(1, [](msgpack_writer& to) { write_envelope(to, "stored"); }));
  BOOST_TEST(stored.scope.model.value_or("") == "llama-3.1-8b");
  BOOST_TEST(stored.scope.tenant.value_or("") == "acme");
  BOOST_TEST(stored.scope.salt.value_or("") == "w8a8");
  BOOST_TEST_REQUIRE(stored.scope.lora.has_value());  // explicitly the base model
  BOOST_TEST(stored.scope.lora->empty());
  BOOST_TEST(stored.scope.block_size == 2U);
  BOOST_TEST((stored.scope.medium == core::medium_id::gpu));
  BOOST_TEST((stored.scope.rank == core::dp_rank{3}));
  BOOST_TEST(bare(stored.hashes) == std::vector<std::uint64_t>{1234567890}, boost::test_tools::per_element());
  BOOST_TEST((stored.parent == core::engine_hash{9999999999}));
  BOOST_TEST((stored.base == core::position{5}));
}

BOOST_AUTO_TEST_CASE(hashes_are_the_standard_s_only_without_tokens) {
  // With tokens the publisher says that it hashes in its own way. An empty list is none, as who writes a list always leaves it empty.
  decoding with;
  for (const tokens how : {tokens::absent, tokens::nil, tokens::none, tokens::two}) {
    const auto& stored = with.only<core::stored_event>(batch_of(1, [how](msgpack_writer& to) { write_envelope(to, "stored", how); }));
    BOOST_TEST(stored.standard_hashes == (how != tokens::two));
    BOOST_TEST(stored.has_tokens == (how == tokens::two));
  }
  BOOST_TEST(std::get<core::stored_event>(with.batch.events[0]).tokens.back() == 0xFFFFFFFFU);
}

BOOST_AUTO_TEST_CASE(removed_and_cleared_are_understood_under_either_name_of_their_type) {
  // Some publishers call the member `type`.
  decoding with;
  for (const bool as_type : {false, true}) {
    const auto payload = batch_of(2, [as_type](msgpack_writer& to) {
      write_envelope(to, "removed", tokens::nil, as_type);
      write_envelope(to, "cleared", tokens::nil, as_type);
    });
    BOOST_TEST(!with.decode(payload));
    BOOST_TEST_REQUIRE(with.batch.events.size() == 2U);
    BOOST_TEST(std::get<core::removed_event>(with.batch.events[0]).hashes.size() == 1U);
    BOOST_TEST((std::get<core::cleared_event>(with.batch.events[1]).scope.medium == core::medium_id::gpu));
  }
}

BOOST_AUTO_TEST_CASE(a_bare_event_is_a_batch_of_one) {
  // No wire form was fixed for the standard's events; the simplest one is the map alone.
  decoding with;
  std::string payload;
  msgpack_writer writer(payload);
  write_envelope(writer, "stored");
  with.only<core::stored_event>(payload);
  BOOST_TEST(with.batch.timestamp_s == 1739145600.0);  // milliseconds by their size
}

BOOST_AUTO_TEST_CASE(a_store_s_names_are_never_taken_for_the_standard_s) {
  // Mooncake uses the envelope, but its hashes are object keys of its own.
  decoding with(core::publisher_type::automatic);
  const auto& removed = with.sample<core::removed_event>(samples::mooncake_main_removed);
  BOOST_TEST(bare(removed.hashes) == std::vector<std::uint64_t>{12345}, boost::test_tools::per_element());
  BOOST_TEST((removed.scope.medium == core::medium_id::cpu));
  BOOST_TEST(with.batch.timestamp_s > 1.7e9);
  BOOST_TEST(with.batch.timestamp_s < 2e9);
  with.sample<core::cleared_event>(samples::mooncake_branch_cleared);

  decoding registered(core::publisher_type::mooncake);
  const auto& stored = registered.only<core::stored_event>(batch_of(1, [](msgpack_writer& to) { write_envelope(to, "stored"); }));
  BOOST_TEST(!stored.standard_hashes);
}

BOOST_AUTO_TEST_CASE(the_engines_members_beside_the_standard_s_change_nothing_where_it_is_registered) {
  // Some write both for readers of either; without an object's key or a connector's hash only the registration can tell it from a store.
  const auto write_both = [](msgpack_writer& to, std::string_view word, std::string_view tag) {
    to.map(word == "stored" ? 6 : 4);
    to.string("event_type");
    to.string(word);
    to.string("type");
    to.string(tag);
    to.string("block_hashes");
    to.array(1);
    to.integer(-5);
    to.string("seq_hashes");
    to.array(1);
    to.integer(-5);
    if (word != "stored") return;
    to.string("base_block_idx");
    to.unsigned_integer(0);
    to.string("token_ids");
    to.nil();
  };
  decoding with(core::publisher_type::standard);
  const auto& stored = with.only<core::stored_event>(batch_of(1, [&](msgpack_writer& to) { write_both(to, "stored", "BlockStored"); }));
  BOOST_TEST(stored.standard_hashes);
  BOOST_TEST(bare(stored.hashes) == std::vector<std::uint64_t>{~std::uint64_t{4}}, boost::test_tools::per_element());
  const auto& removed = with.only<core::removed_event>(batch_of(1, [&](msgpack_writer& to) { write_both(to, "removed", "BlockRemoved"); }));
  BOOST_TEST(!removed.all_media);
  BOOST_TEST(removed.scope.names_span_groups);

  decoding unregistered(core::publisher_type::automatic);
  const std::string payload = batch_of(1, [&](msgpack_writer& to) { write_both(to, "stored", "BlockStored"); });
  BOOST_TEST(!unregistered.only<core::stored_event>(payload).standard_hashes);
}

BOOST_AUTO_TEST_CASE(a_standard_event_in_an_engine_s_stream_leaves_its_groups_alone) {
  // One stream may speak both ways: the engine's removal still names its own group.
  heard_stream at(core::publisher_type::automatic);
  core::stored_event of_group = stored_of({.names = {11}, .tokens = {1, 2}});
  of_group.scope.group = 2;
  at.say(event_form::vllm_map, of_group);
  BOOST_TEST(at.depth({1, 2}) == 1U);
  core::stored_event standard = stored_of({.names = {777}, .tokens = {}});
  standard.standard_hashes = true;
  standard.base = core::position{0};
  at.say(event_form::standard, standard);
  core::removed_event removed = removed_of({11});
  removed.scope.group = 2;
  at.say(event_form::vllm_map, removed);
  BOOST_TEST(at.depth({1, 2}) == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
