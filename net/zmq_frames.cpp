#include "net/zmq_frames.hpp"

namespace kvc::net {
namespace {

using frame = std::span<const std::byte>;

constexpr std::size_t live_frames = 3;
constexpr std::size_t most_replay_frames = 4;
constexpr std::size_t request_frames = 3;
constexpr std::size_t seqno_bytes = 8;

std::uint64_t read_big_endian(frame bytes) {
  std::uint64_t value = 0;
  for (const std::byte byte : bytes) value = value << 8 | std::to_integer<std::uint64_t>(byte);
  return value;
}

std::string_view text(frame bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool is_end_marker(frame bytes) {
  return bytes.size() == seqno_bytes && read_big_endian(bytes) == end_of_replay;
}

}  // namespace

result<batch_frames> read_live(std::span<const frame> frames) {
  if (frames.size() != live_frames) return errc::bad_frame_count;
  if (frames[1].size() != seqno_bytes || is_end_marker(frames[1])) return errc::bad_seqno_frame;
  return batch_frames{text(frames[0]), core::seqno{read_big_endian(frames[1])}, frames[2]};
}

result<replay_frames> read_replay(std::span<const frame> frames) {
  if (frames.size() < live_frames || frames.size() > most_replay_frames) return errc::bad_frame_count;
  const frame last = frames[frames.size() - 1];
  const frame before = frames[frames.size() - 2];
  replay_frames reply;
  reply.is_end = is_end_marker(before) || (before.empty() && is_end_marker(last));
  if (reply.is_end) return reply;
  if (before.size() != seqno_bytes) return errc::bad_seqno_frame;
  if (frames.size() == most_replay_frames) reply.batch.topic = text(frames[1]);
  reply.batch.number = core::seqno{read_big_endian(before)};
  reply.batch.payload = last;
  return reply;
}

result<asked_replay> read_replay_request(std::span<const frame> frames) {
  if (frames.size() != request_frames) return errc::bad_frame_count;
  if (frames[2].size() != seqno_bytes) return errc::bad_seqno_frame;
  return asked_replay{text(frames[0]), core::seqno{read_big_endian(frames[2])}};
}

seqno_frame::seqno_frame(core::seqno number) noexcept : bytes_{} {
  std::uint64_t rest = number.get();
  for (std::size_t i = seqno_bytes; i-- > 0; rest >>= 8) bytes_[i] = static_cast<char>(rest & 0xff);
}

}  // namespace kvc::net
