// One message of a publisher, as it came over a connection of ours.
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>

#include "net/receive_chunk.hpp"

namespace kvc::net {

/// The frames lie in a chunk that the message has a share in. Reuse one object for many receptions; frame views are valid until the next
/// one, or `clear`. Lane: the chunk's.
class publisher_message {
 public:
  static constexpr std::size_t most_frames = 3;  ///< topic, number, payload

  [[nodiscard]] std::size_t size() const noexcept { return count_; }  ///< number of frames
  [[nodiscard]] std::span<const std::byte> frame(std::size_t index) const noexcept {
    assert(index < count_);
    return frames_[index];
  }
  /// Of which connection, counted from 1 on: another number, another connection.
  [[nodiscard]] std::uint64_t connection() const noexcept { return connection_; }
  void clear() noexcept {
    count_ = 0;
    memory_.reset();
  }

 private:
  friend class publisher_session;
  friend class publisher_link;

  std::array<std::span<const std::byte>, most_frames> frames_;
  std::size_t count_ = 0;
  std::uint64_t connection_ = 0;
  chunk_share memory_;
};

}  // namespace kvc::net
