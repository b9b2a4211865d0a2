// One message's MessagePack payload to a batch of domain events, whatever dialect its publisher speaks. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/event.hpp"
#include "core/medium.hpp"
#include "core/registration.hpp"
#include "net/errc.hpp"
#include "net/extra_keys.hpp"
#include "net/msgpack_tape.hpp"
#include "net/tape_value.hpp"

namespace kvc::net {

/// Bounds of one payload. (Source: kv-events.md section 10, case 27; the largest engine batches stay far below.)
inline constexpr std::size_t max_batch_events = 65'536;
inline constexpr std::size_t max_event_hashes = 65'536;
inline constexpr std::size_t max_event_tokens = 1'048'576;

/// Why an event was left out of a good batch. `none` is not counted.
enum class reject_reason : std::uint8_t {
  none,
  not_an_event,       ///< neither array nor map, or without a tag
  unknown_tag,        ///< a tag or event type no publisher is known to send
  missing_field,      ///< the event names no blocks
  wrong_type,         ///< a field is of a type or sign it cannot have
  bad_token,          ///< a token is no integer in 0 .. 2^32-1
  too_many_elements,  ///< over `max_event_hashes` or `max_event_tokens`
  repeated_hash,      ///< a chain that names a block twice
  own_parent,         ///< a chain whose parent is one of its own blocks
  remote,             ///< about blocks that are not in this instance's own cache
};
inline constexpr std::size_t reject_reason_count = 10;

/// A word for metrics and logs.
[[nodiscard]] std::string_view to_string(reject_reason reason) noexcept;

/// How many events a decoder has left out, by reason, since it was made.
struct decode_counts {
  std::array<std::uint64_t, reject_reason_count> rejected{};  ///< indexed by `reject_reason`; index 0 stays 0
};

/// What the readers of the dialects share while a batch is decoded.
struct decode_context {
  core::medium_table* media = nullptr;
  core::publisher_type type = core::publisher_type::automatic;
  std::string_view salt;                  ///< the registration's; its key-list entry is left out
  std::vector<core::engine_hash> sorted;  ///< scratch
  std::vector<extra_key> keys;            ///< scratch
};

/// Decodes the payloads of one stream.
///
/// Each event is read for what it is, not for what its publisher is registered as: an array is vLLM's positional form (also SGLang's), a
/// map with `event_type` is the standard envelope, a map with `type` is the tagged form; all may stand in one batch, because fleets and
/// even single streams mix them. The batch is `[ts, events, rank]`, shorter or longer, or a map of the same, or a single bare event map. A
/// bad event is left out, counted, and costs its neighbours nothing. Owner: one stream, on its lane. The tape is kept between batches.
class event_decoder {
 public:
  /// `media` must outlive the decoder. `type` only settles what the bytes cannot say: whether hashes are the standard's. `salt` is the
  /// registration's, see `extra_key_filter`.
  event_decoder(core::publisher_type type, core::medium_table& media, std::string salt = {});

  /// Fills `out` anew; on error it is left empty. The payload is not needed afterwards.
  /// Errors: those of `msgpack_tape::parse`, `not_a_batch`, `too_many_elements`.
  [[nodiscard]] error_code decode(std::span<const std::byte> payload, core::event_batch& out);

  [[nodiscard]] const decode_counts& counts() const noexcept { return counts_; }

 private:
  [[nodiscard]] error_code decode_envelope(tape_value root, core::event_batch& out);
  [[nodiscard]] error_code decode_events(tape_value events, core::event_batch& out);
  [[nodiscard]] reject_reason decode_event(tape_value from, core::event_batch& out);
  void note(reject_reason why, core::event_batch& out);

  core::publisher_type type_;
  core::medium_table* media_;
  std::string salt_;
  decode_context context_;
  msgpack_tape tape_;
  decode_counts counts_;
};

}  // namespace kvc::net
