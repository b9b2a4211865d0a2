// The frame readers applied to a received message: apart from zmq_frames.cpp, which is pure and knows no socket.
#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "net/live_socket.hpp"
#include "net/zmq_frames.hpp"
#include "net/zmq_socket.hpp"

namespace kvc::net {
namespace {

using frame = std::span<const std::byte>;

constexpr std::size_t most_frames = 5;  // one more than any message of ours has, so that a longer one still shows as one

struct frame_list {
  template <class Message>
  explicit frame_list(const Message& message) : count(std::min(message.size(), most_frames)) {
    for (std::size_t i = 0; i < count; ++i) frames[i] = message.frame(i);
  }
  [[nodiscard]] std::span<const frame> view() const { return std::span(frames).first(count); }

  std::array<frame, most_frames> frames;
  std::size_t count;
};

}  // namespace

result<batch_frames> read_live(const zmq_message& message) {
  return read_live(frame_list(message).view());
}

result<batch_frames> read_live(const live_message& message) {
  return read_live(frame_list(message).view());
}

result<replay_frames> read_replay(const zmq_message& message) {
  return read_replay(frame_list(message).view());
}

result<asked_replay> read_replay_request(const zmq_message& message) {
  return read_replay_request(frame_list(message).view());
}

}  // namespace kvc::net
