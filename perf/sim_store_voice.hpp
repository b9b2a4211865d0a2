// What a stand-in store's publisher says about what happens, in each of its generations, and what it keeps to itself. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/event.hpp"
#include "net/event_encode.hpp"
#include "perf/sim_store_change.hpp"

namespace kvc::sim {

/// Mooncake's publishers, oldest first. (Source: kv-events.md sections 6.1 to 6.4.)
enum class store_generation : std::uint8_t {
  array,   ///< positional: objects with all their replicas, and every change of them; has a replay
  master,  ///< envelopes of the master: one event per object and medium; silent on most of what happens
  branch,  ///< with what the connector's key tells, removals by medium, and clears
  later,   ///< the master's with raw keys: their meaning is left to the reader
};
inline constexpr std::array<std::string_view, 4> store_generation_words{"array", "master", "branch", "later"};

/// How a generation puts its batches on the wire.
struct store_stream_traits {
  net::event_form form{};
  std::string_view topic;
  std::uint64_t first_seqno = 0;
  std::size_t most_events = 1;  ///< of a batch
  bool has_replay = false;
  bool drops_count = false;  ///< an event that is dropped uses up a number, so that a gap counts events
};
[[nodiscard]] const store_stream_traits& traits_of(store_generation generation) noexcept;

/// What is the same for everything a store says.
struct store_speaker {
  store_generation generation = store_generation::master;
  std::string backend = "mooncake";
  std::string tenant = "default";
  std::string model = {};        ///< that the array form and the branch name
  std::uint32_t block_size = 0;  ///< tokens
};

/// The events that a change leads to; often none:
///
/// | what                    | array   | master, later         | branch        |
/// |-------------------------|---------|-----------------------|---------------|
/// | put                     | store   | stored, per medium    | the same      |
/// | evicted, still on SSD   | update  | -                     | removed (cpu) |
/// | evicted, gone           | update  | removed, labelled cpu | removed (cpu) |
/// | offload, promotion,     | update  | -                     | -             |
/// | copy, move              |         |                       |               |
/// | removed                 | update  | removed, labelled cpu | per medium    |
/// | everything removed      | remove  | -                     | cleared       |
/// | segment lost,           | -       | -                     | -             |
/// | client lost             |         |                       |               |
///
/// (Source: kv-events.md sections 6.1 to 6.4; store-prefetch.md, "Tier truth".)
void append_events(const store_change& what, const store_speaker& who, std::vector<core::event>& out);

/// The number a key stands for, in decimal or behind `0x` in hexadecimal, as the master reads it; nothing for other keys.
[[nodiscard]] std::optional<std::uint64_t> number_of_key(std::string_view key) noexcept;

/// How keys are made from blocks.
enum class store_key_form : std::uint8_t {
  decimal,    ///< the sequence hash
  connector,  ///< vLLM's: model, ranks, digest
  text,       ///< anything, with commas, escapes and letters beyond ASCII
  mixed,      ///< all of them in turn
};
/// The key of the block with this sequence hash. Precondition: not `mixed`.
[[nodiscard]] std::string store_key(store_key_form form, std::string_view model, std::uint64_t seq_hash);

}  // namespace kvc::sim
