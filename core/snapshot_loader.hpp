// The way back from a dump: stores its records again, for a worker that holds nothing yet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/errc.hpp"
#include "core/lane_blocks.hpp"
#include "core/snapshot.hpp"
#include "core/store_command.hpp"

namespace kvc::core {

/// Loads the dump of one worker, slice by slice.
///
/// Story: paths are followed in the index, or made, and stay pinned until everything behind them has been loaded; parts go the way that
/// stores go; odd names are told wholly and replace what was known of them; what waits comes last, in its order, so that nothing is taken
/// for a parent that has not been told yet. Afterwards every query is answered, and every later event taken, as if the worker had lived
/// through the events behind the dump. Life cycle: `add_home` for each partition the dump numbers, before a record names it; `load` for
/// each slice, in order; `finish`. Errors: `malformed_dump` for a record that refers to what was not told before, or whose counts cannot
/// be; what was loaded until then stays, nothing more may be loaded, and the caller should clear the worker. Memory: some 30 bytes per
/// path, and as many waiting names as the worker may have orphans. Lane: the worker's.
class snapshot_loader {
 public:
  /// `into` outlives the loader and holds nothing. Nothing but the loader changes it until `finish`.
  explicit snapshot_loader(lane_blocks& into) : into_(&into) {}
  ~snapshot_loader();
  snapshot_loader(const snapshot_loader&) = delete;
  snapshot_loader& operator=(const snapshot_loader&) = delete;

  /// The next partition by the dump's numbers, joined by the worker.
  void add_home(std::shared_ptr<partition> home);

  [[nodiscard]] error_code load(const dump_slice& slice, apply_tally& tally);

  /// Loads what waits. Call once, after the last slice.
  void finish(apply_tally& tally);

 private:
  /// Blocks of a path that stand together in one run, which may be a longer or shorter one than where they came from.
  struct piece {
    run_stretch blocks;        ///< pinned
    std::uint32_t offset = 0;  ///< of its first block in the path
  };
  struct known_path {
    std::size_t first_piece = 0;
    std::size_t end_piece = 0;
    std::uint32_t count = 0;   ///< blocks told
    std::uint32_t placed = 0;  ///< blocks that have a place; the others collide with another prefix (see run_store::follow)
    std::uint16_t home = 0;    ///< the dump's number
  };

  [[nodiscard]] bool load_path(const dump_slice& slice, const dump_slice::path& told, apply_tally& tally);
  [[nodiscard]] bool load_part(const dump_slice& slice, const dump_slice::part& told, apply_tally& tally);
  [[nodiscard]] bool load_name(const dump_slice& slice, const dump_slice::odd_name& told, apply_tally& tally);
  [[nodiscard]] bool load_waiting(const dump_slice& slice, const dump_slice::waiting_name& told, apply_tally& tally);
  [[nodiscard]] bool is_copy(const dump_slice::copy& told) const;
  [[nodiscard]] std::vector<piece>::const_iterator piece_of(const known_path& path, std::uint32_t offset) const;
  void forget(engine_hash name, apply_tally& tally);
  [[nodiscard]] bool has_found_place(const dump_slice::waiting_name& told, medium_id medium) const;
  void wait(const dump_slice& slice, const dump_slice::waiting_name& told, apply_tally& tally);

  lane_blocks* into_;
  std::vector<std::uint16_t> homes_;  ///< by the dump's number: the worker's
  std::vector<known_path> paths_;
  std::vector<piece> pieces_;  ///< of all paths, in their order
  dump_slice late_;            ///< what waits
};

}  // namespace kvc::core
