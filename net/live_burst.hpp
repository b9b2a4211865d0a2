// Live messages of one stream that came together.
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <span>

#include "net/errc.hpp"
#include "net/live_socket.hpp"
#include "net/zmq_frames.hpp"

namespace kvc::net {

/// Messages in the order they came: first those in hand, which the stream's machine has been told of, then those it will be told of next.
///
/// Why: what is done for a small batch takes more code than a first-level cache of 32 KiB holds, so that a lane which does all of it for
/// one message after the other fetches most of that code anew for each: 615 lines of 64 bytes for the 9,300 instructions of a batch of one
/// block
/// (`valgrind --tool=callgrind --cache-sim=yes`, e7fc3ac). Done step by step for several messages, a step's code is fetched once for all of
/// them, and what one needs from memory is on its way while another is worked on.
///
/// Bounds: `most_messages`; what is here has left the queue of the transport, so no more is taken once there are `enough_bytes`. The
/// payloads stay readable until the message is let go of. Owner: one stream at work; between two uses the lane keeps it (see spare_pool).
class live_burst {
 public:
  static constexpr std::size_t most_messages = 16;
  static constexpr std::size_t enough_bytes = 16'384;  ///< of payloads: by then a batch is more work than its code is to fetch

  struct arrival {
    live_message message;
    error_code failed;                 ///< why there is no batch in it
    batch_frames batch;                ///< reads the message; meaningless when it failed
    bool is_other_connection = false;  ///< than that of the message before it
  };

  live_burst() = default;
  live_burst(const live_burst&) = delete;
  live_burst& operator=(const live_burst&) = delete;

  /// Takes a message from the socket that waits there. False: none does. True for whatever else comes of it: see `arrival::failed`.
  /// Precondition: `has_room`.
  [[nodiscard]] bool receive(live_socket& from);
  /// Takes what else waits there, until there are `most` messages or no room.
  void receive_more(live_socket& from, std::size_t most);
  [[nodiscard]] bool has_room() const noexcept { return end_ < most_messages && bytes_ < enough_bytes; }

  /// How many are in hand, and how many there are.
  [[nodiscard]] std::size_t in_hand() const noexcept { return told_ - first_; }
  [[nodiscard]] std::size_t size() const noexcept { return end_ - first_; }
  /// Counted from the first in hand.
  [[nodiscard]] const arrival& operator[](std::size_t i) const noexcept {
    assert(i < size());
    return all_[first_ + i];
  }
  /// One more is in hand.
  void tell() noexcept {
    assert(told_ < end_);
    ++told_;
  }
  /// Lets go of those in hand.
  void finish() noexcept;
  /// Those that are not in hand were never received.
  void drop_untold() noexcept;
  /// Lets go of all, and of what they take.
  void clear() noexcept;

 private:
  /// As `receive`, but does not tell which connection it came over.
  bool take(live_socket& from);
  /// Tells of the messages from `first_new` on, counted from the beginning of `all_`, which connection they came over.
  void mark(live_socket& from, std::size_t first_new);

  std::array<arrival, most_messages> all_;
  std::size_t first_ = 0;
  std::size_t told_ = 0;
  std::size_t end_ = 0;
  std::size_t bytes_ = 0;  ///< of payloads received since there was nothing
};

}  // namespace kvc::net
