// The short way for plain batches against the general one: whatever arrives, nobody can tell which was taken.
#include "net/plain_events.hpp"

#include <cstdint>
#include <random>
#include <string>
#include <string_view>

#include <boost/test/unit_test.hpp>

#include "core/block_hasher.hpp"
#include "net/event_encode.hpp"
#include "net/joined_removals.hpp"
#include "tests/net/decoding.hpp"
#include "tests/support/same_batch.hpp"

BOOST_AUTO_TEST_SUITE(plain_events)

namespace {

using namespace kvc;
using namespace kvc::net;
using namespace kvc::net::test;

constexpr core::publisher_type types[] = {core::publisher_type::automatic, core::publisher_type::vllm,
                                          core::publisher_type::sglang,    core::publisher_type::tensorrt_llm,
                                          core::publisher_type::standard,  core::publisher_type::mooncake};

/// Batches of every form, with what engines send mostly and what they send now and then.
class batch_source {
 public:
  explicit batch_source(std::uint64_t seed) : random_(seed) {}

  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }

  std::string payload() {
    core::event_batch batch;
    batch.timestamp_s = below(8) == 0 ? 0.0 : 1763700000.5;
    if (below(2) == 0) batch.rank = core::dp_rank{static_cast<std::uint32_t>(below(3))};
    const std::uint64_t odd = below(3) == 0 ? 8 : 1'000'000;  // most batches have nothing rare in them
    for (std::uint64_t left = below(12); left > 0; --left) add(batch, odd);
    std::string bytes;
    const encode_options with{.form = static_cast<event_form>(below(event_form_count)), .binary_hashes = below(odd) == 0};
    encode_batch(batch, media_, with, bytes);
    return bytes;
  }

  void spoil(std::string& bytes) {
    if (bytes.empty()) return;
    switch (below(3)) {
      case 0:
        bytes.resize(below(bytes.size() + 1));
        break;
      case 1:
        bytes[below(bytes.size())] = static_cast<char>(random_());
        break;
      default: {
        constexpr unsigned char likely[] = {0x00, 0x80, 0x90, 0x91, 0xa0, 0xc0, 0xc4, 0xcb, 0xcc, 0xcd, 0xce, 0xcf, 0xd3, 0xd9, 0xdc, 0xff};
        const std::string put(1, static_cast<char>(likely[below(std::size(likely))]));
        bytes.replace(below(bytes.size()), below(3), put);
      }
    }
  }

 private:
  core::event_scope scope(std::uint64_t odd) {
    core::event_scope scope;
    scope.block_size = 4;
    scope.medium = below(odd) == 0 ? std::nullopt : std::optional(static_cast<core::medium_id>(below(odd) == 0 ? below(3) : 0));
    if (below(odd) == 0) scope.lora = "adapter";
    if (below(odd) == 0) scope.salt = "salt";
    if (below(odd) == 0) scope.group = static_cast<std::uint32_t>(below(3));
    scope.prefix_complete = below(odd) != 0;
    return scope;
  }

  std::vector<core::engine_hash> names(std::uint64_t most) {
    std::vector<core::engine_hash> some(below(most) + (below(50) == 0 ? 0 : 1));
    for (auto& each : some) each = core::engine_hash{random_() >> (below(4) == 0 ? below(64) : 0)};
    return some;
  }

