// Where to find a run by the sequence hash of its first block, for readers: one cache line, no lock, and a definite no.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace kvc::core {

struct run;

/// The runs of a partition by the sequence hash of their first block.
///
/// Story: the directory decides who creates a run; but a look-up in a map of nodes waits for a bucket, then a node, then the run, and takes
/// a lock for reading. Here an entry is one word, the run's address and 22 bits of its hash, and a hint where its column stands, so that a
/// reader who has found it asks for both at once. Five entries make a line, and a line that has never overflowed says for certain that a
/// run is not there. Lines lie in segments of 62; a full segment is replaced by two, by one more leading bit of the hash, so that growth
/// moves some 200 entries at a time and no reader waits for it.
///
/// Thread-safety: all members from any lane; reading ones inside a quiescent scope. Calls for one hash are ordered by the caller (the
/// directory's element lock), but for `note_column`; writers of one segment meet at its lock, readers at none.
class run_finder {
 public:
  run_finder();
  ~run_finder();
  run_finder(const run_finder&) = delete;
  run_finder& operator=(const run_finder&) = delete;

  /// The run whose first hash is `first`; null when there is none.
  [[nodiscard]] run* find(std::uint64_t first) const noexcept;
  /// Brings near what `find` will look at first.
  void expect(std::uint64_t first) const noexcept;
  /// Precondition: no run with this first hash is entered.
  void add(run* fresh);
  void remove(const run* gone);
  /// One run instead of another that starts with the same hash.
  void replace(const run* old, run* fresh);
  /// A run has another column now: whoever finds the run will ask for that one at once. Only a hint, without a lock: it may be lost
  /// or meet another run's entry, if the segment or the entry changes just then, and then the wrong lines are asked for. Inside a quiescent
  /// scope.
  void note_column(const run& of) noexcept;

  /// True once a run found no room (there are some 15 million): then only the directory knows for certain that a run is not there.
  [[nodiscard]] bool is_partial() const noexcept { return is_partial_.load(std::memory_order_acquire); }
  [[nodiscard]] std::size_t bytes() const noexcept;

 private:
  struct segment;
  struct index;

  /// The segment of a hash, locked by its own lock.
  [[nodiscard]] segment& lock_segment(std::uint64_t hash) const noexcept;
  void divide(segment& full, std::uint64_t hash);
  [[nodiscard]] segment* make_segment(unsigned bits);

  std::atomic<index*> index_;
  std::mutex dividing_;
  std::atomic<bool> is_partial_{false};
  std::atomic<std::size_t> segments_{0};
};

}  // namespace kvc::core
