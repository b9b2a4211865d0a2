// Sessions that hear random messages in random pieces, are asked, rest and have their messages let go of at random moments, beside the list
// of what they were told: every step they take is the next one of the list, is taken as soon as it is there as a whole and not before, and
// messages are what they were for as long as somebody holds them.
//
// KVC_SESSION_SEED sets the first life, KVC_SESSION_SEEDS how many there are.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "net/publisher_session.hpp"
#include "tests/support/net/zmtp_words.hpp"
#include "tests/support/setting.hpp"

namespace kvc::test {
BOOST_AUTO_TEST_SUITE(publisher_session_lives)

namespace {

namespace words = zmtp_words;
using step = net::publisher_session::step;

/// What all payloads are pieces of, none of which is like another.
const std::string& all_text() {
  static const std::string text = [] {
    std::mt19937_64 random(1);
    std::string made(2U << 20, '\0');
    for (std::size_t i = 0; i < made.size(); i += 8) {
      const std::uint64_t next = random();
      std::memcpy(made.data() + i, &next, sizeof next);
    }
    return made;
  }();
  return text;
}

/// One thing a publisher says.
struct saying {
  enum class kind : std::uint8_t { message, ping, noise } what = kind::message;
  std::vector<std::string_view> frames;  ///< of a message
  std::string context;                   ///< of a ping
  std::uint64_t end = 0;                 ///< of its bytes, counted from the first of all on
};

class life {
 public:
  explicit life(std::uint64_t seed) : random_(seed) {
    said_ = words::greeting(3, below(3) == 0 ? 0 : 1) + words::ready(below(2) == 0 ? "PUB" : "XPUB");
    handshake_bytes_ = said_.size();
    const std::uint64_t sayings = 1 + below(60);
    while (script_.size() < sayings && said_.size() < 3U << 20) say_something();
  }

  void live() {
    while (received_ < said_.size()) {
      switch (below(10)) {
        case 0:
        case 1:
        case 2: receive(); break;
        case 3:
        case 4:
          receive();
          ask_for_all();
          break;
        case 5: (void)ask(); break;
        case 6: ask_for_all(); break;
        case 7: let_go(); break;
        case 8:
          if (below(3) == 0) session_.rest();
          break;
        default: send();
      }
    }
    ask_for_all();
    send();
    BOOST_TEST_REQUIRE(done_ == script_.size());
    while (!held_.empty()) let_go();
  }

 private:
  struct held_message {
    net::publisher_message message;
    const saying* as_said;
  };

  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }

  std::string_view some_text() {
    constexpr std::array<std::size_t, 8> longest{1, 2, 20, 300, 5'000, 5'000, 70'000, 600'000};
    const std::size_t size = below(longest[below(longest.size())]);
    return std::string_view(all_text()).substr(below(all_text().size() - size), size);
  }

  void say_something() {
    saying next;
    std::uint64_t kind = below(10);
    if (kind == 0) {
      next.what = saying::kind::ping;
      next.context = some_text().substr(0, below(17));
      const bool is_long = below(4) == 0;
      said_ += words::frame(words::words("PING", words::number(below(65'536), 2) + next.context), {.is_command = true, .is_long = is_long});
    } else if (kind == 1) {
      next.what = saying::kind::noise;
      const std::string_view body = some_text().substr(0, 4'000);
      said_ += words::frame(words::words("SOMETHING", body), {.is_command = true, .is_long = below(4) == 0});
    } else {
      const std::uint64_t frames = below(8) == 0 ? 4 + below(3) : 1 + below(3);
      for (std::uint64_t left = frames; left > 0; --left) {
        next.frames.push_back(some_text());
        said_ += words::frame(next.frames.back(), {.has_more = left > 1, .is_long = below(3) == 0});
      }
    }
    next.end = said_.size();
    script_.push_back(std::move(next));
  }

  void receive() {
    const std::span<std::byte> room = session_.room();
    BOOST_TEST_REQUIRE(!room.empty());
    BOOST_TEST_REQUIRE(room.size() <= 2U << 20);
    std::memset(room.data(), static_cast<int>(below(256)), std::min<std::size_t>(room.size(), 64));  // nobody may rely on what is there
    constexpr std::array<std::size_t, 5> most{2, 30, 3'000, 100'000, 2U << 20};
    const std::size_t count = std::min({1 + below(most[below(most.size())]), room.size(), said_.size() - received_});
    std::memcpy(room.data(), said_.data() + received_, count);
    session_.took(count);
    received_ += count;
  }

  /// A command is obeyed by whoever asks for what comes behind it.
  void obey() {
    const saying& next = script_[done_++];
    if (next.what == saying::kind::ping && expected_words_.empty()) expected_words_ = words::command("PONG", next.context);
  }
  [[nodiscard]] bool is_next_there() const { return done_ < script_.size() && script_[done_].end <= received_; }

  /// False: it is starved, and rightly so.
  bool ask() {
    net::publisher_message got;
    const step taken = session_.next(got);
    if (!is_open_) {
      BOOST_TEST_REQUIRE((taken == (received_ < handshake_bytes_ ? step::starved : step::agreed)));
      is_open_ = taken == step::agreed;
      if (is_open_) session_.to_send().clear();
      return is_open_;
    }
    while (is_next_there() && script_[done_].what != saying::kind::message) obey();
    if (!is_next_there()) {
      BOOST_TEST_REQUIRE((taken == step::starved));
      BOOST_TEST_REQUIRE(got.size() == 0U);
      return false;
    }
    const saying& expected = script_[done_++];
    const bool is_misshapen = expected.frames.size() > net::publisher_message::most_frames;
    BOOST_TEST_REQUIRE((taken == (is_misshapen ? step::misshapen : step::message)));
    if (is_misshapen) {
      BOOST_TEST_REQUIRE(got.size() == 0U);
      return true;
    }
    compare({got, &expected});
    if (below(3) != 0) held_.push_back({got, &expected});
    return true;
  }
  void ask_for_all() {
    while (ask()) {
    }
  }

  static void compare(const held_message& held) {
    BOOST_TEST_REQUIRE(held.message.size() == held.as_said->frames.size());
    for (std::size_t i = 0; i < held.message.size(); ++i) {
      BOOST_TEST_REQUIRE((words::text_of(held.message.frame(i)) == held.as_said->frames[i]), "frame " << i);
    }
  }

  /// Some of those that are held, or all.
  void let_go() {
    for (std::uint64_t left = below(2) == 0 ? held_.size() : below(4); left > 0 && !held_.empty(); --left) {
      const auto which = held_.begin() + static_cast<std::ptrdiff_t>(below(held_.size()));
      compare(*which);
      held_.erase(which);
    }
  }

  void send() {
    if (!is_open_) return;
    BOOST_TEST_REQUIRE((session_.to_send() == expected_words_));
    session_.to_send().clear();
    expected_words_.clear();
  }

  std::mt19937_64 random_;
  std::string said_;
  std::size_t handshake_bytes_ = 0;
  std::deque<saying> script_;
  net::chunk_pool pool_;
  net::publisher_session session_{pool_, "", 2U << 20};
  std::deque<held_message> held_;
  std::string expected_words_;
  std::size_t received_ = 0;
  std::size_t done_ = 0;  ///< of the script
  bool is_open_ = false;
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_session_says_what_its_publisher_said) {
  const std::uint64_t first = setting("KVC_SESSION_SEED", 1);
  const std::uint64_t seeds = setting("KVC_SESSION_SEEDS", 40);
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      life(seed).live();
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test
