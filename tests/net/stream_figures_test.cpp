// Each fault of a stream, in each place where it is told, with its number: /services, /workers, rows with detail, /metrics.
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/test/unit_test.hpp>

#include "net/msgpack_tape.hpp"
#include "net/zmq_frames.hpp"
#include "tests/support/net/payloads.hpp"
#include "tests/support/net/raw_publisher.hpp"
#include "tests/support/net/side_task.hpp"
#include "tests/support/net/told_figures.hpp"
#include "tests/support/net/wire_fixture.hpp"

BOOST_AUTO_TEST_SUITE(stream_figures)

namespace {

using namespace kvc;
using core::connection_state;
using core::stream_state;
using std::chrono::milliseconds;
using test::fake_publisher;
using test::stored_payload;
using test::tokens_from;
using test::told_figures;
using test::wanted_figures;

/// A publisher in its health, and the service that hears it. The stream is "a".
struct stage : test::report_fixture {
  explicit stage(const test::api_settings& settings) : report_fixture(settings) {}

  fake_publisher publisher{engine, context, {}};

  void join(const std::string& more = "") {
    enrol(publisher, "a", "vLLM", more);
    BOOST_REQUIRE(reaches("a", stream_state::whole));
  }
  /// A root block under its own name, of the prompt that begins with `first`; or one behind another block.
  void store(std::uint64_t name, std::uint32_t first, std::optional<std::uint64_t> parent = {}) {
    publisher.publish(stored_payload({name}, parent, tokens_from(first, 1)));
  }
  [[nodiscard]] bool has_applied(std::uint64_t batches) {
    const auto status = status_of("a");
    return eventually([&] { return status->batches.load() == batches; });
  }
  /// Two chained blocks, each in a batch of its own: what most faults begin with.
  void join_and_hold_two(const std::string& more = "") {
    join(more);
    store(1, 0);
    store(2, 4, 1);
    BOOST_REQUIRE(has_applied(2));
  }
  [[nodiscard]] std::unique_ptr<fake_publisher> follow_up() {
    return std::make_unique<fake_publisher>(
        engine, context, fake_publisher::options{.endpoint = publisher.endpoint(), .replay_endpoint = publisher.replay_endpoint()});
  }

