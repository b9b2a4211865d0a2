// A stream told line by line: what happens, what is to be done then, and how far the stream is to be trusted.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/stream_fsm.hpp"

namespace kvc::test::told {

using namespace core;
using namespace std::chrono_literals;
using step = core::stream_fsm::step;

/// A stream told line by line. Each line is what happens, then what is to be done and how far the stream is to be trusted.
struct line {
  std::string what;
  std::string then;  ///< step, state
};

inline std::string_view word(step which) {
  switch (which) {
    case step::listen: return "listen";
    case step::apply_live: return "apply_live";
    case step::request: return "request";
    case step::read_reply: return "read_reply";
    case step::apply_reply: return "apply_reply";
    case step::forget: return "forget";
  }
  return "?";
}

/// A machine and the clock it is shown.
struct told_stream {
  explicit told_stream(const stream_rules& rules) : machine(rules, now) {}

  stream_fsm::time_point now = stream_fsm::time_point(1h);
  std::uint64_t disconnects = 0;
  stream_fsm machine;
  std::string live_bytes;  ///< of the batches in hand
  std::string reply_bytes;

  static std::span<const std::byte> bytes_of(std::string& kept, const std::string& text) {
    kept = text;
    return std::as_bytes(std::span(kept));
  }

  /// `live 5`, `live 5 other`, `reply 5`, `reply 5 other`, `end`, `noise`, `silence`, `sent`, `refused`, `applied`, `cleared`,
  /// `unreadable`, `forgotten`, `connected`, `broken`, `back` (a break is seen only now, when it is over), `quiet`, `quiet 30` (seconds),
  /// `evicted`, `failed` (something of ours), `pass 30` (seconds, nothing is told), `stood 2` (until two seconds ago).
  void tell(const std::string& what) {
    const std::string verb = what.substr(0, what.find(' '));
    const std::string rest = verb == what ? "" : what.substr(verb.size() + 1);
    const std::uint64_t number = rest.empty() ? 0 : std::stoull(rest);
    if (verb == "live") machine.on_live(seqno{number}, bytes_of(live_bytes, rest), now);
    if (verb == "reply") machine.on_reply(seqno{number}, bytes_of(reply_bytes, rest), now);
    if (verb == "end") machine.on_reply_end(now);
    if (verb == "noise") machine.on_reply_noise(now);
    if (verb == "silence") machine.on_reply_silence(now);
    if (verb == "sent") machine.on_requested(true, now);
    if (verb == "refused") machine.on_requested(false, now);
    if (verb == "applied") machine.on_applied({}, now);
    if (verb == "cleared") machine.on_applied({.left_nothing = true}, now);
    if (verb == "unreadable") machine.on_applied({.is_readable = false}, now);
    if (verb == "forgotten") machine.on_forgotten(now);
    if (verb == "connected") {
      (void)machine.take_wants_fresh_transport();  // as the driver does before it connects again
      machine.on_connection(true, disconnects, now);
    }
    if (verb == "broken") machine.on_connection(false, ++disconnects, now);
    if (verb == "back") machine.on_connection(true, ++disconnects, now);
    if (verb == "stood") machine.on_standing(now - std::chrono::seconds(number));
    if (verb == "pass" || verb == "quiet") now += std::chrono::seconds(number);
    if (verb == "quiet") machine.on_quiet(now);
    if (verb == "evicted") machine.on_evicted();
    if (verb == "failed") machine.on_failure();
  }

  [[nodiscard]] std::string seen() const {
    std::string text(word(machine.next()));
    if (machine.next() == step::request) text += " " + std::to_string(machine.request_from().get());
    return text + ", " + std::string(to_string(machine.state()));
  }
};

inline stream_rules quick() {
  stream_rules rules;
  rules.replay.attempts = 2;
  return rules;
}

inline kvc::core::stream_fsm check(const char* why, const stream_rules& rules, const std::vector<line>& story) {
  told_stream under_test(rules);
  BOOST_TEST_CONTEXT(why) {
    for (std::size_t i = 0; i < story.size(); ++i) {
      BOOST_TEST_CONTEXT("line " << i << ": " << story[i].what) {
        under_test.tell(story[i].what);
        BOOST_TEST(under_test.seen() == story[i].then);
      }
    }
  }
  return under_test.machine;
}

inline const std::vector<line> two_batches{{"connected", "listen, joining"},
                                           {"live 0", "apply_live, joining"},
                                           {"applied", "listen, whole"},
                                           {"live 1", "apply_live, whole"},
                                           {"applied", "listen, whole"}};

/// A story that begins with two batches applied.
inline std::vector<line> after_two(std::vector<line> more) {
  std::vector<line> all = two_batches;
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

inline std::vector<line> then(std::vector<line> story, const std::vector<line>& more) {
  story.insert(story.end(), more.begin(), more.end());
  return story;
}

/// A gap of two, and an endpoint that shows another batch under the number of the one before it.
inline std::vector<line> found_out() {
  return after_two({{"live 4", "request 1, recovering"},
                    {"sent", "read_reply, recovering"},
                    {"reply 1 other", "forget, incomplete"},
                    {"forgotten", "apply_live, incomplete"},
                    {"applied", "listen, incomplete"}});
}

/// Answers to replays that turned out to be another publisher's.
inline std::uint64_t foreign_answers(const kvc::core::stream_fsm& of) {
  return of.so_far().outcomes[static_cast<std::size_t>(replay_outcome::foreign)];
}

}  // namespace kvc::test::told
