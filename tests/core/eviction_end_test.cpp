// The byte budget of the index: when eviction comes to an end, and how it begins again.
#include <cstddef>
#include <cstdint>

#include <boost/test/unit_test.hpp>

#include "core/eviction.hpp"
#include "tests/support/eviction_stage.hpp"

namespace kvc::test {
namespace {

struct ending_stage : eviction_stage {
  /// A pass by all lanes; `also` is done in it before anybody takes part.
  template <class Also>
  void pass_with(Also also) {
    (void)used();
    for (std::size_t lane = 0; lane < names.size(); ++lane) {
      const auto pass = budget->pass_for(lane);
      BOOST_REQUIRE(pass);
      also(*pass);
      make_part(lane, *pass, 100);
      (void)budget->finish(lane, *pass);
    }
  }
  /// A lane says that it keeps more than there is room for, until eviction has found nothing that could go.
  void give_up(std::uint64_t kept) {
    budget->note_lane(0, kept, 0);
    BOOST_REQUIRE((budget->look() == core::index_budget::news::begins));
    auto told = core::index_budget::news::none;
    for (int passes = 0; passes < 100 && told == core::index_budget::news::none; ++passes) {
      for (std::size_t lane = 0; lane < names.size(); ++lane) {
        const auto pass = budget->pass_for(lane);
        BOOST_REQUIRE(pass);
        make_part(lane, *pass, 100);
        (void)budget->finish(lane, *pass);
      }
      told = budget->look();
    }
    BOOST_REQUIRE((told == core::index_budget::news::gives_up));
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(eviction_end, ending_stage)

BOOST_AUTO_TEST_CASE(who_was_passed_over_may_have_what_is_wanted) {
  // All that is held is held by a stream in the middle of a batch.
  set_budget(100'000);
  hire(1);
  for (std::uint64_t i = 0; i < 300; ++i) store(1, chain_of(i, 20));
  for (int passes = 0; passes < 5; ++passes) {
    BOOST_REQUIRE(used() > budget->bytes());
    for (std::size_t lane = 0; lane < names.size(); ++lane) {
      const auto pass = budget->pass_for(lane);
      BOOST_REQUIRE(pass);
      pass->note_passed_over();
      (void)budget->finish(lane, *pass);
    }
    BOOST_TEST((budget->look() == core::index_budget::news::none));
    BOOST_TEST(budget->is_evicting());
  }
  (void)relieve();
  BOOST_TEST(used() <= budget->bytes());
  BOOST_TEST(actors.at(1).evicted != 0U);
}

BOOST_AUTO_TEST_CASE(a_trickle_of_old_blocks_does_not_keep_the_young_ones) {
  // In every pass something is old enough, and far too little.
  set_budget(100'000);
  hire(1);
  for (std::uint64_t i = 0; i < 300; ++i) store(1, chain_of(i, 20));
  for (int round = 0; round < 5; ++round) budget->begin_round();
  for (int passes = 0; used() > budget->bytes(); ++passes) {
    BOOST_REQUIRE(passes < 100);
    pass_with([&](core::eviction_pass& pass) {
      if (auto* const payer = pass.account_of(actors.at(1).home.get())) pass.note_evicted(*payer, 1);
    });
  }
  BOOST_TEST(actors.at(1).evicted != 0U);
}

BOOST_AUTO_TEST_CASE(after_giving_up_the_older_go_first_again) {
  set_budget(300'000);
  hire(1);
  store(1, chain_of(1'000, 20));
  give_up(1'000'000);
  for (std::uint64_t i = 0; i < 400; ++i) {
    if (i % 10 == 0) budget->begin_round();
    store(1, chain_of(i, 20));
  }
  (void)relieve();
  BOOST_TEST(used() <= budget->bytes());
  BOOST_TEST(actors.at(1).evicted != 0U);
  check_older_went_first(1, 400, 20);
}

BOOST_AUTO_TEST_CASE(a_rest_ends_when_more_has_come) {
  // A stream that grows on would else have the time of a rest to itself.
  set_budget(64'000);
  hire(1);
  store(1, chain_of(1, 20));
  give_up(100'000);
  BOOST_TEST((budget->look() == core::index_budget::news::none));
  budget->note_lane(0, 100'900, 0);
  BOOST_TEST((budget->look() == core::index_budget::news::none));
  budget->note_lane(0, 102'000, 0);
  BOOST_TEST((budget->look() == core::index_budget::news::begins));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test
