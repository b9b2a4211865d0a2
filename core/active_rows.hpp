// The workers that still match, and how to find one of them again in the next run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kvc::core {

/// Rows of an answer by their worker.
///
/// Story: a run's cells name workers, and of each it must be known whether it covers everything before. Where the same workers took up run
/// after run, their cells stand in the same order, so the next one in line is tried first; a few others are searched for one by one, many
/// through a small table made on first need.
/// Belongs to one thread; reused from query to query for its memory.
class active_rows {
 public:
  static constexpr std::uint32_t none = 0xFFFF'FFFF;

  void clear() noexcept {
    workers_.clear();
    rows_.clear();
    next_ = 0;
    has_table_ = false;
    searches_ = 0;
  }
  void add(std::uint32_t worker, std::uint32_t row) {
    workers_.push_back(worker);
    rows_.push_back(row);
  }
  [[nodiscard]] bool empty() const noexcept { return rows_.empty(); }

  /// The row of `worker`; `none` when it is not among them.
  [[nodiscard]] std::uint32_t find(std::uint32_t worker) {
    if (next_ < workers_.size() && workers_[next_] == worker) return rows_[next_++];
    return search(worker);
  }

 private:
  [[nodiscard]] std::uint32_t search(std::uint32_t worker);
  void make_table();

  std::vector<std::uint32_t> workers_;
  std::vector<std::uint32_t> rows_;
  std::vector<std::uint32_t> table_;  ///< index + 1 by hash of the worker; 0 is free
  std::size_t next_ = 0;
  std::size_t searches_ = 0;
  unsigned shift_ = 0;
  bool has_table_ = false;
};

}  // namespace kvc::core
