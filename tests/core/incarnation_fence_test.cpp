#include "core/incarnation_fence.hpp"

#include <cstdint>
#include <random>
#include <set>

#include <boost/test/unit_test.hpp>

namespace kvc::test {
BOOST_AUTO_TEST_SUITE(incarnation_fence_suite)

namespace {

using namespace kvc::core;
using verdict = incarnation_fence::verdict;

}  // namespace

struct batch_row {
  const char* why;
  std::uint64_t incarnation;
  std::uint64_t number;
  verdict wanted;
};

BOOST_AUTO_TEST_CASE(what_comes_in) {
  // The rules of newer servers' events: nothing twice, nothing of a process that has ended.
  const batch_row rows[] = {{"first", 10, 1, verdict::apply},
                            {"next", 10, 2, verdict::apply},
                            {"sent again after a lost answer", 10, 2, verdict::duplicate},
                            {"two are missing", 10, 5, verdict::apply},
                            {"one was only slow", 10, 3, verdict::apply},
                            {"but comes once", 10, 3, verdict::duplicate},
                            {"a new process", 11, 1, verdict::apply},
                            {"the old one's last batch", 10, 6, verdict::stale},
                            {"the old one's, seen or not", 10, 1, verdict::stale},
                            {"goes on", 11, 2, verdict::apply},
                            {"far ahead", 11, 1'000, verdict::apply},
                            {"too long ago to know: counts as come", 11, 1'000 - 64, verdict::duplicate},
                            {"the oldest that is known", 11, 1'000 - 63, verdict::apply}};
  incarnation_fence fence;
  for (const batch_row& each : rows) BOOST_TEST((fence.admit("s", each.incarnation, seqno{each.number}) == each.wanted), each.why);

  BOOST_TEST(fence.counts().applied == 8U);
  BOOST_TEST(fence.counts().duplicates == 3U);
  BOOST_TEST(fence.counts().stale == 2U);
  BOOST_TEST(fence.counts().restarts == 1U);
  BOOST_TEST(fence.counts().late == 2U);
  BOOST_TEST(fence.counts().skipped == 2 + 997U);
}

BOOST_AUTO_TEST_CASE(senders_are_bounded) {
  // A forgotten sender begins anew; that may let a batch in twice, and never keeps one out.
  incarnation_fence fence({.senders = 1});
  (void)fence.admit("a", 2, seqno{1});
  (void)fence.admit("b", 1, seqno{1});

  BOOST_TEST(fence.size() == 1U);
  BOOST_TEST(fence.forgotten() == 1U);
  BOOST_TEST((fence.admit("a", 2, seqno{1}) == verdict::apply));
}

BOOST_AUTO_TEST_CASE(shuffled_batches_each_come_in_once) {
  // Retries and overtaking within the window lose nothing and repeat nothing. What could not be applied to its end may come again.
  constexpr std::uint64_t first = 42;
  BOOST_TEST_MESSAGE("seeds from " << first);
  for (std::uint64_t seed = first; seed < first + 50; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      std::mt19937_64 random(seed);
      incarnation_fence fence;
      (void)fence.admit("s", 1, seqno{100});
      std::set<std::uint64_t> come{100};
      std::uint64_t newest = 100;
      std::uint64_t taken_back = 0;
      for (int i = 0; i < 500; ++i) {
        const std::uint64_t number = newest - 60 + random() % 64;
        newest = std::max(newest, number);
        const bool is_new = come.insert(number).second;
        BOOST_REQUIRE(fence.admit("s", 1, seqno{number}) == (is_new ? verdict::apply : verdict::duplicate));
        if (!is_new || random() % 8 != 0) continue;
        fence.take_back("s", 1, seqno{number});
        come.erase(number);
        ++taken_back;
      }
      BOOST_REQUIRE(fence.counts().applied == come.size() + taken_back);
      BOOST_REQUIRE(fence.counts().late <= fence.counts().skipped);
      fence.take_back("s", 2, seqno{newest});  // of others there is nothing to take back
      fence.take_back("t", 1, seqno{newest});
      fence.take_back("s", 1, seqno{newest + 1});
      BOOST_REQUIRE(fence.size() == 1U);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test
