// Which partitions exist, the index of each, and which workers are members of it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/entry_count.hpp"
#include "core/errc.hpp"
#include "core/ids.hpp"
#include "core/match.hpp"
#include "core/medium.hpp"
#include "core/member_map.hpp"
#include "core/name_board.hpp"
#include "core/page_allocator.hpp"
#include "core/partition_map.hpp"
#include "core/prefix_index.hpp"
#include "core/published.hpp"
#include "core/stream_status.hpp"

namespace kvc::core {

/// One index and the hash rule its blocks agree on. Shared by the lanes; the identity never changes.
class partition {
 public:
  /// `names`: of the partitions that differ from this one by their adapter only; null: there is none yet.
  partition(partition_key key, std::uint64_t seed, std::shared_ptr<name_board> names = {})
      : key_(std::move(key)),
        index_(seed),
        names_(names ? std::move(names) : std::make_shared<name_board>()),
        adapter_(names_->adapter(key_.lora)) {}

  [[nodiscard]] const partition_key& key() const noexcept { return key_; }
  [[nodiscard]] std::uint64_t seed() const noexcept { return index_.seed(); }
  [[nodiscard]] prefix_index& index() noexcept { return index_; }
  [[nodiscard]] const prefix_index& index() const noexcept { return index_; }
  /// What its workers hold; written by lane_blocks.
  [[nodiscard]] entry_count& entries() noexcept { return entries_; }
  [[nodiscard]] const entry_count& entries() const noexcept { return entries_; }
  /// What its pools ask of its engines, and the number its adapter has there.
  [[nodiscard]] const std::shared_ptr<name_board>& names() const noexcept { return names_; }
  [[nodiscard]] std::uint16_t adapter() const noexcept { return adapter_; }
  /// Which of its blocks engines have told the pools that a name means; absent: none, or nobody has asked. Any lane.
  [[nodiscard]] std::optional<seq_hash> told_block(engine_hash name) const;

 private:
  partition_key key_;
  prefix_index index_;
  entry_count entries_;
  std::shared_ptr<name_board> names_;
  std::uint16_t adapter_;
};

/// A key that many views of a partition share.
[[nodiscard]] inline std::shared_ptr<const worker_key> shared_key(worker_key key) {
  return std::make_shared<const worker_key>(std::move(key));
}

/// A worker as a partition sees it. Copied into every new view of the partition, so it holds nothing that has to be copied in depth.
struct member {
  worker_id id{};
  std::shared_ptr<const worker_key> key;  ///< never null in a partition
  bool shared_pool = false;
  std::shared_ptr<stream_status> status;                ///< of the worker's stream
  std::shared_ptr<std::atomic<media_mask>> media_seen;  ///< never null; media the worker has ever reported, only grows
};

/// Members as a view lists them.
using member_list = std::vector<member, page_allocator<member>>;

/// A partition and its members at one moment. Immutable.
struct partition_view {
  std::shared_ptr<core::partition> partition;
  member_list members;   ///< sorted by (instance, rank, class); shared pools included
  match_scope scope;     ///< the pools, ready for `prefix_index::match`
  member_map by_worker;  ///< the same members by instance and worker
};

/// All partitions at one moment. Immutable.
struct catalog_view {
  partition_map partitions;  ///< by key

  /// Null when there is no such partition.
  [[nodiscard]] const partition_view* find(const partition_key& key) const;
};

/// The partitions of the process. Created by the first worker that joins, dropped with the last that leaves.
///
/// Cost: what changes of one partition copies its members, and little of the view (partition_map): events of streams open partitions by the
/// thousand. Leaving and renaming touch the partitions of that worker only.
///
/// Thread-safety: `join`, `rename` and `leave` may be called from any lane (they take a lock); reading goes through
/// `published<catalog_view>::reader`, one per lane.
class catalog {
 public:
  /// The partition `key`, with `who` as a member of it. Joining twice changes nothing.
  /// Errors: `seed_conflict` when the partition exists under another seed.
  [[nodiscard]] result<std::shared_ptr<partition>> join(const partition_key& key, std::uint64_t seed, const member& who);

  /// Whether a publisher with this seed could join.
  [[nodiscard]] bool accepts(const partition_key& key, std::uint64_t seed) const;

  /// `who` is called so from now on, wherever it is a member.
  void rename(worker_id who, const std::shared_ptr<const worker_key>& key);

  /// `who` leaves every partition: queries no longer see it. Its blocks may be released afterwards, by whoever still holds the partition.
  void leave(worker_id who);
  /// The same for the partitions that `goes` accepts only.
  void leave(worker_id who, const std::function<bool(const partition_key&)>& goes);

  [[nodiscard]] const published<catalog_view>& view() const noexcept { return view_; }

 private:
  /// Partitions that differ by their adapter only.
  struct family {
    std::shared_ptr<name_board> names;  ///< null: of none yet
    std::size_t partitions = 0;         ///< in the view
  };
  /// The order of keys without their adapters.
  struct by_family {
    [[nodiscard]] bool operator()(const partition_key& left, const partition_key& right) const noexcept;
  };

  mutable std::mutex changing_;
  // What only a walk through the whole view would tell, for whoever changes it; both are as the view is.
  std::map<partition_key, family, by_family> families_;
  std::map<worker_id, std::vector<const partition*>> homes_;  ///< where each worker is a member
  published<catalog_view> view_;
};

}  // namespace kvc::core
