// What can be found by sequence hash: the run that starts with a block, and the holders of blocks known by nothing else. Only oneTBB user.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include <boost/container/small_vector.hpp>

#include "core/ids.hpp"
#include "core/medium.hpp"

namespace kvc::core {

struct run;

/// One worker's hold on a block that is known by its sequence hash only: how many of its names on this medium mean the block.
struct holder {
  std::uint32_t worker;
  medium_id medium;
  std::uint32_t names;
};

/// Sorted by (worker, medium).
using holder_list = boost::container::small_vector<holder, 2>;

/// The runs of one partition by the sequence hash of their first block, and the blocks that stand in no run because their publisher names
/// them by sequence hash and tells no local hashes.
///
/// Guarantees: all members may be called from any lane at any time, except the `each_` ones; a call never waits longer than it takes to
/// change one element or to divide one segment of the finder. Of two lanes that add a run for one hash at once, one wins and both learn
/// which.
class run_directory {
 public:
  run_directory();
  ~run_directory();

  /// The run that starts with `first`; null when there is none. It may be dead: pin it before use. Inside a quiescent scope.
  [[nodiscard]] run* find(seq_hash first) const;
  /// Brings near what `find` will need. Inside a quiescent scope.
  void expect(seq_hash first) const noexcept;
  /// Brings near what `add` and `erase` of a run that starts with `first` will need. Inside a quiescent scope.
  void expect_change(seq_hash first) const noexcept;
  /// Enters `fresh` under its first hash, unless a live run is there already. Answers the one that is there afterwards.
  run* add(run* fresh);
  /// Takes `dead` out, unless another run has taken its place.
  void erase(const run* dead);
  /// The column of a run has been replaced (see run_finder::note_column). Inside a quiescent scope.
  void note_column(const run& of) noexcept;
  /// Calls `visit` for each run. No lane may write meanwhile.
  void each_run(const std::function<void(run*)>& visit) const;
  /// Calls `visit` for each block that is held but stands in no run, as far as its publisher tells. No lane may write meanwhile.
  void each_lone(const std::function<void(seq_hash)>& visit) const;

  /// One more name of `block` is held by `worker` on `medium`.
  void hold(seq_hash block, worker_id worker, medium_id medium);
  /// One name less. Releasing what is not held does nothing.
  void release(seq_hash block, worker_id worker, medium_id medium);
  /// Copies the holders out. False when nobody holds the block.
  bool read(seq_hash block, holder_list& into) const;

  [[nodiscard]] std::size_t runs() const noexcept;
  [[nodiscard]] std::size_t lone_blocks() const noexcept;  ///< blocks in no run
  [[nodiscard]] media_mask lone_media() const noexcept;    ///< on which such blocks have ever been
  [[nodiscard]] std::size_t bytes() const noexcept;

 private:
  struct tables;
  std::unique_ptr<tables> tables_;
};

}  // namespace kvc::core
