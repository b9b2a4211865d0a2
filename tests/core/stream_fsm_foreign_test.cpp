// The machine of a stream: replay endpoints that answer for somebody else.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/stream_fsm.hpp"
#include "tests/core/told_stream.hpp"

BOOST_AUTO_TEST_SUITE(stream_fsm_foreign)

namespace {

using namespace kvc::test::told;

/// Has joined by silence: some batches from the replay endpoint, more than are remembered.
std::vector<line> joined_by_silence(const std::string& whose) {
  std::vector<line> story{{"connected", "listen, joining"}, {"quiet 1", "request 0, catching_up"}, {"sent", "read_reply, catching_up"}};
  for (int i = 0; i < 20; ++i) {
    story.push_back({"reply " + std::to_string(i) + whose, "apply_reply, catching_up"});
    story.push_back({"applied", "read_reply, catching_up"});
  }
  story.insert(story.end(), {{"end", "request 19, catching_up"}, {"sent", "read_reply, catching_up"}, {"end", "listen, whole"}});
  return story;
}

/// A stream whose publisher stays what it is, and whose replay endpoint is somebody else's, who is ahead of it.
struct deceived {
  std::mt19937_64 random;
  told_stream under_test{quick()};
  std::uint64_t next = 0;         ///< of the publisher
  std::uint64_t ahead = 0;        ///< of it, the stranger
  std::vector<std::string> held;  ///< what was applied since everything was last forgotten
  std::uint64_t asked_for = 0;
  bool has_heard = false;

  explicit deceived(std::uint64_t seed) : random(seed), next(random() % 40), ahead(2 + random() % 40) { under_test.tell("connected"); }

  /// Does what is to be done until there is nothing more.
  void settle() {
    for (int guard = 0; guard < 10'000; ++guard) {
      switch (under_test.machine.next()) {
        case step::listen: return;
        case step::apply_live:
          held.push_back(under_test.live_bytes);
          under_test.tell("applied");
          break;
        case step::request:
          asked_for = under_test.machine.request_from().get();
          under_test.tell("sent");
          break;
        case step::read_reply:
          if (asked_for < next + ahead) {
            under_test.tell("reply " + std::to_string(asked_for++) + " other");
          } else {
            under_test.tell("end");
          }
          break;
        case step::apply_reply:
          held.push_back(under_test.reply_bytes);
          under_test.tell("applied");
          break;
        case step::forget:
          held.clear();
          under_test.tell("forgotten");
          break;
      }
    }
    BOOST_ERROR("the machine never comes to rest");
  }

  void go_on() {
    if (random() % 3 == 0) {
      under_test.tell("quiet " + std::to_string(random() % 40));
    } else {
      if (random() % 5 == 0) ++next;  // dropped on the way
      under_test.tell("live " + std::to_string(next++));
      has_heard = true;
    }
    settle();
  }

