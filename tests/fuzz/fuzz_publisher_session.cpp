// What a publisher says over one connection, heard as a whole and in pieces: both times it is the same. Input: a byte that chooses the
// pieces, and what is said.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "net/publisher_session.hpp"
#include "tests/support/fuzz_require.hpp"

namespace {

using namespace kvc::net;
using kvc::fuzz::require;
using step = publisher_session::step;
using bytes = std::span<const std::byte>;

constexpr std::uint64_t max_frame_bytes = 600;
constexpr std::size_t most_held = 20;

/// All that a session made of what it heard.
struct heard {
  std::vector<std::pair<step, std::vector<std::string>>> steps;  ///< and the frames of messages
  std::string words;                                             ///< up to the end of the handshake
  std::string later_words;
  errc fault = errc::not_understood;
  std::size_t frame_bytes = 0;
  bool is_over = false;

  bool operator==(const heard&) const = default;
};

class listener {
 public:
  /// `garbage` is what lies behind what has been received.
  explicit listener(int garbage) : garbage_(garbage) {}

  void receive(bytes said) {
    while (!said.empty()) {
      const std::span<std::byte> room = session_.room();
      require(!room.empty(), "there is room");
      require(room.size() <= chunk_pool::usual_bytes, "no more is made room for than there can be of a message");
      const std::size_t count = std::min(room.size(), said.size());
      std::memcpy(room.data(), said.data(), count);
      std::memset(room.data() + count, garbage_, std::min<std::size_t>(room.size() - count, 64));
      session_.took(count);
      said = said.subspan(count);
    }
  }

  void ask() {
    while (!told_.is_over) {
      publisher_message got;
      const step next = session_.next(got);
      require((next == step::message) == (got.size() != 0), "messages have frames, and nothing else has");
      if (next == step::starved) return;
      told_.is_over = next == step::older || next == step::broken;
      if (next == step::broken) told_.fault = session_.fault();
      std::vector<std::string>& frames = told_.steps.emplace_back(next, std::vector<std::string>()).second;
      for (std::size_t i = 0; i < got.size(); ++i) {
        frames.emplace_back(reinterpret_cast<const char*>(got.frame(i).data()), got.frame(i).size());
        require(frames.back().size() <= max_frame_bytes, "a longer frame is not heard");
        told_.frame_bytes += frames.back().size();
      }
      if (next == step::agreed) told_.words = std::exchange(session_.to_send(), {});
      if (next == step::message) hold(std::move(got));
    }
  }
  void rest() { session_.rest(); }

  /// When all has been heard.
  const heard& told() {
    (told_.words.empty() ? told_.words : told_.later_words) = session_.to_send();
    for (const auto& [message, place] : held_) {
      const std::vector<std::string>& frames = told_.steps[place].second;
      for (std::size_t i = 0; i < message.size(); ++i) {
        require(std::memcmp(message.frame(i).data(), frames[i].data(), frames[i].size()) == 0, "a message stays what it was");
      }
    }
    return told_;
  }

 private:
  void hold(publisher_message message) {
    if (held_.size() < most_held) held_.emplace_back(std::move(message), told_.steps.size() - 1);
  }

  int garbage_;
  chunk_pool pool_;
  publisher_session session_{pool_, "kv", max_frame_bytes};
  heard told_;
  std::vector<std::pair<publisher_message, std::size_t>> held_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const bytes said = std::as_bytes(std::span(data, size)).subspan(1);
  listener whole(0);
  whole.receive(said);
  whole.ask();

  listener cut(0xff);
  std::minstd_rand random(1U + data[0]);
  const std::size_t longest = std::size_t{1} << (data[0] % 8);
  for (bytes left = said; !left.empty();) {
    const std::size_t count = std::min<std::size_t>(1 + random() % longest, left.size());
    cut.receive(left.first(count));
    left = left.subspan(count);
    if (random() % 4 != 0) cut.ask();
    if (random() % 4 == 0) cut.rest();
  }
  cut.ask();

  const heard& told = whole.told();
  require(told == cut.told(), "what is heard does not depend on the pieces it comes in");
  require(told.frame_bytes <= said.size(), "nothing is heard that was not said");
  return 0;
}
