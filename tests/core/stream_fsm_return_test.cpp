// The machine of a stream: publishers that come back and cannot be asked who they are.
#include <cstdint>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/stream_fsm.hpp"
#include "tests/core/told_stream.hpp"

BOOST_AUTO_TEST_SUITE(stream_fsm_return)

namespace {

using namespace kvc::test::told;

/// Nobody can have published as many batches as we have, however long it was away here.
stream_rules out_of_reach(bool has_replay) {
  stream_rules rules = quick();
  rules.has_replay = has_replay;
  rules.fastest_publisher = 0.001;
  return rules;
}

std::vector<line> away_and(std::vector<line> more) {
  std::vector<line> all = after_two({{"broken", "listen, whole"}});
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace

BOOST_AUTO_TEST_CASE(who_comes_back_is_not_whole_before_it_goes_on_where_it_stopped) {
  // A connection is not the publisher: an engine that died and one that is idle look the same until something is heard.
  check("its next batch is the one that was expected", out_of_reach(false),
        away_and({{"pass 1", "listen, whole"},
                  {"connected", "listen, recovering"},
                  {"quiet 9999", "listen, recovering"},  // idle: nothing leaves
                  {"live 2", "apply_live, whole"},
                  {"applied", "listen, whole"}}));
  check("one from before the break tells nothing", out_of_reach(false),
        away_and({{"live 2", "apply_live, whole"},
                  {"applied", "listen, whole"},
                  {"connected", "listen, recovering"},
                  {"live 3", "apply_live, whole"}}));
  check("one that is repeated tells nothing", out_of_reach(false),
        away_and({{"connected", "listen, recovering"}, {"live 1", "listen, recovering"}, {"live 2", "apply_live, whole"}}));
  check("a new life does", out_of_reach(false),
        away_and({{"connected", "listen, recovering"},
                  {"live 0 other", "forget, recovering"},
                  {"forgotten", "apply_live, joining"},
                  {"applied", "listen, whole"}}));
  check("who can be asked shows its last batch", out_of_reach(true),
        away_and({{"quiet 30", "listen, stale"},
                  {"connected", "listen, recovering"},
                  {"quiet 1", "request 1, recovering"},
                  {"sent", "read_reply, recovering"},
                  {"reply 1", "listen, recovering"},
                  {"quiet 1", "request 1, recovering"},
                  {"sent", "read_reply, recovering"},
                  {"end", "listen, whole"}}));
}

BOOST_AUTO_TEST_CASE(what_is_held_after_a_long_absence_is_unproven_until_then) {
  // As long as makes a stream stale: it may be a dead process's. An idle engine that is still there keeps its blocks.
  const std::vector<line> back = away_and({{"quiet 30", "listen, stale"}, {"connected", "listen, incomplete"}});
  const auto then = [&](const std::vector<line>& more) {
    std::vector<line> all = back;
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  const auto idle = check("it is idle", out_of_reach(false), then({{"quiet 9999", "listen, incomplete"}}));
  BOOST_TEST(idle.so_far().unproven == 1U);
  BOOST_TEST(idle.so_far().missing == 0U);
  const auto same = check("it goes on where it stopped", out_of_reach(false), then({{"live 2", "apply_live, whole"}}));
  BOOST_TEST(same.so_far().unproven == 0U);
  const auto again =
      check("it was away twice", out_of_reach(false),
            then({{"broken", "listen, incomplete"}, {"pass 30", "listen, incomplete"}, {"connected", "listen, incomplete"}}));
  BOOST_TEST(again.so_far().unproven == 2U);
  check("twice, and it goes on", out_of_reach(false),
        then({{"broken", "listen, incomplete"},
              {"pass 30", "listen, incomplete"},
              {"connected", "listen, incomplete"},
              {"live 2", "apply_live, whole"}}));
  const auto cleared = check("it clears everything, and goes on", out_of_reach(false),
                             then({{"live 2", "apply_live, whole"}, {"cleared", "listen, whole"}, {"live 3", "apply_live, whole"}}));
  BOOST_TEST(cleared.so_far().unproven == 0U);
  check("it could be asked, and does not answer", out_of_reach(true),
        away_and({{"quiet 30", "listen, stale"},
                  {"connected", "listen, recovering"},
                  {"quiet 1", "request 1, recovering"},
                  {"sent", "read_reply, recovering"},
                  {"silence", "listen, incomplete"},
                  {"live 2", "apply_live, whole"}}));
  auto patient = out_of_reach(false);
  patient.expects_idle = true;
  check("it only connects when it has something to say: to be away is nothing", patient,
        away_and({{"quiet 30", "listen, whole"}, {"connected", "listen, recovering"}, {"live 2", "apply_live, whole"}}));
}

BOOST_AUTO_TEST_CASE(a_hole_after_an_absence_nobody_explains_is_a_restart) {
  // The numbers are all there is to tell by, and they do not say that it is the same process.
  const std::vector<line> met{{"live 4", "forget, recovering"}, {"forgotten", "apply_live, incomplete"}, {"applied", "listen, incomplete"}};
  const auto after = [&](std::vector<line> begun) {
    begun.insert(begun.end(), met.begin(), met.end());
    return begun;
  };
  auto mute = out_of_reach(false);
  mute.after_loss = loss_policy::keep;
  const auto restarted = check("it cannot be asked; what is kept after a loss is not kept either", mute,
                               after(away_and({{"connected", "listen, recovering"}})));
  BOOST_TEST(restarted.so_far().restarts == 1U);
  BOOST_TEST(restarted.so_far().generation == 2U);
  BOOST_TEST(restarted.so_far().missing == 4U);
  const auto silent = check("it was asked, and did not answer", out_of_reach(true),
                            away_and({{"connected", "listen, recovering"},
                                      {"live 4", "request 1, recovering"},
                                      {"sent", "read_reply, recovering"},
                                      {"silence", "forget, recovering"},
                                      {"forgotten", "apply_live, incomplete"}}));
  BOOST_TEST(silent.so_far().restarts == 1U);
  const std::vector<line> later = away_and({{"connected", "listen, recovering"},
                                            {"quiet 1", "request 1, recovering"},
                                            {"sent", "read_reply, recovering"},
                                            {"silence", "listen, recovering"},
                                            {"pass 31", "listen, recovering"},
                                            {"live 4", "request 1, recovering"},
                                            {"sent", "read_reply, recovering"}});
  const auto then = [&](const std::vector<line>& more) {
    std::vector<line> all = later;
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  check("it answers by the time of the hole: the same, and the hole is filled", out_of_reach(true),
        then({{"reply 1", "request 1, recovering"},
              {"sent", "read_reply, recovering"},
              {"reply 1", "read_reply, recovering"},
              {"reply 2", "apply_reply, recovering"},
              {"applied", "read_reply, recovering"},
              {"reply 3", "apply_reply, recovering"},
              {"applied", "apply_live, whole"}}));
  check("it answers by the time of the hole: another one", out_of_reach(true), then({{"reply 1 other", "forget, recovering"}}));
  check("from before the break it is a loss like any", out_of_reach(false), away_and({{"live 4", "forget, incomplete"}}));
}

BOOST_AUTO_TEST_CASE(what_was_learnt_of_one_life_is_not_held_against_another) {
  // How an engine makes its hashes may change with each start: names of the life before would contradict those of the next.
  const auto is_another_life = [](const stream_rules& rules, const std::vector<const char*>& what) {
    told_stream under_test(rules);
    for (const char* each : {"connected", "live 0", "applied", "live 1", "applied"}) under_test.tell(each);
    BOOST_TEST(!under_test.machine.take_is_another_life());
    for (const char* each : what) under_test.tell(each);
    const bool is_it = under_test.machine.take_is_another_life();
    BOOST_TEST(!under_test.machine.take_is_another_life());
    return is_it;
  };
  auto mute = quick();
  mute.has_replay = false;
  BOOST_TEST(is_another_life(mute, {"pass 1", "back"}));
  mute.after_loss = loss_policy::keep;
  BOOST_TEST(is_another_life(mute, {"pass 1", "back"}));  // what is kept is no reason to know better
  BOOST_TEST(is_another_life(out_of_reach(false), {"back", "live 4"}));
  BOOST_TEST(is_another_life(quick(), {"live 0 other"}));
  BOOST_TEST(!is_another_life(out_of_reach(false), {"back", "live 2", "applied"}));
  BOOST_TEST(!is_another_life(out_of_reach(false), {"live 4", "forgotten"}));  // a loss: the same life
}

BOOST_AUTO_TEST_SUITE_END()
