#include "core/key_store.hpp"

namespace kvc::core {

void key_store::prefetch_record(std::uint64_t digest) const noexcept {
  (void)by_digest_.find(digest, [&](std::uint32_t id) {
    records_.prefetch(id);
    return true;
  });
}

std::uint32_t key_store::find(const object_key& key, std::uint64_t digest) const noexcept {
  std::uint32_t found = no_record;
  (void)by_digest_.find(digest, [&](std::uint32_t id) {
    const tracked_key& one = records_[id];
    if (one.hash.view() != key.hash || !layouts_.matches(one.layout, key) || salts_[one.salt].name != key.salt) return false;
    found = id;
    return true;
  });
  return found;
}

result<std::uint32_t> key_store::add(const object_key& key, std::uint64_t digest) {
  const auto layout = layouts_.join(key);
  if (!layout) return layout.error();
  if (*layout > most_layouts) {
    layouts_.leave(*layout);
    return make_error_code(errc::keys_exhausted);
  }
  std::uint32_t id = no_record;
  std::uint32_t salt = no_record;
  const auto take_back = [&]() noexcept {
    if (salt != no_record) salts_.leave_if_empty(salt);
    if (id != no_record) records_.give_back(id);
    layouts_.leave(*layout);
  };
  try {
    id = records_.take();
    salt = salts_.join(key.salt);
    tracked_key& fresh = records_[id];
    fresh.hash.assign(key.hash);
    fresh.layout = *layout & most_layouts;
    fresh.salt = salt;
    if (!by_digest_.add(digest, id, *this)) {
      take_back();
      return make_error_code(errc::keys_exhausted);
    }
  } catch (...) {
    take_back();
    throw;
  }
  ++salts_[salt].keys;
  heap_bytes_ += records_[id].hash.heap_bytes();
  return id;
}

void key_store::erase(std::uint32_t id) {
  tracked_key& gone = records_[id];
  by_digest_.remove(key_digest(key_of(id)), id);
  heap_bytes_ -= gone.hash.heap_bytes();
  layouts_.leave(gone.layout);
  --salts_[gone.salt].keys;
  salts_.leave_if_empty(gone.salt);
  records_.give_back(id);
}

object_key key_store::key_of(std::uint32_t id) const noexcept {
  const tracked_key& one = records_[id];
  object_key key;
  key.hash = one.hash.view();
  layouts_.fill(one.layout, key);
  key.salt = salts_[one.salt].name;
  return key;
}

}  // namespace kvc::core
