// Live batches that are applied in one piece mean to a stream what they mean one by one.
#include <cstdint>
#include <deque>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "tests/core/told_stream.hpp"

BOOST_AUTO_TEST_SUITE(stream_fsm_followers)

namespace {

using namespace kvc::test::told;

/// A publisher that numbers its batches, keeps the last of them, and spoils some.
struct publisher {
  std::uint64_t incarnation = 0;
  std::uint64_t next = 0;

  [[nodiscard]] std::string bytes(std::uint64_t number) const { return std::to_string(incarnation) + "/" + std::to_string(number); }
  [[nodiscard]] bool spoils(std::uint64_t number) const { return (number + incarnation) % 11 == 7; }
  [[nodiscard]] bool clears(std::uint64_t number) const { return (number + incarnation) % 13 == 5; }
  [[nodiscard]] bool keeps(std::uint64_t number) const { return number < next && number + 12 >= next && number % 5 != 2; }
};

/// A message that has come and not been heard.
struct waiting {
  std::uint64_t number = 0;
  std::string bytes;
  bool is_spoilt = false;
  bool clears = false;
};

/// A machine and what drives it, as the stream does: until nothing is left to do.
struct driven {
  stream_fsm machine;
  std::size_t at_once;  ///< batches applied in one piece, at most
  std::deque<waiting> queue;
  std::deque<waiting> in_hand;  ///< whose bytes stay where they are while more come
  std::string reply_bytes;
  std::uint64_t asked_for = 0;
  std::size_t joined = 0;  ///< batches that were applied with one before them

  void settle(const publisher& from, std::uint64_t seed, stream_fsm::time_point now) {
    std::mt19937_64 random(seed);
    for (int guard = 0; guard < 10'000; ++guard) {
      if (machine.take_wants_fresh_transport()) queue.clear();
      switch (machine.next()) {
        case step::listen:
          if (queue.empty()) return;
          in_hand.assign(1, queue.front());
          queue.pop_front();
          machine.on_live(seqno{in_hand[0].number}, bytes_of(in_hand[0].bytes), now);
          break;
        case step::apply_live: apply(now); break;
        case step::request:
          asked_for = machine.request_from().get();
          machine.on_requested(random() % 8 != 0, now);
          break;
        case step::read_reply: reply(from, random, now); break;
        case step::apply_reply: machine.on_applied({.is_readable = !from.spoils(asked_for - 1)}, now); break;
        case step::forget: machine.on_forgotten(now); break;
      }
    }
    BOOST_ERROR("the machine never comes to rest");
  }

 private:
  static std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

  void apply(stream_fsm::time_point now) {
    if (in_hand[0].is_spoilt) return machine.on_applied({.is_readable = false}, now);
    const bool takes_more = machine.takes_followers();
    while (takes_more && in_hand.size() < at_once && !queue.empty() && !in_hand.back().clears) {
      if (queue.front().is_spoilt || queue.front().number != in_hand.back().number + 1) break;
      in_hand.push_back(queue.front());
      queue.pop_front();
      ++joined;
    }
    std::vector<std::span<const std::byte>> followers;
    for (std::size_t i = 1; i < in_hand.size(); ++i) followers.push_back(bytes_of(in_hand[i].bytes));
    machine.on_applied({.left_nothing = in_hand.back().clears}, now, followers);
  }

  void reply(const publisher& from, std::mt19937_64& random, stream_fsm::time_point now) {
    if (random() % 16 == 0) return machine.on_reply_silence(now);
    while (asked_for < from.next && !from.keeps(asked_for)) ++asked_for;
    if (asked_for >= from.next) return machine.on_reply_end(now);
    reply_bytes = from.bytes(asked_for);
    machine.on_reply(seqno{asked_for++}, bytes_of(reply_bytes), now);
  }
};

/// What happens between two rests, the same for both.
struct story {
  std::mt19937_64 random;
  publisher source;
  stream_fsm::time_point now = stream_fsm::time_point(1h);
  std::uint64_t disconnects = 0;

  explicit story(std::uint64_t seed) : random(seed) {}
  std::uint64_t below(std::uint64_t bound) { return random() % bound; }

