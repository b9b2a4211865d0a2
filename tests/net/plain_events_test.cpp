// The short way for plain batches against the general one: whatever arrives, nobody can tell which was taken.
#include "net/plain_events.hpp"

#include <cstdint>
#include <random>
#include <string>
#include <string_view>

#include <boost/test/unit_test.hpp>

#include "net/event_encode.hpp"
#include "net/joined_removals.hpp"
#include "tests/net/decoding.hpp"
#include "tests/net/plain_batches.hpp"
#include "tests/support/same_batch.hpp"

BOOST_AUTO_TEST_SUITE(plain_events)

namespace {

using namespace kvc;
using namespace kvc::net;
using namespace kvc::net::test;

/// Decodes both ways, with decoders that know nothing yet, the quick one into lists that other batches have left something in.
bool agree(const std::string& payload, core::publisher_type type) {
  static spare_lists used;
  core::medium_table media;
  core::medium_table other_media;
  event_decoder quick(type, media, "tenant-salt", &used);
  event_decoder slow(type, other_media, "tenant-salt");
  core::event_batch batch;
  core::event_batch other;
  for (int times = 0; times < 2; ++times) {  // the second time words are known
    if (quick.decode(samples::as_payload(payload), batch) != slow.decode_by_tape(samples::as_payload(payload), other)) return false;
    if (!kvc::test::is_same(batch, other) || quick.counts().rejected != slow.counts().rejected || media.size() != other_media.size())
      return false;
    used.take_back(batch.events);
  }
  return true;
}

}  // namespace

BOOST_AUTO_TEST_CASE(both_ways_say_the_same_of_what_publishers_write) {
  // Every form, under every registration, plain or not.
  const std::uint64_t first_seed = std::random_device()();
  BOOST_TEST_MESSAGE("first seed " << first_seed);
  for (std::uint64_t seed = first_seed; seed < first_seed + 3'000; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      batch_source source(seed);
      const std::string payload = source.payload();
      BOOST_TEST_REQUIRE(agree(payload, types[source.below(std::size(types))]));
    }
  }
}

BOOST_AUTO_TEST_CASE(both_ways_say_the_same_of_what_was_damaged) {
  // A byte or two wrong, or the end missing: what is refused, and for which reason, is the same.
  const std::uint64_t first_seed = std::random_device()();
  BOOST_TEST_MESSAGE("first seed " << first_seed);
  for (std::uint64_t seed = first_seed; seed < first_seed + 20'000; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      batch_source source(seed);
      std::string payload = source.payload();
      for (std::uint64_t changes = 1 + source.below(3); changes > 0; --changes) source.spoil(payload);
      BOOST_TEST_REQUIRE(agree(payload, types[source.below(std::size(types))]));
    }
  }
}

BOOST_AUTO_TEST_CASE(what_earlier_batches_said_misleads_nobody) {
  // A stream's decoder remembers what the fields of events said. One that has seen everything, damaged or not, reads as one that is new.
  const std::uint64_t first_seed = std::random_device()();
  BOOST_TEST_MESSAGE("first seed " << first_seed);
  for (const core::publisher_type type : types) {
    core::medium_table media;
    core::event_batch batch;
    decode_context old;
    old.media = &media;
    old.counts = &batch.counts;
    old.type = type;
    std::uint64_t plain = 0;
    for (std::uint64_t seed = first_seed; seed < first_seed + 1'000; ++seed) {
      BOOST_TEST_CONTEXT("seed " << seed) {
        batch_source source(seed);
        std::string payload = source.payload();
        if (source.below(2) == 0) source.spoil(payload);
        batch = core::event_batch();
        const bool is_still_plain = read_plain_batch(samples::as_payload(payload), old, batch);
        BOOST_TEST_REQUIRE(is_still_plain == is_plain(payload, type));
        if (!is_still_plain) continue;
        ++plain;
        core::medium_table other_media;
        core::event_batch other;
        event_decoder fresh(type, other_media);
        BOOST_TEST_REQUIRE(!fresh.decode_by_tape(samples::as_payload(payload), other));
        BOOST_TEST_REQUIRE(kvc::test::is_same(batch, other));
      }
    }
    BOOST_TEST((plain > 50 || type == core::publisher_type::mooncake));  // else this has compared nothing
  }
}

BOOST_AUTO_TEST_CASE(events_of_two_sorts_in_turn_are_told_apart) {
  // Fields of equal length in equal places say something else each time: medium, group, kind of group and block size.
  core::medium_table media;
  core::event_batch batch;
  for (std::uint64_t i = 0; i < 64; ++i) {
    core::stored_event stored;
    stored.hashes = {core::engine_hash{1000 + i}};
    stored.scope.block_size = (i & 1U) != 0 ? 4 : 2;
    stored.scope.medium = (i & 2U) != 0 ? core::medium_id::gpu : core::medium_id::cpu;
    stored.scope.group = (i & 4U) != 0 ? 1 : 0;
    stored.scope.prefix_complete = (i & 8U) == 0;
    stored.tokens.assign(stored.scope.block_size, 7);
    stored.has_tokens = true;
    batch.events.emplace_back(stored);
  }
  for (const event_form form : {event_form::vllm_map, event_form::vllm_map_batch, event_form::sglang_map}) {
    std::string payload;
    encode_batch(batch, media, {.form = form}, payload);
    BOOST_TEST(is_plain(payload, core::publisher_type::automatic));
    BOOST_TEST(agree(payload, core::publisher_type::automatic));
  }
}

