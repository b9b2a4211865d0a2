// What a worker holds, as ordered records that can be stored again: the form of a dump before it is written down anywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/catalog.hpp"
#include "core/gradual_map.hpp"
#include "core/ids.hpp"
#include "core/medium.hpp"
#include "core/name_map.hpp"

namespace kvc::core {

/// Which partitions a dump is about; what is absent may be anything.
struct dump_filter {
  std::optional<std::string> tenant;
  std::optional<std::string> model;
  std::optional<std::string> lora;  ///< present and empty: the base model
  std::optional<std::string> salt;  ///< present and empty: none
  std::optional<std::uint32_t> block_size;

  [[nodiscard]] bool matches(const partition_key& key) const;
};

/// Some records of a dump.
///
/// Story: blocks are told as paths, stretches of a chain whose parent an earlier path told, with their local hashes; a path may lead over
/// blocks that the worker does not hold. What it holds is told as parts of paths under consecutive names, one copy each. Names that mean
/// more than that (several copies, several blocks, a block in no run) are told one by one, each with the whole truth about it; blocks that
/// wait for their place, with the name they wait for. Records are to be read in this order: waiting, paths, parts, names. Partitions are
/// numbered by the worker, paths by the dump.
struct dump_slice {
  static constexpr std::uint32_t no_path = 0xFFFF'FFFF;

  struct path {
    std::uint32_t number = 0;         ///< one more than the path before
    std::uint32_t parent = no_path;   ///< none: starts at position 0
    std::uint32_t parent_offset = 0;  ///< the block of the parent behind which it stands
    std::uint32_t base = 0;           ///< position of its first block
    std::uint16_t home = 0;
    std::uint32_t first_local = 0;  ///< into `locals`
    std::uint32_t count = 0;        ///< blocks, at least 1
    seq_hash parent_hash{};         ///< of the block it stands behind, when there is one
    seq_hash first_hash{};          ///< of its first block
  };
  struct part {
    std::uint32_t path = 0;
    std::uint32_t offset = 0;  ///< of its first block in the path
    medium_id medium{};
    std::uint32_t first_name = 0;  ///< into `names`
    std::uint32_t count = 0;       ///< at least 1
  };
  struct copy {
    std::uint32_t path = no_path;  ///< none: the block is known by its sequence hash only
    std::uint32_t offset = 0;
    std::uint32_t base = 0;  ///< position of the block; meaningless without a path
    local_hash local{};      ///< meaningless without a path
    seq_hash block{};
    std::uint16_t home = 0;
    medium_id medium{};
    std::uint32_t count = 0;  ///< at least 1
  };
  struct odd_name {
    engine_hash name{};
    std::uint32_t first_copy = 0;  ///< into `copies`; in the order of their last stores
    std::uint32_t count = 0;       ///< media in partitions, at least 1
  };
  struct waiting_copy {
    medium_id medium{};
    std::uint32_t count = 0;
  };
  struct waiting_name {
    engine_hash name{};
    std::optional<engine_hash> parent;  ///< absent: waits for its own name
    local_hash local{};
    std::uint16_t home = 0;
    std::uint32_t first_copy = 0;  ///< into `waiting_copies`
    std::uint32_t count = 0;
  };

  std::vector<waiting_name> waiting;  ///< those who have waited longest first
  std::vector<waiting_copy> waiting_copies;
  std::vector<path> paths;
  std::vector<local_hash> locals;
  std::vector<part> parts;
  std::vector<engine_hash> names;
  std::vector<odd_name> odd_names;
  std::vector<copy> copies;

  /// Forgets all records and keeps the memory.
  void clear() noexcept;
  /// Blocks told: held or waiting, per name and medium.
  [[nodiscard]] std::size_t blocks() const noexcept { return names.size() + copies.size() + waiting_copies.size(); }
};

/// How far the dump of one worker has come; see lane_blocks::dump_some.
///
/// The runs that are still to be told are pinned, so that the cursor survives whatever is stored and removed between two slices, and also
/// the worker itself. Costs some 60 bytes per run while it lives.
/// Lane: the worker's while it is used; may be destroyed anywhere, which takes some time per run when the dump was broken off.
class dump_cursor {
 public:
  explicit dump_cursor(dump_filter only = {}) : only_(std::move(only)) {}
  ~dump_cursor();
  dump_cursor(const dump_cursor&) = delete;
  dump_cursor& operator=(const dump_cursor&) = delete;

  /// The partitions by the numbers that the records told so far use.
  [[nodiscard]] std::span<const std::shared_ptr<partition>> homes() const noexcept { return homes_; }

 private:
  friend class lane_blocks;

  enum class step : std::uint8_t { begin, waiting, finding, paths, odd_names, letting_go };
  struct seen {
    run* in = nullptr;
    std::uint32_t needed = 0;                    ///< blocks that children stand behind
    std::uint32_t number = dump_slice::no_path;  ///< once told
    std::uint32_t told = 0;                      ///< blocks told
    std::uint16_t home = 0;
    bool is_pinned = false;
  };

  /// Null for a run that has not been found, nor stands before one that has.
  [[nodiscard]] const seen* find(const run* which) const noexcept;
  [[nodiscard]] seen& of(const run* which) noexcept { return const_cast<seen&>(*find(which)); }
  /// The same, made when there is none.
  [[nodiscard]] seen& note(run* which);
  void let_go_of_last();

  dump_filter only_;
  step now_ = step::begin;
  worker_id of_{};  ///< whose blocks are told, once begun
  std::vector<std::shared_ptr<partition>> homes_;
  std::vector<bool> is_wanted_;       ///< by home
  std::vector<engine_hash> waiting_;  ///< to be told
  std::uint32_t holdings_ = 0;        ///< one past the highest number of those to be looked at
  std::uint64_t moves_ = 0;           ///< looked at; see lane_holdings::moves
  // There may be a million runs: nothing of them is kept in one piece that has to grow.
  std::deque<run*> runs_;                      ///< held; each pinned once
  std::deque<seen> seen_;                      ///< those and the runs they stand behind
  gradual_map numbers_{arena_kind::holdings};  ///< by run, which of the seen it is
  std::size_t next_ = 0;                       ///< in whatever the step walks
  name_walk odd_names_;
  std::uint32_t paths_told_ = 0;
};

}  // namespace kvc::core
