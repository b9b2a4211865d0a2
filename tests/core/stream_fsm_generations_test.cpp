// The machine of a stream: other incarnations, silence, and what is told of it all.
#include <algorithm>
#include <cstdint>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/stream_fsm.hpp"
#include "tests/core/told_stream.hpp"

BOOST_AUTO_TEST_SUITE(stream_fsm_generations)

namespace {

using namespace kvc::test::told;

}  // namespace

BOOST_AUTO_TEST_CASE(a_new_incarnation_is_a_new_generation) {
  // Engines say nothing when they restart. Old blocks leave first of all.
  const auto back =
      check("the number goes back", quick(),
            after_two({{"live 0 other", "forget, recovering"}, {"forgotten", "apply_live, joining"}, {"applied", "listen, whole"}}));
  BOOST_TEST(back.so_far().generation == 2U);
  BOOST_TEST(back.so_far().restarts == 1U);
  check("and its beginning was missed", quick(),
        after_two({{"live 1 other", "forget, recovering"}, {"forgotten", "request 0, catching_up"}}));
  check("away, and the same as before: nothing is forgotten, what was published meanwhile is asked for", quick(),
        after_two({{"broken", "listen, whole"},
                   {"quiet 1", "listen, whole"},
                   {"connected", "listen, recovering"},
                   {"quiet 1", "request 1, recovering"},
                   {"sent", "read_reply, recovering"},
                   {"reply 0", "read_reply, recovering"},
                   {"reply 1", "listen, recovering"},
                   {"quiet 1", "request 1, recovering"},
                   {"sent", "read_reply, recovering"},
                   {"end", "listen, whole"}}));
  auto once = quick();
  once.replay.attempts = 1;
  check("the same, and never marks the end: what it had before comes again, and silence is the end", once,
        after_two({{"broken", "listen, whole"},
                   {"connected", "listen, recovering"},
                   {"quiet 1", "request 1, recovering"},
                   {"sent", "read_reply, recovering"},
                   {"reply 1", "listen, recovering"},
                   {"quiet 1", "request 1, recovering"},
                   {"sent", "read_reply, recovering"},
                   {"reply 1", "read_reply, recovering"},
                   {"silence", "listen, whole"}}));
  check("away, and another one: the answer proves it", quick(),
        after_two({{"broken", "listen, whole"},
                   {"connected", "listen, recovering"},
                   {"live 2", "request 1, recovering"},
                   {"sent", "read_reply, recovering"},
                   {"reply 1 other", "forget, recovering"},
                   {"forgotten", "listen, joining"}}));  // the batch in hand may be of either; the new one is asked for all it has
  check("away, and it has nothing any more", quick(),
        after_two({{"broken", "listen, whole"},
                   {"connected", "listen, recovering"},
                   {"quiet 1", "request 1, recovering"},
                   {"sent", "read_reply, recovering"},
                   {"end", "forget, recovering"},
                   {"forgotten", "listen, joining"}}));
  check("away before anything was applied: what waits may be anybody's, and only who comes back is asked", quick(),
        {{"connected", "listen, joining"},
         {"broken", "listen, joining"},
         {"live 0", "listen, joining"},
         {"connected", "listen, joining"},
         {"quiet 1", "request 0, catching_up"}});
  check("the same, and nobody is asked before there is a fresh socket", quick(),
        {{"connected", "listen, joining"},
         {"back", "listen, joining"},
         {"quiet 1", "listen, joining"},
         {"connected", "listen, joining"},
         {"quiet 1", "request 0, catching_up"}});
  auto unanswered = quick();
  unanswered.replay.attempts = 2;
  check("away, and it answers no more though it did before: read anew", unanswered,
        {{"connected", "listen, joining"},
         {"quiet 1", "request 0, catching_up"},
         {"sent", "read_reply, catching_up"},
         {"reply 0", "apply_reply, catching_up"},
         {"applied", "read_reply, catching_up"},
         {"end", "request 0, catching_up"},
         {"sent", "read_reply, catching_up"},
         {"end", "listen, whole"},
         {"broken", "listen, whole"},
         {"connected", "listen, recovering"},
         {"quiet 1", "request 0, recovering"},
         {"sent", "read_reply, recovering"},
         {"silence", "request 0, recovering"},
         {"sent", "read_reply, recovering"},
         {"silence", "forget, recovering"},
         {"forgotten", "listen, joining"}});
  check("what was sent before the break is still on its way to us: nobody is asked", quick(),
        after_two({{"broken", "listen, whole"}, {"live 2", "apply_live, whole"}, {"applied", "listen, whole"}}));
  check("what was sent before the break is another one's, which has gone as well: nothing that waits is of any use", quick(),
        after_two({{"broken", "listen, whole"},
                   {"live 0 other", "forget, recovering"},
                   {"forgotten", "listen, joining"},
                   {"live 1 other", "listen, joining"},
                   {"connected", "listen, joining"},
                   {"quiet 1", "request 0, catching_up"}}));
  check("a gap in what was sent before the break: asked for when it is known who answers", quick(),
        after_two({{"broken", "listen, whole"},
                   {"live 4", "listen, recovering"},
                   {"connected", "listen, recovering"},
                   {"quiet 1", "request 1, recovering"},
                   {"sent", "read_reply, recovering"},
                   {"reply 1", "listen, recovering"},
                   {"quiet 1", "request 1, recovering"}}));
  check("no answer: the numbers alone must tell, and no batch waits for one again", quick(),
        after_two({{"broken", "listen, whole"},
                   {"connected", "listen, recovering"},
                   {"live 2", "request 1, recovering"},
                   {"sent", "read_reply, recovering"},
                   {"silence", "apply_live, whole"},
                   {"applied", "listen, whole"},
                   {"pass 31", "listen, whole"},
                   {"live 3", "apply_live, whole"},
                   {"applied", "listen, whole"}}));
  check("no answer, and another break: whoever comes back may be asked at once, though the break was over before it was seen", quick(),
        after_two({{"broken", "listen, whole"},
                   {"connected", "listen, recovering"},
                   {"live 2", "request 1, recovering"},
                   {"sent", "read_reply, recovering"},
                   {"silence", "apply_live, whole"},
                   {"applied", "listen, whole"},
                   {"back", "listen, recovering"},
                   {"live 3", "request 2, recovering"}}));
}