  void go_on(std::vector<driven*> all) {
    now += std::chrono::milliseconds(below(2'000));
    const std::uint64_t what = below(20);
    if (what == 0) source = {source.incarnation + 1, below(3)};
    if (what == 1) ++disconnects;
    for (driven* each : all) {
      if (what <= 2) each->machine.on_connection(what == 2 || disconnects % 2 == 0, disconnects, now);
      if (what == 3) each->machine.on_connection(true, disconnects, now);
      if (what == 4) each->machine.on_evicted();
      if (what == 5) each->machine.on_failure();
      if (what == 6) each->machine.on_quiet(now);
      if (what == 7) each->machine.on_standing(now);
    }
    const std::uint64_t come = below(9);
    for (std::uint64_t i = 0; i < come; ++i) {
      const std::uint64_t how = below(24);
      if (how == 0) ++source.next;                                                                  // dropped on the way
      const std::uint64_t number = how == 1 && source.next != 0 ? source.next - 1 : source.next++;  // or twice
      for (driven* each : all) each->queue.push_back({number, source.bytes(number), source.spoils(number), source.clears(number)});
    }
    const std::uint64_t seed = random();
    const bool is_strange = below(8) == 0;  // somebody else has the replay endpoint
    for (driven* each : all) each->settle(is_strange ? publisher{source.incarnation + 1'000, source.next + 5} : source, seed, now);
  }
};

stream_rules rules_of(std::uint64_t seed) {
  stream_rules rules = quick();
  rules.has_replay = seed % 4 != 0;
  rules.after_loss = seed % 3 == 0 ? loss_policy::keep : loss_policy::drop;
  return rules;
}

}  // namespace

BOOST_AUTO_TEST_CASE(together_is_the_same_as_one_by_one) {
  std::size_t joined = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      story told(seed);
      driven one{stream_fsm(rules_of(seed), told.now), 1, {}, {}, {}, 0, 0};
      driven many{stream_fsm(rules_of(seed), told.now), 2 + seed % 5, {}, {}, {}, 0, 0};
      for (int i = 0; i < 60; ++i) {
        told.go_on({&one, &many});
        BOOST_REQUIRE((one.machine.state() == many.machine.state()));
        BOOST_REQUIRE((one.machine.so_far() == many.machine.so_far()));
        BOOST_REQUIRE((one.machine.newest_applied() == many.machine.newest_applied()));
        BOOST_REQUIRE((one.machine.wake_at() == many.machine.wake_at()));
        BOOST_REQUIRE(one.machine.behind() == many.machine.behind());
        BOOST_REQUIRE(one.machine.is_evicted() == many.machine.is_evicted());
        BOOST_REQUIRE(one.machine.take_facts().size() == many.machine.take_facts().size());
      }
      joined += many.joined;
    }
  }
  BOOST_TEST(joined > 10'000U);  // or nothing was tried
}

BOOST_AUTO_TEST_CASE(each_of_them_is_known_when_it_comes_again) {
  // A relay with two ways to us repeats what it sends: the same bytes are no restart, whichever of them it is.
  for (std::uint64_t again = 0; again < 3; ++again) {
    told_stream under_test(quick());
    under_test.tell("connected");
    under_test.tell("live 0");
    BOOST_TEST_REQUIRE(under_test.machine.takes_followers());
    const std::vector<std::string> texts{"1", "2"};
    const std::vector<std::span<const std::byte>> followers{std::as_bytes(std::span(texts[0])), std::as_bytes(std::span(texts[1]))};
    under_test.machine.on_applied({}, under_test.now, followers);
    BOOST_TEST(under_test.machine.newest_applied()->get() == 2U);
    under_test.tell("live " + std::to_string(again));
    BOOST_TEST(under_test.seen() == "listen, whole");
    BOOST_TEST(under_test.machine.so_far().duplicates == 1U);
  }
}

BOOST_AUTO_TEST_CASE(nothing_follows_where_something_else_may_come_first) {
  const auto takes = [](const std::vector<std::string>& what) {
    told_stream under_test(quick());
    for (const std::string& each : what) under_test.tell(each);
    return under_test.machine.takes_followers();
  };
  BOOST_TEST(takes({"connected", "live 0"}));
  BOOST_TEST(!takes({"connected"}));
  BOOST_TEST(!takes({"connected", "live 0", "applied"}));
  BOOST_TEST(!takes({"connected", "live 0", "applied", "live 2"}));            // the gap first
  BOOST_TEST(!takes({"connected", "live 0", "applied", "broken", "live 1"}));  // what comes after it may be another publisher's
}

BOOST_AUTO_TEST_SUITE_END()
