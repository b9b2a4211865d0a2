// The machine of a stream: lives of a publisher that overlap, when the next one answers while the last one's batches still wait.
#include <cstdint>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/stream_fsm.hpp"
#include "tests/core/told_stream.hpp"

BOOST_AUTO_TEST_SUITE(stream_fsm_overlap)

using namespace kvc::test::told;

BOOST_AUTO_TEST_CASE(a_fast_restart_is_no_stranger) {
  // Its replay endpoint answers before the end of the life before is seen, and shows another batch under the last number.
  const std::vector<line> read_anew{{"forgotten", "listen, joining"}, {"quiet 1", "request 0, catching_up"}};
  const auto proven = check("the next batch that is looked for is the same as was heard: what was given up is read", quick(),
                            then(then(found_out(), {{"pass 31", "listen, incomplete"},
                                                    {"quiet 10", "request 4, incomplete"},
                                                    {"sent", "read_reply, incomplete"},
                                                    {"reply 4", "read_reply, incomplete"},
                                                    {"end", "forget, recovering"}}),
                                 read_anew));
  BOOST_TEST(proven.so_far().missing == 0U);
  BOOST_TEST(proven.so_far().restarts == 1U);
  check("its end is seen a moment later: it has to show what it was heard to say, and is read", quick(),
        then(then(found_out(), {{"back", "listen, incomplete"},
                                {"quiet 1", "request 4, recovering"},
                                {"sent", "read_reply, recovering"},
                                {"reply 4", "forget, recovering"}}),
             read_anew));
  check("its end is seen a moment later, and it was heard to say nothing yet", quick(),
        then(after_two({{"quiet 10", "request 1, whole"}, {"sent", "read_reply, whole"}, {"reply 1 other", "listen, whole"}}),
             {{"back", "listen, recovering"},
              {"quiet 1", "request 1, recovering"},
              {"sent", "read_reply, recovering"},
              {"reply 1 other", "forget, recovering"}}));
  check("it begins to count anew", quick(),
        then(found_out(), {{"live 2 other", "forget, recovering"},
                           {"forgotten", "request 0, catching_up"},
                           {"sent", "read_reply, catching_up"},
                           {"reply 0 other", "apply_reply, catching_up"},
                           {"applied", "read_reply, catching_up"},
                           {"reply 1 other", "apply_reply, catching_up"},
                           {"applied", "read_reply, catching_up"},
                           {"reply 2 other", "apply_live, whole"}}));
  check("a clear of everything leaves nothing to be read", quick(),
        then(found_out(), {{"live 5", "apply_live, incomplete"},
                           {"cleared", "listen, whole"},
                           {"pass 31", "listen, whole"},
                           {"quiet 10", "request 5, whole"},
                           {"sent", "read_reply, whole"},
                           {"reply 5", "read_reply, whole"},
                           {"end", "listen, whole"}}));
}

BOOST_AUTO_TEST_CASE(what_waited_when_the_connection_broke_tells_nothing_of_who_comes_back) {
  // Chaos seeds 32185 and 32722: the replay was faster than the live batches, which came when their connection was known to be over.
  const std::vector<line> broken{{"connected", "listen, joining"},       {"quiet 1", "request 0, catching_up"},
                                 {"sent", "read_reply, catching_up"},    {"reply 0", "apply_reply, catching_up"},
                                 {"applied", "read_reply, catching_up"}, {"broken", "listen, joining"}};
  const auto back = check("its successor is asked for the batch we have", quick(),
                          then(broken, {{"live 0", "listen, joining"},
                                        {"live 1", "apply_live, joining"},
                                        {"applied", "listen, whole"},
                                        {"connected", "listen, recovering"},
                                        {"quiet 1", "request 0, recovering"},
                                        {"sent", "read_reply, recovering"},
                                        {"reply 0 other", "forget, recovering"},
                                        {"forgotten", "listen, joining"},
                                        {"connected", "listen, joining"},
                                        {"quiet 1", "request 0, catching_up"}}));
  BOOST_TEST(foreign_answers(back) == 0U);
  const auto ahead = check("its successor has answered already: what came of both leaves", quick(),
                           then(broken, {{"live 0 other", "apply_live, recovering"},
                                         {"applied", "forget, recovering"},
                                         {"forgotten", "listen, joining"},
                                         {"connected", "listen, joining"},
                                         {"quiet 1", "request 0, catching_up"}}));
  BOOST_TEST(foreign_answers(ahead) == 0U);
  BOOST_TEST(ahead.so_far().restarts == 1U);
}

BOOST_AUTO_TEST_CASE(what_was_given_up_before_anything_was_held_is_not_missed_by_the_next_life) {
  // Chaos seed 31312: the successor, which had nothing yet, was asked for what its predecessor had said, and said so.
  const auto told = check("nothing was held when the connection broke", quick(),
                          {{"connected", "listen, joining"},
                           {"live 6 spoilt", "request 0, catching_up"},
                           {"sent", "read_reply, catching_up"},
                           {"end", "apply_live, incomplete"},
                           {"unreadable", "request 6, recovering"},
                           {"sent", "read_reply, recovering"},
                           {"broken", "forget, joining"},
                           {"forgotten", "listen, joining"},
                           {"connected", "listen, joining"},
                           {"quiet 1", "request 0, catching_up"}});
  BOOST_TEST(told.so_far().missing == 0U);
  BOOST_TEST(told.so_far().lost == 6U);
  BOOST_TEST(told.so_far().restarts == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
