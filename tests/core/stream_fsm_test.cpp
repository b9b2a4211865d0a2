#include "core/stream_fsm.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "tests/core/told_stream.hpp"

BOOST_AUTO_TEST_SUITE(stream_fsm)

namespace {

using namespace kvc::test::told;

}  // namespace

BOOST_AUTO_TEST_CASE(a_stream_joins_from_the_beginning) {
  // What was published before we listened comes by replay, and what both ways bring counts once.
  check("from its first batch", quick(), two_batches);
  check("late, a live batch tells", quick(),
        {{"connected", "listen, joining"},
         {"live 2", "request 0, catching_up"},
         {"sent", "read_reply, catching_up"},
         {"reply 0", "apply_reply, catching_up"},
         {"applied", "read_reply, catching_up"},
         {"reply 1", "apply_reply, catching_up"},
         {"applied", "read_reply, catching_up"},  // nothing was known that could tell whose they are: what came live does
         {"reply 2", "apply_live, whole"},
         {"applied", "listen, whole"}});
  check("late, nothing tells: silence on a standing connection", quick(),
        {{"quiet 1", "listen, joining"},
         {"connected", "listen, joining"},
         {"quiet 1", "request 0, catching_up"},
         {"sent", "read_reply, catching_up"},
         {"reply 0", "apply_reply, catching_up"},
         {"applied", "read_reply, catching_up"},
         {"end", "request 0, catching_up"},  // what stood before the marker may have been dropped
         {"sent", "read_reply, catching_up"},
         {"end", "listen, whole"},
         {"live 0", "listen, whole"},
         {"live 1", "apply_live, whole"}});
  check("nothing was ever published", quick(),
        {{"connected", "listen, joining"},
         {"quiet 1", "request 0, catching_up"},
         {"sent", "read_reply, catching_up"},
         {"end", "listen, whole"}});
  check("the beginning is no longer kept", quick(),
        {{"live 3", "request 0, catching_up"},
         {"sent", "read_reply, catching_up"},
         {"reply 2", "apply_reply, catching_up"},
         {"applied", "read_reply, catching_up"},
         {"end", "apply_live, incomplete"},
         {"applied", "listen, incomplete"}});
  stream_rules lonely = quick();
  lonely.has_replay = false;
  check("nobody to ask: late", lonely, {{"live 3", "apply_live, incomplete"}, {"applied", "listen, incomplete"}});
  check("nobody to ask: from the start", lonely,
        {{"connected", "listen, joining"}, {"quiet 1", "listen, joining"}, {"live 0", "apply_live, joining"}});
  auto once = quick();
  once.replay.attempts = 1;
  check("nobody answers, then a live batch: what it shows is incomplete from its first block on", once,
        {{"connected", "listen, joining"},
         {"quiet 1", "request 0, catching_up"},
         {"sent", "read_reply, catching_up"},
         {"silence", "listen, joining"},
         {"live 3", "apply_live, incomplete"},
         {"applied", "listen, incomplete"}});
  stream_rules master = quick();
  master.first = seqno{1};
  check("a master begins with 1", master, {{"live 1", "apply_live, joining"}, {"applied", "listen, whole"}});
}

