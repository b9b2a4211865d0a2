// Which of many slots hold a run far enough: cutoffs compared with a length, many at once.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/run.hpp"

namespace kvc::core {

/// For each of `count` dense cells (a multiple of 64): bit i of `full` says that cell i's cutoff is at least `length`, of `partial` that it
/// is between 1 and `length` - 1. Both have room for `count` / 64 words. `length` is 1 to `max_run_blocks`. Uses AVX-512 where it pays
/// (vector_width.hpp), AVX2 or NEON where the CPU has them (asked once). Any lane; the cells may be written meanwhile, each is seen old or
/// new.
void sweep_cells(const dense_cell* cells, std::size_t count, std::uint32_t length, std::uint64_t* full, std::uint64_t* partial) noexcept;

/// The same by plain code on every CPU: what the fast ones are tested against.
void sweep_cells_scalar(const dense_cell* cells, std::size_t count, std::uint32_t length, std::uint64_t* full,
                        std::uint64_t* partial) noexcept;

/// Slots that hold a run far enough.
struct reaching_slots {
  std::uint32_t count = 0;
  std::uint32_t last = no_slot;  ///< the one found last
};

/// Looks for slots that hold at least the first `length` blocks of a run, 1 to `max_run_blocks`, until `enough` are found: in most cases
/// the first few cells tell. Any lane, like `sweep_cells`, inside a quiescent scope.
[[nodiscard]] reaching_slots find_reaching(const run& in, std::uint32_t length, std::uint32_t enough) noexcept;

}  // namespace kvc::core
