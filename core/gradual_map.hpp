// A hash map that grows gradually: in segments of a page that are divided as they fill, so that no insertion moves more than one of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/arena.hpp"
#include "core/spread.hpp"

namespace kvc::core {

/// 32-bit numbers by 64-bit keys.
///
/// Story: one table in one piece is fast until it grows, and then one insertion pays for everything. Here the leading bits of a key's hash
/// choose a segment, of at most 255 entries in 4 KiB as long as hashes spread as chance would have it; a full one becomes two by one more
/// bit. Nothing but the list of segments, eight bytes for each, ever grows in one piece. A few entries take 64 bytes. Segments do not join
/// again when entries go; all of them are given back with the last entry.
/// Lane: one owner.
class gradual_map {
 public:
  /// `kind` is what its memory is accounted as.
  explicit gradual_map(arena_kind kind) noexcept : kind_(kind) {}
  ~gradual_map() { clear(); }
  gradual_map(const gradual_map&) = delete;
  gradual_map& operator=(const gradual_map&) = delete;

  /// Null when there is no such key. The pointer is valid until the next change.
  [[nodiscard]] const std::uint32_t* find(std::uint64_t key) const noexcept {
    if (segments_.empty()) return nullptr;
    const std::uint64_t hash = hash_of(key);
    const segment& in = *segments_[place_of(hash)];
    for (std::uint32_t at = in.home_of(hash); in.entries()[at].is_used != 0; at = in.behind(at)) {
      if (in.entries()[at].key == key) return &in.entries()[at].value;
    }
    return nullptr;
  }
  /// Precondition: there is no such key. Throws std::bad_alloc, and then nothing has changed.
  void add(std::uint64_t key, std::uint32_t value);
  /// Nothing happens when there is no such key.
  void erase(std::uint64_t key) noexcept;

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// Calls `visit(key, value)` for every entry, in no particular order. The map must not be changed meanwhile.
  template <class Visit>
  void each(Visit visit) const {
    const segment* previous = nullptr;
    for (const segment* one : segments_) {
      if (one == previous) continue;
      previous = one;
      for (const entry& each : one->all()) {
        if (each.is_used != 0) visit(each.key, each.value);
      }
    }
  }

 private:
  struct entry {
    std::uint64_t key;
    std::uint32_t value;
    std::uint32_t is_used;
  };
  /// Open addressing, the next entry after a taken one. At least one entry of each is free.
  struct segment {
    std::uint32_t capacity;
    std::uint32_t size;
    std::uint32_t bits;  ///< leading bits of the hash that all its entries share
    std::uint32_t unused;

    [[nodiscard]] entry* entries() noexcept { return reinterpret_cast<entry*>(this + 1); }
    [[nodiscard]] const entry* entries() const noexcept { return reinterpret_cast<const entry*>(this + 1); }
    [[nodiscard]] std::span<const entry> all() const noexcept { return {entries(), capacity}; }
    [[nodiscard]] std::uint32_t home_of(std::uint64_t hash) const noexcept {
      return static_cast<std::uint32_t>((hash & 0xFFFF'FFFF) * capacity >> 32);
    }
    [[nodiscard]] std::uint32_t behind(std::uint32_t at) const noexcept { return at + 1 == capacity ? 0 : at + 1; }
    [[nodiscard]] bool has_room() const noexcept { return (size + 1) * 8 <= capacity * 7; }
    void put(const entry& one, std::uint64_t hash) noexcept;
  };
  static_assert(sizeof(entry) == 16 && sizeof(segment) == sizeof(entry));

  /// Keys are addresses, or chosen by publishers.
  static std::uint64_t hash_of(std::uint64_t key) noexcept { return spread(key); }
  [[nodiscard]] std::size_t place_of(std::uint64_t hash) const noexcept { return hash >> 1 >> (63 - bits_); }

  [[nodiscard]] segment* make_segment(std::uint32_t capacity, std::uint32_t bits) const;
  void drop_segment(segment* gone) const noexcept;
  void make_room(std::uint64_t hash);
  void replace_by_larger(segment* full, std::size_t place);
  void divide(segment* full, std::size_t place);
  void point_to(segment* one, std::size_t place) noexcept;
  void clear() noexcept;

  std::vector<segment*> segments_;  ///< by leading bits; a segment of fewer bits stands at several places
  std::size_t size_ = 0;
  std::uint32_t bits_ = 0;
  arena_kind kind_;
};

}  // namespace kvc::core
