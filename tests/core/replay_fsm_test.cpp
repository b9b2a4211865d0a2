#include "core/replay_fsm.hpp"

#include <cstdint>
#include <deque>
#include <optional>
#include <ostream>
#include <vector>

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(replay_fsms)

namespace {

using namespace kvc::core;
using action = replay_fsm::action;

/// What a publisher sends to one request: batches by number, then the end marker, or silence.
struct answer {
  std::vector<std::uint64_t> batches;
  bool has_end = true;
};

/// What a recovery came to.
struct outcome {
  std::vector<std::uint64_t> applied;
  std::vector<std::uint64_t> asked_from;
  std::vector<std::uint64_t> lost;  ///< from, to, from, to ...
  bool was_answered = false;
  bool has_ended = false;
  bool is_end_proven = false;
};

/// Performs the machine's actions against a publisher that gives these answers in turn, and silence when they have run out.
outcome recover(std::uint64_t from, std::optional<std::uint64_t> to, std::deque<answer> answers, const replay_fsm::limits& with,
                bool has_answered = false) {
  constexpr std::size_t more_than_enough = 10'000;
  std::optional<seqno> last;
  if (to) last = seqno{*to};
  replay_fsm machine(seqno{from}, last, with, has_answered);
  outcome result;
  action next = machine.start();
  while (next == action::request && result.asked_from.size() < more_than_enough) {
    result.asked_from.push_back(machine.request_from().get());
    answer now{.batches = {}, .has_end = false};
    if (!answers.empty()) {
      now = answers.front();
      answers.pop_front();
    }
    next = action::ignore;
    for (const std::uint64_t number : now.batches) {
      next = machine.on_batch(seqno{number});
      if (next == action::apply) {
        result.applied.push_back(number);
        if (machine.is_complete()) next = action::finish;
      }
      if (next == action::request || next == action::finish) break;
    }
    if (next != action::request && next != action::finish) next = now.has_end ? machine.on_end() : machine.on_silence();
  }
  BOOST_TEST((next == action::finish));
  for (const auto& range : machine.lost()) {
    result.lost.push_back(range.from.get());
    result.lost.push_back(range.to.get());
  }
  result.was_answered = machine.was_answered();
  result.has_ended = machine.has_ended();
  result.is_end_proven = machine.is_end_proven();
  BOOST_TEST(machine.applied_count() == result.applied.size());
  return result;
}

using numbers = std::vector<std::uint64_t>;

struct row {
  const char* why;
  std::uint64_t from;
  std::optional<std::uint64_t> to;
  std::deque<answer> answers;
  numbers applied;
  numbers asked_from;
  numbers lost;
};

void check(const row& each) {
  BOOST_TEST_CONTEXT(each.why) {
    const outcome got = recover(each.from, each.to, each.answers, {.attempts = 3, .max_requests = 64});
    BOOST_TEST(got.applied == each.applied, boost::test_tools::per_element());
    BOOST_TEST(got.asked_from == each.asked_from, boost::test_tools::per_element());
    BOOST_TEST(got.lost == each.lost, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(a_range_is_filled_whatever_the_publisher_drops_on_the_way) {
  // Answers are lossy: a hole behind the first batch, or a missing tail, is asked for again before it is believed.
  const std::vector<row> rows{
      {"all of it, nothing more is needed", 3, 5, {{{3, 4, 5}}}, {3, 4, 5}, {3}, {}},
      {"newer batches follow in the same answer", 3, 4, {{{3, 4, 5, 6}}}, {3, 4}, {3}, {}},
      {"a hole in the middle, healed", 1, 4, {{{1, 2, 4}}, {{3, 4}}}, {1, 2, 3, 4}, {1, 3}, {}},
      {"two holes, healed one after the other", 1, 5, {{{1, 3, 5}}, {{2, 3, 5}}, {{4, 5}}}, {1, 2, 3, 4, 5}, {1, 2, 4}, {}},
      {"the tail dropped, the marker came", 1, 4, {{{1, 2}}, {{3, 4}}}, {1, 2, 3, 4}, {1, 3}, {}},
      {"the tail dropped, no marker either", 1, 4, {{{1, 2}, false}, {{3, 4}}}, {1, 2, 3, 4}, {1, 3}, {}},
      {"all there but no marker", 1, 2, {{{1, 2}, false}}, {1, 2}, {1}, {}},
      {"silence, then an answer", 1, 2, {{{}, false}, {{1, 2}}}, {1, 2}, {1, 1}, {}},
      {"older batches first", 3, 4, {{{1, 2, 3, 4}}}, {3, 4}, {3}, {}},
      {"every batch twice", 1, 3, {{{1, 1, 2, 2, 3, 3}}}, {1, 2, 3}, {1}, {}},
  };
  for (const row& each : rows) check(each);
}

BOOST_AUTO_TEST_CASE(what_the_publisher_no_longer_has_is_lost_and_listed) {
  // A fresh answer that begins behind the hole is the proof; so is one that ends without having brought anything.
  const std::vector<row> rows{
      {"the start is evicted", 1, 5, {{{4, 5}}}, {4, 5}, {1}, {1, 3}},
      {"a hole in the middle, proven by a fresh answer", 1, 4, {{{1, 4}}, {{4}}}, {1, 4}, {1, 2}, {2, 3}},
      {"evicted start and a proven hole", 1, 7, {{{3, 4, 7}}, {{7}}}, {3, 4, 7}, {1, 5}, {1, 2, 5, 6}},
      {"nothing but the marker", 1, 3, {{{}}}, {}, {1}, {1, 3}},
      {"the tail is really gone", 1, 4, {{{1, 2}}, {{}}}, {1, 2}, {1, 3}, {3, 4}},
      {"the first it has is newer than asked for", 1, 3, {{{9}}}, {}, {1}, {1, 3}},
      {"newer than asked for behind a hole: asked again", 1, 3, {{{1, 9}}, {{9}}}, {1}, {1, 2}, {2, 3}},
      {"newer than asked for behind a hole: healed", 1, 3, {{{1, 9}}, {{2, 3, 9}}}, {1, 2, 3}, {1, 2}, {}},
  };
  for (const row& each : rows) check(each);
}

BOOST_AUTO_TEST_CASE(a_publisher_that_brings_nothing_is_given_up) {
  // Three requests in a row without progress; progress starts the count again.
  const answer silence{.batches = {}, .has_end = false};
  const std::vector<row> rows{
      {"never answers", 1, 3, {}, {}, {1, 1, 1}, {1, 3}},
      {"stops answering: what stands behind is asked for, up to the last one", 1, 4, {{{1}, false}}, {1}, {1, 2, 2, 2, 3, 4}, {2, 4}},
      {"stops answering: three are left out at most", 1, 9, {{{1}, false}}, {1}, {1, 2, 2, 2, 3, 4, 5}, {2, 9}},
      {"stops answering before the last one", 1, 2, {{{1}, false}}, {1}, {1, 2, 2, 2}, {2, 2}},
      {"one batch per answer, then silence each time",
       1,
       4,
       {{{1}, false}, silence, {{2}, false}, silence, {{3}, false}, silence, {{4}}},
       {1, 2, 3, 4},
       {1, 2, 2, 3, 3, 4, 4},
       {}},
      {"only older batches, for ever", 5, 6, {{{1, 2}, false}, {{1, 2}, false}, {{1, 2}, false}}, {}, {5, 5, 5, 6}, {5, 6}},
      {"older batches, then behind the hole: no proof until tried enough",
       5,
       7,
       {{{3, 4, 7}}, {{3, 4, 7}}, {{3, 4, 7}}},
       {7},
       {5, 5, 5},
       {5, 6}},
  };
  for (const row& each : rows) check(each);
}

BOOST_AUTO_TEST_CASE(without_an_end_everything_up_to_the_marker_is_wanted) {
  // A first catch-up does not know how much there is.
  const std::vector<row> rows{
      {"all and the marker, and nothing more", 0, std::nullopt, {{{0, 1, 2}}, {{}}}, {0, 1, 2}, {0, 3}, {}},
      {"an empty publisher", 0, std::nullopt, {{{}}}, {}, {0}, {}},
      {"begins late", 0, std::nullopt, {{{5, 6}}, {{}}}, {5, 6}, {0, 7}, {0, 4}},
      {"a hole, healed", 0, std::nullopt, {{{0, 2}}, {{1, 2}}, {{}}}, {0, 1, 2}, {0, 1, 3}, {}},
      {"the tail dropped, the marker came", 0, std::nullopt, {{{0, 1}}, {{2, 3}}, {{4}}}, {0, 1, 2, 3}, {0, 2}, {}},
      {"the marker came, the second look is not answered", 0, std::nullopt, {{{0, 1}}}, {0, 1}, {0, 2}, {}},
      {"the second look brings something and no marker", 0, std::nullopt, {{{0, 1}}, {{2}, false}}, {0, 1, 2}, {0, 2, 3, 3, 3, 4}, {}},
      {"no marker, nothing more: nothing is known to be lost", 0, std::nullopt, {{{0, 1}, false}}, {0, 1}, {0, 2, 2, 2, 3}, {}},
      {"no marker, then the marker alone", 0, std::nullopt, {{{0, 1}, false}, {{}}}, {0, 1}, {0, 2}, {}},
      {"never answers", 0, std::nullopt, {}, {}, {0, 0, 0}, {}},
  };
  for (const row& each : rows) check(each);
}

BOOST_AUTO_TEST_CASE(what_silence_ends_is_no_end) {
  // Whoever stops in the middle of an answer may have more; a marker behind batches tells less than one with nothing before it.
  struct ending {
    const char* why;
    std::deque<answer> answers;
    bool has_ended;
    bool is_proven;
  };
  const std::vector<ending> rows{
      {"never answered", {}, false, false},
      {"batches, then silence", {{{0, 1}, false}}, false, false},
      {"batches and the marker, then silence", {{{0, 1}}}, true, false},
      {"batches and the marker, then the marker", {{{0, 1}}, {{}}}, true, true},
      {"batches and the marker, then more and the marker", {{{0, 1}}, {{2}}}, true, false},
      {"batches and the marker, then more and silence", {{{0, 1}}, {{2}, false}}, false, false},
      {"nothing but the marker", {{{}}}, true, true},
  };
  for (const ending& each : rows) {
    BOOST_TEST_CONTEXT(each.why) {
      const outcome got = recover(0, std::nullopt, each.answers, {});
      BOOST_TEST(got.has_ended == each.has_ended);
      BOOST_TEST(got.is_end_proven == each.is_proven);
    }
  }
  BOOST_TEST(recover(1, 2, {{{1, 2}, false}}, {}).has_ended);
}

BOOST_AUTO_TEST_CASE(batches_that_cannot_be_transported_cost_no_other) {
  // One above our limit, for instance, ends the connection of every answer that reaches it.
  const answer silence{.batches = {}, .has_end = false};
  const std::vector<row> rows{
      {"in the middle of a gap", 1, 4, {{{1}, false}, silence, silence, silence, {{3, 4}}}, {1, 3, 4}, {1, 2, 2, 2, 3}, {2, 2}},
      {"without an end", 0, std::nullopt, {{{0}, false}, silence, silence, silence, {{2, 3}}, {{}}}, {0, 2, 3}, {0, 1, 1, 1, 2, 4}, {1, 1}},
      {"two of them",
       1,
       5,
       {{{1}, false}, silence, silence, silence, {{3}, false}, silence, silence, silence, {{5}}},
       {1, 3, 5},
       {1, 2, 2, 2, 3, 4, 4, 4, 5},
       {2, 2, 4, 4}},
      {"two in a row", 1, 5, {{{1}, false}, silence, silence, silence, silence, {{4, 5}}}, {1, 4, 5}, {1, 2, 2, 2, 3, 4}, {2, 3}},
      {"three in a row, and one that is gone",
       1,
       6,
       {{{1}, false}, silence, silence, silence, silence, silence, {{6}}},
       {1, 6},
       {1, 2, 2, 2, 3, 4, 5},
       {2, 5}},
      {"it is the last one there is", 0, std::nullopt, {{{0}, false}, silence, silence, silence, {{}}}, {0}, {0, 1, 1, 1, 2}, {}},
      {"nothing has come before", 1, 4, {silence, silence, silence, {{3, 4}}}, {}, {1, 1, 1}, {1, 4}},
  };
  for (const row& each : rows) check(each);
}

BOOST_AUTO_TEST_CASE(a_gap_that_begins_with_one_that_cannot_be_transported_is_filled_behind_it) {
  // Live it ended the connection, and so it is the first of what is missing. Only one who has answered before is believed to be there.
  const answer silence{.batches = {}, .has_end = false};
  const std::deque<answer> answers{silence, silence, silence, {{3, 4}}};
  const outcome got = recover(2, 4, answers, {.attempts = 3, .max_requests = 64}, true);

  BOOST_TEST(got.applied == (numbers{3, 4}), boost::test_tools::per_element());
  BOOST_TEST(got.lost == (numbers{2, 2}), boost::test_tools::per_element());
  BOOST_TEST(recover(2, 4, answers, {.attempts = 3, .max_requests = 64}).applied.empty());
}

BOOST_AUTO_TEST_CASE(an_empty_range_needs_no_request) {
  // Nothing to recover, nobody to ask.
  const outcome got = recover(4, 3, {}, {});
  BOOST_TEST(got.asked_from.empty());
  BOOST_TEST(!got.was_answered);
}

BOOST_AUTO_TEST_CASE(answers_are_told_from_silence) {
  // A publisher that never answered is left alone for a while; one that had nothing is not.
  BOOST_TEST(!recover(1, 3, {}, {}).was_answered);
  BOOST_TEST(recover(1, 3, {{{}}}, {}).was_answered);
  BOOST_TEST(recover(1, 3, {{{9}}}, {}).was_answered);
}

BOOST_AUTO_TEST_CASE(who_makes_progress_is_asked_as_long_as_it_does) {
  // A publisher that drops every second batch of each answer still has them all.
  std::deque<answer> answers;
  for (std::uint64_t next = 1; next <= 300; ++next) {
    answer lossy{.batches = {next}, .has_end = true};
    for (std::uint64_t i = next + 2; i <= 300; i += 2) lossy.batches.push_back(i);
    answers.push_back(lossy);
  }
  const outcome got = recover(1, 300, answers, {});

  BOOST_TEST(got.applied.size() == 300U);
  BOOST_TEST(got.lost.empty());
}

BOOST_AUTO_TEST_CASE(requests_are_bounded) {
  // A publisher that drops every second batch costs a request per hole, up to the bound; then holes are passed.
  std::deque<answer> answers;
  for (std::uint64_t next = 1; next <= 20; ++next) {
    answer lossy{.batches = {next}, .has_end = true};
    for (std::uint64_t i = next + 2; i <= 20; i += 2) lossy.batches.push_back(i);
    answers.push_back(lossy);
  }
  const outcome got = recover(1, 20, answers, {.attempts = 3, .max_requests = 4});

  BOOST_TEST(got.asked_from == (numbers{1, 2, 3, 4}), boost::test_tools::per_element());
  BOOST_TEST(got.applied == (numbers{1, 2, 3, 4, 6, 8, 10, 12, 14, 16, 18, 20}), boost::test_tools::per_element());
  BOOST_TEST(got.lost.size() == 16U);
}

BOOST_AUTO_TEST_CASE(the_list_of_losses_is_bounded_but_the_count_is_exact) {
  // Endless holes must not cost memory.
  kvc::core::replay_fsm machine(seqno{0}, std::nullopt, {.attempts = 1, .max_requests = 1});
  (void)machine.start();
  for (std::uint64_t i = 1; i <= 10'000; i += 2) BOOST_REQUIRE((machine.on_batch(seqno{i}) == action::apply));

  BOOST_TEST(machine.lost().size() == 1'024U);
  BOOST_TEST(machine.lost_count() == 5'000U);
  BOOST_TEST(machine.lost().back().to.get() == 9'998U);
}

BOOST_AUTO_TEST_CASE(abandoning_loses_the_rest) {
  // The caller has run out of time.
  kvc::core::replay_fsm machine(seqno{1}, seqno{9}, {});
  (void)machine.start();
  (void)machine.on_batch(seqno{1});

  BOOST_TEST((machine.abandon() == action::finish));
  BOOST_TEST(machine.lost_count() == 8U);
}

BOOST_AUTO_TEST_CASE(reports_after_the_end_change_nothing) {
  // Late replies of a publisher that answers twice.
  kvc::core::replay_fsm machine(seqno{1}, seqno{2}, {});
  (void)machine.start();
  (void)machine.on_batch(seqno{1});
  (void)machine.on_batch(seqno{2});
  BOOST_TEST(machine.is_complete());

  BOOST_TEST((machine.on_batch(seqno{1}) == action::ignore));
  BOOST_TEST((machine.on_batch(seqno{3}) == action::finish));
  BOOST_TEST((machine.on_end() == action::finish));
  BOOST_TEST((machine.on_silence() == action::finish));
  BOOST_TEST(machine.lost_count() == 0U);
  BOOST_TEST(machine.applied_count() == 2U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
