// The byte budget of the index: what goes, what stays, and who is told.
//
// KVC_PROPERTY_STREAMS sets how many random streams are run, KVC_PROPERTY_SEED the first seed.
#include "core/eviction.hpp"

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/catalog.hpp"
#include "tests/support/eviction_stage.hpp"
#include "tests/support/setting.hpp"
#include "tests/support/strict_model.hpp"

namespace {

using namespace kvc::core;
using kvc::test::eviction_stage;
using kvc::test::setting;

}  // namespace

BOOST_FIXTURE_TEST_SUITE(eviction, eviction_stage)

BOOST_AUTO_TEST_CASE(within_the_budget_nothing_goes) {
  set_budget(100U << 20);
  hire(1);
  for (std::uint64_t i = 0; i < 200; ++i) store(1, chain_of(i, 20));
  BOOST_TEST(relieve() == 0U);
  BOOST_TEST(actors.at(1).evicted == 0U);
  BOOST_TEST(!actors.at(1).was_warned);
}

BOOST_AUTO_TEST_CASE(without_a_budget_nothing_goes_and_queries_mark_nothing) {
  set_budget(0);
  hire(1);
  for (std::uint64_t i = 0; i < 200; ++i) store(1, chain_of(i, 20));
  BOOST_TEST(depth(1, chain_of(7, 20)) == 20U);
  BOOST_TEST(relieve() == 0U);
  BOOST_TEST(actors.at(1).home->index().runs().round() == 0U);
}