BOOST_AUTO_TEST_CASE(who_comes_back_and_cannot_prove_itself_is_doubted) {
  auto mute = quick();
  mute.has_replay = false;
  const auto unproven =
      check("away, and cannot be asked: it may be another one that has published as many batches, so what is held is doubted", mute,
            after_two({{"broken", "listen, whole"},
                       {"pass 1", "listen, whole"},
                       {"back", "forget, incomplete"},
                       {"live 2", "forget, incomplete"},  // waited in the old socket: of either
                       {"forgotten", "listen, incomplete"},
                       {"connected", "listen, incomplete"},
                       {"live 2", "apply_live, incomplete"},
                       {"applied", "listen, incomplete"}}));
  BOOST_TEST(unproven.so_far().unproven == 1U);
  BOOST_TEST(unproven.so_far().missing == 0U);
  check("so it is when the break is seen only once it is over", mute,
        after_two({{"pass 1", "listen, whole"}, {"back", "forget, incomplete"}}));
  check("and what it clears later is nobody's any more", mute,
        after_two({{"pass 1", "listen, whole"},
                   {"back", "forget, incomplete"},
                   {"forgotten", "listen, incomplete"},
                   {"connected", "listen, incomplete"},
                   {"live 2", "apply_live, incomplete"},
                   {"cleared", "listen, whole"}}));
  check("away before anything was applied, and cannot be asked: what waits may be anybody's", mute,
        {{"connected", "listen, joining"}, {"back", "listen, joining"}, {"live 0", "listen, joining"}});
  auto slow = mute;
  slow.fastest_publisher = 1;
  check("nobody can have published as many in so short a time", slow,
        after_two({{"live 2", "apply_live, whole"},
                   {"applied", "listen, whole"},
                   {"broken", "listen, whole"},
                   {"pass 1", "listen, whole"},
                   {"back", "listen, recovering"},
                   {"live 3", "apply_live, whole"},
                   {"applied", "listen, whole"}}));
  check("nor in the moment between the last that is known of the connection and its end", slow,
        after_two({{"pass 30", "listen, whole"}, {"stood 0", "listen, whole"}, {"back", "listen, recovering"}}));
  check(
      "what is known of it must have been before its end", slow,
      after_two({{"broken", "listen, whole"}, {"pass 30", "listen, whole"}, {"stood 1", "listen, whole"}, {"back", "forget, incomplete"}}));
  check("it is known to stand, whoever looked later", slow,
        after_two(
            {{"pass 30", "listen, whole"}, {"stood 0", "listen, whole"}, {"stood 20", "listen, whole"}, {"back", "listen, recovering"}}));
  auto deaf = quick();
  check("away, and does not answer: no proof either", deaf,
        after_two({{"broken", "listen, whole"},
                   {"pass 1", "listen, whole"},
                   {"connected", "listen, recovering"},
                   {"live 2", "request 1, recovering"},
                   {"sent", "read_reply, recovering"},
                   {"silence", "forget, incomplete"},
                   {"forgotten", "listen, incomplete"},
                   {"connected", "listen, incomplete"},
                   {"live 2", "apply_live, incomplete"},
                   {"applied", "listen, incomplete"}}));
  check("it breaks again while it is asked, and then has nothing to say: it is not waited for for ever", deaf,
        after_two({{"broken", "listen, whole"},
                   {"pass 1", "listen, whole"},
                   {"connected", "listen, recovering"},
                   {"quiet 1", "request 1, recovering"},
                   {"sent", "read_reply, recovering"},
                   {"broken", "listen, whole"},
                   {"connected", "listen, recovering"},
                   {"quiet 1", "request 1, recovering"},
                   {"sent", "read_reply, recovering"},
                   {"silence", "forget, incomplete"},
                   {"forgotten", "listen, incomplete"}}));
  auto slow_and_deaf = deaf;
  slow_and_deaf.fastest_publisher = 0.1;
  check("the same, and nobody can have taken its place so soon", slow_and_deaf,
        after_two({{"broken", "listen, whole"},
                   {"connected", "listen, recovering"},
                   {"quiet 1", "request 1, recovering"},
                   {"sent", "read_reply, recovering"},
                   {"broken", "listen, whole"},
                   {"connected", "listen, recovering"},
                   {"quiet 1", "request 1, recovering"},
                   {"sent", "read_reply, recovering"},
                   {"silence", "listen, recovering"}}));
}

