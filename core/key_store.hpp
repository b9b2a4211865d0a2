// Every tracked object key, written down once in one cache line, and found by its content.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/inline_bytes.hpp"
#include "core/layout_table.hpp"
#include "core/name_table.hpp"
#include "core/object_key.hpp"
#include "core/salt_table.hpp"
#include "core/slab.hpp"

namespace kvc::core {

/// Deletions asked for in vain until a key is set aside.
inline constexpr std::uint32_t most_in_vain = 3;
/// Layouts that keys may have in common: they have 30 bits for it, and memory for far fewer.
inline constexpr std::uint32_t most_layouts = (std::uint32_t{1} << 30) - 1;

/// What is kept per key: one cache line, so that an event touches one line here and one of the table.
struct tracked_key {
  std::uint64_t bytes = 0;          ///< size of the object
  std::uint32_t older = no_record;  ///< the neighbours in its salt's order of use
  std::uint32_t newer = no_record;
  std::uint32_t layout : 30 = 0;
  std::uint32_t in_vain : 2 = 0;  ///< how often its deletion was asked for and nothing came of it, at most `most_in_vain`
  std::uint32_t salt = 0;
  std::uint32_t piece = 0;  ///< of an eviction plan that asks for its deletion; 0: none
  inline_bytes hash;
};
static_assert(sizeof(tracked_key) == 64);

/// The keys of all salts, by dense numbers.
///
/// Story: a key is a row of some 100 bytes of text on the wire. Here its hash lies in the record, its model, rank and group are a number
/// into `layout_table`, its salt one into `salt_table`, and a compact table leads from the digest of all of it to the record: 75 to 90
/// bytes per key in all. Nothing is ever moved as a whole: records lie in pages, and the table grows by dividing segments. The store knows
/// nothing of order or sums; see `key_order.hpp` and `usage.hpp`. Pure; one lane.
class key_store final : private named_records {
 public:
  /// Brings the table's line of a digest near; some keys ahead of `find`.
  void prefetch(std::uint64_t digest) const noexcept { by_digest_.prefetch(digest); }
  /// Brings the record near that may be the key's; after `prefetch`, ahead of `find`.
  void prefetch_record(std::uint64_t digest) const noexcept;

  /// The number of a key; `no_record` when it is not tracked. `digest` is `key_digest(key)`.
  [[nodiscard]] std::uint32_t find(const object_key& key, std::uint64_t digest) const noexcept;

  /// A key that is not tracked yet; it counts in its salt's `keys` and stands in no order.
  /// Errors: `keys_exhausted` when the table cannot grow any further (after some 100 million keys). May throw std::bad_alloc; then
  /// nothing has changed.
  [[nodiscard]] result<std::uint32_t> add(const object_key& key, std::uint64_t digest);

  /// Forgets a key that stands in no order any more. Its salt goes with its last key.
  void erase(std::uint32_t id);

  /// The key; views are valid until it is erased.
  [[nodiscard]] object_key key_of(std::uint32_t id) const noexcept;

  /// Bytes that the key takes at most in a request, a comma included.
  [[nodiscard]] std::size_t written_size(std::uint32_t id) const noexcept {
    const tracked_key& one = records_[id];
    return written_around_key + 2 * one.hash.view().size() + layouts_.written_size(one.layout) + salts_[one.salt].written;
  }

  [[nodiscard]] tracked_key& operator[](std::uint32_t id) noexcept { return records_[id]; }
  [[nodiscard]] const tracked_key& operator[](std::uint32_t id) const noexcept { return records_[id]; }
  [[nodiscard]] salt_table& salts() noexcept { return salts_; }
  [[nodiscard]] const salt_table& salts() const noexcept { return salts_; }

  [[nodiscard]] std::size_t size() const noexcept { return records_.size(); }
  /// Everything kept, in bytes.
  [[nodiscard]] std::size_t bytes() const noexcept {
    return records_.bytes() + by_digest_.bytes() + layouts_.bytes() + salts_.bytes() + heap_bytes_;
  }

 private:
  void hashes_at(std::span<const std::uint32_t> ids, std::uint64_t* hashes) const override {
    hash_in_turn<1>(
        ids, hashes, [this](unsigned, std::uint32_t id) { records_.prefetch(id); },
        [this](std::uint32_t id) { return key_digest(key_of(id)); });
  }

  slab<tracked_key> records_;
  name_table by_digest_;
  layout_table layouts_;
  salt_table salts_;
  std::size_t heap_bytes_ = 0;  ///< of hashes too long for their record
};

}  // namespace kvc::core