  std::unique_ptr<fake_publisher> other;  ///< a second one, where there is any
};

/// What nearly every stream has.
struct usual {
  std::uint64_t batches = 0;  ///< applied, each with one event
  std::uint64_t held = 0;     ///< blocks
  std::uint64_t answers = 0;  ///< replays that were answered in full, that of the beginning included
};

/// Every replay that ended has an outcome.
std::map<std::string, std::uint64_t> numbers(const usual& all, const std::map<std::string, std::uint64_t>& more = {}) {
  std::map<std::string, std::uint64_t> made = more;
  for (const char* each : {"batches", "events", "decoded.vllm_map"}) made[each] = all.batches;
  made["blocks.GPU"] = all.held;
  made["replays_by_outcome.complete"] = all.answers;
  made["replays"] = all.answers;
  for (const auto& [name, times] : more) made["replays"] += name.starts_with("replays_by_outcome.") ? times : 0;
  return made;
}

struct fault {
  const char* name;
  std::function<void(test::api_settings&)> set;
  std::function<void(stage&)> bring_about;
  wanted_figures wanted;
};

void as_set(test::api_settings&) {}

void answer_for_long(test::api_settings& settings) {
  settings.streams.replay_timeout = std::chrono::minutes(10);
}

/// Nobody answers, and that is soon taken for an answer.
void soon_given_up(test::api_settings& settings) {
  settings.streams.replay_timeout = milliseconds(50);
}

/// A batch of events that are none, and one that is.
std::string poisoned_payload() {
  std::string out;
  net::msgpack_writer writer(out);
  writer.array(3);
  writer.real(1.7e9);
  writer.array(4);
  writer.string("no event at all");
  writer.map(1);
  writer.string("type");
  writer.string("BlockPolished");
  writer.map(1);
  writer.string("type");
  writer.string("BlockRemoved");
  writer.map(1);
  writer.string("type");
  writer.string("AllBlocksCleared");
  writer.unsigned_integer(0);
  return out;
}

std::vector<fault> all_faults() {
  return {
      {"none", as_set, [](stage& at) { at.join_and_hold_two(); }, {.numbers = numbers({.batches = 2, .held = 2, .answers = 1})}},
      {"a batch is lost on the way",
       as_set,
       [](stage& at) {
         at.join_and_hold_two();
         at.publisher.lose_live(stored_payload({3}, 2, tokens_from(8, 1)));
         at.store(4, 12, 3);
       },
       {.numbers = numbers({.batches = 4, .held = 4, .answers = 2}, {{"gaps", 1}})}},
      {"two batches are lost for good",
       as_set,
       [](stage& at) {
         at.join_and_hold_two();
         at.publisher.lose_forever();
         at.publisher.lose_forever();
         at.store(5, 500);
       },
       {.state = stream_state::incomplete,
        .numbers = numbers({.batches = 3, .held = 1, .answers = 1},
                           {{"gaps", 1}, {"missing", 2}, {"lost", 2}, {"doubted_blocks", 2}, {"replays_by_outcome.partial", 1}})}},
      {"the same, and what is held is kept",
       as_set,
       [](stage& at) {
         at.join_and_hold_two(R"(,"after_loss":"keep")");
         at.publisher.lose_forever();
         at.publisher.lose_forever();
         at.store(5, 500);
       },
       {.state = stream_state::incomplete,
        .numbers = numbers({.batches = 3, .held = 3, .answers = 1},
                           {{"gaps", 1}, {"missing", 2}, {"lost", 2}, {"replays_by_outcome.partial", 1}})}},
      {"nobody answers",
       soon_given_up,
       [](stage& at) {
         at.join_and_hold_two();
         at.publisher.answer(false);
         at.publisher.lose_live(stored_payload({3}, 2, tokens_from(8, 1)));
         at.store(5, 500);
       },
       {.state = stream_state::incomplete,
        .numbers = numbers({.batches = 3, .held = 1, .answers = 1}, {{"gaps", 1},
                                                                     {"missing", 1},
                                                                     {"lost", 1},
                                                                     {"doubted_blocks", 2},
                                                                     {"replays_by_outcome.unanswered", 1},
                                                                     {"replays_failed", 1}})}},
      {"nobody has answered yet",
       answer_for_long,
       [](stage& at) {
         at.join_and_hold_two();
         at.publisher.answer(false);
         at.publisher.lose_live(stored_payload({3}, 2, tokens_from(8, 1)));
         at.store(5, 500);
       },
       {.state = stream_state::recovering, .numbers = numbers({.batches = 2, .held = 2, .answers = 1}, {{"lag_batches", 2}, {"gaps", 1}})}},
      {"the connection breaks in the middle of an answer",
       as_set,
       [](stage& at) {
         at.join_and_hold_two();
         at.publisher.answer(false);
         at.publisher.lose_live(stored_payload({3}, 2, tokens_from(8, 1)));
         at.store(4, 12, 3);
         BOOST_REQUIRE(at.reaches("a", stream_state::recovering));
         at.publisher.answer(true);
         at.publisher.break_connection(at.engine, at.context);
       },
       {.numbers = numbers({.batches = 4, .held = 4, .answers = 2}, {{"gaps", 1}, {"replays_by_outcome.interrupted", 1}})}},
      {"another publisher answers",
       as_set,
       [](stage& at) {
         at.other = std::make_unique<fake_publisher>(at.engine, at.context, fake_publisher::options{});
         at.enrol_at(at.publisher.endpoint(), at.other->replay_endpoint(), "a");
         BOOST_REQUIRE(at.reaches("a", stream_state::whole));
         at.store(1, 0);
         BOOST_REQUIRE(at.has_applied(1));
         for (std::uint32_t i = 0; i < 3; ++i) at.other->lose_live(stored_payload({70 + i}, {}, tokens_from(700 + 4 * i, 1)));
         at.publisher.lose_live(stored_payload({2}, 1, tokens_from(4, 1)));
         at.store(5, 500);
       },
       {.state = stream_state::incomplete,
        .numbers = numbers({.batches = 2, .held = 1, .answers = 1},
                           {{"gaps", 1}, {"missing", 1}, {"lost", 1}, {"doubted_blocks", 1}, {"replays_by_outcome.foreign", 1}})}},
      {"the publisher begins anew",
       as_set,
       [](stage& at) {
         at.join_and_hold_two();
         at.publisher.stop();
         at.other = at.follow_up();
         at.other->lose_live(stored_payload({7}, {}, tokens_from(0, 1)));
       },
       {.numbers = numbers({.batches = 3, .held = 1, .answers = 2}, {{"restarts", 1}, {"generation", 2}})}},
      {"a batch comes twice",
       as_set,
       [](stage& at) {
         at.join();
         const std::string payload = stored_payload({1}, {}, tokens_from(0, 1));
         at.publisher.publish(payload);
         at.publisher.send_raw({"", std::string(8, '\0'), payload});
       },
       {.numbers = numbers({.batches = 1, .held = 1, .answers = 1}, {{"stale_batches", 1}})}},
      {"messages are of another shape",
       as_set,
       [](stage& at) {
         at.join();
         at.publisher.send_raw({"only one frame"});
         at.publisher.send_raw({"", "short", "x"});
         at.store(1, 0);
       },
       {.numbers = numbers({.batches = 1, .held = 1, .answers = 1}, {{"rejected", 2}, {"bad_messages", 2}})}},
      {"a batch is spoilt on the way",
       as_set,
       [](stage& at) {
         at.join_and_hold_two();
         at.publisher.publish_spoilt(stored_payload({3}, 2, tokens_from(8, 1)), "no msgpack at all");
       },
       {.numbers = numbers({.batches = 3, .held = 3, .answers = 2}, {{"rejected", 1}, {"bad_batches", 1}})}},
      {"a batch was never one",
       as_set,
       [](stage& at) {
         at.join_and_hold_two();
         at.publisher.publish("no msgpack at all");
       },
       {.state = stream_state::incomplete,
        .numbers = numbers({.batches = 2, .held = 0, .answers = 2},
                           {{"rejected", 2}, {"bad_batches", 2}, {"missing", 1}, {"lost", 1}, {"doubted_blocks", 2}})}},
      {"events are none",
       as_set,
       [](stage& at) {
         at.join();
         at.publisher.publish(poisoned_payload());
       },
       {.numbers = numbers({.batches = 1, .held = 0, .answers = 1}, {{"rejected", 3},
                                                                     {"rejected_events.not_an_event", 1},
                                                                     {"rejected_events.unknown_tag", 1},
                                                                     {"rejected_events.missing_field", 1}})}},
      {"messages are for somebody else",
       as_set,
       [](stage& at) {
         at.other = std::make_unique<fake_publisher>(at.engine, at.context, fake_publisher::options{.topic = "kv@10.0.0.1"});
         at.enrol(*at.other, "a", "vLLM", R"(,"topic":"kv@10.0.0.1")");
         BOOST_REQUIRE(at.reaches("a", stream_state::whole));
         at.other->send_raw({"kv@10.0.0.10", std::string(8, '\0'), stored_payload({5}, {}, tokens_from(500, 1))});
         at.other->publish(stored_payload({1}, {}, tokens_from(0, 1)));
       },
       {.numbers = numbers({.batches = 1, .held = 1, .answers = 1}, {{"other_topics", 1}})}},
      {"blocks wait for a parent, more than may",
       [](auto& settings) { settings.streams.max_orphans = 2; },
       [](stage& at) {
         at.join_and_hold_two();
         for (std::uint32_t i = 0; i < 3; ++i) at.store(31 + 10 * i, 300 + 100 * i, 30 + 10 * i);
       },
       {.numbers = numbers({.batches = 5, .held = 2, .answers = 1}, {{"orphans", 2}, {"dropped_orphans", 1}})}},
      {"nobody is there any more",
       [](auto& settings) { settings.streams.stale_after = milliseconds(200); },
       [](stage& at) {
         at.join_and_hold_two();
         at.publisher.stop();
       },
       {.state = stream_state::stale,
        .connection = connection_state::disconnected,
        .numbers = numbers({.batches = 2, .held = 2, .answers = 1})}},
      {"nobody has been there yet",
       as_set,
       [](stage& at) { at.enrol_at("tcp://127.0.0.1:9", at.publisher.replay_endpoint(), "a"); },
       {.state = stream_state::joining, .connection = connection_state::connecting}},
      {"what was published before is being asked for",
       answer_for_long,
       [](stage& at) {
         at.publisher.answer(false);
         at.store(1, 0);
         at.enrol(at.publisher, "a");
       },
       {.state = stream_state::catching_up}},
  };
}

std::string joined(const std::vector<std::string>& lines) {
  std::string all;
  for (const std::string& each : lines) all += "\n  " + each;
  return all;
}

/// Waits until all places say what `wanted()` says that they must.
template <class Wanted>
void check(stage& at, Wanted wanted) {
  std::vector<std::string> wrong;
  (void)at.eventually([&] {
    const wanted_figures now = wanted();
    wrong = told_figures(at, "a").faults(now);
    return wrong.empty();
  });
  BOOST_TEST(wrong.empty(), joined(wrong));
}

}  // namespace