BOOST_AUTO_TEST_CASE(a_batch_that_comes_twice_is_no_new_life) {
  // Something between us may repeat or delay messages; the same bytes under the same number are the same batch.
  const auto twice = check("twice, and once more later", quick(),
                           after_two({{"live 1", "listen, whole"}, {"live 0", "listen, whole"}, {"live 2", "apply_live, whole"}}));
  BOOST_TEST(twice.so_far().duplicates == 2U);
  BOOST_TEST(twice.so_far().restarts == 0U);
  check("overtaken, and healed before it came", quick(),
        after_two({{"live 3", "request 1, recovering"},
                   {"sent", "read_reply, recovering"},
                   {"reply 2", "apply_reply, recovering"},
                   {"applied", "apply_live, whole"},
                   {"applied", "listen, whole"},
                   {"live 2", "listen, whole"}}));
}

BOOST_AUTO_TEST_CASE(a_replay_does_not_outlive_its_connection) {
  // Who answers after a break may be somebody else: two incarnations must never be mixed in one recovery.
  const auto broken = check("in the middle of catching up", quick(),
                            {{"connected", "listen, joining"},
                             {"live 5", "request 0, catching_up"},
                             {"sent", "read_reply, catching_up"},
                             {"reply 0", "apply_reply, catching_up"},
                             {"applied", "read_reply, catching_up"},
                             {"broken", "listen, joining"},
                             {"connected", "listen, joining"},
                             {"quiet 1", "request 0, recovering"},
                             {"sent", "read_reply, recovering"},
                             {"end", "forget, recovering"},
                             {"forgotten", "listen, joining"},
                             {"connected", "listen, joining"},
                             {"quiet 1", "request 0, catching_up"}});
  BOOST_TEST(broken.so_far().outcomes[static_cast<std::size_t>(replay_outcome::interrupted)] == 1U);
  check("in the middle of a gap, by the same publisher: the gap is still there", quick(),
        after_two({{"live 4", "request 1, recovering"},
                   {"sent", "read_reply, recovering"},
                   {"broken", "listen, recovering"},
                   {"connected", "listen, recovering"},
                   {"quiet 1", "request 1, recovering"},
                   {"sent", "read_reply, recovering"},
                   {"reply 1", "listen, recovering"},
                   {"quiet 1", "request 1, recovering"}}));
}

