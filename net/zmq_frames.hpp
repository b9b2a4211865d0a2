// The frames of live and replayed messages: topic, seqno, payload, and the marker that ends a replay. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/ids.hpp"
#include "net/errc.hpp"

namespace kvc::net {

class live_message;
class zmq_message;

/// One batch as it travels. The views live as long as the frames they were read from.
struct batch_frames {
  std::string_view topic;
  core::seqno number{};
  std::span<const std::byte> payload;
};

/// A reply of a replay: a batch, or the news that there are no more.
struct replay_frames {
  bool is_end = false;
  batch_frames batch;  ///< meaningless when `is_end`
};

/// The sequence number that means "no more"; never the number of a batch. (Source: kv-events.md section 7.)
inline constexpr std::uint64_t end_of_replay = ~std::uint64_t{0};

/// Reads a live message: exactly topic, 8 bytes of big-endian seqno, payload.
/// Errors: `bad_frame_count`; `bad_seqno_frame`, also for the number that means "no more".
[[nodiscard]] result<batch_frames> read_live(std::span<const std::span<const std::byte>> frames);
[[nodiscard]] result<batch_frames> read_live(const zmq_message& message);
[[nodiscard]] result<batch_frames> read_live(const live_message& message);

/// Reads a reply as a dealer receives it, from the back, because publishers differ in front: `"", seqno, payload` or
/// `"", topic, seqno, payload`, with the end marker in either of the last two frames. (Source: kv-events.md section 7.)
/// Errors: `bad_frame_count`, `bad_seqno_frame`.
[[nodiscard]] result<replay_frames> read_replay(std::span<const std::span<const std::byte>> frames);
[[nodiscard]] result<replay_frames> read_replay(const zmq_message& message);

/// A seqno as its frame: 8 bytes, big-endian.
class seqno_frame {
 public:
  explicit seqno_frame(core::seqno number) noexcept;
  [[nodiscard]] std::string_view view() const noexcept { return {bytes_.data(), bytes_.size()}; }

 private:
  std::array<char, 8> bytes_;
};

/// The request "replay from this seqno" as a dealer must send it: publishers silently drop it without the empty frame.
class replay_request {
 public:
  explicit replay_request(core::seqno first) noexcept : number_(first) {}
  /// The frames; they live as long as this object stays where it is.
  [[nodiscard]] std::array<std::string_view, 2> frames() const noexcept { return {std::string_view(), number_.view()}; }

 private:
  seqno_frame number_;
};

/// Such a request as the router of a publisher receives it: who asks comes first. The view lives as long as its frame.
struct asked_replay {
  std::string_view asker;
  core::seqno first{};
};

/// Reads it; for publishers of ours, which tests and load have. Errors: `bad_frame_count`, `bad_seqno_frame`.
[[nodiscard]] result<asked_replay> read_replay_request(std::span<const std::span<const std::byte>> frames);
[[nodiscard]] result<asked_replay> read_replay_request(const zmq_message& message);

}  // namespace kvc::net