BOOST_AUTO_TEST_CASE(memory_comes_down_below_the_budget) {
  // Chains that fork, so that what goes last stands before what goes first.
  set_budget(200'000);
  for (const std::uint32_t number : {1U, 2U, 3U}) hire(number);
  for (std::uint64_t i = 0; i < 300; ++i) {
    path chain = chain_of(i / 3, 12);
    chain.resize(8);
    for (std::uint64_t k = 0; k < 12; ++k) chain.push_back(i * 100 + k);
    store(1 + static_cast<std::uint32_t>(i % 3), chain);
  }
  BOOST_REQUIRE(used() > budget->bytes());
  (void)relieve();
  BOOST_TEST(used() <= budget->bytes());
  BOOST_TEST(used() >= budget->bytes() / 2);  // and not much more goes than must
  const auto totals = budget->so_far();
  BOOST_TEST(!budget->is_evicting());
  BOOST_TEST(totals.by_tenant.at("default") == actors.at(1).evicted + actors.at(2).evicted + actors.at(3).evicted);
}

BOOST_AUTO_TEST_CASE(what_was_matched_recently_stays) {
  set_budget(300'000);
  hire(1);
  for (std::uint64_t i = 0; i < 400; ++i) store(1, chain_of(i, 20));
  for (int round = 0; round < 5; ++round) {
    budget->begin_round();
    for (std::uint64_t i = 0; i < 400; i += 10) BOOST_REQUIRE(depth(1, chain_of(i, 20)) == 20U);
  }
  (void)relieve();
  BOOST_TEST(actors.at(1).evicted != 0U);
  for (std::uint64_t i = 0; i < 400; i += 10) BOOST_TEST(depth(1, chain_of(i, 20)) == 20U);
}

BOOST_AUTO_TEST_CASE(the_older_go_before_the_younger) {
  // No query ever came: the order of the stores decides.
  set_budget(300'000);
  hire(1);
  for (std::uint64_t i = 0; i < 400; ++i) {
    if (i % 20 == 0) budget->begin_round();
    store(1, chain_of(i, 20));
  }
  (void)relieve();
  check_older_went_first(1, 400, 20);
}

BOOST_AUTO_TEST_CASE(a_big_tenant_does_not_push_out_a_small_one) {
  set_budget(400'000);
  hire(1, "small");
  hire(2, "big");
  hire(3, "big");
  for (std::uint64_t i = 0; i < 30; ++i) store(1, chain_of(i, 20));
  for (int round = 0; round < 20; ++round) budget->begin_round();
  for (std::uint64_t i = 0; i < 600; ++i) store(2 + static_cast<std::uint32_t>(i % 2), chain_of(1'000 + i, 20));  // younger, all of it
  (void)relieve();
  BOOST_TEST(used() <= budget->bytes());
  BOOST_TEST(actors.at(1).evicted == 0U);
  BOOST_TEST(actors.at(2).evicted + actors.at(3).evicted != 0U);
  for (std::uint64_t i = 0; i < 30; ++i) BOOST_TEST(depth(1, chain_of(i, 20)) == 20U);
}

BOOST_AUTO_TEST_CASE(a_run_goes_from_all_who_hold_it_or_from_none) {
  // Else everyone's blocks would go before the first byte came back.
  set_budget(150'000);
  for (std::uint32_t number = 1; number <= 6; ++number) hire(number);
  for (std::uint64_t i = 0; i < 200; ++i) {
    for (std::uint32_t number = 1; number <= 6; ++number) store(number, chain_of(i, 20));
  }
  (void)relieve();
  std::size_t kept = 0;
  for (std::uint64_t i = 0; i < 200; ++i) {
    const std::uint32_t here = depth(1, chain_of(i, 20));
    kept += here != 0 ? 1U : 0U;
    for (std::uint32_t number = 2; number <= 6; ++number) BOOST_TEST(depth(number, chain_of(i, 20)) == here);
  }
  BOOST_TEST(kept != 0U);
  BOOST_TEST(used() <= budget->bytes());
}

BOOST_AUTO_TEST_CASE(chains_are_eaten_from_their_ends) {
  // A block behind one that is gone could never be matched.
  set_budget(60'000);
  hire(1);
  const path trunk = chain_of(1, 50);
  store(1, trunk);
  for (std::uint64_t i = 0; i < 300; ++i) {
    path branch = trunk;
    branch.resize(10 + i % 40);
    const std::size_t from = branch.size();
    for (std::uint64_t k = 0; k < 10; ++k) branch.push_back(i * 50 + k + 7);
    store(1, branch, from);
  }
  (void)relieve();
  BOOST_TEST(actors.at(1).evicted != 0U);
  BOOST_TEST(depth(1, trunk) == 50U);
}

BOOST_AUTO_TEST_CASE(blocks_known_by_sequence_hash_only_count_and_go) {
  set_budget(100'000);
  hire(1);
  std::vector<engine_hash> all;
  for (std::uint64_t i = 0; i < 3'000; ++i) all.emplace_back(i * 77 + 1);
  store_command command;
  command.home = actors.at(1).home;
  command.link = store_link::standard;
  command.names = all;
  apply_tally tally;
  actors.at(1).blocks->store(command, tally);
  BOOST_REQUIRE(used() > budget->bytes());
  (void)relieve();
  BOOST_TEST(used() <= budget->bytes());
  BOOST_TEST(actors.at(1).blocks->names() != 0U);
  BOOST_TEST(actors.at(1).blocks->names() + actors.at(1).evicted == 3'000U);
}

BOOST_AUTO_TEST_CASE(it_gives_up_when_nothing_is_left_to_give) {
  // A lane that says it keeps more than the budget by itself must not keep the lanes walking for ever.
  set_budget(10'000);
  hire(1);
  store(1, chain_of(1, 20));
  budget->note_lane(0, 1'000'000, 0);
  BOOST_TEST((budget->look() == index_budget::news::begins));
  std::size_t passes = 0;
  auto told = index_budget::news::none;
  for (; passes < 100 && told == index_budget::news::none; ++passes) {
    for (const std::size_t lane : {0U, 1U}) {
      const auto pass = budget->pass_for(lane);
      BOOST_REQUIRE(pass);
      make_part(lane, *pass, 100);
      BOOST_TEST(budget->finish(lane, *pass) == (lane == 1));
    }
    told = budget->look();
  }
  BOOST_TEST((told == index_budget::news::gives_up));
  BOOST_TEST(depth(1, chain_of(1, 20)) == 0U);
  BOOST_TEST((budget->look() == index_budget::news::none));
  for (int round = 0; round < 31; ++round) budget->begin_round();
  BOOST_TEST((budget->look() == index_budget::news::begins));
}

BOOST_AUTO_TEST_CASE(answers_stay_a_part_of_the_truth) {
  // Random chains, copies, removals and queries under a budget far too small: never deeper than the strict model, never less without a
  // warning.
  const std::uint64_t streams = setting("KVC_PROPERTY_STREAMS", 40);
  const std::uint64_t first = setting("KVC_PROPERTY_SEED", 20'261'121);
  BOOST_TEST_MESSAGE("streams " << streams << ", first seed " << first);
  std::uint64_t evicted = 0;
  for (std::uint64_t seed = first; seed < first + streams; ++seed) {
    eviction_stage scene;
    kvc::test::strict_model model;
    std::mt19937_64 random(seed);
    const auto below = [&](std::uint64_t bound) { return random() % bound; };
    scene.set_budget(2'000 + below(8'000));
    const auto crowd = static_cast<std::uint32_t>(1 + below(4));
    for (std::uint32_t number = 1; number <= crowd; ++number) {
      const bool counts = below(2) == 0;
      scene.hire(number, "default", counts);
      model.add_worker(worker_id{number}, {.instance = std::to_string(number), .copy_counting = counts});
      model.join(worker_id{number}, 0);
    }
    const auto random_path = [&] {
      path made;
      for (std::uint64_t i = 0, length = 1 + below(9); i < length; ++i) made.push_back(1 + below(3));
      return made;
    };
    for (int step = 0; step < 150; ++step) {
      const auto who = static_cast<std::uint32_t>(1 + below(crowd));
      const path chain = random_path();
      const medium_id medium = below(4) == 0 ? medium_id::cpu : medium_id::gpu;
      const std::uint64_t dice = below(100);
      if (dice < 60) {
        const std::size_t from = below(2) == 0 ? 0 : below(chain.size());
        const auto named = names_of(chain);
        const auto content = locals_of(chain);
        kvc::test::store_step told{
            .medium = medium, .how = from == 0 ? kvc::test::link::root : kvc::test::link::parent, .names = {}, .locals = {}};
        if (from != 0) told.parent = named[from - 1];
        told.names.assign(named.begin() + static_cast<std::ptrdiff_t>(from), named.end());
        told.locals.assign(content.begin() + static_cast<std::ptrdiff_t>(from), content.end());
        scene.store(who, chain, from, medium);
        model.store(worker_id{who}, told);
      } else if (dice < 80) {
        const engine_hash name = names_of(chain).back();
        apply_tally tally;
        scene.actors.at(who).blocks->remove({&name, 1}, medium, tally);
        model.remove(worker_id{who}, name, medium);
      } else if (dice < 85) {
        scene.budget->begin_round();
      } else if (dice < 90) {
        (void)scene.relieve(1 + below(5));
      } else if (const auto pass = scene.budget->pass_for(who % 2)) {  // a pass that events come into
        scene.make_part(who % 2, *pass, 1);
        (void)scene.budget->finish(who % 2, *pass);
      } else {
        (void)scene.used();
      }
      for (std::uint32_t number = 1; number <= crowd; ++number) {
        const path query = random_path();
        const std::uint32_t truth = model.depth(0, worker_id{number}, all_media, locals_of(query));
        const std::uint32_t answer = scene.depth(number, query);
        BOOST_REQUIRE_MESSAGE(answer <= truth,
                              "seed " << seed << ", step " << step << ", worker " << number << ": " << answer << ", truth " << truth);
        BOOST_REQUIRE_MESSAGE(answer == truth || scene.actors.at(number).was_warned,
                              "seed " << seed << ", step " << step << ", worker " << number << " misses blocks without a warning");
      }
    }
    for (const auto& [number, each] : scene.actors) evicted += each.evicted;
  }
  BOOST_TEST(evicted > streams * 10);  // else nothing was tested
}

BOOST_AUTO_TEST_SUITE_END()
