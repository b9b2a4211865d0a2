// What a batch turned out to contain: events by dialect and kind, what was left out and why, and words nobody has told us about.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kvc::core {

/// The layout an event was written in, as far as its bytes (and, where they are silent, its registration) tell.
enum class event_dialect : std::uint8_t {
  vllm_array,    ///< positional, any generation
  vllm_map,      ///< tagged with `type`; LMCache's and other connectors' events ride in these two
  sglang_array,  ///< vLLM's positions, and a salt where vLLM has its adapter
  sglang_map,
  tensorrt_llm,    ///< tagged maps, native and relayed
  standard,        ///< the envelope with `event_type`
  mooncake_array,  ///< the first store format: `BlockStoreEvent` and its like
  mooncake_map,    ///< a store's envelope: object keys, hashes of connectors
};
inline constexpr std::size_t event_dialect_count = 8;

/// What an event says. The values are the indices of `core::event`.
enum class event_kind : std::uint8_t { stored, removed, cleared, object };
inline constexpr std::size_t event_kind_count = 4;

/// Why an event was left out of a good batch. `none` is not counted.
enum class reject_reason : std::uint8_t {
  none,
  not_an_event,       ///< neither array nor map, or without a tag
  unknown_tag,        ///< a tag or event type no publisher is known to send
  missing_field,      ///< the event names no blocks
  wrong_type,         ///< a field is of a type or sign it cannot have
  bad_token,          ///< a token is no integer in 0 .. 2^32-1
  too_many_elements,  ///< over one of the bounds of an event
  repeated_hash,      ///< a chain that names a block twice
  own_parent,         ///< a chain whose parent is one of its own blocks, or has been left out for that
  remote,             ///< about blocks that are not in this instance's own cache
};
inline constexpr std::size_t reject_reason_count = 10;

/// Which vocabulary a word is missing from.
enum class word_kind : std::uint8_t { tag, field, medium };
inline constexpr std::size_t word_kind_count = 3;

/// Words for metrics and logs.
[[nodiscard]] std::string_view to_string(event_dialect dialect) noexcept;
[[nodiscard]] std::string_view to_string(event_kind kind) noexcept;
[[nodiscard]] std::string_view to_string(reject_reason reason) noexcept;
[[nodiscard]] std::string_view to_string(word_kind kind) noexcept;

/// A word that is in none of our vocabularies, and how often one batch used it.
struct unknown_word {
  word_kind kind = word_kind::field;
  std::string text;  ///< at most `batch_counts::max_word_bytes` of it; empty: those beyond the bound, together
  std::uint32_t times = 0;
};

/// How many events there were, of one batch or of some together, and how many were left out. Plain values; one owner.
struct event_tally {
  std::array<std::array<std::uint32_t, event_kind_count>, event_dialect_count> events{};  ///< by `event_dialect` and `event_kind`
  std::array<std::uint32_t, reject_reason_count> rejected{};                              ///< by `reject_reason`; index 0 stays 0

  /// Adds those of another batch. As plain sums without a question, since nearly all of them are 0, and this is done for each batch.
  void add(const event_tally& more) noexcept {
    for (std::size_t dialect = 0; dialect < events.size(); ++dialect) {
      for (std::size_t kind = 0; kind < event_kind_count; ++kind) events[dialect][kind] += more.events[dialect][kind];
    }
    for (std::size_t reason = 0; reason < rejected.size(); ++reason) rejected[reason] += more.rejected[reason];
  }
};

/// The contents of one batch in numbers. Plain values; one owner.
struct batch_counts : event_tally {
  static constexpr std::size_t max_words = 16;  ///< different unknown words of one batch; later ones are counted together
  static constexpr std::size_t max_word_bytes = 48;

  std::vector<unknown_word> unknown;

  void reset() noexcept;
  void add_unknown(word_kind kind, std::string_view text);
};

}  // namespace kvc::core