BOOST_AUTO_TEST_CASE(a_gap_is_filled_before_the_batch_behind_it) {
  // Order is meaning: a removal that overtakes its store would leave the block for ever.
  const auto healed = check("filled", quick(),
                            after_two({{"live 4", "request 1, recovering"},
                                       {"sent", "read_reply, recovering"},
                                       {"reply 2", "apply_reply, recovering"},
                                       {"applied", "read_reply, recovering"},
                                       {"reply 3", "apply_reply, recovering"},
                                       {"applied", "apply_live, whole"},
                                       {"applied", "listen, whole"}}));
  BOOST_TEST(healed.so_far().gaps == 1U);
  BOOST_TEST(healed.so_far().missing == 0U);
  BOOST_TEST(healed.so_far().outcomes[static_cast<std::size_t>(replay_outcome::complete)] == 1U);

  check("a hole in the answer is asked for again, and the tail as well", quick(),
        after_two({{"live 5", "request 1, recovering"},
                   {"sent", "read_reply, recovering"},
                   {"reply 2", "apply_reply, recovering"},
                   {"applied", "read_reply, recovering"},
                   {"reply 4", "request 2, recovering"},
                   {"sent", "read_reply, recovering"},
                   {"noise", "read_reply, recovering"},
                   {"reply 3", "apply_reply, recovering"},
                   {"applied", "read_reply, recovering"},
                   {"end", "request 3, recovering"},
                   {"sent", "read_reply, recovering"},
                   {"reply 4", "apply_reply, recovering"},
                   {"applied", "apply_live, whole"}}));
  check("silence, then a fresh socket", quick(),
        after_two({{"live 3", "request 1, recovering"},
                   {"sent", "read_reply, recovering"},
                   {"silence", "request 1, recovering"},
                   {"sent", "read_reply, recovering"},
                   {"reply 2", "apply_reply, recovering"},
                   {"applied", "apply_live, whole"}}));
  check("a batch that a replay has brought already is dropped", quick(),
        after_two({{"live 3", "request 1, recovering"},
                   {"sent", "read_reply, recovering"},
                   {"reply 2", "apply_reply, recovering"},
                   {"applied", "apply_live, whole"},
                   {"applied", "listen, whole"},
                   {"live 4", "apply_live, whole"}}));
}

BOOST_AUTO_TEST_CASE(what_cannot_be_had_is_lost_and_what_it_may_have_removed_leaves) {
  // A lost batch may have removed anything that was held: by default only what comes later is believed.
  const std::vector<line> gone{{"live 3", "request 1, recovering"}, {"sent", "read_reply, recovering"}};
  std::vector<line> dropped = after_two(gone);
  dropped.insert(dropped.end(), {{"end", "forget, incomplete"},
                                 {"forgotten", "apply_live, incomplete"},
                                 {"applied", "listen, incomplete"},
                                 {"live 4", "apply_live, incomplete"},
                                 {"cleared", "listen, whole"}});
  const auto after = check("dropped", quick(), dropped);
  BOOST_TEST(after.so_far().lost == 1U);
  BOOST_TEST(after.so_far().generation == 1U);

  stream_rules keeping = quick();
  keeping.after_loss = loss_policy::keep;
  std::vector<line> kept = after_two(gone);
  kept.insert(kept.end(), {{"end", "apply_live, incomplete"}, {"applied", "listen, incomplete"}});
  check("kept", keeping, kept);

  check("lost in the middle of an answer: before what stands behind it", quick(),
        after_two({{"live 5", "request 1, recovering"},
                   {"sent", "read_reply, recovering"},
                   {"reply 4", "forget, recovering"},
                   {"forgotten", "apply_reply, recovering"},
                   {"applied", "apply_live, incomplete"},
                   {"applied", "listen, incomplete"}}));
  const auto mute = check("nobody answers: given up, and left alone for a while", quick(),
                          after_two({{"live 3", "request 1, recovering"},
                                     {"sent", "read_reply, recovering"},
                                     {"silence", "request 1, recovering"},
                                     {"sent", "read_reply, recovering"},
                                     {"silence", "forget, incomplete"},
                                     {"forgotten", "apply_live, incomplete"},
                                     {"applied", "listen, incomplete"},
                                     {"live 5", "forget, incomplete"},
                                     {"forgotten", "apply_live, incomplete"},
                                     {"applied", "listen, incomplete"},
                                     {"pass 31", "listen, incomplete"},
                                     {"live 7", "request 5, recovering"}}));
  BOOST_TEST(mute.so_far().missing == 2U);
  BOOST_TEST(mute.so_far().outcomes[static_cast<std::size_t>(replay_outcome::unanswered)] == 1U);
  check("no recovery takes for ever, whatever comes", quick(),
        after_two({{"live 9", "request 1, recovering"},
                   {"sent", "read_reply, recovering"},
                   {"reply 2", "apply_reply, recovering"},
                   {"pass 301", "apply_reply, recovering"},
                   {"applied", "forget, incomplete"},
                   {"forgotten", "apply_live, incomplete"}}));
}

