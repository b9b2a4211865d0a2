#include "core/layout_table.hpp"

#include <utility>

namespace kvc::core {

result<std::uint32_t> layout_table::join(const object_key& key) {
  const std::uint64_t hash = layout_digest(key);
  std::uint32_t id = 0;
  const bool is_known = by_digest_.find(hash, [&](std::uint32_t candidate) {
    id = candidate;
    return matches(id, key);
  });
  if (!is_known) {
    // What may throw comes first: then nothing has changed.
    if (free_.empty()) {
      if (free_.capacity() <= layouts_.size()) free_.reserve(2 * layouts_.size() + 1);  // so that `leave` throws nothing
      layouts_.emplace_back();
      free_.push_back(static_cast<std::uint32_t>(layouts_.size() - 1));
    }
    id = free_.back();
    std::string model(key.model);
    if (!by_digest_.add(hash, id, *this)) return make_error_code(errc::keys_exhausted);
    free_.pop_back();
    layouts_[id] = {
        .model = std::move(model), .kv_rank = key.kv_rank, .object_group = key.object_group, .keys = 0, .written = escaped_size(key.model)};
    text_bytes_ += key.model.size();
  }
  ++layouts_[id].keys;
  return id;
}

void layout_table::leave(std::uint32_t id) noexcept {
  if (--layouts_[id].keys != 0) return;
  by_digest_.remove(hash_at(id), id);
  text_bytes_ -= layouts_[id].model.size();
  layouts_[id] = {};
  free_.push_back(id);
}

std::uint64_t layout_table::hash_at(std::uint32_t id) const {
  object_key key;
  fill(id, key);
  return layout_digest(key);
}

void layout_table::hashes_at(std::span<const std::uint32_t> ids, std::uint64_t* hashes) const {
  for (const std::uint32_t id : ids) *hashes++ = hash_at(id);  // few
}

void layout_table::fill(std::uint32_t id, object_key& key) const noexcept {
  const layout& one = layouts_[id];
  key.model = one.model;
  key.kv_rank = one.kv_rank;
  key.object_group = one.object_group;
}

}  // namespace kvc::core
