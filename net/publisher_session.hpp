// What a publisher says over one connection, from its greeting on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "net/errc.hpp"
#include "net/publisher_message.hpp"
#include "net/receive_chunk.hpp"
#include "net/zmtp_codec.hpp"

namespace kvc::net {

/// Bytes in, messages and answers out.
///
/// Story: whoever has the connection receives into `room`, says how much it was (`took`), and asks for the `next` until it is starved;
/// what is to be sent meanwhile gathers in `to_send`. Messages are not copied: they lie where they were received. A message that is longer
/// than what is there is received to its end and no further, so that behind it the memory is free to be used from its beginning again, as
/// long as nobody has a share in it. Bounds: a frame of `max_frame_bytes`, a message of 64 KiB more; memory grows as bytes come, not as
/// they are announced. Pure but for memory. Lane: the pool's.
class publisher_session {
 public:
  /// `prefix`: of the topics to be subscribed to. The pool outlives the session. Throws std::bad_alloc.
  publisher_session(chunk_pool& pool, std::string_view prefix, std::uint64_t max_frame_bytes);

  enum class step : std::uint8_t {
    starved,  ///< there is no more before something is received
    agreed,   ///< the handshake is done; once
    message,
    misshapen,  ///< a message with more frames than any has: it has passed
    older,      ///< the peer speaks an older version, which this does not
    broken,     ///< the peer does not keep to the protocol, see `fault`; nothing can follow
  };
  /// `into` is filled when there is a message, and empty otherwise. Throws std::bad_alloc: nothing has happened then.
  [[nodiscard]] step next(publisher_message& into);
  /// Of what is broken: `message_too_large`, or `not_understood`.
  [[nodiscard]] errc fault() const noexcept { return fault_; }

  /// Where to receive to, one byte at least; to be asked anew each time. Throws std::bad_alloc.
  [[nodiscard]] std::span<std::byte> room();
  /// So many bytes were received into `room`.
  void took(std::size_t bytes) noexcept { end_ += bytes; }

  /// What the peer is to be told, in this order; to be cleared by whoever has sent it.
  [[nodiscard]] std::string& to_send() noexcept { return to_send_; }

  /// It may be long until something comes: holds no memory when nothing is there, and little more than the bytes of a beginning of up to 16
  /// KiB; a longer one stays where it is.
  void rest() noexcept;

 private:
  enum class phase : std::uint8_t { greeting, shaking, open };

  [[nodiscard]] std::size_t held() const noexcept { return end_ - begin_; }
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {memory_.data() + begin_, held()}; }
  [[nodiscard]] step starve(std::size_t needed) noexcept {
    needed_ = needed;
    return step::starved;
  }
  [[nodiscard]] step break_off(errc why) noexcept {
    fault_ = why;
    return step::broken;
  }
  [[nodiscard]] step greet();
  [[nodiscard]] step shake();
  [[nodiscard]] step read(publisher_message& into);
  [[nodiscard]] step skip() noexcept;
  void obey(std::span<const std::byte> body);
  /// Goes on in memory with room for `bytes` from `begin_` on.
  void move(std::size_t bytes);

  chunk_pool* pool_;
  std::uint64_t max_frame_bytes_;
  std::string to_send_;
  std::string prefix_;
  chunk_share memory_;
  std::size_t begin_ = 0;                      ///< what is not understood yet
  std::size_t end_ = 0;                        ///< what has been received
  std::size_t needed_ = zmtp::greeting_bytes;  ///< from `begin_` on, before there can be more
  std::uint64_t left_to_skip_ = 0;             ///< of a frame of a misshapen message
  bool is_skipping_ = false;
  bool skips_more_ = false;  ///< frames follow
  phase phase_ = phase::greeting;
  errc fault_ = errc::not_understood;
};

}  // namespace kvc::net
