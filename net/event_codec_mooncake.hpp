// The events of Mooncake's store in its four generations: positional arrays about objects and their replicas, and envelopes of the master,
// of the branch whose connectors name blocks, and of the later master that only forwards object keys. (Source: seed 004; kv-events.md
// section 6.)
#pragma once

#include "net/event_fields.hpp"

namespace kvc::net {

/// Whether the tag is one of the first format. Precondition: `event` is an array that begins with a text.
[[nodiscard]] bool is_mooncake_array(tape_value event);

/// Reads `[BlockStoreEvent, key, replicas, model, block_size, hash, parent, tokens]`, `[BlockUpdateEvent, key, replicas]` or
/// `[RemoveAllEvent]`. The first two become object events: which blocks an update means is known to the keeper of the objects only.
/// Precondition: `is_mooncake_array`.
[[nodiscard]] reject_reason read_mooncake_array(tape_value event, event_fields& fields);

/// Whether a map is a store's: it names an object or a connector's hash, says its type twice, or its publisher is registered as a store.
/// Precondition: the members have been read.
[[nodiscard]] bool is_mooncake_map(const event_fields& fields, const decode_context& context);

/// Reads a store's envelope. Blocks are named by the connector's hash, which is the engine's digest, else by `seq_hashes` or
/// `block_hashes`; without any of them the event is one about its object. Precondition: `is_mooncake_map`. Reasons: `not_an_event` without
/// a type, `missing_field` when neither a block nor an object is named.
[[nodiscard]] reject_reason read_mooncake_map(event_fields& fields, decode_context& context);

}  // namespace kvc::net