BOOST_AUTO_TEST_CASE(silence_makes_a_stream_stale_and_may_empty_it) {
  // Neither a batch nor a connection: nobody knows what the engine holds now. A standing connection is a sign of life by itself.
  stream_rules rules = quick();
  check(
      "idle and connected is fine", rules,
      after_two(
          {{"quiet 9999", "request 1, whole"}, {"sent", "read_reply, whole"}, {"end", "listen, whole"}, {"quiet 9999", "listen, whole"}}));
  check("away for long", rules,
        after_two({{"broken", "listen, whole"},
                   {"quiet 29", "listen, whole"},
                   {"quiet 1", "listen, stale"},
                   {"quiet 9999", "listen, stale"},
                   {"connected", "listen, recovering"}}));
  check(
      "away since it was noticed, not since the last look", rules,
      after_two({{"pass 20", "listen, whole"}, {"broken", "listen, whole"}, {"quiet 29", "listen, whole"}, {"quiet 1", "listen, stale"}}));
  check("never there", rules, {{"quiet 29", "listen, joining"}, {"quiet 1", "listen, stale"}, {"live 0", "apply_live, joining"}});
  rules.evict_after = 60s;
  const auto evicted = check("its blocks leave", rules,
                             after_two({{"broken", "listen, whole"},
                                        {"quiet 59", "listen, stale"},
                                        {"quiet 1", "forget, stale"},
                                        {"forgotten", "listen, stale"},
                                        {"quiet 60", "listen, stale"},
                                        {"connected", "listen, joining"},
                                        {"quiet 1", "request 0, catching_up"}}));
  BOOST_TEST(evicted.so_far().generation == 2U);
  BOOST_TEST(evicted.so_far().restarts == 0U);
  rules.evict_after = 1s;
  check("not before it is stale", rules,
        after_two({{"broken", "listen, whole"}, {"quiet 29", "listen, whole"}, {"quiet 1", "forget, stale"}}));
  rules.expects_idle = true;
  check("silence is expected", rules, after_two({{"broken", "listen, whole"}, {"quiet 9999", "listen, whole"}}));
  rules.expects_idle = false;
  rules.stale_after = 0s;
  check("switched off", rules, after_two({{"broken", "listen, whole"}, {"quiet 9999", "listen, whole"}}));
}

BOOST_AUTO_TEST_CASE(evicted_blocks_are_forgiven_by_a_clear_or_a_new_life) {
  // The byte budget takes blocks from streams that lost nothing.
  check("by a clear", quick(),
        after_two({{"evicted", "listen, incomplete"}, {"live 2", "apply_live, incomplete"}, {"cleared", "listen, whole"}}));
  check("by a new life", quick(),
        after_two({{"evicted", "listen, incomplete"},
                   {"live 0 other", "forget, recovering"},
                   {"forgotten", "apply_live, joining"},
                   {"applied", "listen, whole"}}));
}

BOOST_AUTO_TEST_CASE(after_a_failure_of_ours_everything_is_read_anew) {
  // A batch may have been applied in part, and whoever goes on from there is wrong without knowing it.
  const auto again = check("with a batch in hand", quick(),
                           after_two({{"live 2", "apply_live, whole"},
                                      {"failed", "forget, recovering"},
                                      {"forgotten", "listen, joining"},
                                      {"connected", "listen, joining"},
                                      {"live 3", "request 0, catching_up"}}));
  BOOST_TEST(again.so_far().generation == 2U);
  BOOST_TEST(again.so_far().restarts == 0U);
  check("in the middle of an answer", quick(),
        after_two({{"live 4", "request 1, recovering"},
                   {"sent", "read_reply, recovering"},
                   {"reply 2", "apply_reply, recovering"},
                   {"failed", "forget, recovering"},
                   {"forgotten", "listen, joining"}}));
  check("while everything is being forgotten", quick(),
        after_two({{"live 0 other", "forget, recovering"}, {"failed", "forget, recovering"}, {"forgotten", "listen, joining"}}));
  auto lonely = quick();
  lonely.has_replay = false;
  check("nobody to ask: what was held is lost", lonely,
        after_two({{"failed", "forget, recovering"},
                   {"forgotten", "listen, joining"},
                   {"live 2", "apply_live, incomplete"},
                   {"applied", "listen, incomplete"}}));
}