BOOST_AUTO_TEST_CASE(each_fault_is_told_in_each_place_with_its_number) {
  // An operator, a dashboard and a router each look in another place; a figure that is wrong in one of them is found by nobody.
  for (const fault& each : all_faults()) {
    BOOST_TEST_CONTEXT(each.name) {
      test::api_settings settings;
      each.set(settings);
      stage at(settings);
      each.bring_about(at);
      check(at, [&] { return each.wanted; });
    }
  }
}

BOOST_AUTO_TEST_CASE(an_absence_that_nobody_can_explain_is_told_in_each_place) {
  // A publisher that cannot be asked has been away, and may be another one. It speaks in bytes, and so knows when the subscription is
  // there.
  stage at{test::api_settings{}};
  test::raw_publisher engine_1(at.context);
  at.enrol_at(engine_1.endpoint(), "", "a");
  const auto status = at.status_of("a");
  const auto live = [&at, &engine_1, status]() -> boost::asio::awaitable<void> {
    co_await engine_1.greet();
    const net::seqno_frame zero{core::seqno{0}};
    const std::string first = test::raw::message({"", zero.view(), stored_payload({1}, {}, tokens_from(0, 1))});
    co_await engine_1.say(first);
    while (status->batches.load() != 1) co_await test::one_turn();
    co_await engine_1.greet();  // hangs up, and is there again
    while (!engine_1.has_caller()) co_await test::one_turn();
    co_await engine_1.greet();  // what waited in that connection may be of either, so that it is heard over another one
  };
  const test::side_task living(at.context, live());
  BOOST_REQUIRE(at.eventually([&] { return living.has_ended(); }));

  check(at, [] {
    return wanted_figures{.state = stream_state::incomplete,
                          .numbers = numbers({.batches = 1}, {{"unproven_absences", 1}, {"doubted_blocks", 1}})};
  });
}

