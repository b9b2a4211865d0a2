// A stream whose publisher restarts, while what its lives have said still waits: told as the listener tells it, without a socket.
//
// Over sockets a restart takes milliseconds, and what lies between two of its moments is seen once in a thousand runs.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/stream_fsm.hpp"
#include "net/break_count.hpp"
#include "tests/support/setting.hpp"

BOOST_AUTO_TEST_SUITE(stream_lives)

namespace {

using namespace std::chrono_literals;
using kvc::core::seqno;
using kvc::core::stream_fsm;
using kvc::core::stream_state;
using step = stream_fsm::step;

struct batch {
  std::uint64_t life = 0;
  std::uint64_t number = 0;
  bool is_spoilt = false;  ///< on the way

  [[nodiscard]] std::string text() const {
    return std::to_string(number) + " of life " + std::to_string(life) + (is_spoilt ? ", spoilt" : "");
  }
  friend bool operator==(const batch&, const batch&) = default;
};

/// A publisher, the transport between it and us, and the stream.
class stage {
 public:
  enum class endpoint : std::uint8_t {
    sound,
    patchy,   ///< keeps few batches or not all, and is not always there to answer
    none,     ///< nobody can be asked
    strange,  ///< is another publisher's, who is ahead of ours and never restarts
  };
  stage(std::uint64_t seed, endpoint what) : random_(seed), machine_(rules(what), now_), endpoint_(what) {
    next_ = chance(2) ? 0 : random_() % 30;
    if (what == endpoint::patchy && chance(2)) kept_ = 1 + random_() % 10;
    stranger_next_ = 300 + random_() % 100;
  }

