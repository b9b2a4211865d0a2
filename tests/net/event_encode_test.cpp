#include "net/event_encode.hpp"

#include <random>

#include <boost/test/unit_test.hpp>

#include "net/joined_removals.hpp"
#include "tests/net/decoding.hpp"
#include "tests/support/same_batch.hpp"

BOOST_AUTO_TEST_SUITE(event_encoding)

namespace {

using namespace kvc;
using namespace kvc::net;
using namespace kvc::net::test;

constexpr std::uint64_t seed = 20261121;

/// Random events that every form can carry.
struct event_source {
  std::mt19937_64 random{seed};

  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(random() % limit); }

  std::vector<core::engine_hash> hashes() {
    std::vector<core::engine_hash> names(1 + below(20));
    for (auto& name : names) name = core::engine_hash{random()};
    return names;
  }

  core::event_scope scope() {
    core::event_scope scope;
    scope.block_size = 16;
    if (below(4) != 0) scope.medium = static_cast<core::medium_id>(below(3));
    return scope;
  }

  core::event next() {
    const std::uint32_t kind = below(5);
    if (kind == 0) return core::cleared_event{};
    if (kind == 1) return core::removed_event{scope(), hashes()};
    core::stored_event stored;
    stored.scope = scope();
    stored.hashes = hashes();
    if (below(2) != 0) stored.parent = core::engine_hash{random()};
    stored.tokens.resize(stored.hashes.size() * 16);
    for (auto& token : stored.tokens) token = static_cast<std::uint32_t>(random());
    stored.has_tokens = true;
    return stored;
  }
};

void check_same(const core::event& sent, const core::event& received, event_form form) {
  BOOST_TEST_REQUIRE(sent.index() == received.index());
  if (const auto* stored = std::get_if<core::stored_event>(&sent)) {
    const auto& other = std::get<core::stored_event>(received);
    BOOST_TEST((stored->hashes == other.hashes));
    BOOST_TEST((stored->parent == other.parent));
    BOOST_TEST((stored->tokens == other.tokens));
    BOOST_TEST(stored->scope.block_size == other.scope.block_size);
    BOOST_TEST((stored->scope.medium == other.scope.medium));
    BOOST_TEST((stored->scope.lora == other.scope.lora));
    if (form != event_form::standard) {
      BOOST_TEST((stored->extra_keys == other.extra_keys));
      BOOST_TEST(stored->scope.group == other.scope.group);
      BOOST_TEST(stored->scope.prefix_complete == other.scope.prefix_complete);
    } else {
      BOOST_TEST((stored->scope.model == other.scope.model));
      BOOST_TEST((stored->base == other.base));
    }
  } else if (const auto* removed = std::get_if<core::removed_event>(&sent)) {
    const auto& other = std::get<core::removed_event>(received);
    BOOST_TEST((removed->hashes == other.hashes));
    BOOST_TEST((removed->scope.medium == other.scope.medium));
  }
}

void check_round_trip(const core::event_batch& batch, encode_options options) {
  decoding with;
  std::string payload;
  encode_batch(batch, with.media, options, payload);
  BOOST_TEST_REQUIRE(!with.decode(payload));
  BOOST_TEST(with.batch.rejected_events == 0U);
  BOOST_TEST(with.batch.timestamp_s == batch.timestamp_s);
  BOOST_TEST((with.batch.rank == batch.rank));
  // Removals in a row may have become one.
  std::vector<core::event> sent;
  for (const core::event& each : batch.events) {
    sent.push_back(each);
    join_last_removals(sent);
  }
  BOOST_TEST_REQUIRE(with.batch.events.size() == sent.size());
  for (std::size_t i = 0; i < sent.size(); ++i) check_same(sent[i], with.batch.events[i], options.form);
}

constexpr std::array forms{event_form::vllm_array, event_form::vllm_map, event_form::standard};

/// What every form that can say it at all must carry: the kind, and the names of blocks.
void check_essence(const core::event& sent, const core::event& received) {
  BOOST_TEST_REQUIRE(sent.index() == received.index());
  if (const auto* stored = std::get_if<core::stored_event>(&sent)) {
    BOOST_TEST((stored->hashes == std::get<core::stored_event>(received).hashes));
  } else if (const auto* removed = std::get_if<core::removed_event>(&sent)) {
    BOOST_TEST((removed->hashes == std::get<core::removed_event>(received).hashes));
  } else if (const auto* object = std::get_if<core::object_event>(&sent)) {
    BOOST_TEST(object->scope.object_key == std::get<core::object_event>(received).scope.object_key);
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_is_written_is_read_back) {
  // The simulator speaks through the writer, and the server hears through the reader.
  BOOST_TEST_MESSAGE("seed " << seed);
  event_source source;
  for (int round = 0; round < 50; ++round) {
    core::event_batch batch;
    batch.timestamp_s = 1763700000.5;
    if (round % 2 == 0) batch.rank = core::dp_rank{source.below(8)};
    while (source.below(6) != 0) batch.events.push_back(source.next());
    for (const event_form form : forms) {
      for (const bool binary : {false, true}) {
        encode_options options;
        options.form = form;
        options.binary_hashes = binary;
        check_round_trip(batch, options);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(the_rarer_fields_are_written_too) {
  // Key lists, groups, adapters and the envelope's own dimensions.
  core::stored_event stored;
  stored.hashes = {core::engine_hash{1}, core::engine_hash{2}};
  stored.base = core::position{7};
  stored.extra_keys = {"", samples::from_hex("91a178")};
  stored.scope.lora = "sql-adapter";
  stored.scope.model = "llama";
  stored.scope.group = 3;
  stored.scope.prefix_complete = false;
  core::event_batch batch;
  batch.timestamp_s = 1763700000;
  batch.events.emplace_back(stored);
  for (const event_form form : forms) {
    encode_options options;
    options.form = form;
    check_round_trip(batch, options);
  }
}

BOOST_AUTO_TEST_CASE(every_form_is_read_back_and_leaves_out_what_it_cannot_say) {
  // A simulated fleet speaks every dialect, and no event of it may be lost on the way.
  BOOST_TEST_MESSAGE("seed " << seed);
  event_source source;
  for (std::size_t i = 0; i < event_form_count; ++i) {
    encode_options options;
    options.form = static_cast<event_form>(i);
    for (int round = 0; round < 10; ++round) {
      core::event_batch batch;
      batch.timestamp_s = 1763700000.5;
      for (int each = 0; each < 8; ++each) batch.events.push_back(source.next());
      core::object_event object;
      object.scope.object_key = "key";
      object.scope.medium = core::medium_id::cpu;
      object.what = static_cast<core::object_event::change>(source.below(3));
      object.replicas = {{core::medium_id::cpu, "here"}};
      batch.events.emplace_back(object);

      decoding with;
      std::string payload;
      encode_batch(batch, with.media, options, payload);
      BOOST_TEST_REQUIRE(!with.decode(payload));
      BOOST_TEST(with.batch.rejected_events == 0U);
      BOOST_TEST(with.batch.counts.unknown.empty());
      std::vector<core::event> said = batch.events;
      std::erase_if(said, [&options](const core::event& each) { return !can_say(options.form, each); });
      const std::vector<core::event> sent = kvc::test::with_removals_together(said);
      const std::vector<core::event> heard = kvc::test::with_removals_together(with.batch.events);
      BOOST_TEST_REQUIRE(heard.size() == sent.size());
      for (std::size_t each = 0; each < sent.size(); ++each) check_essence(sent[each], heard[each]);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
