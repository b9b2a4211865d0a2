// The storage that all stand-in MP servers share, as a bucket would be, and the events told about it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/object_key.hpp"

namespace kvc::sim {

/// One thing an MP server tells about one object.
struct mp_event {
  enum class kind : std::uint8_t { store, lookup, remove };
  kind what = kind::store;
  core::owned_object_key key;
  std::uint64_t bytes = 0;  ///< of a store
};

/// One object as a listing shows it.
struct mp_entry {
  core::owned_object_key key;
  std::uint64_t bytes = 0;
};

/// A page of the listing.
struct mp_page {
  std::vector<mp_entry> entries;
  std::optional<std::string> next;  ///< token of the page behind it; absent: this was the last
};

/// What really lies there: the truth, whatever was told about it. Lane: one thread.
class mp_storage {
 public:
  void put(const core::owned_object_key& key, std::uint64_t bytes) { objects_[key] = bytes; }
  /// False when there was no such object.
  bool erase(const core::owned_object_key& key) { return objects_.erase(key) > 0; }

  /// The objects behind `token` (from the beginning when absent) in the order of their keys, which new objects do not disturb. Nothing when
  /// the token is none of ours.
  [[nodiscard]] std::optional<mp_page> list(const std::optional<std::string>& token, std::size_t page_size) const;

  /// Some object: the first at or behind a random place in the order of keys; nothing when the storage is empty.
  [[nodiscard]] std::optional<mp_entry> near(const core::owned_object_key& place) const;

  [[nodiscard]] std::size_t size() const noexcept { return objects_.size(); }
  [[nodiscard]] std::uint64_t bytes() const noexcept;

 private:
  std::map<core::owned_object_key, std::uint64_t> objects_;
};

}  // namespace kvc::sim
