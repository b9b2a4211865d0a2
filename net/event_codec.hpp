// One message's MessagePack payload to a batch of domain events, whatever dialect its publisher speaks. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/block_hasher.hpp"
#include "core/digest_names.hpp"
#include "core/event.hpp"
#include "core/medium.hpp"
#include "core/registration.hpp"
#include "net/content_names.hpp"
#include "net/errc.hpp"
#include "net/extra_keys.hpp"
#include "net/field_memory.hpp"
#include "net/msgpack_tape.hpp"
#include "net/spare_lists.hpp"
#include "net/tape_value.hpp"

namespace kvc::net {

/// Bounds of one payload. (Source: kv-events.md section 10, case 27, which leaves the number of events open: SGLang with pages of one token
/// has an event for each page, so that a prompt of 128 Ki tokens that comes in one step, where as many others make room for it, is a batch
/// of 262,144.)
inline constexpr std::size_t max_batch_events = 262'144;
inline constexpr std::size_t max_event_hashes = 65'536;
inline constexpr std::size_t max_event_tokens = 1'048'576;

inline constexpr std::size_t max_object_key_bytes = 4'096;
inline constexpr std::size_t max_object_replicas = 1'024;

using core::reject_reason;
using core::reject_reason_count;

/// How many events a decoder has left out, by reason, since it was made.
struct decode_counts {
  std::array<std::uint64_t, reject_reason_count> rejected{};  ///< indexed by `reject_reason`; index 0 stays 0
};

/// What the readers of the dialects share while a batch is decoded.
struct decode_context {
  core::medium_table* media = nullptr;
  core::digest_names* digests = nullptr;
  core::batch_counts* counts = nullptr;  ///< of the batch being decoded
  core::publisher_type type = core::publisher_type::automatic;
  std::string_view salt;                    ///< the registration's; its key-list entry is left out
  bool has_adapter = false;                 ///< the registration names one, which a mere number does not replace
  std::vector<core::engine_hash> sorted;    ///< scratch
  std::vector<extra_key> keys;              ///< scratch
  std::string last_medium;                  ///< the word that came last, if publishers are known to use it; empty: none
  core::medium_id last_medium_id{};         ///< what it means
  spare_lists* spare = nullptr;             ///< null: every list is a new one
  field_memory fields;                      ///< what plain events said lately
  std::optional<core::hash_recipe> recipe;  ///< how tokens of plain events become hashes at once; absent: they stay tokens
};

struct event_fields;

/// Decodes the payloads of one stream.
///
/// Each event is read for what it is, not for what its publisher is registered as, and one file knows each form: an array by its tag
/// (vLLM's positions, which SGLang shares, or the first store format), a map with `event_type` (the standard envelope, or a store's), a map
/// with `type` (engines). All may stand in one batch, because fleets and even single streams mix them and change in the middle. The batch
/// is
/// `[ts, events, rank]`, shorter or longer, or a map of the same, or a single bare event map. A bad event is left out, counted, and costs
/// its neighbours nothing; members and words nobody knows are counted by name in the batch and skipped. Removals that follow each other and
/// differ in their names only become one event (`joined_removals`). Batches as engines write them nearly always are read without a tape
/// (`plain_events`), with the same result. Where names are made of a page's tokens alone, a page behind its equal bears its parent's name:
/// it is left out, and from then on what is told behind that name, which may stand behind either, and what is told behind that, until
/// everything is cleared: else a prompt would seem to be cached that is not. Owner: one stream, on its lane. The tape is kept between
/// batches.
class event_decoder {
 public:
  /// `media` must outlive the decoder. `type` only settles what the bytes cannot say: whether hashes are the standard's, and under whose
  /// name an event is counted. `salt` is the registration's, see `extra_key_filter`. `spare`, if any, outlives the decoder: lists are taken
  /// from there, and given back by whoever is done with the events. `has_adapter`: the registration names an adapter.
  event_decoder(core::publisher_type type, core::medium_table& media, std::string salt = {}, spare_lists* spare = nullptr,
                bool has_adapter = false);

  /// Fills `out` anew; on error it is left empty. The payload is not needed afterwards.
  /// Errors: those of `msgpack_tape::parse`, `not_a_batch`, `too_many_elements`.
  [[nodiscard]] error_code decode(std::span<const std::byte> payload, core::event_batch& out);

  /// The same without the short way for plain batches: what that is tested against.
  [[nodiscard]] error_code decode_by_tape(std::span<const std::byte> payload, core::event_batch& out);

  /// From now on stores get `stored_event::locals` in place of their tokens, by this recipe, until one comes that it does not cover, of
  /// another block size for instance, or a batch that is not plain: from there on all keep their tokens, until this is called again, since
  /// those behind may need theirs. Absent, as at first: all do.
  void hash_by(const std::optional<core::hash_recipe>& recipe) noexcept { context_.recipe = recipe; }

  /// What comes is of another publisher, or of another life of this one: which of its names mean two pages is learned anew.
  void begin_anew() noexcept { ambiguous_.clear(); }

  [[nodiscard]] const decode_counts& counts() const noexcept { return counts_; }

 private:
  void begin(core::event_batch& out);
  [[nodiscard]] bool decode_plain(std::span<const std::byte> payload, core::event_batch& out);
  [[nodiscard]] error_code decode_envelope(tape_value root, core::event_batch& out);
  [[nodiscard]] error_code decode_events(tape_value events, core::event_batch& out);
  [[nodiscard]] reject_reason decode_event(tape_value from, core::event_batch& out);
  [[nodiscard]] reject_reason check_place(reject_reason why, const event_fields& fields, core::event_batch& out);
  void forget(core::event_batch& out) const;
  void note(reject_reason why, core::event_batch& out);

  core::publisher_type type_;
  core::medium_table* media_;
  std::string salt_;
  core::digest_names digests_;
  decode_context context_;
  ambiguous_names ambiguous_;
  msgpack_tape tape_;
  decode_counts counts_;
  std::uint32_t plain_pause_ = 0;  ///< batches for which the short way is not tried after it has led nowhere
  std::uint32_t plain_wait_ = 0;   ///< of these, how many are still to come
};

}  // namespace kvc::net
