// Tokens that become hashes while they are read: where they do, and where they must not.
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/block_hasher.hpp"
#include "net/event_encode.hpp"
#include "tests/net/decoding.hpp"
#include "tests/net/plain_batches.hpp"
#include "tests/support/same_batch.hpp"

BOOST_AUTO_TEST_SUITE(early_hashes)

namespace {

using namespace kvc;
using namespace kvc::net;
using namespace kvc::net::test;

/// The batch as it would be had it been read by this recipe, wherever it covers an event.
core::event_batch hashed_by(core::event_batch batch, const core::hash_recipe& recipe) {
  for (core::event& each : batch.events) {
    auto* const stored = std::get_if<core::stored_event>(&each);
    if (stored == nullptr) continue;
    const core::event_scope& scope = stored->scope;
    const bool is_of_size = scope.block_size == 0 || scope.block_size == recipe.block_size;
    if (!is_of_size || scope.lora) break;
    if (stored->tokens.empty()) continue;
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

}  // namespace

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
  // Another block size, an adapter, keys, more tokens than blocks: and from then on, until the decoder is told again.
  core::medium_table media;
  const core::event_batch usual = chain_of(2, 4, 8);
  core::event_batch other_size = chain_of(1, 8, 8);
  core::event_batch adapter = usual;
  std::get<core::stored_event>(adapter.events[0]).scope.lora = "sql-adapter";
  core::event_batch with_keys = usual;
  std::get<core::stored_event>(with_keys.events[0]).extra_keys = {"", samples::from_hex("91a178")};
  for (const core::event_batch& odd : {other_size, chain_of(1, 6, 6), adapter, with_keys, chain_of(1, 4, 8)}) {
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

BOOST_AUTO_TEST_CASE(what_goes_on_a_page_of_another_size_keeps_its_tokens_in_the_same_batch) {
  // Whether or not the page's tokens would make blocks of our size.
  core::medium_table media;
  for (const std::uint32_t page : {6U, 8U}) {
    core::event_batch batch = chain_of(1, page, page);
    batch.events.push_back(chain_of(2, 4, 8).events[0]);
    std::string payload;
    encode_batch(batch, media, {.form = event_form::vllm_map}, payload);
    decoding with;
    with.decoder.hash_by(core::hash_recipe{4, 1337});
    BOOST_TEST_REQUIRE(!with.decode(payload));
    for (std::size_t i = 0; i < 2; ++i) {
      const auto& read = std::get<core::stored_event>(with.batch.events[i]);
      BOOST_TEST(read.locals.empty());
      BOOST_TEST(read.tokens == std::get<core::stored_event>(batch.events[i]).tokens);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
