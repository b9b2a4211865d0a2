// Who uses how much of the shared storage: a byte ledger and an order of use per cache salt, kept by the events of all MP servers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <boost/unordered/unordered_flat_set.hpp>

#include "core/errc.hpp"
#include "core/key_store.hpp"
#include "core/object_key.hpp"

namespace kvc::core {

/// One thing an MP server tells about one object. (Source: spec coordinator-api, POST /quota/events.)
struct usage_event {
  enum class kind : std::uint8_t { store, lookup, remove };
  kind what = kind::store;
  object_key key;
  std::uint64_t bytes = 0;  ///< of a store; ignored otherwise
};

/// Figures since the start, all rising.
struct usage_counters {
  std::uint64_t stores = 0;              ///< of new and known keys
  std::uint64_t lookups = 0;             ///< of known keys
  std::uint64_t removals = 0;            ///< of known keys
  std::uint64_t unknown = 0;             ///< lookups and removals of keys that are not tracked: no effect
  std::uint64_t refused = 0;             ///< stores beyond a limit: not tracked
  std::uint64_t seeded = 0;              ///< keys a resync has brought
  std::uint64_t seeds_known = 0;         ///< listed by a resync, but known already
  std::uint64_t seeds_deleted = 0;       ///< listed by a resync, but deleted while it went on
  std::uint64_t forgotten_removals = 0;  ///< removals during a resync that could not be remembered
  std::uint64_t confirmed = 0;           ///< removals of keys that were in flight
};

/// The ledger and the order of use.
///
/// Rules (spec coordinator-api, section 3): a store of a new key adds its bytes, of a known one adjusts by the difference; both make it the
/// most recently used. A lookup of a known key makes it the most recently used. A removal subtracts what was stored. All servers share one
/// ledger, so an object that two of them store counts once. What is unknown has no effect. State changes by events only, never because a
/// deletion was sent. A store proves that an object is there: it takes the key out of flight, so that it may be planned again. While a
/// resync goes on, listed keys are seeded at the old end in their order, unless they are known or were removed since it began. Pure; one
/// lane.
class usage_ledger {
 public:
  /// What bounds the memory. A store beyond them is refused and counted; everything else goes on.
  struct limits {
    std::uint64_t keys = 10'000'000;
    std::size_t bytes = std::size_t{2} << 30;     ///< of `memory_bytes()`
    std::size_t remembered_removals = 1'000'000;  ///< during a resync; about 18 bytes each
  };

  usage_ledger() : usage_ledger(limits{}) {}
  explicit usage_ledger(const limits& with) : limits_(with) {}

  /// The most bytes of one object: so many that `limits::keys` of them still make a sum below 2^63. Nobody's object keeps others out.
  [[nodiscard]] std::uint64_t most_object_bytes() const noexcept;

  /// Errors: `keys_exhausted`, `object_too_large` (over `most_object_bytes`); then nothing has changed but `refused`.
  result<void> store(const object_key& key, std::uint64_t bytes) { return store(key, key_digest(key), bytes); }
  /// False when the key is unknown.
  bool lookup(const object_key& key) { return lookup(key, key_digest(key)); }
  /// False when the key is unknown.
  bool remove(const object_key& key) { return remove(key, key_digest(key)); }
  /// The events in their order; refusals are only counted. Keys have passed `check_key`. Some 100 ns each; callers slice long batches.
  void apply(std::span<const usage_event> events);

  /// A resync begins or ends: between the two `seed` may be called.
  void begin_seeding();
  void end_seeding();
  /// A listed object. False when it is known, or was removed since `begin_seeding`. Errors as `store`.
  result<bool> seed(const object_key& key, std::uint64_t bytes);

  /// A deletion of a key that is not in flight is asked for under `piece`, which is not 0.
  void put_in_flight(std::uint32_t id, std::uint32_t piece) noexcept;
  /// The key may be planned again, if it is still in flight under `piece`. False when it was not.
  bool take_out_of_flight(std::uint32_t id, std::uint32_t piece) noexcept;
  /// The deletion of a key was asked for and nothing came of it. After `most_in_vain` times in a row it is set aside, until it is stored
  /// anew.
  void count_in_vain(std::uint32_t id) noexcept;
  [[nodiscard]] bool is_set_aside(std::uint32_t id) const noexcept { return keys_[id].in_vain == most_in_vain; }
  /// Keys that are set aside now.
  [[nodiscard]] std::size_t keys_set_aside() const noexcept { return set_aside_; }
  /// The highest piece that has lost a key so far, by an event or on request; 0: none.
  [[nodiscard]] std::uint32_t newest_thinned_piece() const noexcept { return newest_thinned_; }

  [[nodiscard]] std::uint64_t total_bytes() const noexcept { return total_bytes_; }
  [[nodiscard]] std::size_t size() const noexcept { return keys_.size(); }
  [[nodiscard]] std::size_t keys_in_flight() const noexcept { return in_flight_; }
  [[nodiscard]] const usage_counters& counters() const noexcept { return counters_; }
  [[nodiscard]] std::size_t memory_bytes() const noexcept { return keys_.bytes(); }
  /// Bytes stored under a salt; 0 when it has no keys.
  [[nodiscard]] std::uint64_t bytes_of(std::string_view salt) const;

  /// For the planner: keys by number, salts and their order.
  [[nodiscard]] key_store& keys() noexcept { return keys_; }
  [[nodiscard]] const key_store& keys() const noexcept { return keys_; }

 private:
  result<void> store(const object_key& key, std::uint64_t digest, std::uint64_t bytes);
  bool lookup(const object_key& key, std::uint64_t digest);
  bool remove(const object_key& key, std::uint64_t digest);
  void apply_one(const usage_event& event, std::uint64_t digest);
  result<std::uint32_t> add(const object_key& key, std::uint64_t digest, std::uint64_t bytes);
  void remember_removal(std::uint64_t digest);
  void forget_in_vain(tracked_key& one) noexcept;

  limits limits_;
  key_store keys_;
  std::uint64_t total_bytes_ = 0;
  std::size_t in_flight_ = 0;
  std::size_t set_aside_ = 0;
  std::uint32_t newest_thinned_ = 0;
  bool is_seeding_ = false;
  boost::unordered_flat_set<std::uint64_t> removed_;  ///< digests of keys removed since seeding began
  usage_counters counters_;
};

}  // namespace kvc::core