  /// Goes wrong for a while, then comes to rest.
  void play() {
    for (int i = 0; i < 300; ++i) {
      go_wrong();
      do_next();
    }
    may_drop_ = false;
    for (int round = 0; round < 3; ++round) {
      if (!is_connected_) connect();
      publish();
      for (int i = 0; i < 2'000; ++i) do_next();
    }
  }

  [[nodiscard]] const stream_fsm& machine() const { return machine_; }
  [[nodiscard]] const std::vector<batch>& held() const { return held_; }
  [[nodiscard]] std::vector<batch> published() const {
    std::vector<batch> all;
    for (std::uint64_t number = 0; number < next_; ++number) all.push_back({life_, number});
    return all;
  }
  [[nodiscard]] bool holds_strange() const { return std::ranges::count(held_, stranger, &batch::life) != 0; }
  [[nodiscard]] const std::vector<std::string>& journal() const { return journal_; }

 private:
  static constexpr std::uint64_t stranger = 1'000'000;  ///< a life nobody here leads
  struct message {
    batch what;
    std::uint64_t connection = 0;
  };

  static kvc::core::stream_rules rules(endpoint what) {
    kvc::core::stream_rules chosen;
    chosen.replay.attempts = 2;
    chosen.has_replay = what != endpoint::none;
    if (what == endpoint::none) chosen.fastest_publisher = 1e15;  // numbers prove nothing here: a life is as fast as our clock is slow
    return chosen;
  }

  bool chance(std::uint64_t one_in) { return random_() % one_in == 0; }
  void note(const std::string& what) { journal_.push_back(what); }

  void publish() {
    const batch what{life_, next_++, may_drop_ && chance(20)};
    const bool is_heard = is_connected_ && !(may_drop_ && chance(8));
    note("publishes " + what.text() + (is_heard ? "" : ", unheard"));
    if (is_heard) waiting_.push_back({what, connection_});
  }
  void connect() {
    note("connected");
    is_connected_ = true;
    ++connection_;
  }
  void disconnect() {
    if (!is_connected_) return;
    is_connected_ = false;
    ++breaks_;
  }
  void restart() {
    ++life_;
    next_ = chance(4) ? random_() % 30 : 0;  // said before anybody hears it
    note("restarts");
    disconnect();
  }

  void go_wrong() {
    while (chance(2)) {
      switch (random_() % 12) {
        case 0:
          if (chance(3)) restart();
          break;
        case 1:
          if (chance(3)) {
            note("breaks");
            disconnect();
          }
          break;
        case 2:
        case 3:
        case 4:
          if (!is_connected_) connect();
          break;
        default: publish();
      }
    }
  }

  void do_next() {
    now_ += 1ms;
    if (!has_socket_ && machine_.next() != step::forget) {
      (void)machine_.take_wants_fresh_transport();
      has_socket_ = true;
      seen_is_connected_ = false;
      seen_breaks_ = 0;
      return;
    }
    switch (machine_.next()) {
      case step::listen: hear(); break;
      case step::apply_live: apply(live_); break;
      case step::request:
        asked_from_ = machine_.request_from().get();
        note("is asked for " + std::to_string(asked_from_));
        asked_life_.reset();
        is_mute_ = endpoint_ == endpoint::patchy && may_drop_ && chance(6);
        if (chance(2)) asked_life_ = life_;  // else whoever is there when the answer is read
        machine_.on_requested(true, now_);
        break;
      case step::read_reply: hear_reply(); break;
      case step::apply_reply: apply(reply_); break;
      case step::forget:
        note("all is forgotten");
        held_.clear();
        machine_.on_forgotten(now_);
        break;
    }
    (void)machine_.take_facts();
    if (!machine_.take_wants_fresh_transport()) return;
    note("fresh transport");
    breaks_told_.on_fresh_transport(breaks_);
    waiting_.clear();
    last_connection_.reset();
    is_connected_ = false;
    breaks_ = 0;
    has_socket_ = false;
  }

  void apply(const batch& what) {
    note("applied: " + what.text());
    if (!what.is_spoilt) held_.push_back(what);
    machine_.on_applied({.is_readable = !what.is_spoilt}, now_);
  }

  void hear() {
    if (waiting_.empty()) {
      look();
      breaks_told_.on_drained(seen_breaks_);
      tell_connection();
      if (!may_drop_ && !is_connected_) connect();
      if (now_ < machine_.wake_at() && (!may_drop_ || chance(3))) now_ = machine_.wake_at();
      if (now_ >= machine_.wake_at()) machine_.on_quiet(now_);
      return;
    }
    const message heard = waiting_.front();
    waiting_.pop_front();
    const bool is_other = last_connection_ != heard.connection;
    last_connection_ = heard.connection;
    if (is_other || chance(4)) {
      look();
      if (is_other) breaks_told_.on_other_connection(seen_breaks_);
      if (is_other || !breaks_told_.is_behind(seen_breaks_)) tell_connection();
    }
    note("heard: " + heard.what.text());
    live_ = heard.what;
    live_bytes_ = live_.text();
    machine_.on_live(seqno{live_.number}, std::as_bytes(std::span(live_bytes_)), now_);
  }

  void hear_reply() {
    look();
    breaks_told_.on_look(seen_breaks_);
    tell_connection();
    if (machine_.next() != step::read_reply) return;
    if (!asked_life_) asked_life_ = life_;
    if (endpoint_ == endpoint::strange) {
      if (chance(10)) ++stranger_next_;
      if (asked_from_ >= stranger_next_) return machine_.on_reply_end(now_);
      return reply({stranger, asked_from_++});
    }
    const bool loses_one = endpoint_ == endpoint::patchy && may_drop_ && chance(12);
    if (*asked_life_ != life_ || is_mute_) {  // it may have gone in the middle of its answer
      now_ = std::max(now_, machine_.wake_at());
      return machine_.on_reply_silence(now_);
    }
    if (next_ > kept_) asked_from_ = std::max(asked_from_, next_ - kept_);
    if (loses_one) ++asked_from_;
    if (asked_from_ >= next_) return machine_.on_reply_end(now_);
    reply({life_, asked_from_++});
  }

  void reply(const batch& what) {
    reply_ = what;
    note("replies " + reply_.text());
    reply_bytes_ = reply_.text();
    machine_.on_reply(seqno{reply_.number}, std::as_bytes(std::span(reply_bytes_)), now_);
  }

  void look() {
    seen_is_connected_ = is_connected_;
    seen_breaks_ = breaks_;
  }
  void tell_connection() { machine_.on_connection(seen_is_connected_, breaks_told_.told(), now_); }

  std::mt19937_64 random_;
  stream_fsm::time_point now_{1h};
  stream_fsm machine_;
  kvc::net::break_count breaks_told_;
  std::vector<std::string> journal_;

  std::uint64_t life_ = 0;
  std::uint64_t next_ = 0;
  bool may_drop_ = true;
  endpoint endpoint_;
  std::uint64_t stranger_next_ = 0;
  std::uint64_t kept_ = std::numeric_limits<std::uint64_t>::max();  ///< batches that can be asked for

  bool has_socket_ = false;
  bool is_connected_ = false;
  std::uint64_t connection_ = 0;
  std::uint64_t breaks_ = 0;
  std::deque<message> waiting_;

  bool seen_is_connected_ = false;
  std::uint64_t seen_breaks_ = 0;
  std::optional<std::uint64_t> last_connection_;
  batch live_;
  std::string live_bytes_;
  batch reply_;
  std::string reply_bytes_;
  std::uint64_t asked_from_ = 0;
  bool is_mute_ = false;
  std::optional<std::uint64_t> asked_life_;
  std::vector<batch> held_;
};

/// KVC_LIVES_SEEDS: how many.
void check(stage::endpoint what, const auto& is_right) {
  const std::uint64_t seeds = kvc::test::setting("KVC_LIVES_SEEDS", 300);
  std::uint64_t restarts = 0;
  std::uint64_t whole = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    stage all(seed, what);
    all.play();
    restarts += all.machine().so_far().restarts;
    whole += all.machine().state() == stream_state::whole ? 1 : 0;
    if (is_right(all)) continue;
    BOOST_ERROR("seed " << seed << ": " << to_string(all.machine().state()) << ", misses " << all.machine().so_far().missing << ", holds "
                        << all.held().size() << " of " << all.published().size());
    for (const std::string& line : all.journal()) BOOST_TEST_MESSAGE(line);
    return;
  }
  BOOST_TEST(restarts > seeds);  // or nothing was tried
  BOOST_TEST(whole > 0U);
}

}  // namespace

