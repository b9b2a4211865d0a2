#include "core/seqno_watch.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace kvc::test {
BOOST_AUTO_TEST_SUITE(seqno_watch_suite)

namespace {

using namespace kvc::core;
using verdict = seqno_watch::verdict;

}  // namespace

struct number_row {
  const char* why;
  std::uint64_t number;
  verdict wanted;
};

BOOST_AUTO_TEST_CASE(what_a_number_tells) {
  // One sender's life as an operator should see it in the metrics.
  const number_row rows[] = {{"we may be younger than the sender", 5, verdict::first},
                             {"in order", 6, verdict::next},
                             {"a batch that could not be sent takes its number along", 9, verdict::gap},
                             {"sent twice, or a restart at the same number", 9, verdict::repeat},
                             {"a restarted sender counts from 1", 1, verdict::restart},
                             {"and goes on", 2, verdict::next},
                             {"the largest", ~std::uint64_t{0}, verdict::gap},
                             {"falls", 3, verdict::restart}};
  seqno_watch watch;
  for (const number_row& each : rows) BOOST_TEST((watch.observe("s", seqno{each.number}) == each.wanted), each.why);

  BOOST_TEST(watch.counts().batches == 8U);
  BOOST_TEST(watch.counts().gaps == 2U);
  BOOST_TEST(watch.counts().missing == 2 + (~std::uint64_t{0} - 3));
  BOOST_TEST(watch.counts().repeats == 1U);
  BOOST_TEST(watch.counts().restarts == 2U);
  BOOST_TEST(watch.newest("s")->get() == 3U);
}

BOOST_AUTO_TEST_CASE(senders_do_not_disturb_each_other) {
  // Also the one without a name: ids need not be registered.
  seqno_watch watch;
  (void)watch.observe("a", seqno{1});
  (void)watch.observe("", seqno{7});

  BOOST_TEST((watch.observe("a", seqno{2}) == verdict::next));
  BOOST_TEST((watch.observe("", seqno{8}) == verdict::next));
  BOOST_TEST(!watch.newest("b").has_value());
}

BOOST_AUTO_TEST_CASE(tells_whose_numbers_went_wrong) {
  // The sums alone would not say which server to look at.
  seqno_watch watch;
  for (const std::uint64_t number : {1, 4, 4, 2}) (void)watch.observe("bad", seqno{number});
  (void)watch.observe("good", seqno{1});
  (void)watch.observe("good", seqno{2});

  std::vector<std::string> told;
  watch.each_recent(2, [&](std::string_view id, const seqno_watch::sender& sender) {
    told.push_back(std::string(id) + " " + std::to_string(sender.missing) + " " + std::to_string(sender.repeats) + " " +
                   std::to_string(sender.restarts));
  });

  BOOST_TEST(told == (std::vector<std::string>{"good 0 0 0", "bad 2 1 1"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_one_silent_longest_is_forgotten_first) {
  // Ids are free text: memory must not grow with them.
  seqno_watch watch({.senders = 2});
  (void)watch.observe("a", seqno{1});
  (void)watch.observe("b", seqno{1});
  (void)watch.observe("a", seqno{2});
  (void)watch.observe("c", seqno{1});

  BOOST_TEST(watch.size() == 2U);
  BOOST_TEST(!watch.newest("b").has_value());
  BOOST_TEST(watch.newest("a")->get() == 2U);
  BOOST_TEST(watch.forgotten() == 1U);
}

BOOST_AUTO_TEST_CASE(long_names_are_bounded_by_their_bytes) {
  // A few endless ids weigh as much as many ordinary ones.
  seqno_watch watch({.id_bytes = 1'000});
  for (char each = 'a'; each <= 'z'; ++each) (void)watch.observe(std::string(400, each), seqno{1});
  BOOST_TEST(watch.size() == 2U);

  (void)watch.observe(std::string(5'000, 'x'), seqno{1});

  BOOST_TEST(watch.size() == 1U);
  BOOST_TEST((watch.observe(std::string(5'000, 'x'), seqno{2}) == verdict::next));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test
