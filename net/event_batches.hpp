// Event batches of newer MP servers, which tell the incarnation of their sender.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/ids.hpp"
#include "core/usage.hpp"
#include "net/field_faults.hpp"
#include "net/json_tree.hpp"
#include "net/usage_batch.hpp"

namespace kvc::net {

/// One batch. `events` is empty when it is about something the ledger does not keep.
struct event_batch {
  std::string_view instance_id;
  std::uint64_t incarnation = 0;
  core::seqno number{};
  std::vector<core::usage_event> events;
};

/// All batches of a body, and the bytes that their hashes need.
struct event_batches {
  std::vector<event_batch> batches;
  hash_room room;
};

/// Reads all batches of a body; what is wrong is in `faults`, with entries also where it is wrong what they are about. Members that the
/// ledger has no use for (backend, tokens, ts, shared) are not looked at. Views of the tree and the room. Pure. (Source: spec
/// coordinator-api, section 9.)
void read_event_batches(const tape_value& body, event_batches& into, field_faults& faults);

}  // namespace kvc::net
