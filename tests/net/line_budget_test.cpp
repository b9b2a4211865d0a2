#include "net/line_budget.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "tests/support/setting.hpp"

BOOST_AUTO_TEST_SUITE(line_budget)

BOOST_AUTO_TEST_CASE(a_stream_that_has_too_much_to_say_is_told_of_in_numbers) {
  using namespace std::chrono_literals;
  kvc::net::line_budget budget;
  kvc::net::line_budget::time_point now{1h};
  const auto written_of = [&](int lines, std::chrono::milliseconds apart) {
    int written = 0;
    for (int i = 0; i < lines; ++i, now += apart) written += budget.take(now) ? 1 : 0;
    return written;
  };

  BOOST_TEST(written_of(60, 0ms) == 60);  // whatever happens to a sound stream is told at once
  BOOST_TEST(!budget.settle(now));
  BOOST_TEST(written_of(1'000, 1ms) == 0);
  BOOST_TEST(budget.has_kept_back());
  BOOST_TEST(!budget.settle(now));
  now += 4s;
  BOOST_TEST(budget.settle(now).value_or(0) == 1'000U);
  BOOST_TEST(!budget.has_kept_back());

  std::uint64_t told = 0;
  std::uint64_t missed = 0;
  for (int i = 0; i < 60'000; ++i, now += 1ms) {  // a minute of it
    if (!budget.take(now)) ++missed;
    if (const auto kept_back = budget.settle(now)) {
      ++told;
      missed -= *kept_back;
    }
  }
  BOOST_TEST(told == 11U);  // the first of them five seconds after the last one
  now += 5s;
  BOOST_TEST(budget.settle(now).value_or(0) == missed);

  now += 5min;  // quiet for long enough: all is as at first
  BOOST_TEST(written_of(100, 0ms) == 60);
}

BOOST_AUTO_TEST_CASE(a_line_each_five_seconds_may_go_on_for_ever) {
  using namespace std::chrono_literals;
  kvc::net::line_budget budget;
  kvc::net::line_budget::time_point now{1h};
  for (int i = 0; i < 10'000; ++i, now += 5s) BOOST_TEST_REQUIRE(budget.take(now));
}

// A stream that changes at random, beside a purse that fills with time, and every line written down: whatever is said, no stretch of time
// has more lines than it may, none is lost from the sums, and none is held back that there is room for.
BOOST_AUTO_TEST_CASE(random_streams_say_what_they_may_and_no_line_is_lost) {
  using namespace std::chrono_literals;
  using budget_type = kvc::net::line_budget;
  constexpr std::uint64_t pace_ms = std::chrono::milliseconds(budget_type::pace).count();
  const std::uint64_t first = kvc::test::setting("KVC_LINES_SEED", 1);
  const std::uint64_t seeds = kvc::test::setting("KVC_LINES_SEEDS", 50);
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      std::mt19937_64 random(seed);
      budget_type budget;
      budget_type::time_point now{std::chrono::milliseconds(random() % 1'000'000'000)};
      std::uint64_t purse_ms = budget_type::at_once * pace_ms;
      std::uint64_t kept_back = 0;
      std::uint64_t wanted = 0;
      std::uint64_t told = 0;  // written or counted
      std::vector<budget_type::time_point> written;
      const auto spend = [&] {
        if (purse_ms < pace_ms) return false;
        purse_ms -= pace_ms;
        written.push_back(now);
        return true;
      };
      for (int step = 0; step < 3'000; ++step) {
        constexpr std::array<std::uint64_t, 6> longest{1, 10, 1'000, pace_ms, 20'000, 400'000};
        const std::uint64_t passed = random() % longest[random() % (step % 500 < 400 ? 3 : longest.size())];
        now += std::chrono::milliseconds(passed);
        purse_ms = std::min(purse_ms + passed, budget_type::at_once * pace_ms);
        if (random() % 4 != 0) {
          ++wanted;
          const bool may = kept_back == 0 && spend();
          told += may ? 1 : 0;
          kept_back += may ? 0 : 1;
          BOOST_TEST_REQUIRE(budget.take(now) == may, "step " << step);
        } else {
          std::optional<std::uint64_t> expected;
          if (kept_back != 0 && spend()) expected = std::exchange(kept_back, 0);
          told += expected.value_or(0);
          BOOST_TEST_REQUIRE((budget.settle(now) == expected), "step " << step);
        }
        BOOST_TEST_REQUIRE(budget.has_kept_back() == (kept_back != 0));
      }
      BOOST_TEST(told + kept_back == wanted);
      for (std::size_t i = budget_type::at_once; i < written.size(); ++i) {
        BOOST_TEST_REQUIRE((written[i] - written[i - budget_type::at_once] >= budget_type::pace), "line " << i);
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