BOOST_AUTO_TEST_CASE(blocks_given_up_for_the_budget_are_told_in_each_place) {
  // How many go depends on sizes, so the status says what the places have to.
  test::api_settings settings;
  settings.streams.index_budget = 60'000;
  settings.streams.eviction.round = milliseconds(20);
  settings.streams.eviction.idle_pause = milliseconds(5);
  stage at(settings);
  at.join();
  constexpr std::uint32_t batches = 400;
  for (std::uint32_t i = 0; i < batches; ++i) {
    std::vector<std::uint64_t> names;
    for (std::uint32_t k = 0; k < 8; ++k) names.push_back(8 * i + k + 1);
    at.publisher.publish(stored_payload(names, {}, tokens_from(100 * i, 8)));
  }
  BOOST_REQUIRE(at.has_applied(batches));
  const auto status = at.status_of("a");
  BOOST_REQUIRE(at.eventually([&] {
    const core::index_budget& now = at.fleet.budget();
    return now.used() != 0 && now.used() <= settings.streams.index_budget && !now.is_evicting() && status->evicted.load() != 0;
  }));

  check(at, [&] {
    const std::uint64_t evicted = status->evicted.load();  // a pass may follow that only rounds off the one before
    return wanted_figures{.state = stream_state::incomplete,
                          .numbers = numbers({.batches = batches, .held = 8 * batches - evicted, .answers = 1}, {{"evicted", evicted}})};
  });
}

BOOST_AUTO_TEST_SUITE_END()
