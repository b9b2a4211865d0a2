// The runs of a partition by the sequence hash of their first block: who creates one, and where readers find it without a lock.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>

#include "core/sharded_count.hpp"

namespace kvc::core {

struct run;

/// Where runs go that a finder has no room for. Calls for one hash come one after the other.
class run_overflow {
 public:
  /// The run that starts with `first`; null when there is none.
  [[nodiscard]] virtual run* find(std::uint64_t first) const = 0;
  /// Enters a run, instead of the one that is there with its first hash, if any.
  virtual void put(run* fresh) = 0;
  /// Takes a run out, unless another one stands in its place. Whether it was there.
  virtual bool remove(const run* gone) = 0;

 protected:
  ~run_overflow() = default;
};

/// The runs of a partition by the sequence hash of their first block.
///
/// Story: an entry is one word, the run's address and 22 bits of its hash, and a hint where its column stands and how long it is, so that a
/// reader who has found it asks for both at once. Five entries make a line, and a line that has never overflowed says for certain that a
/// run is not there. Lines lie in segments of 62, and who changes one has the segment's lock, so that of two who add a run for one hash the
/// second finds the first; a full segment is replaced by two, by one more leading bit of the hash, so that growth moves some 200 entries at
/// a time and no reader waits for it; two that have become nearly empty are replaced by one, so that what a partition has grown to is given
/// back. A map of nodes with a lock for each, which did this before, took a bucket, a node and several locked instructions for each run
/// that came or went; it is still there for what finds no room here.
///
/// Thread-safety: all members from any lane, except `each`; reading ones inside a quiescent scope. Writers of one segment meet at its lock,
/// readers at none.
class run_finder {
 public:
  static constexpr unsigned most_bits = 16;  ///< leading bits of the hash kept in an entry, and so the most that choose a segment

  /// `overflow` outlives the finder. Its segments divide until they are chosen by `bits` bits of the hash, at most `most_bits`.
  explicit run_finder(run_overflow& overflow, unsigned bits = most_bits);
  ~run_finder();
  run_finder(const run_finder&) = delete;
  run_finder& operator=(const run_finder&) = delete;

  /// The run whose first hash is `first`; null when there is none. It may be dead: pin it before use.
  [[nodiscard]] run* find(std::uint64_t first) const noexcept;
  /// Brings near what `find` will look at first.
  void expect(std::uint64_t first) const noexcept;
  /// Brings near what `add` and `remove` will need as well. Inside a quiescent scope.
  void expect_change(std::uint64_t first) const noexcept;
  /// Enters `fresh` under its first hash, unless a live run is there already. Answers the one that is there afterwards. A column of it, if
  /// there is one, is looked at for its capacity.
  run* add(run* fresh);
  /// Takes a run out, unless another one stands in its place.
  void remove(const run* gone);
  /// A run has another column now: whoever finds the run will ask for that one at once. Only a hint, without a lock: it may be lost
  /// or meet another run's entry, if the segment or the entry changes just then, and then the wrong lines are asked for. Inside a quiescent
  /// scope.
  void note_column(const run& of) noexcept;
  /// Calls `visit` for each run that is not in the overflow. Nobody may write meanwhile.
  void each(const std::function<void(run*)>& visit) const;

  /// True once a run found no room (there are some 15 million): then what is not here may be in the overflow.
  [[nodiscard]] bool is_partial() const noexcept { return is_partial_.load(std::memory_order_acquire); }
  /// Runs, those in the overflow too; approximate while others write.
  [[nodiscard]] std::size_t size() const noexcept { return size_.sum(); }
  [[nodiscard]] std::size_t bytes() const noexcept;

 private:
  struct segment;
  struct index;

  /// The segment of a hash, locked by its own lock.
  [[nodiscard]] segment& lock_segment(std::uint64_t hash) const noexcept;
  /// The same, divided as often as it has to be for one more entry, as far as that can be done.
  [[nodiscard]] segment& lock_with_room(std::uint64_t hash);
  void divide(segment& full, std::uint64_t hash);
  /// Replaces a segment and the one it was divided from by one, where both are nearly empty and nobody changes the other just now.
  /// Precondition: its lock is held; `hash` is one of its hashes.
  void join(segment& sparse, std::uint64_t hash);
  /// All places of the index that `hash` shares its first `bits` bits with lead to this segment from now on. Under `dividing_`.
  static void put_segment(index& into, std::uint64_t hash, unsigned bits, segment* made);
  /// Puts another index in the place of the present one, and gives that back once no reader can look at it. Under `dividing_`.
  void replace(index* present, index* instead);
  /// A segment is no longer found in the index.
  void end(segment& replaced);
  [[nodiscard]] segment* make_segment(unsigned bits);
  template <class Visit>
  void each_segment(Visit visit) const;

  run_overflow& overflow_;
  unsigned bits_;
  std::atomic<index*> index_;
  std::mutex dividing_;                                   ///< or joining: whoever changes the index
  std::array<std::uint32_t, most_bits + 1> segments_of_;  ///< by their bits; under `dividing_`
  std::atomic<bool> is_partial_{false};
  std::atomic<std::size_t> segments_{0};
  sharded_count size_;
};

}  // namespace kvc::core
