#include "core/key_order.hpp"

namespace kvc::core {
namespace {

/// Puts `id` between two neighbours, either of which may be absent.
void link(key_store& keys, salt_state& salt, std::uint32_t id, std::uint32_t older, std::uint32_t newer) noexcept {
  keys[id].older = older;
  keys[id].newer = newer;
  (older == no_record ? salt.oldest : keys[older].newer) = id;
  (newer == no_record ? salt.newest : keys[newer].older) = id;
}

}  // namespace

void append_newest(key_store& keys, std::uint32_t id) noexcept {
  salt_state& salt = keys.salts()[keys[id].salt];
  link(keys, salt, id, salt.newest, no_record);
}

void insert_seeded(key_store& keys, std::uint32_t id) noexcept {
  salt_state& salt = keys.salts()[keys[id].salt];
  link(keys, salt, id, salt.last_seeded, salt.last_seeded == no_record ? salt.oldest : keys[salt.last_seeded].newer);
  salt.last_seeded = id;
}

void unlink(key_store& keys, std::uint32_t id) noexcept {
  const tracked_key& one = keys[id];
  salt_state& salt = keys.salts()[one.salt];
  if (salt.cursor == id) salt.cursor = one.newer;
  if (salt.last_seeded == id) salt.last_seeded = one.older;
  (one.older == no_record ? salt.oldest : keys[one.older].newer) = one.newer;
  (one.newer == no_record ? salt.newest : keys[one.newer].older) = one.older;
}

}  // namespace kvc::core
