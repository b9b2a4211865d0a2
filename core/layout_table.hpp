// Model, rank and group of tracked keys, written down once for all keys that have them in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "core/name_table.hpp"
#include "core/object_key.hpp"

namespace kvc::core {

/// Layouts by number, counted by the keys that use them: a few dozen stand for millions of keys.
/// Pure; one lane.
class layout_table final : private named_records {
 public:
  /// The number of the layout of `key`, which is used by one more key now. Errors: `keys_exhausted`. What it throws changes nothing.
  [[nodiscard]] result<std::uint32_t> join(const object_key& key);
  /// One key less uses it; with the last one the layout goes.
  void leave(std::uint32_t id) noexcept;

  [[nodiscard]] bool matches(std::uint32_t id, const object_key& key) const noexcept {
    const layout& one = layouts_[id];
    return one.kv_rank == key.kv_rank && one.object_group == key.object_group && one.model == key.model;
  }
  /// Fills in model, rank and group; views are valid while a key uses the layout.
  void fill(std::uint32_t id, object_key& key) const noexcept;

  /// `escaped_size` of the model's name, worked out once for all keys.
  [[nodiscard]] std::size_t written_size(std::uint32_t id) const noexcept { return layouts_[id].written; }

  [[nodiscard]] std::size_t size() const noexcept { return layouts_.size() - free_.size(); }
  [[nodiscard]] std::size_t bytes() const noexcept { return by_digest_.bytes() + layouts_.size() * sizeof(layout) + text_bytes_; }

 private:
  struct layout {
    std::string model;
    std::int64_t kv_rank = 0;
    std::uint64_t object_group = 0;
    std::uint64_t keys = 0;
    std::size_t written = 0;  ///< see `written_size`
  };

  [[nodiscard]] std::uint64_t hash_at(std::uint32_t id) const;
  void hashes_at(std::span<const std::uint32_t> ids, std::uint64_t* hashes) const override;

  std::deque<layout> layouts_;
  std::vector<std::uint32_t> free_;
  name_table by_digest_;
  std::size_t text_bytes_ = 0;
};

}  // namespace kvc::core