BOOST_AUTO_TEST_CASE(at_rest_a_stream_holds_what_its_publisher_has_said_in_this_life) {
  // Whatever waited when: nothing is lost where everything is kept, and nobody is taken for a stranger.
  check(stage::endpoint::sound, [](const stage& all) {
    const stream_fsm& told = all.machine();
    const auto strange = told.so_far().outcomes[static_cast<std::size_t>(kvc::core::replay_outcome::foreign)];
    return all.held() == all.published() && told.state() == stream_state::whole && strange == 0;
  });
}

BOOST_AUTO_TEST_CASE(at_rest_a_stream_that_calls_itself_whole_is) {
  // Of what can no longer be had some is lost. Nobody holds anything twice, or of a life that is over.
  for (const auto what : {stage::endpoint::patchy, stage::endpoint::none}) {
    check(what, [](const stage& all) {
      const std::uint64_t today = all.published().back().life;
      const bool is_of_today = std::ranges::all_of(all.held(), [&](const batch& each) { return each.life == today; });
      const bool is_in_order = std::ranges::adjacent_find(all.held(), std::ranges::greater_equal(), &batch::number) == all.held().end();
      return is_of_today && is_in_order && (all.machine().state() != stream_state::whole || all.held() == all.published());
    });
  }
}

BOOST_AUTO_TEST_CASE(at_rest_a_stream_holds_nothing_of_a_stranger) {
  check(stage::endpoint::strange, [](const stage& all) {
    const bool is_whole = all.machine().state() == stream_state::whole;
    return !all.holds_strange() && (!is_whole || all.held() == all.published());
  });
}

BOOST_AUTO_TEST_SUITE_END()