  void add(core::event_batch& batch, std::uint64_t odd) {
    if (below(2) == 0) {  // a row of removals, as engines write them; now and then so many that one event has no room for them
      const core::event_scope where = scope(odd);
      for (std::uint64_t left = below(30) == 0 ? 600 : 1 + below(9); left > 0; --left) {
        batch.events.emplace_back(core::removed_event{where, names(below(odd) == 0 ? 300 : 1), false});
      }
      return;
    }
    if (below(odd) == 0) {
      batch.events.emplace_back(core::cleared_event{});
      return;
    }
    core::stored_event stored;
    stored.scope = scope(odd);
    stored.hashes = names(below(8) == 0 ? 40 : 6);
    if (below(2) == 0) stored.parent = below(odd) == 0 && !stored.hashes.empty() ? stored.hashes.front() : core::engine_hash{random_()};
    if (below(odd) == 0 && stored.hashes.size() > 1) stored.hashes.back() = stored.hashes.front();
    if (below(odd) != 0) stored.tokens.resize(stored.hashes.size() * 4);
    for (auto& token : stored.tokens) token = static_cast<std::uint32_t>(below(128'000) >> below(17));
    stored.has_tokens = !stored.tokens.empty();
    if (below(odd) == 0) stored.extra_keys = {"", samples::from_hex("91a178")};
    batch.events.emplace_back(std::move(stored));
  }

  core::medium_table media_;
  std::mt19937_64 random_;
};

/// The batch as it would be had it been read by this recipe, wherever it covers an event.
core::event_batch hashed_by(core::event_batch batch, const core::hash_recipe& recipe) {
  for (core::event& each : batch.events) {
    auto* const stored = std::get_if<core::stored_event>(&each);
    if (stored == nullptr || stored->tokens.empty()) continue;
    const core::event_scope& scope = stored->scope;
    const bool is_of_size = scope.block_size == 0 || scope.block_size == recipe.block_size;
    if (!is_of_size || scope.lora) break;
    if (stored->tokens.size() % recipe.block_size != 0) continue;
    if (stored->tokens.size() != stored->hashes.size() * recipe.block_size) break;
    core::hash_blocks(stored->tokens, recipe.block_size, recipe.seed, stored->locals);
    stored->tokens.clear();
  }
  return batch;
}

/// A store whose tokens have all widths.
core::event_batch chain_of(std::size_t blocks, std::uint32_t block_size, std::size_t tokens) {
  core::stored_event stored;
  stored.scope.block_size = block_size;
  stored.parent = core::engine_hash{1ULL << 40};
  for (std::size_t i = 0; i < blocks; ++i) stored.hashes.emplace_back((2ULL << 40) + i);
  std::mt19937 random(7);
  for (std::size_t i = 0; i < tokens; ++i) stored.tokens.push_back(static_cast<std::uint32_t>(random() >> (random() % 32)));
  stored.has_tokens = tokens != 0;
  core::event_batch batch;
  batch.events.emplace_back(std::move(stored));
  return batch;
}

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

bool is_plain(const std::string& payload, core::publisher_type type) {
  core::medium_table media;
  core::event_batch batch;
  decode_context context;
  context.media = &media;
  context.counts = &batch.counts;
  context.type = type;
  return read_plain_batch(samples::as_payload(payload), context, batch);
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

BOOST_AUTO_TEST_CASE(tokens_become_hashes_where_the_recipe_covers_them_and_nothing_else_changes) {
  // Of whatever publishers write, damaged or not.
  const std::uint64_t first_seed = std::random_device()();
  BOOST_TEST_MESSAGE("first seed " << first_seed);
  core::medium_table media;
  spare_lists used;
  std::uint64_t hashed = 0;
  for (std::uint64_t seed = first_seed; seed < first_seed + 5'000; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      batch_source source(seed);
      std::string payload = source.payload();
      if (source.below(4) == 0) source.spoil(payload);
      const core::publisher_type type = types[source.below(std::size(types))];
      const core::hash_recipe recipe{source.below(4) == 0 ? 3U : 4U, seed};
      core::event_batch batch;
      core::event_batch other;
      event_decoder hashing(type, media, "tenant-salt", &used);
      event_decoder keeping(type, media, "tenant-salt");
      hashing.hash_by(recipe);
      BOOST_TEST_REQUIRE((hashing.decode(samples::as_payload(payload), batch) == keeping.decode(samples::as_payload(payload), other)));
      const bool is_read_plainly = is_plain(payload, type);
      BOOST_TEST_REQUIRE(kvc::test::is_same(batch, is_read_plainly ? hashed_by(other, recipe) : other));
      for (const core::event& each : batch.events) {
        const auto* const stored = std::get_if<core::stored_event>(&each);
        if (stored != nullptr && !stored->locals.empty()) ++hashed;
      }
      used.take_back(batch.events);
    }
  }
  BOOST_TEST(hashed > 500U);  // else this has compared nothing
}

BOOST_AUTO_TEST_CASE(long_chains_of_any_block_size_are_hashed_piece_by_piece) {
  core::medium_table media;
  for (const std::uint32_t block_size : {1U, 3U, 16U, 32U, 64U, 480U, 481U, 960U, 961U}) {
    for (const std::size_t blocks : {1U, 2U, 59U, 60U, 61U, 301U}) {
      const core::event_batch batch = chain_of(blocks, block_size, blocks * block_size);
      const core::hash_recipe recipe{block_size, 1337};
      decoding with;
      with.decoder.hash_by(recipe);
      std::string payload;
      encode_batch(batch, media, {.form = event_form::vllm_map}, payload);
      BOOST_TEST_REQUIRE(!with.decode(payload));
      BOOST_TEST_CONTEXT(blocks << " blocks of " << block_size) {
        const auto& read = std::get<core::stored_event>(with.batch.events[0]);
        const auto& wanted = std::get<core::stored_event>(batch.events[0]);
        BOOST_TEST(read.has_tokens);
        BOOST_TEST(read.locals.empty() == (block_size > 960));  // so large that they are no piece: they keep their tokens
        if (read.locals.empty()) {
          BOOST_TEST(read.tokens == wanted.tokens);
        } else {
          BOOST_TEST(read.tokens.empty());
          BOOST_TEST((read.locals == std::get<core::stored_event>(hashed_by(batch, recipe).events[0]).locals));
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(tokens_stay_where_an_event_asks_for_them_and_for_those_behind_it) {
  // Another block size, an adapter, more tokens than blocks: and from then on, until the decoder is told again.
  core::medium_table media;
  const core::event_batch usual = chain_of(2, 4, 8);
  core::event_batch other_size = chain_of(1, 8, 8);
  core::event_batch adapter = usual;
  std::get<core::stored_event>(adapter.events[0]).scope.lora = "sql-adapter";
  for (const core::event_batch& odd : {other_size, adapter, chain_of(1, 4, 8)}) {
    decoding with;
    with.decoder.hash_by(core::hash_recipe{4, 1337});
    const auto keeps_tokens = [&](const core::event_batch& batch) {
      std::string payload;
      encode_batch(batch, media, {.form = event_form::vllm_map}, payload);
      const auto& read = with.only<core::stored_event>(payload);
      BOOST_TEST(read.tokens.empty() != read.locals.empty());
      return !read.tokens.empty() && read.tokens == std::get<core::stored_event>(batch.events[0]).tokens;
    };
    BOOST_TEST(!keeps_tokens(usual));
    BOOST_TEST(keeps_tokens(odd));
    BOOST_TEST(keeps_tokens(usual));
    with.decoder.hash_by(core::hash_recipe{4, 1337});
    BOOST_TEST(!keeps_tokens(usual));
    with.decoder.hash_by(std::nullopt);
    BOOST_TEST(keeps_tokens(usual));
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
