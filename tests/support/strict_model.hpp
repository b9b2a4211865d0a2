// The strict reference model of the index: single-threaded and as literal as possible. What it answers is right by definition.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "core/ids.hpp"
#include "core/medium.hpp"
#include "tests/support/index_step.hpp"

namespace kvc::test {

/// Where a block stands: its partition and its whole prefix.
///
/// A publisher on the standard hash tells only the sequence hash of a block. Then `locals` holds what is known behind that block (nothing
/// for the block itself) and `told` the hash it was named by; such a place can only be compared through the sequence hash, which every
/// place has.
struct model_place {
  std::size_t partition = 0;
  std::optional<core::seq_hash> told;
  std::vector<core::local_hash> locals;
  core::seq_hash hash{};  ///< of the whole prefix

  [[nodiscard]] static model_place at_root(std::size_t partition, core::local_hash local);
  [[nodiscard]] static model_place named(std::size_t partition, core::seq_hash told);
  [[nodiscard]] model_place behind(core::local_hash local) const;
  [[nodiscard]] bool is_same_block(const model_place& other) const;
};

/// What every index must equal at rest.
///
/// Rules
///  1. On each medium a name of a worker means one block, or waits for its place to be told, or is unknown. The newest store says which.
///     Names by the standard say their place but for the partition: they stand in several partitions at once, and may wait in another.
///  2. A store at the place where the name stands is one more copy (copy-counting workers) or a refresh (others); a store elsewhere moves
///  it
///     with one copy. A removal takes one copy (copy-counting) or the name (others) from the medium; the last copy forgets the name there.
///     Of a name in several partitions it takes the one it speaks of, else the newest, unless it insists. What waits is taken when nothing
///     stands there that may be meant.
///  3. A parent is the place of its name in the partition and on the medium of the store, else the newest in the partition. A name whose
///     parent is unknown keeps to its own place, found likewise, else it waits. A placeholder means its name's newest place in any
///     partition, else it waits for one.
///  4. What waits is placed as soon as its own name or its parent's gets a place (in its partition, for all but placeholders).
///  5. At most `max_orphans` names wait; the one that has waited longest is given up first.
///  6. depth: the largest d such that each of the first d prefix blocks of the query is held by somebody the worker can use.
class strict_model {
 public:
  void add_worker(core::worker_id worker, const worker_traits& traits);
  /// The worker becomes a member of a partition, as it also does by its first store there.
  void join(core::worker_id worker, std::size_t partition);
  void drop_worker(core::worker_id worker) { workers_.erase(worker); }
  [[nodiscard]] bool is_worker(core::worker_id worker) const { return workers_.contains(worker); }

  void store(core::worker_id worker, const store_step& step);
  void remove(core::worker_id worker, core::engine_hash name, core::medium_id medium, const removal_step& from = {});
  /// `only` absent: in every partition.
  void clear(core::worker_id worker, core::media_mask which, std::optional<std::size_t> only);

  /// Per query block, the media on which somebody whom `worker` can use holds it: 0 is a hole.
  [[nodiscard]] std::vector<core::media_mask> usable(std::size_t partition, core::worker_id worker,
                                                     std::span<const core::local_hash> query) const;
  /// The definition of depth, over the answer of `usable`.
  [[nodiscard]] static std::uint32_t depth(std::span<const core::media_mask> usable, core::media_mask among);
  [[nodiscard]] std::uint32_t depth(std::size_t partition, core::worker_id worker, core::media_mask among,
                                    std::span<const core::local_hash> query) const;

  /// Whether the worker (or a pool only its instance can use) holds one of the blocks itself, given media and depth.
  [[nodiscard]] bool has_row(std::size_t partition, core::worker_id worker, core::media_mask among,
                             std::span<const core::local_hash> query) const;

  [[nodiscard]] std::vector<core::worker_id> members(std::size_t partition) const;
  [[nodiscard]] std::uint64_t held_on(core::worker_id worker, core::medium_id medium) const;
  [[nodiscard]] std::size_t names(core::worker_id worker) const;
  [[nodiscard]] std::size_t orphans(core::worker_id worker) const;
  [[nodiscard]] std::size_t distinct_blocks(std::size_t partition) const;

 private:
  struct copies {
    core::medium_id medium{};
    model_place place;
    std::uint32_t count = 0;
    std::uint64_t stored_at = 0;  ///< larger is newer
  };
  using all_copies = std::vector<copies>;
  struct orphan {
    std::size_t partition = 0;
    std::optional<core::engine_hash> parent;  ///< absent: a placeholder
    core::local_hash local{};
    std::map<core::medium_id, std::uint32_t> counts;
    std::uint64_t since = 0;
  };
  struct state {
    worker_traits traits;
    std::set<std::size_t> partitions;
    std::map<core::engine_hash, all_copies> names;
    std::map<core::engine_hash, orphan> waiting;
  };

  static std::optional<model_place> newest(const state& who, core::engine_hash name, std::optional<std::size_t> partition,
                                           std::optional<core::medium_id> first_on = std::nullopt);
  void put(state& who, core::engine_hash name, const model_place& place, core::medium_id medium, std::uint32_t count);
  void wait(state& who, core::engine_hash name, orphan found, core::medium_id medium);
  void join_what_can(state& who);
  static core::media_mask holds(const state& who, const model_place& block);
  /// Whether what `lender` holds counts for `user`; with `own_only`, shared pools do not.
  [[nodiscard]] bool lends(std::size_t partition, core::worker_id lender, core::worker_id user, bool own_only) const;

  std::map<core::worker_id, state> workers_;
  std::uint64_t now_ = 0;
};

}  // namespace kvc::test
