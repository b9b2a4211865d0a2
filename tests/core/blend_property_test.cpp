// Random directories: what is found, counted and forgotten equals a plain list of chunks.
//
// KVC_PROPERTY_STREAMS sets how many directories are made, KVC_PROPERTY_SEED the first seed.
#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/blend_query.hpp"
#include "core/blend_table.hpp"
#include "core/chunk_index.hpp"
#include "tests/support/setting.hpp"

namespace kvc::test {
BOOST_AUTO_TEST_SUITE(blend_property)

namespace {

using namespace kvc::core;
using tokens = std::vector<std::uint32_t>;

/// Chunks by their tokens, least recently used first; everything by search.
struct blend_model {
  struct chunk {
    std::string scope;
    tokens content;
    std::string key;
    std::uint64_t old_st;
  };
  std::vector<chunk> chunks;
  std::size_t most;

  bool use(const std::string& scope, const tokens& content) {
    const auto known = std::ranges::find_if(chunks, [&](const chunk& each) { return each.scope == scope && each.content == content; });
    if (known == chunks.end()) return false;
    std::rotate(known, known + 1, chunks.end());
    return true;
  }
  bool publish(const chunk& one) {
    if (use(one.scope, one.content)) return false;
    if (chunks.size() == most) chunks.erase(chunks.begin());
    chunks.push_back(one);
    return true;
  }
  std::vector<blend_match> match(const std::string& scope, const tokens& prompt, std::size_t length, std::size_t stride) {
    std::vector<blend_match> found;
    std::set<std::string> told;
    for (std::size_t at = 0; at + length <= prompt.size(); at += stride) {
      const auto first = prompt.begin() + static_cast<std::ptrdiff_t>(at);
      if (!use(scope, tokens(first, first + static_cast<std::ptrdiff_t>(length)))) continue;
      if (told.insert(chunks.back().key).second) found.push_back({chunks.back().key, chunks.back().old_st, at});
    }
    return found;
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(random_directories_answer_like_the_model) {
  // Publishing, matching, removing and making room, over so few tokens that chunks and keys keep meeting.
  const std::uint64_t first = setting("KVC_PROPERTY_SEED", 1'234);
  const std::uint64_t directories = setting("KVC_PROPERTY_STREAMS", 150);
  BOOST_TEST_MESSAGE("seeds from " << first << ", " << directories << " directories");
  for (std::uint64_t seed = first; seed < first + directories; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      std::mt19937_64 random(seed);
      const std::size_t length = 1 + random() % 6;
      blend_model model{.chunks = {}, .most = 1 + random() % 20};
      blend_table table({.chunk_tokens = length, .most_chunks = model.most, .seed = seed});
      const auto some_tokens = [&](std::size_t longest) {
        tokens made(random() % (longest + 1));
        for (auto& each : made) each = static_cast<std::uint32_t>(random() % 3);
        return made;
      };
      const auto some_key = [&] { return (random() % 2 == 0 ? "key-" : "ab0") + std::to_string(random() % 9); };
      for (int step = 0; step < 200; ++step) {
        const std::string scope = random() % 3 == 0 ? "other" : "model";
        const std::uint64_t what = random() % 10;
        if (what < 5) {
          const tokens range = some_tokens(4 * length);
          std::vector<std::string> names;
          for (std::size_t i = 0; i < range.size() / length; ++i) names.push_back(some_key());
          const std::uint64_t base = random() % 1'000;
          std::size_t fresh = 0;
          for (std::size_t i = 0; i < names.size(); ++i) {
            const auto from = range.begin() + static_cast<std::ptrdiff_t>(i * length);
            fresh += model.publish({scope, tokens(from, from + static_cast<std::ptrdiff_t>(length)), names[i], base + i * length}) ? 1 : 0;
          }
          const std::vector<std::string_view> views(names.begin(), names.end());
          BOOST_REQUIRE(table.publish(scope, std::span<const std::uint32_t>(range), views, base) == fresh);
        } else if (what < 9) {
          const tokens prompt = some_tokens(40);
          const std::size_t stride = 1 + random() % 3;
          blend_query query(table, scope, stride);
          while (!query.advance(table, std::span<const std::uint32_t>(prompt), 1 + random() % 20)) {
          }
          BOOST_REQUIRE((query.matches() == model.match(scope, prompt, length, stride)));
        } else {
          const std::string key = some_key();
          const std::size_t gone = std::erase_if(model.chunks, [&](const blend_model::chunk& each) { return each.key == key; });
          BOOST_REQUIRE(table.remove(key) == gone);
        }
        BOOST_REQUIRE(table.size() == model.chunks.size());
        std::set<std::string> keys;
        for (const auto& each : model.chunks) keys.insert(each.key);
        BOOST_REQUIRE(table.objects() == keys.size());
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(long_prompts_roll_as_they_are_hashed) {
  // Blocks of windows are hashed from each other; every one must equal the hash computed from its tokens alone.
  constexpr std::uint64_t seed = 77;
  BOOST_TEST_MESSAGE("seed " << seed);
  std::mt19937_64 random(seed);
  tokens prompt(3'000);
  for (auto& each : prompt) each = static_cast<std::uint32_t>(random());
  for (const std::size_t length : {1U, 3U, 64U, 255U}) {
    rolling_hash rolling(length);
    std::vector<std::uint64_t> hashes;
    for (std::size_t at = 0; at + length <= prompt.size();) {
      std::vector<std::uint64_t> some(std::min<std::size_t>(1 + random() % 700, prompt.size() - length + 1 - at));
      rolling.roll(std::span<const std::uint32_t>(prompt), at, some);
      hashes.insert(hashes.end(), some.begin(), some.end());
      at += some.size();
    }
    BOOST_TEST_REQUIRE(hashes.size() == prompt.size() - length + 1);
    for (std::size_t at = 0; at < hashes.size(); ++at) {
      BOOST_REQUIRE(hashes[at] == polynomial_hash(std::span<const std::uint32_t>(prompt).subspan(at, length)));
    }
  }
}

BOOST_AUTO_TEST_CASE(chunks_are_hashed_alike_on_every_machine) {
  // Of any length, with tokens of all 64 bits: by Horner's rule, one token after the other.
  constexpr std::uint64_t seed = 78;
  BOOST_TEST_MESSAGE("seed " << seed);
  std::mt19937_64 random(seed);
  for (std::size_t length = 0; length <= 300; ++length) {
    std::vector<std::uint64_t> chunk(length);
    std::uint64_t expected = 0;
    for (auto& each : chunk) {
      each = random() >> random() % 64;
      expected = expected * polynomial_base + each;
    }
    BOOST_REQUIRE(polynomial_hash_of_chunk(std::span<const std::uint64_t>(chunk)) == expected);
    BOOST_REQUIRE(polynomial_hash(std::span<const std::uint64_t>(chunk)) == expected);
  }
}

BOOST_AUTO_TEST_CASE(the_index_never_denies_what_it_holds) {
  // A small table is filled beyond its buckets, so that entries stand in later ones, and emptied again in another order.
  constexpr std::uint64_t seed = 5;
  BOOST_TEST_MESSAGE("seed " << seed);
  std::mt19937_64 random(seed);
  chunk_index index(64);
  std::vector<std::pair<std::uint64_t, std::uint32_t>> held;
  for (int round = 0; round < 20'000; ++round) {
    if (held.size() < 110 && random() % 2 == 0) {
      const std::uint64_t mixed = random() % 4 == 0 ? random() % 3 : random();  // some share a bucket and a tag
      BOOST_REQUIRE(index.add(mixed, static_cast<std::uint32_t>(round)));
      held.emplace_back(mixed, static_cast<std::uint32_t>(round));
    } else if (!held.empty()) {
      std::swap(held[random() % held.size()], held.back());
      index.remove(held.back().first, held.back().second);
      held.pop_back();
    }
    if (round % 100 != 0) continue;
    for (const auto& [mixed, number] : held) {
      BOOST_REQUIRE(index.may_hold(mixed));
      BOOST_REQUIRE(index.find(mixed, [&](std::uint32_t each) { return each == number; }));
    }
  }
  for (const auto& [mixed, number] : held) index.remove(mixed, number);
  for (std::uint64_t i = 0; i < 64; ++i) BOOST_TEST(!index.may_hold(i << 58));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test
