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
  std::size_t remove(const std::string& key) {
    return std::erase_if(chunks, [&](const chunk& each) { return each.key == key; });
  }
  std::vector<blend_match> match(const std::string& scope, const tokens& prompt, std::size_t length, std::size_t stride) {
    std::vector<blend_match> found;
    match_some(scope, prompt, length, stride, 0, prompt.size(), found);
    return found;
  }
  /// The part of it from one offset to another, behind what was found before.
  void match_some(const std::string& scope, const tokens& prompt, std::size_t length, std::size_t stride, std::size_t from, std::size_t to,
                  std::vector<blend_match>& found) {
    for (std::size_t at = 0; at + length <= prompt.size() && at < to; at += stride) {
      if (at < from) continue;
      const auto first = prompt.begin() + static_cast<std::ptrdiff_t>(at);
      if (!use(scope, tokens(first, first + static_cast<std::ptrdiff_t>(length)))) continue;
      const auto is_told = [&](const blend_match& each) { return each.object_key == chunks.back().key; };
      if (std::ranges::none_of(found, is_told)) found.push_back({chunks.back().key, chunks.back().old_st, at});
    }
  }
};

/// A directory and its model, to which the same happens.
struct twin_directories {
  std::mt19937_64 random;
  std::size_t length = 1 + random() % 6;
  blend_model model{.chunks = {}, .most = 1 + random() % 20};
  blend_table table{{.chunk_tokens = length, .most_chunks = model.most, .seed = random()}};

  tokens some_tokens(std::size_t longest) {
    tokens made(random() % (longest + 1));
    for (auto& each : made) each = static_cast<std::uint32_t>(random() % 3);
    return made;
  }
  std::string some_key() { return (random() % 2 == 0 ? "key-" : "ab0") + std::to_string(random() % 9); }
  std::string some_scope() { return random() % 3 == 0 ? "other" : "model"; }

  void publish() {
    const std::string scope = some_scope();
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
  }
  void remove() {
    const std::string key = some_key();
    BOOST_REQUIRE(table.remove(key) == model.remove(key));
  }
  void compare() {
    BOOST_REQUIRE(table.size() == model.chunks.size());
    std::set<std::string> keys;
    for (const auto& each : model.chunks) keys.insert(each.key);
    BOOST_REQUIRE(table.objects() == keys.size());
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
      twin_directories both{.random = std::mt19937_64(seed)};
      for (int step = 0; step < 200; ++step) {
        const std::uint64_t what = both.random() % 10;
        if (what < 5) {
          both.publish();
        } else if (what < 9) {
          const std::string scope = both.some_scope();
          const tokens prompt = both.some_tokens(40);
          const std::size_t stride = 1 + both.random() % 3;
          blend_query query(both.table, scope, stride);
          while (!query.advance(both.table, std::span<const std::uint32_t>(prompt), 1 + both.random() % 20)) {
          }
          BOOST_REQUIRE((query.matches() == both.model.match(scope, prompt, both.length, stride)));
        } else {
          both.remove();
        }
        both.compare();
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_directory_that_changes_meanwhile_answers_for_each_offset_as_it_is_then) {
  // Chunks come, make room and are taken back between two slices of a query, and so do the only ones of a key that was told already.
  const std::uint64_t first = setting("KVC_PROPERTY_SEED", 4'321);
  const std::uint64_t directories = setting("KVC_PROPERTY_STREAMS", 150);
  BOOST_TEST_MESSAGE("seeds from " << first << ", " << directories << " directories");
  for (std::uint64_t seed = first; seed < first + directories; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      twin_directories both{.random = std::mt19937_64(seed)};
      for (int queries = 0; queries < 40; ++queries) {
        const std::string scope = both.some_scope();
        const tokens prompt = both.some_tokens(60);
        const std::size_t stride = 1 + both.random() % 3;
        blend_query query(both.table, scope, stride);
        std::vector<blend_match> expected;
        bool is_done = false;
        for (std::size_t at = 0; !is_done;) {
          const std::size_t some = 1 + both.random() % 20;
          both.model.match_some(scope, prompt, both.length, stride, at, at + some, expected);
          is_done = query.advance(both.table, std::span<const std::uint32_t>(prompt), some);
          at += some;
          for (std::uint64_t changes = both.random() % 3; changes != 0; --changes) {
            if (both.random() % 3 == 0) {
              both.remove();
            } else {
              both.publish();
            }
          }
          both.compare();
        }
        BOOST_REQUIRE((query.matches() == expected));
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