  [[nodiscard]] bool holds_strange() const {
    return std::ranges::any_of(held, [](const std::string& each) { return each.find("other") != std::string::npos; });
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(an_endpoint_that_shows_another_batch_than_we_know_fills_no_gap) {
  // Its port is another publisher's: what it has under our numbers would be taken for ours.
  const auto told = check("the batch before the gap is another one", quick(), found_out());
  BOOST_TEST(foreign_answers(told) == 1U);
  BOOST_TEST(told.so_far().lost == 2U);
  BOOST_TEST(told.so_far().restarts == 0U);
  BOOST_TEST(told.so_far().generation == 1U);

  check("the batch before the gap is ours", quick(),
        after_two({{"live 3", "request 1, recovering"},
                   {"sent", "read_reply, recovering"},
                   {"reply 1", "read_reply, recovering"},
                   {"reply 2", "apply_reply, recovering"},
                   {"applied", "apply_live, whole"}}));
  check("what was lost behind it is proven lost by one answer, as if it had not been asked for", quick(),
        after_two({{"live 4", "request 1, recovering"},
                   {"sent", "read_reply, recovering"},
                   {"reply 1", "read_reply, recovering"},
                   {"reply 3", "forget, recovering"}}));
  check("the publisher no longer has it: there is no proof, and the gap is filled all the same", quick(),
        after_two({{"live 3", "request 1, recovering"},
                   {"sent", "read_reply, recovering"},
                   {"reply 2", "apply_reply, recovering"},
                   {"applied", "apply_live, whole"}}));
  check("several answer at one address in turn: what the first one brought leaves again", quick(),
        after_two({{"live 5", "request 1, recovering"},
                   {"sent", "read_reply, recovering"},
                   {"reply 1", "read_reply, recovering"},
                   {"reply 2", "apply_reply, recovering"},
                   {"applied", "read_reply, recovering"},
                   {"reply 4", "request 2, recovering"},
                   {"sent", "read_reply, recovering"},
                   {"reply 2 other", "forget, recovering"},
                   {"forgotten", "apply_live, incomplete"}}));
}

BOOST_AUTO_TEST_CASE(bytes_that_nobody_could_read_are_no_proof_against_an_endpoint) {
  // They were spoilt on the way: the publisher's own copy differs from them.
  const auto spoilt = check("spoilt, and so was its copy", quick(),
                            after_two({{"live 2 spoilt", "apply_live, whole"},
                                       {"unreadable", "request 1, recovering"},
                                       {"sent", "read_reply, recovering"},
                                       {"reply 2 spoilt too", "apply_reply, recovering"},
                                       {"unreadable", "forget, incomplete"},
                                       {"forgotten", "listen, incomplete"},
                                       {"live 4", "request 3, recovering"}}));
  BOOST_TEST(foreign_answers(spoilt) == 0U);
  check("spoilt, and its copy is sound", quick(),
        after_two({{"live 2 spoilt", "apply_live, whole"},
                   {"unreadable", "request 1, recovering"},
                   {"sent", "read_reply, recovering"},
                   {"reply 2", "apply_reply, recovering"},
                   {"applied", "listen, whole"}}));
}

BOOST_AUTO_TEST_CASE(a_late_stream_is_not_filled_by_a_stranger) {
  // Nothing is known before the batch in hand, so that one tells: the endpoint has to have it as well.
  const std::vector<line> begun{{"connected", "listen, joining"},       {"live 2", "request 0, catching_up"},
                                {"sent", "read_reply, catching_up"},    {"reply 0 other", "apply_reply, catching_up"},
                                {"applied", "read_reply, catching_up"}, {"reply 1 other", "apply_reply, catching_up"},
                                {"applied", "read_reply, catching_up"}};
  const std::vector<line> found{{"reply 2 other", "apply_live, recovering"},  // which may have been spoilt: it is looked at first
                                {"applied", "forget, recovering"},
                                {"forgotten", "apply_live, incomplete"},
                                {"applied", "listen, incomplete"}};
  const auto dropped = check("what it brought leaves", quick(), then(begun, found));
  BOOST_TEST(foreign_answers(dropped) == 1U);
  BOOST_TEST(dropped.so_far().lost == 2U);
  BOOST_TEST(dropped.so_far().restarts == 0U);
  auto keeping = quick();
  keeping.after_loss = loss_policy::keep;
  check("also where blocks are kept after a loss: these were never ours", keeping, then(begun, found));
  const auto spoilt = check("the live one was spoilt on the way: the endpoint is ours", quick(),
                            then(begun, {{"reply 2 other", "apply_live, recovering"},
                                         {"unreadable", "request 1, recovering"},
                                         {"sent", "read_reply, recovering"},
                                         {"reply 1 other", "read_reply, recovering"},
                                         {"reply 2 other", "apply_reply, recovering"},
                                         {"applied", "listen, whole"},
                                         {"live 3", "apply_live, whole"}}));
  BOOST_TEST(foreign_answers(spoilt) == 0U);
  check("it has nothing more to show: no proof, as with a publisher that drops its last batch", quick(),
        then(begun, {{"silence", "apply_live, whole"}, {"applied", "listen, whole"}}));
}

BOOST_AUTO_TEST_CASE(a_live_batch_is_not_dropped_for_its_number_alone) {
  // Joined by silence, from somebody who is far ahead: all that the real publisher says would pass for old.
  const auto known = check("one of the last that were replayed", quick(),
                           then(joined_by_silence(" other"), {{"live 10", "apply_live, recovering"},
                                                              {"applied", "forget, recovering"},
                                                              {"forgotten", "apply_live, incomplete"},
                                                              {"applied", "listen, incomplete"},
                                                              {"live 11", "apply_live, incomplete"}}));
  BOOST_TEST(foreign_answers(known) == 1U);
  BOOST_TEST(known.so_far().duplicates == 0U);
  check("further back: the endpoint is asked for it, and shows another one", quick(),
        then(joined_by_silence(" other"), {{"live 2", "request 2, whole"},
                                           {"sent", "read_reply, whole"},
                                           {"reply 2 other", "apply_live, recovering"},
                                           {"applied", "forget, recovering"},
                                           {"forgotten", "apply_live, incomplete"}}));
  check("what was spoilt on the way tells nothing: the next one has to", quick(),
        then(joined_by_silence(" other"), {{"live 2 spoilt", "request 2, whole"},
                                           {"sent", "read_reply, whole"},
                                           {"reply 2 other", "apply_live, recovering"},
                                           {"unreadable", "listen, whole"},
                                           {"live 3", "request 3, whole"}}));
  check("after a break it is who it was, which is not to say that it is who we hear", quick(),
        then(joined_by_silence(" other"), {{"back", "listen, recovering"},
                                           {"quiet 1", "request 19, recovering"},
                                           {"sent", "read_reply, recovering"},
                                           {"reply 19 other", "listen, recovering"},
                                           {"live 2", "request 2, recovering"}}));
  check("it shows the same one: old, and so is the next", quick(),
        then(joined_by_silence(""),
             {{"live 2", "request 2, whole"}, {"sent", "read_reply, whole"}, {"reply 2", "listen, whole"}, {"live 3", "listen, whole"}}));
  check("it was spoilt on the way, and a replay had brought it whole", quick(),
        then(joined_by_silence(""), {{"live 10 spoilt", "apply_live, recovering"}, {"unreadable", "listen, whole"}}));
  check("nobody answers: asked as often as for anything else", quick(),
        then(joined_by_silence(""), {{"live 2", "request 2, whole"},
                                     {"sent", "read_reply, whole"},
                                     {"silence", "request 2, whole"},
                                     {"sent", "read_reply, whole"},
                                     {"silence", "listen, whole"},
                                     {"live 3", "listen, whole"}}));
  for (const char* nothing : {"end", "reply 3"}) {
    check("it no longer has it: nothing tells, and it is not asked for each", quick(),
          then(joined_by_silence(""),
               {{"live 2", "request 2, whole"}, {"sent", "read_reply, whole"}, {nothing, "listen, whole"}, {"live 3", "listen, whole"}}));
  }
}

BOOST_AUTO_TEST_CASE(a_stranger_is_believed_nothing_until_it_shows_a_batch_of_ours) {
  // It stays at its port, most likely; or the port comes to be our publisher's.
  check("a gap later: who still shows nothing of ours is not believed", quick(),
        then(found_out(), {{"live 6", "forget, incomplete"},
                           {"forgotten", "apply_live, incomplete"},
                           {"applied", "listen, incomplete"},
                           {"pass 31", "listen, incomplete"},
                           {"live 8", "request 6, recovering"},
                           {"sent", "read_reply, recovering"},
                           {"reply 7 other", "forget, incomplete"}}));
  check("a gap later: it is our publisher's now", quick(),
        then(found_out(), {{"pass 31", "listen, incomplete"},
                           {"live 6", "request 4, recovering"},
                           {"sent", "read_reply, recovering"},
                           {"reply 4", "read_reply, recovering"},
                           {"reply 5", "apply_reply, recovering"},
                           {"applied", "forget, recovering"},  // it may have been ours all the time: what was lost is read
                           {"forgotten", "request 0, catching_up"}}));
  const std::vector<line> looked = after_two({{"quiet 1", "request 1, whole"},
                                              {"sent", "read_reply, whole"},
                                              {"reply 1 other", "listen, whole"},
                                              {"quiet 29", "listen, whole"},
                                              {"quiet 1", "request 1, whole"},
                                              {"sent", "read_reply, whole"}});
  const auto still = check("a silent stream, whose every batch was heard, loses nothing by it", quick(),
                           then(looked, {{"reply 1 other", "listen, whole"}, {"live 2", "apply_live, whole"}}));
  BOOST_TEST(foreign_answers(still) == 2U);
  check("and learns of its return", quick(),
        then(looked, {{"reply 1", "read_reply, whole"}, {"end", "listen, whole"}, {"live 3", "request 1, recovering"}}));
  check("what it had brought before, when its numbers happened to lead to ours, leaves as well", quick(),
        {{"connected", "listen, joining"},
         {"quiet 1", "request 0, catching_up"},
         {"sent", "read_reply, catching_up"},
         {"reply 0 other", "apply_reply, catching_up"},
         {"applied", "read_reply, catching_up"},
         {"end", "request 0, catching_up"},
         {"sent", "read_reply, catching_up"},
         {"end", "listen, whole"},
         {"live 1", "apply_live, whole"},
         {"applied", "listen, whole"},
         {"quiet 10", "request 1, whole"},
         {"sent", "read_reply, whole"},
         {"reply 1 other", "forget, recovering"},
         {"forgotten", "listen, joining"},
         {"quiet 30", "listen, joining"},
         {"live 2", "request 0, catching_up"},
         {"sent", "read_reply, catching_up"},
         {"end", "apply_live, incomplete"}});
  check("a new life is not read from it, but heard", quick(),
        then(found_out(), {{"live 0 other", "forget, recovering"}, {"forgotten", "apply_live, joining"}, {"applied", "listen, whole"}}));
  auto slow = quick();
  slow.fastest_publisher = 0.001;
  const auto back = check("a break: that it does not know our last batch says nothing of our publisher", slow,
                          then(looked, {{"reply 1 other", "listen, whole"},
                                        {"stood 0", "listen, whole"},
                                        {"back", "listen, recovering"},
                                        {"quiet 1", "request 1, recovering"},
                                        {"sent", "read_reply, recovering"},
                                        {"reply 1 other", "listen, recovering"},
                                        {"live 2", "apply_live, whole"}}));
  BOOST_TEST(back.so_far().restarts == 0U);
}

BOOST_AUTO_TEST_CASE(whoever_hears_its_publisher_holds_nothing_of_a_stranger) {
  // Whatever comes when: who is ahead has all the numbers.
  std::size_t deceived_once = 0;
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      deceived story(seed);
      for (int i = 0; i < 40; ++i) {
        story.go_on();
        if (story.holds_strange()) ++deceived_once;
        const bool is_whole = story.under_test.machine.state() == stream_state::whole;
        if (story.has_heard && is_whole) BOOST_REQUIRE(!story.holds_strange());
      }
      BOOST_TEST(story.under_test.machine.so_far().restarts == 0U);
    }
  }
  BOOST_TEST(deceived_once > 100U);  // joined by silence, before anything was heard: or nothing was tried
}

BOOST_AUTO_TEST_CASE(that_an_endpoint_is_a_strangers_is_told_once) {
  // Who set it up has to know, and not every half a minute.
  told_stream under_test(quick());
  for (const line& each : found_out()) under_test.tell(each.what);
  using kind = kvc::core::stream_fsm::fact::kind;
  const auto facts = under_test.machine.take_facts();
  BOOST_TEST(std::ranges::count(facts, kind::foreign, &kvc::core::stream_fsm::fact::what) == 1);
  for (const char* each : {"pass 31", "live 6", "sent", "reply 4 other"}) under_test.tell(each);
  const auto more = under_test.machine.take_facts();
  BOOST_TEST(std::ranges::count(more, kind::foreign, &kvc::core::stream_fsm::fact::what) == 0);
  BOOST_TEST(foreign_answers(under_test.machine) == 2U);
}

BOOST_AUTO_TEST_SUITE_END()
