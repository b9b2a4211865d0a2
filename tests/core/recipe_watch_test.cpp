#include "core/recipe_watch.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/block_hasher.hpp"
#include "tests/support/applier_stream.hpp"

BOOST_AUTO_TEST_SUITE(recipe_watch)

namespace {

using namespace kvc::core;
using verdict = recipe_verdict;

/// What a publisher stores: `prompts` prompts of 8 blocks each.
struct publisher {
  publisher_type type = publisher_type::vllm;
  std::uint64_t secret = 1;        ///< of its names: equal secrets, equal names
  std::uint64_t first_prompt = 0;  ///< prompts first .. first + prompts - 1
  std::uint64_t prompts = 40;
  std::uint64_t salt = 0;       ///< changes the first block of every prompt only
  bool forgets_tokens = false;  ///< its names change from one store of a block to the next
};

local_hash content(std::uint64_t what) {
  return local_hash{roll(seq_hash{what}, local_hash{7}, default_hash_seed).get()};
}

recipe_sample sample_of(const publisher& who) {
  recipe_notes notes;
  for (int pass = 0; pass < 2; ++pass) {
    for (std::uint64_t p = who.first_prompt; p < who.first_prompt + who.prompts; ++p) {
      std::vector<local_hash> locals;
      std::vector<engine_hash> names;
      for (std::uint64_t b = 0; b < 8; ++b) {
        locals.push_back(content(p * 8 + b + (b == 0 ? who.salt * 1'000'000 : 0)));
        const std::uint64_t spoilt = who.forgets_tokens ? static_cast<std::uint64_t>(pass) * 77 : 0;
        names.push_back(engine_hash{locals.back().get() * (2 * who.secret + 1) + spoilt});
      }
      notes.note(locals, names, true);
    }
  }
  return notes.sample();
}

std::vector<recipe_notes::finding> compare(const std::vector<publisher>& all) {
  std::vector<recipe_member> members;
  for (const publisher& each : all) members.push_back({each.type, sample_of(each)});
  return compare_recipes(members);
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_members_hash_alike_and_what_not) {
  // Whoever hashes otherwise than the rest misses silently; whoever serves other prompts does not.
  struct row {
    const char* why;
    std::vector<publisher> members;
    std::vector<verdict> expected;
  };
  const std::vector<row> rows{
      {"alone", {{}}, {verdict::unknown}},
      {"alike", {{}, {}}, {verdict::agrees, verdict::agrees}},
      {"other prompts, nothing in common", {{}, {.first_prompt = 1'000}}, {verdict::unknown, verdict::unknown}},
      {"each engine draws its own secret", {{.secret = 1}, {.secret = 2}}, {verdict::names_differ, verdict::names_differ}},
      {"one of three is not pinned", {{}, {}, {.secret = 9}}, {verdict::agrees, verdict::agrees, verdict::names_differ}},
      {"engines of two kinds have recipes of their own",
       {{}, {.type = publisher_type::sglang, .secret = 5}},
       {verdict::unknown, verdict::unknown}},
      {"too little in common to say", {{.prompts = 2}, {.secret = 2, .prompts = 2}}, {verdict::unknown, verdict::unknown}},
      {"the same texts behind other beginnings", {{.salt = 1}, {.salt = 2}}, {verdict::chains_differ, verdict::chains_differ}},
      {"one of three begins otherwise", {{}, {}, {.salt = 3}}, {verdict::agrees, verdict::agrees, verdict::chains_differ}},
      {"names that do not follow from the tokens", {{}, {.forgets_tokens = true}}, {verdict::agrees, verdict::contradicts_tokens}},
  };
  for (const row& each : rows) {
    BOOST_TEST_CONTEXT(each.why) {
      const auto found = compare(each.members);
      for (std::size_t i = 0; i < found.size(); ++i) BOOST_TEST(to_string(found[i].verdict) == to_string(each.expected[i]), i);
    }
  }
}

BOOST_AUTO_TEST_CASE(samples_are_bounded_and_the_same_for_everybody) {
  // However much is stored in whatever order, two that store the same sample the same.
  const recipe_sample large = sample_of({.prompts = 5'000});
  BOOST_TEST(large.roots.size() == recipe_notes::kept_roots);
  BOOST_TEST(large.inner.size() == recipe_notes::kept_inner);

  recipe_notes backwards;
  for (std::uint64_t p = 5'000; p-- > 0;) {
    std::vector<local_hash> locals;
    for (std::uint64_t b = 0; b < 8; ++b) locals.push_back(content(p * 8 + b));
    std::vector<engine_hash> names;
    for (const local_hash each : locals) names.push_back(engine_hash{each.get() * 3});
    backwards.note(locals, names, true);
  }
  const recipe_sample other = backwards.sample();
  BOOST_TEST((other.inner == large.inner));
  for (std::size_t i = 0; i < other.roots.size(); ++i) BOOST_TEST((other.roots[i].content == large.roots[i].content));
}

BOOST_AUTO_TEST_CASE(checks_against_tokens_count_when_most_fail) {
  // A publisher of the standard hash under another seed: every block it names is out of reach of every query.
  recipe_notes wrong;
  recipe_notes right;
  for (int i = 0; i < 10; ++i) {
    wrong.note_check(false);
    right.note_check(i != 0);  // one slip is no recipe
  }
  const std::vector<recipe_member> members{{publisher_type::standard, wrong.sample()}, {publisher_type::standard, right.sample()}};

  const auto found = compare_recipes(members);

  BOOST_TEST((found[0].verdict == verdict::contradicts_tokens));
  BOOST_TEST(found[0].contradicted == 10U);
  BOOST_TEST((found[1].verdict == verdict::unknown));
}

BOOST_AUTO_TEST_CASE(a_new_incarnation_is_judged_anew) {
  // An unpinned engine draws another secret when it starts again: that is no contradiction.
  recipe_notes notes;
  const std::vector<local_hash> locals{content(1)};
  for (const std::uint64_t name : {1U, 2U}) {
    const std::vector<engine_hash> names{engine_hash{name}};
    notes.note(locals, names, true);
    notes.reset();
  }
  BOOST_TEST(notes.sample().contradicted == 0U);
  BOOST_TEST(notes.update({.verdict = verdict::agrees}));
  BOOST_TEST((notes.found().verdict == verdict::agrees));
}

BOOST_AUTO_TEST_CASE(a_verdict_stands_until_there_is_another_or_its_sample_has_gone) {
  // In large partitions each comparison is with others: who meets nobody it shares a prompt with is no other than before.
  recipe_notes notes;
  BOOST_TEST(!notes.update({}));
  BOOST_TEST(notes.update({.verdict = verdict::agrees, .shared_roots = 7}));
  BOOST_TEST(!notes.update({.verdict = verdict::agrees, .shared_roots = 9}));
  BOOST_TEST(!notes.update({}));
  BOOST_TEST(notes.found().shared_roots == 9U);
  BOOST_TEST(notes.update({.verdict = verdict::chains_differ}));
  notes.reset();
  BOOST_TEST((notes.found().verdict == verdict::chains_differ));
  BOOST_TEST(notes.update({}));
  BOOST_TEST((notes.found().verdict == verdict::unknown));
}

BOOST_AUTO_TEST_CASE(nobody_is_left_over_when_a_partition_is_compared_in_parts) {
  // A last part of one has nobody to compare with.
  using windows = std::vector<recipe_window>;
  BOOST_TEST((recipe_windows(0, 64, 5) == windows{{0, 0}}));
  BOOST_TEST((recipe_windows(64, 64, 5) == windows{{0, 64}}));
  BOOST_TEST((recipe_windows(65, 64, 0) == windows{{0, 64}, {1, 64}}));
  BOOST_TEST((recipe_windows(128, 64, 0) == windows{{0, 64}, {64, 64}}));
  BOOST_TEST((recipe_windows(129, 64, 5) == windows{{26, 64}, {90, 64}, {91, 64}}));
  for (const std::size_t members : {65U, 70U, 129U, 200U}) {
    for (std::size_t round = 0; round < 2 * members; ++round) {
      std::vector<std::size_t> compared(members);
      for (const recipe_window& each : recipe_windows(members, 64, round)) {
        BOOST_TEST_REQUIRE(each.count == 64U);
        for (std::size_t i = 0; i < each.count; ++i) ++compared[(each.first + i) % members];
      }
      BOOST_TEST_REQUIRE(std::ranges::count(compared, 0U) == 0);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_partition_that_is_compared_in_parts_comes_to_one_verdict) {
  // Each change of it is a line of the log, and the parts are others every ten seconds. Here each member agrees with one other, far away.
  constexpr std::size_t members = 100;
  constexpr std::size_t at_once = 64;
  std::vector<recipe_sample> samples;
  for (std::size_t i = 0; i < members; ++i) samples.push_back(sample_of({.secret = i % (members / 2), .prompts = 8}));
  std::vector<recipe_notes> notes(members);
  std::vector<std::size_t> changes(members);
  for (std::size_t round = 0; round < 100; ++round) {
    const auto windows = recipe_windows(members, at_once, round);
    for (const recipe_window& each : windows) {
      std::vector<recipe_member> compared;
      for (std::size_t i = 0; i < each.count; ++i) compared.push_back({publisher_type::vllm, samples[(each.first + i) % members]});
      const auto found = compare_recipes(compared);
      for (std::size_t i = 0; i < each.count; ++i) {
        const std::size_t who = (each.first + i) % members;
        changes[who] += notes[who].update(found[i], windows.size() > 1) ? 1U : 0U;
      }
    }
  }
  for (std::size_t who = 0; who < members; ++who) {
    BOOST_TEST_CONTEXT("member " << who) {
      BOOST_TEST((notes[who].found().verdict == verdict::agrees));
      BOOST_TEST(changes[who] <= 2U);
    }
  }
}

BOOST_AUTO_TEST_CASE(names_by_the_standard_are_held_to_their_tokens) {
  // Blocks named under another seed stand where no query will ever look.
  namespace applier = kvc::test::applier;
  for (const bool is_right : {true, false}) {
    const auto notes = std::make_shared<recipe_notes>();
    applier::stream at(applier::registered(publisher_type::standard), {.recipe = notes});
    const std::vector<std::uint32_t> tokens{1, 2, 3, 4};
    std::vector<local_hash> locals;
    std::vector<seq_hash> hashes;
    hash_blocks(tokens, applier::block_size, is_right ? applier::seed : 7, locals);
    roll_from_root(locals, is_right ? applier::seed : 7, hashes);
    stored_event root;
    root.hashes = {engine_hash{hashes[0].get()}};
    root.tokens = {1, 2};
    root.has_tokens = root.standard_hashes = true;
    stored_event behind = root;
    behind.hashes = {engine_hash{hashes[1].get()}};
    behind.parent = root.hashes.front();
    behind.tokens = {3, 4};

    at.apply(root);
    at.apply(behind);

    BOOST_TEST(notes->sample().checked == 2U);
    BOOST_TEST(notes->sample().contradicted == (is_right ? 0U : 2U));
  }
}

BOOST_AUTO_TEST_CASE(what_an_engine_stores_is_sampled) {
  // First blocks with their names; other groups and adapters have names and contents of their own.
  namespace applier = kvc::test::applier;
  const auto notes = std::make_shared<recipe_notes>();
  applier::stream at(applier::registered(publisher_type::vllm), {.recipe = notes});

  at.store({11, 12}, {1, 2, 3, 4});
  at.store({11}, {1, 2}, applier::in_group(1));
  at.store({99}, {1, 2}, applier::with_adapter("x"));

  const recipe_sample sample = notes->sample();
  BOOST_TEST_REQUIRE(sample.roots.size() == 1U);
  BOOST_TEST(sample.roots[0].name.get() == 11U);
  BOOST_TEST(sample.inner.size() == 1U);
  BOOST_TEST(sample.checked == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
