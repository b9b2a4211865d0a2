// The objects of a stand-in store as its master knows them, and what the master decides about them. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "perf/sim_store_change.hpp"
#include "perf/sim_store_rules.hpp"

namespace kvc::sim {

/// The store's objects and segments.
///
/// Story: an object is put in two phases and lies in the memory of one client's segment, and on a shared disk if the put says so. Over the
/// high mark the coldest objects leave memory, to the SSD of the client that has them when the store offloads. A look-up grants a lease,
/// during which an object is not evicted, and counts: after `threshold` of them an object that is only on SSD is copied back, if memory is
/// below the watermark and the queue has room. Everything that happens to complete replicas is noted as a `store_change`. Time is an
/// argument, in milliseconds of any clock that does not go back. Lane: one thread.
class store_storage {
 public:
  using milliseconds = std::chrono::milliseconds;
  using rules = store_rules;
  struct object {
    std::uint64_t bytes = 0;
    std::vector<store_replica> replicas;
    std::shared_ptr<const store_block> block;
    std::uint64_t last_use = 0;
    milliseconds leased_until{0};
    std::uint32_t hits = 0;

    [[nodiscard]] bool has(store_medium medium, bool is_complete) const noexcept;
    [[nodiscard]] bool is_anywhere() const noexcept;  ///< complete
  };
  struct counters {
    std::uint64_t puts = 0;
    std::uint64_t failed_puts = 0;  ///< no room
    std::uint64_t evicted = 0;      ///< replicas in memory
    std::uint64_t offloaded = 0;
    std::uint64_t promoted = 0;
    std::uint64_t revoked = 0;
    std::uint64_t rejected_by_watermark = 0;
    std::uint64_t rejected_by_queue = 0;
    std::uint64_t leases = 0;
  };
  using objects = std::map<std::string, object, std::less<>>;

  explicit store_storage(const rules& with);

  /// Allocates: from here to `put_end` the replicas are in flight. In `preferred` if it has room, else in the emptiest segment; evicts for
  /// it. False: the key exists or there is no room.
  [[nodiscard]] bool put_start(std::string_view key, std::uint64_t bytes, bool with_disk, std::optional<std::uint32_t> preferred,
                               std::shared_ptr<const store_block> block, milliseconds now);
  /// False when no put of that key is under way.
  bool put_end(std::string_view key, milliseconds now);
  bool put_revoke(std::string_view key);
  /// Both phases.
  bool put(std::string_view key, std::uint64_t bytes, milliseconds now, bool with_disk = false,
           std::shared_ptr<const store_block> block = nullptr, std::optional<std::uint32_t> preferred = std::nullopt);

  /// A client writes the object to memory again, for example because it had computed it anew: whatever promotion was under way loses.
  bool put_again(std::string_view key, milliseconds now);

  /// A read by a client: the object becomes the warmest. False: there is none.
  bool get(std::string_view key, milliseconds now);
  /// A look-up by the admin interface: lease, count, perhaps a promotion.
  store_promotion look_up(std::string_view key, milliseconds now, store_trick trick = store_trick::none);

  /// Ends what is due and evicts what is over the high mark.
  void advance(milliseconds now);
  /// When something is due next; nothing: only if somebody does something.
  [[nodiscard]] std::optional<milliseconds> next_due() const;

  /// Memory is given up, to SSD where the store offloads; not while it is leased. False: nothing to evict.
  bool evict(std::string_view key, milliseconds now);
  bool remove(std::string_view key);
  void remove_all();
  /// A second replica in another segment, or the replica in another segment.
  bool copy(std::string_view key, bool is_move);
  /// The memory of a segment is unmounted; `with_client`: its client has died and its SSD is gone as well.
  void lose_segment(std::uint32_t segment, bool with_client);
  /// As if memory were full: every promotion is refused until it is over.
  void set_pressure(bool is_on) noexcept { has_pressure_ = is_on; }
  [[nodiscard]] bool has_pressure() const noexcept { return has_pressure_; }

  [[nodiscard]] const objects& all() const noexcept { return objects_; }
  [[nodiscard]] const object* find(std::string_view key) const;
  /// The first key at or behind a place in their order, around the end; nothing when the store is empty.
  [[nodiscard]] std::optional<std::string> near(std::string_view where) const;
  [[nodiscard]] std::uint64_t used() const noexcept;
  [[nodiscard]] std::size_t promotions() const noexcept { return promotions_.size(); }
  [[nodiscard]] const rules& chosen() const noexcept { return rules_; }
  [[nodiscard]] const counters& counts() const noexcept { return counts_; }

  /// What happened since the last call, in order.
  [[nodiscard]] std::vector<store_change> take_changes();
  /// How many things have happened so far.
  [[nodiscard]] std::uint64_t changes() const noexcept { return noted_; }

 private:
  struct promotion {
    std::string key;
    milliseconds due{0};
    bool is_revoked = false;
  };
  using place = objects::iterator;

  [[nodiscard]] std::optional<std::uint32_t> room(std::uint64_t bytes, std::optional<std::uint32_t> preferred) const;
  void add_memory(object& to, std::uint32_t segment, bool is_complete);
  void drop(object& from, std::size_t replica);
  void touch(place at);
  void forget_use(const object& of);
  bool evict_at(place at, milliseconds now);
  bool evict_coldest(milliseconds now);
  void end_promotion(const promotion& which, milliseconds now);
  void note(store_change::kind what, const std::string& key, const std::vector<store_replica>& before, const object* after);
  void erase(place at);

  rules rules_;
  objects objects_;
  std::vector<std::uint64_t> used_;              ///< per segment
  std::map<std::uint64_t, std::string> by_use_;  ///< objects with a complete replica in memory, coldest first
  std::deque<promotion> promotions_;
  std::uint64_t uses_ = 0;
  bool has_pressure_ = false;
  counters counts_;
  std::vector<store_change> changes_;
  std::uint64_t noted_ = 0;
};

}  // namespace kvc::sim