BOOST_AUTO_TEST_CASE(facts_tell_what_the_log_should_say) {
  // Which batches are gone is what an operator asks first.
  told_stream under_test(quick());
  for (const char* each : {"live 0", "applied", "live 5", "sent", "reply 3", "forgotten", "applied", "reply 4", "applied"})
    under_test.tell(each);

  const auto facts = under_test.machine.take_facts();

  using kind = kvc::core::stream_fsm::fact::kind;
  const auto lost = std::ranges::find(facts, kind::lost, &kvc::core::stream_fsm::fact::what);
  BOOST_REQUIRE(lost != facts.end());
  BOOST_TEST(lost->from.get() == 1U);
  BOOST_TEST(lost->to->get() == 2U);
  BOOST_TEST((std::ranges::find(facts, kind::gap, &kvc::core::stream_fsm::fact::what) != facts.end()));
  BOOST_TEST((std::ranges::find(facts, kind::doubted, &kvc::core::stream_fsm::fact::what) != facts.end()));
  BOOST_TEST(!under_test.machine.has_facts());
}

BOOST_AUTO_TEST_CASE(what_is_known_to_be_behind_is_told) {
  // A long gap shows as lag in batches while it is being filled.
  told_stream under_test(quick());
  for (const char* each : {"live 0", "applied", "live 10", "sent"}) under_test.tell(each);
  BOOST_TEST(under_test.machine.behind() == 10U);
  for (const char* each : {"reply 1", "applied"}) under_test.tell(each);
  BOOST_TEST(under_test.machine.behind() == 9U);
}

BOOST_AUTO_TEST_CASE(an_answer_counts_although_what_was_asked_for_was_interrupted) {
  // Whoever has answered once and is silent after a break is another one: what that tells must not pass for what is known.
  const auto back = check("it answered before the break, and never after", quick(),
                          {{"connected", "listen, joining"},
                           {"quiet 1", "request 0, catching_up"},
                           {"sent", "read_reply, catching_up"},
                           {"reply 0", "apply_reply, catching_up"},
                           {"applied", "read_reply, catching_up"},
                           {"reply 1", "apply_reply, catching_up"},
                           {"applied", "read_reply, catching_up"},
                           {"back", "listen, joining"},
                           {"quiet 1", "request 1, recovering"},
                           {"sent", "read_reply, recovering"},
                           {"silence", "request 1, recovering"},
                           {"sent", "read_reply, recovering"},
                           {"silence", "forget, recovering"},
                           {"forgotten", "listen, joining"},
                           {"connected", "listen, joining"},
                           {"live 0 other", "apply_live, joining"},
                           {"applied", "listen, whole"},
                           {"live 1 other", "apply_live, whole"},
                           {"applied", "listen, whole"},
                           {"live 2 other", "apply_live, whole"},
                           {"applied", "listen, whole"}});
  BOOST_TEST(back.so_far().restarts == 1U);
  BOOST_TEST(back.so_far().duplicates == 0U);
}

BOOST_AUTO_TEST_CASE(what_comes_after_an_eviction_is_not_evicted) {
  const auto next = check("another life shows while the last one is taken away", quick(),
                          after_two({{"live 0 other", "forget, recovering"},
                                     {"evicted", "forget, recovering"},
                                     {"forgotten", "apply_live, joining"},
                                     {"applied", "listen, whole"}}));
  BOOST_TEST(next.so_far().generation == 2U);
}

BOOST_AUTO_TEST_SUITE_END()
