// A client with random requests, which hears strictly what it is answered.
#pragma once

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <ostream>
#include <random>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "tests/net/http_lives_requests.hpp"
#include "tests/support/net/lone_lane.hpp"

namespace kvc::test::http_lives {

/// One message of the server's, as far as it has come.
struct heard {
  unsigned status = 0;
  std::map<std::string, std::string> fields;  ///< names in lower case
  std::string body;
  bool is_whole = false;
  std::size_t bytes = 0;  ///< of all of it, when it is whole
};

/// Strict: what is no HTTP/1.1 as one may write it is a failure of the test. Nothing: the head is not there yet.
inline std::optional<heard> hear(std::string_view text, const expected_answer& to, bool has_ended) {
  const std::size_t end = text.find("\r\n\r\n");
  if (end == std::string_view::npos) return std::nullopt;
  heard got;
  BOOST_TEST_REQUIRE(text.starts_with("HTTP/1.1 "));
  got.status = static_cast<unsigned>(std::stoul(std::string(text.substr(9, 3))));
  std::size_t line = text.find("\r\n") + 2;
  while (line < end + 2) {
    const std::size_t colon = text.find(": ", line);
    const std::size_t stop = text.find("\r\n", line);
    BOOST_TEST_REQUIRE(colon < stop);
    std::string name(text.substr(line, colon - line));
    std::ranges::transform(name, name.begin(), [](unsigned char each) { return static_cast<char>(std::tolower(each)); });
    BOOST_TEST(got.fields.emplace(name, text.substr(colon + 2, stop - colon - 2)).second, name << " comes twice");
    line = stop + 2;
  }
  std::size_t at = end + 4;
  const bool has_length = got.fields.contains("content-length");
  const bool is_chunked = got.fields.contains("transfer-encoding");
  BOOST_TEST(!(has_length && is_chunked));
  if (got.status / 100 == 1 || to.is_bare) {
    got.is_whole = true;
  } else if (is_chunked) {
    BOOST_TEST(!to.is_old, "who knows no chunks gets some");
    for (;;) {
      const std::size_t stop = text.find("\r\n", at);
      if (stop == std::string_view::npos) return got;
      std::size_t size = 0;
      BOOST_TEST_REQUIRE((std::from_chars(text.data() + at, text.data() + stop, size, 16).ptr == text.data() + stop));
      if (stop + 2 + size + 2 > text.size()) {
        got.body += text.substr(stop + 2, size);
        return got;
      }
      got.body += text.substr(stop + 2, size);
      BOOST_TEST_REQUIRE(text.substr(stop + 2 + size, 2) == "\r\n");
      at = stop + 2 + size + 2;
      if (size == 0) break;
    }
    got.is_whole = true;
  } else if (has_length) {
    const std::size_t length = std::stoull(got.fields["content-length"]);
    got.body = text.substr(at, length);
    got.is_whole = got.body.size() == length;
    at += length;
  } else {
    got.body = text.substr(at);
    got.is_whole = has_ended;
    at = text.size();
  }
  got.bytes = at;
  return got;
}

/// How a client leaves, before or behind its answers; `in_a_request`: half closed there.
enum class leaving : std::uint8_t { politely, half_closed, in_a_request, abruptly };

/// A client with a list of requests, which it sends in pieces of any size, and what it should be answered.
class life {
 public:
  life(lone_lane& lane, std::uint64_t seed, bool is_tight) : random_(seed) {
    std::mt19937_64& random = random_;
    const std::uint64_t kind = random() % 8;
    how_ = kind < 4 ? leaving::politely : kind < 6 ? leaving::half_closed : kind < 7 ? leaving::in_a_request : leaving::abruptly;
    piece_ = random() % 3 == 0 ? 1 + random() % 40 : 1 + random() % 40'000;
    taken_at_once_ = random() % 3 == 0 ? 1 + random() % 3'000 : 200'000;
    request_writer writer(random, is_tight);
    for (std::uint64_t i = 1 + random() % 8; i > 0; --i) {
      auto made = writer.next();
      if (made.waits_at != 0) waits_.push_back({text_.size() + made.waits_at, expected_.size()});
      text_ += made.bytes;
      expected_.push_back(std::move(made.answer));
      ends_.push_back(text_.size());
    }
    leaves_at_ = random() % (text_.size() + 1);
    if (how_ != leaving::in_a_request) piece_ = std::max<std::size_t>(piece_, text_.size() / 2'000);
    socket_ = lane.connect(random() % 2 == 0 ? lone_lane::wire::pair : lone_lane::wire::loopback,
                           random() % 2 == 0 ? 0 : static_cast<int>(2'000 + random() % 60'000));
  }
  ~life() { leave(); }
  life(const life&) = delete;
  life& operator=(const life&) = delete;

  /// Sends a piece, unless it waits to be told to. False: there is nothing to send.
  bool speak(bool is_patient) {
    if (socket_ < 0 || is_silent_ || sent_ == text_.size()) return false;
    std::size_t until = std::min(sent_ + 1 + random_() % piece_, text_.size());
    if (is_patient) {
      for (const auto& [at, answer] : waits_) {
        if (at >= sent_ && at < until && answers_ <= answer && goes_ahead_ <= answer) until = at;
      }
    }
    if (how_ == leaving::in_a_request || how_ == leaving::abruptly) until = std::min(until, std::max(leaves_at_, sent_));
    if (until > sent_) {
      const ssize_t done = ::send(socket_, text_.data() + sent_, until - sent_, MSG_NOSIGNAL);
      if (done < 0 && errno != EAGAIN) is_silent_ = was_reset_ = true;  // the server has gone; what it said can still be read
      sent_ += static_cast<std::size_t>(std::max<ssize_t>(done, 0));
      if (done <= 0) return false;
    } else if (how_ != leaving::in_a_request && how_ != leaving::abruptly) {
      return false;
    }
    if (how_ == leaving::abruptly && sent_ >= leaves_at_ && random_() % 4 == 0) reset();
    if (how_ == leaving::in_a_request && sent_ >= leaves_at_) finish();
    if (how_ == leaving::half_closed && sent_ == text_.size()) finish();
    return true;
  }

  /// Takes some of what has come. False: nothing has.
  bool listen() {
    if (socket_ < 0 || has_ended_) return false;
    std::array<char, 65'536> space;
    const ssize_t got = ::recv(socket_, space.data(), std::min(space.size(), taken_at_once_), 0);
    if (got < 0 && errno == EAGAIN) return false;
    if (got <= 0) {
      has_ended_ = true;
      was_reset_ = was_reset_ || got < 0;
    } else {
      received_.append(space.data(), static_cast<std::size_t>(got));
      all_received_ += static_cast<std::size_t>(got);
    }
    understand();
    if (has_ended_) leave();
    return true;
  }

  [[nodiscard]] bool is_over() const { return socket_ < 0; }
  /// All that was sent has been answered, and the connection rests.
  [[nodiscard]] bool is_served() const { return !is_silent_ && sent_ == text_.size() && answers_ == expected_.size() && !is_closing_; }
  void leave() {
    if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  }

  /// After its end. `was_stopped`: the service, at any time.
  void check(bool was_stopped) const {
    BOOST_TEST(!has_failed_);
    if (how_ == leaving::abruptly || was_stopped) return;
    std::size_t asked = 0;
    while (asked < ends_.size() && ends_[asked] <= sent_) ++asked;
    std::size_t owed = 0;
    bool does_close = false;
    for (; owed < asked && !does_close; ++owed) does_close = expected_[owed].closes;
    // Who goes on behind the request that was to be the last may be told so with a reset, which costs what it has not taken.
    if (was_reset_ && does_close && !expected_[owed - 1].is_refusal && sent_ > ends_[owed - 1]) return;
    BOOST_TEST(!is_cut_unasked_);
    // What is at fault early, or is refused by its head, need not have been sent to its end.
    if (!does_close && owed < expected_.size() && answers_ == owed + 1) return;
    BOOST_TEST((answers_ == owed || (has_lacked_room_ && answers_ < owed)),
               "asked " << asked << ", owed " << owed << ", answered " << answers_ << (was_reset_ ? ", reset" : "") << ", of:\n"
                        << text_.substr(answers_ == 0 ? 0 : ends_[answers_ - 1], 200));
    BOOST_TEST(received_.empty(), "more than was asked for: " << received_.substr(0, 200));
    BOOST_TEST((!is_closing_ || has_ended_));
  }

  [[nodiscard]] std::size_t sent() const { return sent_; }
  [[nodiscard]] std::size_t answers() const { return answers_; }
  [[nodiscard]] std::size_t all_received() const { return all_received_; }
  [[nodiscard]] std::size_t times_ahead() const { return times_ahead_; }
  [[nodiscard]] bool has_heard_all() const { return how_ != leaving::abruptly && has_ended_ && !was_reset_; }
  void say(std::ostream& out) const {
    out << "  " << (socket_ < 0 ? "gone" : "there") << ", leaves " << static_cast<int>(how_) << ", sent " << sent_ << "/" << text_.size()
        << ", answers " << answers_ << "/" << expected_.size() << (is_closing_ ? ", closing" : "") << (has_ended_ ? ", ended" : "")
        << (is_silent_ ? ", silent" : "") << ", unread " << received_.size() << "\n";
  }

 private:
  void finish() {
    if (!is_silent_) ::shutdown(socket_, SHUT_WR);
    is_silent_ = true;
  }
  void reset() {
    const linger at_once{1, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    leave();
  }

  void understand() {
    while (!is_closing_ && answers_ < expected_.size()) {
      const expected_answer& to = expected_[answers_];
      const std::optional<heard> got = hear(received_, to, has_ended_);
      if (!got) return;
      if (got->status == 100) {
        if (!to.may_go_ahead || goes_ahead_ > answers_) complain(*got, "goes ahead unasked");
        goes_ahead_ = answers_ + 1;
        ++times_ahead_;
        received_.erase(0, got->bytes);
        continue;
      }
      if (!got->is_whole && !has_ended_) return;
      take(*got, to);
    }
  }

  void take(const heard& got, const expected_answer& to) {
    const bool lacks_room = got.status == 503 && (to.may_lack_room || to.takes_budget);
    has_lacked_room_ = has_lacked_room_ || lacks_room;
    const bool says_close = got.fields.contains("connection") && got.fields.at("connection") == "close";
    if (!lacks_room && std::ranges::count(to.statuses, got.status) == 0) complain(got, "another status");
    if (!got.fields.contains("date") || !got.fields.contains("content-type")) complain(got, "a field is missing");
    const bool is_until_end = !got.fields.contains("content-length") && !got.fields.contains("transfer-encoding") && !to.is_bare;
    if (is_until_end && !to.is_old) complain(got, "no length");
    if (!got.is_whole || (to.is_cut && !lacks_room)) {
      // Cut short, by the source of the body, or by a stop, which is nobody's to tell here.
      if (got.is_whole && !is_until_end) complain(got, "whole, though its source has failed");
      if (to.body && !to.body->starts_with(got.body) && got.status == 200) complain(got, "another beginning");
      is_cut_ = true;
      is_cut_unasked_ = !to.is_cut;
    } else if (to.body && !lacks_room && !to.is_bare && got.body != *to.body) {
      complain(got, "another body");
    } else if (to.is_bare && to.body && !lacks_room && got.fields.contains("content-length") &&
               got.fields.at("content-length") != std::to_string(to.body->size())) {
      complain(got, "another length");
    }
    if (to.closes && !says_close && !to.is_cut && !lacks_room) complain(got, "does not say that it closes");
    is_closing_ = says_close || is_cut_;
    received_.erase(0, got.is_whole ? got.bytes : received_.size());
    ++answers_;
  }

  void complain(const heard& got, std::string_view how) {
    has_failed_ = true;
    const std::size_t begin = answers_ == 0 ? 0 : ends_[answers_ - 1];
    BOOST_TEST_MESSAGE(how << ": " << got.status << " " << got.body.substr(0, 100) << "\nto:\n" << text_.substr(begin, 300));
  }

  std::mt19937_64 random_;
  leaving how_ = leaving::politely;
  std::string text_;
  std::vector<expected_answer> expected_;
  std::vector<std::size_t> ends_;                           ///< of the requests, in `text_`
  std::vector<std::pair<std::size_t, std::size_t>> waits_;  ///< where, and for which answer
  std::size_t piece_ = 1;
  std::size_t taken_at_once_ = 1;
  std::size_t leaves_at_ = 0;
  int socket_ = -1;
  std::size_t sent_ = 0;
  bool is_silent_ = false;
  std::string received_;
  std::size_t all_received_ = 0;
  std::size_t answers_ = 0;
  std::size_t goes_ahead_ = 0;  ///< one more than the last answer before which 100 came
  std::size_t times_ahead_ = 0;
  bool is_closing_ = false;  ///< the server has said so
  bool is_cut_ = false;
  bool is_cut_unasked_ = false;
  bool has_lacked_room_ = false;
  bool has_ended_ = false;
  bool was_reset_ = false;
  bool has_failed_ = false;
};

}  // namespace kvc::test::http_lives
