// From a query to levels: which slots reach how deep, while each slot stands for itself.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/match.hpp"
#include "core/run_store.hpp"
#include "core/run_walk.hpp"

namespace kvc::core {

/// Finds the depth of every slot along a query: what its own unbroken cutoffs say, nothing borrowed from other slots.
///
/// Story: at every run the slots that have matched everything so far are compared with the run's cells. Those whose cutoff ends inside the
/// run are done, one by one; those that do not hold it at all are done together, as a set; the rest go on. While many go on they are a
/// bitmap, and a run that many hold is compared with it dozens of cells at a time; once few are left, they are a list.
/// Belongs to one thread; reused from query to query for its memory. Inside a quiescent scope.
class level_walk {
 public:
  /// Over the runs of a partition, as its slots are now; marks those it comes through as used in this round.
  template <class Walk>
  void run(const run_store& runs, const Walk& query, match_levels& out);

 private:
  static constexpr std::size_t few = 8;

  [[nodiscard]] bool has_any() const noexcept { return is_list_ ? listed_ != 0 : any_; }
  void first_run(const kvc::core::run& in, std::uint32_t length);
  void next_run(const kvc::core::run& in, std::uint32_t base, std::uint32_t length);
  void next_run_by_list(const kvc::core::run& in, std::uint32_t base, std::uint32_t length);
  /// Makes what is in next_ the slots that go on.
  void settle();
  void finish(std::uint32_t depth);
  void add_level(std::uint32_t depth);
  void add_partial(const cell_chunk& chunk, std::size_t words, std::uint32_t base, std::uint32_t length);
  void make_room();
  std::size_t sweep(const cell_chunk& chunk, std::uint32_t length);

  match_levels* out_ = nullptr;
  std::size_t words_ = 0;
  bool is_list_ = false;
  bool any_ = false;
  std::size_t listed_ = 0;
  std::array<std::uint32_t, few> list_{};
  std::vector<std::uint64_t> room_;  ///< of the four bitmaps, `words_` words each
  std::uint64_t* alive_ = nullptr;   ///< slots that hold everything so far
  std::uint64_t* next_ = nullptr;
  std::uint64_t* full_ = nullptr;  ///< of the chunk in hand, from its first slot on
  std::uint64_t* partial_ = nullptr;
};

}  // namespace kvc::core
