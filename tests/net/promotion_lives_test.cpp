// Random lives of promotions, without sockets: probes that ask, join, wait and go away; stores that answer late, in part, wrongly or never,
// are replaced and unregistered meanwhile, and find no memory. What is said is compared with what the contract says of it.
//
// KVC_LIVES_SEED sets the first life, KVC_LIVES_SEEDS how many there are, KVC_LIVES_ACTS how much happens in each.
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "tests/support/net/promotion_stage.hpp"
#include "tests/support/net/told_stream.hpp"
#include "tests/support/setting.hpp"

namespace kvc::test {
BOOST_AUTO_TEST_SUITE(promotion_lives)

namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;
using lives = std::vector<std::unique_ptr<promotion_stage>>;

/// Runs the lanes until it holds of every life, as far as it does within 20 s.
void wait_until(two_lanes& in, const lives& all, const std::function<bool(promotion_stage&)>& holds) {
  std::vector<promotion_stage*> open;
  for (const auto& each : all) open.push_back(each.get());
  const steady::time_point deadline = steady::now() + 20s;
  while (!open.empty() && steady::now() < deadline) {
    in.turn();
    std::erase_if(open, [&](promotion_stage* each) {
      each->drain();
      return holds(*each);
    });
  }
  for (promotion_stage* const each : open) BOOST_ERROR("life " << each->seed() << ": " << each->unrest());
}

void report(const lives& all) {
  for (const auto& each : all) {
    for (const std::string& wrong : each->wrongs()) BOOST_ERROR("life " << each->seed() << ": " << wrong);
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_word_is_true_and_every_promotion_ends_once) {
  using service = net::promotion_service;
  const std::uint64_t first = setting("KVC_LIVES_SEED", 1);
  const std::uint64_t count = setting("KVC_LIVES_SEEDS", 10);
  const std::uint64_t acts = setting("KVC_LIVES_ACTS", 200);
  BOOST_TEST_MESSAGE("lives from " << first);
  two_lanes in(first);
  lives all;
  for (std::uint64_t seed = first; seed < first + count; ++seed) all.push_back(std::make_unique<promotion_stage>(in, seed));

  for (std::uint64_t act = 0; act < acts; ++act) {
    for (const auto& each : all) each->act();
    const steady::time_point next = steady::now() + 4ms;
    do in.turn();
    while (steady::now() < next);
  }
  wait_until(in, all, [](promotion_stage& each) { return each.is_at_rest(); });
  report(all);

  // Whoever has been in trouble is as good as new.
  for (const auto& each : all) each->come_to_rest();
  const steady::time_point since = steady::now();
  wait_until(in, all, [since](promotion_stage& each) { return !each.ask_for_rest(since); });
  wait_until(in, all, [](promotion_stage& each) { return each.is_at_rest(); });
  report(all);

  // The process ends while nothing is answered.
  for (const auto& each : all) each->fall_silent();
  in.end();
  wait_until(in, all, [](promotion_stage& each) { return each.is_at_rest(); });
  report(all);
  std::uint64_t started = 0;
  for (const auto& each : all) started += each->count(service::started);
  BOOST_TEST(started > count * 16);  // or nothing was tried
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test