BOOST_AUTO_TEST_CASE(a_request_that_cannot_be_sent_has_asked_nobody) {
  // That we have no socket, or find no address, must not cost a publisher what it still has; nor may it keep live batches for ever.
  told_stream refused(quick());
  for (const char* each : {"connected", "live 0", "applied", "live 2", "refused"}) refused.tell(each);
  BOOST_TEST((refused.machine.ask_at() == refused.now + quick().idle_check), "refused requests do not spin");

  const auto for_a_minute = [](const std::string& then) {
    std::vector<line> minute;
    for (int i = 0; i < 60; ++i) minute.insert(minute.end(), {{"refused", then}, {"pass 1", then}});
    return minute;
  };
  std::vector<line> gap = after_two({{"live 3", "request 1, recovering"}});
  const auto minute = for_a_minute("request 1, recovering");
  gap.insert(gap.end(), minute.begin(), minute.end());
  std::vector<line> healed = gap;
  healed.insert(healed.end(), {{"sent", "read_reply, recovering"},
                               {"silence", "request 1, recovering"},
                               {"refused", "request 1, recovering"},
                               {"sent", "read_reply, recovering"},
                               {"reply 2", "apply_reply, recovering"},
                               {"applied", "apply_live, whole"}});
  check("a gap: it can be asked for in the end", quick(), healed);
  gap.insert(gap.end(), {{"refused", "forget, incomplete"},
                         {"forgotten", "apply_live, incomplete"},
                         {"applied", "listen, incomplete"},
                         {"pass 31", "listen, incomplete"},
                         {"live 5", "request 3, recovering"},
                         {"refused", "forget, incomplete"}});
  check("a gap: it cannot, and the next one does not wait for as long", quick(), gap);

  std::vector<line> proof =
      after_two({{"broken", "listen, whole"}, {"connected", "listen, recovering"}, {"quiet 1", "request 1, recovering"}});
  const auto waiting = for_a_minute("request 1, recovering");
  proof.insert(proof.end(), waiting.begin(), waiting.end());
  proof.insert(proof.end(), {{"sent", "read_reply, recovering"}, {"reply 1", "listen, recovering"}});
  const auto proven = check("a proof", quick(), proof);
  BOOST_TEST(proven.so_far().generation == 1U);
  const auto looked = check("a look at the tail: nothing waits for it", quick(),
                            after_two({{"quiet 1", "request 1, whole"}, {"refused", "listen, whole"}, {"live 2", "apply_live, whole"}}));
  BOOST_TEST(looked.so_far().replays == 0U);
}

BOOST_AUTO_TEST_CASE(a_batch_nobody_can_read_is_asked_for_once_more) {
  // It may have been spoilt on the way; if the publisher's copy is no better it is lost, and such copies are not asked for again.
  check("its copy is sound", quick(),
        after_two({{"live 2", "apply_live, whole"},
                   {"unreadable", "request 1, recovering"},
                   {"sent", "read_reply, recovering"},
                   {"reply 2", "apply_reply, recovering"},
                   {"applied", "listen, whole"},
                   {"live 3", "apply_live, whole"}}));
  check("its copy is not", quick(),
        after_two({{"live 2", "apply_live, whole"},
                   {"unreadable", "request 1, recovering"},
                   {"sent", "read_reply, recovering"},
                   {"reply 2", "apply_reply, recovering"},
                   {"unreadable", "forget, incomplete"},
                   {"forgotten", "listen, incomplete"},
                   {"live 3", "apply_live, incomplete"},
                   {"unreadable", "listen, incomplete"}}));
}

BOOST_AUTO_TEST_CASE(a_numbering_gone_mad_does_not_wrap_what_was_lost) {
  // Counters only grow, whatever a publisher says.
  told_stream under_test(quick());
  std::uint64_t last = 0;
  for (const char* each : {"live 9223372036854775807", "live 18446744073709551600"}) {
    for (const char* told : {each, "sent", "silence", "sent", "silence", "applied"}) under_test.tell(told);
    if (under_test.machine.next() == step::forget) under_test.tell("forgotten");
    BOOST_TEST(under_test.machine.so_far().lost > 0U);
    BOOST_TEST(under_test.machine.so_far().lost >= last);
    last = under_test.machine.so_far().lost;
  }
  BOOST_TEST(under_test.machine.so_far().missing <= last);
}

BOOST_AUTO_TEST_SUITE_END()
