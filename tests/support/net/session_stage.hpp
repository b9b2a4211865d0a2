// A session that hears what a test has written, and what it has made of it as one line.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "net/publisher_session.hpp"
#include "tests/support/net/zmtp_words.hpp"

namespace kvc::test {

struct session_stage {
  net::chunk_pool pool;
  net::publisher_session session;
  net::publisher_message got;   ///< the last one
  std::size_t widest_room = 0;  ///< that has been offered
  std::size_t narrowest_room = std::string_view::npos;
  std::size_t moves = 0;  ///< how often room was not behind what came before

  session_stage(std::string_view prefix, std::uint64_t max_frame_bytes) : session(pool, prefix, max_frame_bytes) {}
  session_stage(const session_stage&) = delete;
  session_stage& operator=(const session_stage&) = delete;

  /// As much as there is room for, at once. Returns what is left.
  [[nodiscard]] std::string_view receive(std::string_view said) {
    const std::span<std::byte> room = session.room();
    widest_room = std::max(widest_room, room.size());
    narrowest_room = std::min(narrowest_room, room.size());
    moves += room.data() == next_ ? 0 : 1;
    const std::size_t count = std::min(room.size(), said.size());
    std::memcpy(room.data(), said.data(), count);
    session.took(count);
    next_ = room.data() + count;
    return said.substr(count);
  }

  /// All of it, in pieces of at most so many bytes; after each, asks for what there is. See `ask`.
  std::string hear(std::string_view said, std::size_t most_at_once = std::string_view::npos) {
    std::string heard = ask();
    while (!said.empty()) {
      const std::string_view piece = said.substr(0, most_at_once);
      said.remove_prefix(piece.size() - receive(piece).size());
      add(heard, ask());
    }
    return heard;
  }

  /// Every step there is before it is starved or over: frames of messages stand between bars, and a lone empty one is written <>.
  std::string ask() {
    using step = net::publisher_session::step;
    std::string heard;
    for (;;) {
      switch (session.next(got)) {
        case step::starved: return heard;
        case step::agreed: add(heard, "agreed"); break;
        case step::message: add(heard, text()); break;
        case step::misshapen: add(heard, "misshapen"); break;
        case step::older: return add(heard, "older");
        case step::broken: return add(heard, session.fault() == net::errc::message_too_large ? "too large" : "not understood");
      }
    }
  }

  /// Of the message in hand.
  [[nodiscard]] std::string text() const {
    std::string all;
    for (std::size_t i = 0; i < got.size(); ++i) all.append(i == 0 ? "" : "|").append(zmtp_words::text_of(got.frame(i)));
    return all.empty() ? "<>" : all;
  }

  /// What the peer is told, which it is now.
  std::string sent() { return std::exchange(session.to_send(), {}); }

 private:
  static std::string& add(std::string& to, std::string_view more) {
    if (!to.empty() && !more.empty()) to += ' ';
    return to += more;
  }

  const std::byte* next_ = nullptr;
};

}  // namespace kvc::test
