// The rules of the strict model for chains of thousands of blocks and fleets of hundreds: a block is known by the hash of its prefix.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/ids.hpp"
#include "core/medium.hpp"
#include "tests/support/index_step.hpp"

namespace kvc::test {

/// The strict model without pools, fast enough for what the index does with long runs and many holders.
///
/// The strict model compares whole prefixes and searches everything; it means a right answer because it is too plain to be wrong. This one
/// takes its word for the rules (see there) and keeps tables beside them: which names stand at a block, and who waits behind which name.
/// That the two agree is a test of its own, so that a difference between this one and the index is one between the strict model and the
/// index.
class placed_model {
 public:
  /// Precondition: the traits are those of no pool.
  void add_worker(core::worker_id worker, const worker_traits& traits) { workers_[worker].traits = traits; }
  void join(core::worker_id worker, std::size_t partition) { workers_.at(worker).partitions.insert(partition); }
  void drop_worker(core::worker_id worker) { workers_.erase(worker); }
  /// Takes over the workers of a model that has seen others.
  void absorb(placed_model&& other) { workers_.merge(other.workers_); }
  [[nodiscard]] bool is_worker(core::worker_id worker) const { return workers_.contains(worker); }

  void store(core::worker_id worker, const store_step& step);
  void remove(core::worker_id worker, core::engine_hash name, core::medium_id medium, const removal_step& from = {});
  void clear(core::worker_id worker, core::media_mask which, std::optional<std::size_t> only);

  /// As strict_model::usable, up to the first hole.
  [[nodiscard]] std::vector<core::media_mask> usable(std::size_t partition, core::worker_id worker,
                                                     std::span<const core::local_hash> query) const;
  [[nodiscard]] bool has_row(std::size_t partition, core::worker_id worker, core::media_mask among,
                             std::span<const core::local_hash> query) const;

  [[nodiscard]] std::vector<core::worker_id> members(std::size_t partition) const;
  [[nodiscard]] std::uint64_t held_on(core::worker_id worker, core::medium_id medium) const {
    return workers_.at(worker).held[static_cast<std::size_t>(medium)];
  }
  [[nodiscard]] std::size_t names(core::worker_id worker) const { return workers_.at(worker).names.size(); }
  [[nodiscard]] std::size_t orphans(core::worker_id worker) const { return workers_.at(worker).waiting.size(); }
  [[nodiscard]] std::size_t distinct_blocks(std::size_t partition) const;

  /// Whether a name of the worker means a block of the partition on this medium.
  [[nodiscard]] bool is_on(core::worker_id worker, core::engine_hash name, std::size_t partition, core::medium_id medium) const;
  /// The block that a name of the worker means, the newest where it means several; by its sequence hash.
  [[nodiscard]] std::optional<core::seq_hash> meaning(core::worker_id worker, core::engine_hash name,
                                                      std::optional<std::size_t> partition) const;

 private:
  using name = std::uint64_t;  ///< an engine hash
  struct place {
    std::size_t partition = 0;
    std::uint64_t prefix = 0;  ///< the sequence hash, which two blocks of a partition do not share
    friend bool operator==(const place&, const place&) = default;
  };
  struct place_spread {
    std::size_t operator()(const place& of) const noexcept { return of.prefix + of.partition; }
  };
  struct copies {
    core::medium_id medium{};
    place where;
    std::uint32_t count = 0;
    std::uint64_t stored_at = 0;  ///< larger is newer
  };
  struct orphan {
    std::size_t partition = 0;
    std::optional<name> parent;  ///< absent: a placeholder
    core::local_hash local{};
    std::map<core::medium_id, std::uint32_t> counts;
    std::uint64_t since = 0;
  };
  using per_medium = std::array<std::uint32_t, core::max_media>;  ///< names that stand there
  struct state {
    worker_traits traits;
    std::set<std::size_t> partitions;
    std::unordered_map<name, std::vector<copies>> names;
    std::unordered_map<place, per_medium, place_spread> blocks;
    std::array<std::uint64_t, core::max_media> held{};
    std::map<name, orphan> waiting;
    std::unordered_map<name, std::set<name>> behind;  ///< who waits behind a name
    std::set<name> stirred;  ///< who may have got a place, or someone to stand behind; looked at by the lowest name first, like all orphans
  };

  static place behind_of(const place& parent, core::local_hash local);
  static std::optional<place> newest(const state& who, name of, std::optional<std::size_t> partition,
                                     std::optional<core::medium_id> first_on = std::nullopt);
  static bool says_place(name of, const place& where) { return where.prefix == of; }
  static void count(state& who, const copies& each, bool comes);
  /// Forgets those of a name's copies for which `leaves` is true.
  template <class Leaves>
  static void forget(state& who, name of, Leaves leaves);
  static void stir(state& who, name of);
  static void end_waiting(state& who, std::map<name, orphan>::iterator lost);
  void put(state& who, name of, const place& where, core::medium_id medium, std::uint32_t count);
  void wait(state& who, name of, const orphan& found, core::medium_id medium);
  void join_what_can(state& who);

  std::map<core::worker_id, state> workers_;
  std::uint64_t now_ = 0;
};

}  // namespace kvc::test
