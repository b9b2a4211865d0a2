// Every allocation of what listens to a publisher fails in turn: what could not be done has not happened, and is done when it is tried
// again.
#include <algorithm>
#include <cstddef>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <boost/test/unit_test.hpp>

#include "net/publisher_session.hpp"
#include "tests/allocation/watched_heap.hpp"
#include "tests/support/net/zmtp_words.hpp"

namespace kvc::test {
BOOST_AUTO_TEST_SUITE(failed_sessions)

namespace {

namespace words = zmtp_words;
using step = net::publisher_session::step;

/// A connection on which the allocation of this number, counted from 0 on, fails.
class short_session {
 public:
  /// `takes_words`: what is to be sent is sent at once, and not at the end.
  short_session(long failing, bool takes_words) : left_(failing), takes_words_(takes_words) {}

  /// What it says and what it hears.
  std::string live() {
    attempt([&] { session_.emplace(pool_, std::string(1'000, 'p'), 2U << 20); });
    hear(words::greeting());
    if (takes_words_) say();
    hear(words::ready());
    hear(words::message({"topic", "12345678", std::string(200'000, 'm')}));
    hear(words::message({"kept"}));
    hear(words::message({"topic", "12345678", std::string(1'500'000, 'l')}));
    if (takes_words_) say();
    hear(words::ping("sixteen bytes!!!") + words::message({"a", "b", "c", "d"}) + words::message({"after"}));
    say();
    return told_;
  }
  [[nodiscard]] bool has_failed() const { return left_ < 0; }

 private:
  /// Until it can be done.
  template <class Work>
  void attempt(Work work) {
    for (;;) {
      watched_heap::before_failure = left_;
      bool is_done = true;
      try {
        work();
      } catch (const std::bad_alloc&) {
        is_done = false;
      }
      left_ = watched_heap::before_failure;
      watched_heap::before_failure = -1;
      if (is_done) return;
    }
  }
  void hear(const std::string& said) {
    for (std::string_view left = said; !left.empty();) {
      std::span<std::byte> room;
      attempt([&] { room = session_->room(); });
      const std::size_t count = std::min({room.size(), left.size(), std::size_t{50'000}});
      std::ranges::copy(words::bytes_of(left.substr(0, count)), room.begin());
      session_->took(count);
      left.remove_prefix(count);
      ask();
      attempt([&] { session_->rest(); });
    }
  }
  void ask() {
    for (step done = step::agreed; done != step::starved;) {
      attempt([&] { done = session_->next(got_); });
      if (done == step::starved) return;
      BOOST_TEST_REQUIRE((done != step::broken && done != step::older));
      told_ += done == step::agreed ? "agreed " : done == step::misshapen ? "misshapen " : "message ";
      for (std::size_t i = 0; i < got_.size(); ++i) told_.append(words::text_of(got_.frame(i))) += ' ';
      if (got_.size() == 1) kept_ = got_;
    }
  }
  void say() {
    told_ += "says " + session_->to_send();
    session_->to_send() = std::string();  // the next words need memory of their own
  }

  long left_;
  bool takes_words_;
  std::string told_;
  net::chunk_pool pool_;
  std::optional<net::publisher_session> session_;
  net::publisher_message got_;
  net::publisher_message kept_;
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_connection_goes_on_as_if_memory_had_never_been_short) {
  for (const bool takes_words : {true, false}) {
    const std::string expected = short_session(-1, takes_words).live();
    long number = 0;
    for (bool has_failed = true; has_failed; ++number) {
      short_session one(number, takes_words);
      BOOST_TEST((one.live() == expected), "allocation " << number);
      has_failed = one.has_failed();
    }
    BOOST_TEST(number > 5);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kvc::test
