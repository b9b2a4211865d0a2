// Events of MP servers read from a body: checked as a whole before any of them counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/ids.hpp"
#include "core/quota.hpp"
#include "core/usage.hpp"
#include "net/field_faults.hpp"
#include "net/json_tree.hpp"

namespace kvc::net {

/// Hashes as bytes, beside the body that has them as hex. Views of what it holds stay good.
class hash_room {
 public:
  /// The bytes that `hex` spells; nothing when it is no hex.
  [[nodiscard]] std::optional<std::string_view> decode(std::string_view hex);

 private:
  std::deque<std::string> pages_;
  std::string scratch_;
};

/// Reads an object key with its five members; nothing after a fault. `where` is the key's place. (Spec coordinator-api, "Key"; section 9:
/// what could be no server's key is a 422 at `.../key`.) Views of the body and of `room`. Pure.
[[nodiscard]] std::optional<core::object_key> read_object_key(const tape_value& value, const field_place& where, hash_room& room,
                                                              field_faults& faults);

/// Bytes that the id of a sender of events may have: it is kept, and shown, for as long as the sender is remembered.
inline constexpr std::size_t longest_sender = std::size_t{64} << 10;

/// Reads the id of a sender out of `object`, which must have one; it may be empty and need not be registered. After a fault, which a longer
/// one than `longest_sender` is, an empty one. A view of the body. Pure.
[[nodiscard]] std::string_view read_sender(const tape_value& object, const field_place& where, field_faults& faults);

/// POST /quota/events, read. Views live as long as the tree and the room.
struct usage_batch {
  std::string_view instance_id;
  core::seqno number{};
  core::cache_tier tier = core::cache_tier::l2;
  std::vector<core::usage_event> events;
  hash_room room;
};

/// Reads a batch; what is wrong is in `faults`. Pure; takes time by the size of the body.
void read_usage_batch(const tape_value& body, usage_batch& into, field_faults& faults);

}  // namespace kvc::net
