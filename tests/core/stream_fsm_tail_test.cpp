// The machine of a stream: batches at the end of what was published, which no later batch tells of.
#include <cstddef>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/stream_fsm.hpp"
#include "tests/core/told_stream.hpp"

BOOST_AUTO_TEST_SUITE(stream_fsm_tail)

namespace {

using namespace kvc::test::told;

}  // namespace

BOOST_AUTO_TEST_CASE(a_dropped_last_batch_is_found_when_a_stream_falls_silent) {
  // No later batch tells of it. One question, not more than now and then, and a publisher that does not answer costs a moment.
  const auto nothing = check("nothing was dropped", quick(),
                             after_two({{"quiet 1", "request 1, whole"},
                                        {"sent", "read_reply, whole"},
                                        {"end", "listen, whole"},
                                        {"quiet 1", "listen, whole"},
                                        {"live 2", "apply_live, whole"},
                                        {"applied", "listen, whole"},
                                        {"quiet 1", "listen, whole"},
                                        {"quiet 10", "request 2, whole"}}));
  BOOST_TEST(nothing.so_far().replays == 0U);
  const auto found = check("one was", quick(),
                           after_two({{"quiet 1", "request 1, whole"},
                                      {"sent", "read_reply, whole"},
                                      {"reply 2", "apply_reply, recovering"},
                                      {"applied", "read_reply, recovering"},
                                      {"end", "request 2, recovering"},
                                      {"sent", "read_reply, recovering"},
                                      {"end", "listen, whole"},
                                      {"quiet 9999", "listen, whole"}}));
  BOOST_TEST(found.so_far().replays == 1U);
  BOOST_TEST(found.so_far().outcomes[static_cast<std::size_t>(replay_outcome::complete)] == 1U);
  check("no answer: not asked again soon, but a gap is another matter", quick(),
        after_two({{"quiet 1", "request 1, whole"},
                   {"sent", "read_reply, whole"},
                   {"silence", "listen, whole"},
                   {"quiet 29", "listen, whole"},
                   {"live 3", "request 1, recovering"}}));
}

BOOST_AUTO_TEST_CASE(a_replay_may_have_lost_its_last_batches) {
  // Nothing tells how many there are: what ended the answer decides whether it is looked at again when the stream is silent.
  const std::vector<line> joining{{"connected", "listen, joining"},
                                  {"quiet 1", "request 0, catching_up"},
                                  {"sent", "read_reply, catching_up"},
                                  {"reply 0", "apply_reply, catching_up"},
                                  {"applied", "read_reply, catching_up"}};
  const auto after_joining = [&](std::vector<line> more) {
    more.insert(more.begin(), joining.begin(), joining.end());
    return more;
  };
  const auto outcome = [](const kvc::core::stream_fsm& of, replay_outcome how) {
    return of.so_far().outcomes[static_cast<std::size_t>(how)];
  };
  const auto marked = check("the marker, and nothing behind it: that is all", quick(),
                            after_joining({{"end", "request 0, catching_up"},
                                           {"sent", "read_reply, catching_up"},
                                           {"end", "listen, whole"},
                                           {"quiet 9999", "listen, whole"}}));
  BOOST_TEST(outcome(marked, replay_outcome::complete) == 1U);
  check("the marker, and batches behind it: one question is enough at once, the rest has time", quick(),
        after_joining({{"end", "request 0, catching_up"},
                       {"sent", "read_reply, catching_up"},
                       {"reply 1", "apply_reply, catching_up"},
                       {"applied", "read_reply, catching_up"},
                       {"end", "listen, whole"},
                       {"quiet 9", "request 1, whole"},
                       {"sent", "read_reply, whole"},
                       {"end", "listen, whole"},
                       {"quiet 9999", "listen, whole"}}));
  check("nobody answers the second question: the first answer had an end, and is looked behind later", quick(),
        after_joining({{"end", "request 0, catching_up"},
                       {"sent", "read_reply, catching_up"},
                       {"silence", "listen, whole"},
                       {"quiet 9", "request 0, whole"}}));
  auto once = quick();
  once.replay.attempts = 1;
  const auto silent = check("silence: not all that was asked for", once,
                            after_joining({{"silence", "request 0, catching_up"},
                                           {"sent", "read_reply, catching_up"},
                                           {"silence", "request 2, catching_up"},  // the next one may be what cannot be transported
                                           {"sent", "read_reply, catching_up"},
                                           {"silence", "listen, whole"},
                                           {"quiet 9", "request 0, whole"},
                                           {"sent", "read_reply, whole"},
                                           {"reply 1", "apply_reply, recovering"}}));
  BOOST_TEST(outcome(silent, replay_outcome::complete) == 0U);
  BOOST_TEST(outcome(silent, replay_outcome::partial) == 1U);
  const auto timed_out = check("no time left: neither", quick(),
                               after_joining({{"reply 1", "apply_reply, catching_up"},
                                              {"pass 301", "apply_reply, catching_up"},
                                              {"applied", "listen, whole"},
                                              {"quiet 9", "request 1, whole"}}));
  BOOST_TEST(outcome(timed_out, replay_outcome::partial) == 1U);
}

BOOST_AUTO_TEST_CASE(replies_that_bring_nothing_do_not_hold_live_batches_back) {
  // An endpoint that trickles what nobody asked for would keep them waiting for as long as a recovery may take.
  for (const char* nothing : {"noise", "reply 0"}) {
    const auto looked = check("a look at the tail has one deadline", quick(),
                              after_two({{"quiet 1", "request 1, whole"},
                                         {"sent", "read_reply, whole"},
                                         {nothing, "read_reply, whole"},
                                         {"pass 1", "read_reply, whole"},
                                         {nothing, "listen, whole"},
                                         {"quiet 29", "listen, whole"},
                                         {"quiet 1", "request 1, whole"}}));
    BOOST_TEST(looked.so_far().replays == 0U);
    check("so has each request for a gap", quick(),
          after_two({{"live 3", "request 1, recovering"},
                     {"sent", "read_reply, recovering"},
                     {"pass 3", "read_reply, recovering"},
                     {nothing, "read_reply, recovering"},
                     {"pass 2", "read_reply, recovering"},
                     {nothing, "request 1, recovering"},
                     {"sent", "read_reply, recovering"},
                     {"pass 5", "read_reply, recovering"},
                     {nothing, "forget, incomplete"},
                     {"forgotten", "apply_live, incomplete"}}));
  }
}

BOOST_AUTO_TEST_SUITE_END()