BOOST_AUTO_TEST_CASE(what_engines_write_mostly_is_plain) {
  // The short way is of use only while it is taken: maps and arrays of every engine with a chain, its tokens, and evictions.
  core::medium_table media;
  core::event_batch batch;
  batch.timestamp_s = 1763700000.5;
  core::stored_event stored;
  stored.scope.medium = core::medium_id::gpu;
  stored.scope.block_size = 4;
  stored.hashes = {core::engine_hash{~0ULL}, core::engine_hash{1}};
  stored.parent = core::engine_hash{1ULL << 63};
  stored.tokens = {1, 2, 300, 70'000, 5, 6, 7, 8};
  stored.has_tokens = true;
  batch.events.emplace_back(stored);
  for (std::uint64_t name = 1ULL << 40; name < (1ULL << 40) + 5; ++name) {
    batch.events.emplace_back(core::removed_event{stored.scope, {core::engine_hash{name}}, false});
  }
  for (const auto& [form, type] : {std::pair(event_form::vllm_map, core::publisher_type::vllm),
                                   {event_form::vllm_map_batch, core::publisher_type::automatic},
                                   {event_form::vllm_array, core::publisher_type::vllm},
                                   {event_form::vllm_2025_04, core::publisher_type::vllm},
                                   {event_form::vllm_2026_02, core::publisher_type::automatic},
                                   {event_form::sglang_2025_05, core::publisher_type::sglang},
                                   {event_form::sglang_2026_02, core::publisher_type::sglang},
                                   {event_form::sglang_map, core::publisher_type::sglang},
                                   {event_form::tensorrt_llm_relay, core::publisher_type::tensorrt_llm}}) {
    std::string payload;
    encode_batch(batch, media, {.form = form}, payload);
    BOOST_TEST_CONTEXT("form " << static_cast<int>(form)) {
      BOOST_TEST(is_plain(payload, type));
    }
  }
}

BOOST_AUTO_TEST_CASE(an_adapter_with_a_name_is_plain_and_one_with_a_number_only_is_not) {
  // Engines that serve adapters send both, in every event; what the number means alone is decided in one place.
  const auto payload_of = [](std::int64_t id, bool has_name) {
    return batch_of(1, [=](msgpack_writer& to) {
      to.map(4);
      to.string("type");
      to.string("BlockStored");
      to.string("block_hashes");
      to.array(1);
      to.unsigned_integer(7);
      to.string("lora_id");
      to.integer(id);
      to.string("lora_name");
      if (has_name) return to.string("sql-adapter");
      to.nil();
    });
  };
  for (const std::int64_t id : {-1, 0, 7}) {
    for (const bool has_name : {false, true}) {
      const std::string payload = payload_of(id, has_name);
      BOOST_TEST(is_plain(payload, core::publisher_type::vllm) == (has_name || id <= 0));
      BOOST_TEST(agree(payload, core::publisher_type::vllm));
    }
  }
}

BOOST_AUTO_TEST_CASE(removals_in_a_row_become_one_and_are_counted_as_many) {
  // Engines write an event for every block they evict; whoever reads the counters sees what was written.
  core::event_batch batch;
  for (std::uint64_t i = 0; i < 600; ++i) {
    core::removed_event removed;
    removed.scope.medium = i < 500 ? core::medium_id::gpu : core::medium_id::cpu;
    removed.hashes = {core::engine_hash{~i}};
    batch.events.emplace_back(removed);
  }
  for (const event_form form : {event_form::vllm_map, event_form::vllm_array, event_form::standard}) {
    decoding with;
    std::string payload;
    encode_batch(batch, with.media, {.form = form}, payload);
    BOOST_TEST_REQUIRE(!with.decode(payload));
    const auto& events = with.batch.events;
    BOOST_TEST_REQUIRE(events.size() == 3U);
    BOOST_TEST(std::get<core::removed_event>(events[0]).hashes.size() == most_joined_names);
    BOOST_TEST(std::get<core::removed_event>(events[1]).hashes.size() == 500U - most_joined_names);
    BOOST_TEST((std::get<core::removed_event>(events[2]).scope.medium == core::medium_id::cpu));
    BOOST_TEST((std::get<core::removed_event>(events[2]).hashes.back() == core::engine_hash{~599ULL}));
    BOOST_TEST(with.batch.joined_events == 597U);
    std::uint64_t counted = 0;
    for (const auto& kinds : with.batch.counts.events) counted += kinds[static_cast<std::size_t>(core::event_kind::removed)];
    BOOST_TEST(counted == 600U);
  }
}

BOOST_AUTO_TEST_SUITE_END()
