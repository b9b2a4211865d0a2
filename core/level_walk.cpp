#include "core/level_walk.hpp"

#include <algorithm>
#include <bit>
#include <optional>

#include "core/cell_sweep.hpp"

namespace kvc::core {
namespace {

constexpr unsigned word_bits = 64;

std::uint64_t bit_of(std::uint32_t slot) noexcept { return std::uint64_t{1} << (slot % word_bits); }

cell_word word_in(std::uint32_t cell) noexcept { return cell_word(static_cast<std::uint16_t>(cell & ((1U << cell_word::width) - 1))); }

/// Calls `sparse(slot, cutoff)` for the sparse cells of a run and `dense(chunk)` for its dense chunks.
template <class Sparse, class Dense>
void visit_cells(const run& in, Sparse sparse, Dense dense) {
  const auto all_of = [&](const sparse_cell* cells, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t cell = cells[i].load(std::memory_order_acquire);
      if (cell != 0) sparse(cell >> cell_word::width, word_in(cell).cutoff());
    }
  };
  all_of(in.cells.data(), run::inline_cells);
  for (const cell_chunk* chunk = in.more.load(std::memory_order_acquire); chunk != nullptr; chunk = chunk->next.load(std::memory_order_acquire)) {
    if (chunk->is_dense) {
      dense(*chunk);
    } else {
      all_of(chunk->sparse(), chunk->count);
    }
  }
}

}  // namespace

/// Compares a dense chunk into full_ and partial_, as far as the bitmaps reach.
void level_walk::sweep(const cell_chunk& chunk, std::uint32_t length) {
  const std::size_t first = chunk.first_slot / word_bits;
  const std::size_t words = first >= words_ ? 0 : std::min<std::size_t>(chunk.count / word_bits, words_ - first);
  full_.resize(std::max(full_.size(), words));
  partial_.resize(std::max(partial_.size(), words));
  sweep_cells(chunk.dense(), words * word_bits, length, full_.data(), partial_.data());
}

void level_walk::first_run(const kvc::core::run& in, std::uint32_t length) {
  next_.assign(words_, 0);
  visit_cells(
      in,
      [&](std::uint32_t slot, std::uint32_t cutoff) {
        if (cutoff == 0 || slot >= words_ * word_bits) return;  // a slot that was taken after the query began
        if (cutoff >= length) {
          next_[slot / word_bits] |= bit_of(slot);
        } else {
          out_->reaches.push_back({slot, cutoff});
        }
      },
      [&](const cell_chunk& chunk) {
        sweep(chunk, length);
        const std::size_t first = chunk.first_slot / word_bits;
        for (std::size_t i = 0; i < chunk.count / word_bits && first + i < words_; ++i) {
          next_[first + i] |= full_[i];
          for (std::uint64_t rest = partial_[i]; rest != 0; rest &= rest - 1) {
            const auto at = static_cast<std::uint32_t>(i * word_bits) + static_cast<std::uint32_t>(std::countr_zero(rest));
            const std::uint32_t cutoff = cell_word(chunk.dense()[at].load(std::memory_order_relaxed)).cutoff();
            if (cutoff != 0) out_->reaches.push_back({chunk.first_slot + at, std::min(cutoff, length)});
          }
        }
      });
  settle();
}

void level_walk::next_run(const kvc::core::run& in, std::uint32_t base, std::uint32_t length) {
  next_.assign(words_, 0);
  visit_cells(
      in,
      [&](std::uint32_t slot, std::uint32_t cutoff) {
        if (cutoff == 0 || slot >= words_ * word_bits || (alive_[slot / word_bits] & bit_of(slot)) == 0) return;
        alive_[slot / word_bits] &= ~bit_of(slot);
        if (cutoff >= length) {
          next_[slot / word_bits] |= bit_of(slot);
        } else {
          out_->reaches.push_back({slot, base + cutoff});
        }
      },
      [&](const cell_chunk& chunk) {
        sweep(chunk, length);
        const std::size_t first = chunk.first_slot / word_bits;
        for (std::size_t i = 0; i < chunk.count / word_bits && first + i < words_; ++i) {
          const std::uint64_t alive = alive_[first + i];
          next_[first + i] |= full_[i] & alive;
          for (std::uint64_t rest = partial_[i] & alive; rest != 0; rest &= rest - 1) {
            const auto at = static_cast<std::uint32_t>(i * word_bits) + static_cast<std::uint32_t>(std::countr_zero(rest));
            const std::uint32_t cutoff = cell_word(chunk.dense()[at].load(std::memory_order_relaxed)).cutoff();
            out_->reaches.push_back({chunk.first_slot + at, base + std::min(cutoff, length)});
          }
          alive_[first + i] = alive & ~(full_[i] | partial_[i]);
        }
      });
  add_level(base);  // whoever does not hold this run at all
  settle();
}

void level_walk::next_run_by_list(const kvc::core::run& in, std::uint32_t base, std::uint32_t length) {
  std::array<std::uint32_t, few> held{};
  visit_cells(
      in,
      [&](std::uint32_t slot, std::uint32_t cutoff) {
        for (std::size_t i = 0; i < listed_; ++i) {
          if (list_[i] == slot) held[i] = std::max(held[i], cutoff);
        }
      },
      [&](const cell_chunk& chunk) {
        for (std::size_t i = 0; i < listed_; ++i) {
          if (list_[i] < chunk.first_slot || list_[i] >= chunk.first_slot + chunk.count) continue;
          held[i] = std::max(held[i], cell_word(chunk.dense()[list_[i] - chunk.first_slot].load(std::memory_order_acquire)).cutoff());
        }
      });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < listed_; ++i) {
    if (held[i] >= length) {
      list_[kept++] = list_[i];
    } else {
      out_->reaches.push_back({list_[i], base + held[i]});
    }
  }
  listed_ = kept;
}

void level_walk::settle() {
  alive_.swap(next_);
  std::size_t count = 0;
  for (std::size_t i = 0; i < words_ && count <= few; ++i) count += static_cast<std::size_t>(std::popcount(alive_[i]));
  any_ = count != 0;
  is_list_ = count <= few;
  if (!is_list_) return;
  listed_ = 0;
  for (std::size_t i = 0; listed_ < count; ++i) {
    for (std::uint64_t rest = alive_[i]; rest != 0; rest &= rest - 1) {
      list_[listed_++] = static_cast<std::uint32_t>(i * word_bits) + static_cast<std::uint32_t>(std::countr_zero(rest));
    }
  }
}

/// The slots in alive_ are done at this depth.
void level_walk::add_level(std::uint32_t depth) {
  std::uint64_t any = 0;
  for (std::size_t i = 0; i < words_; ++i) any |= alive_[i];
  if (any == 0) return;
  out_->levels.push_back({depth, static_cast<std::uint32_t>(out_->sets.size()), static_cast<std::uint32_t>(words_)});
  out_->sets.insert(out_->sets.end(), alive_.begin(), alive_.begin() + static_cast<std::ptrdiff_t>(words_));
}

void level_walk::finish(std::uint32_t depth) {
  if (!is_list_) {
    add_level(depth);
  } else {
    for (std::size_t i = 0; i < listed_; ++i) out_->reaches.push_back({list_[i], depth});
  }
}

template <class Walk>
void level_walk::run(const run_store& runs, const Walk& query, match_levels& out) {
  out_ = &out;
  words_ = (runs.slots().end() + word_bits - 1) / word_bits;
  const std::uint32_t round = runs.round();
  for (bool is_whole = false; !is_whole;) {
    out.clear();
    is_whole = true;
    run_segment here;
    std::size_t at = 0;
    std::optional<seq_hash> next;
    if (query.size() != 0) next = query.first();
    while (next && find_segment(runs.directory(), query, here, at, *next, here)) {
      here.in->note_use(round);
      // Where it goes on is asked for before the cells are looked at, which take about as long as the answer.
      const std::size_t end = at + here.length;
      next.reset();
      if (end < query.size() && query.may_continue(here, end)) {
        next = query.behind(here, end);
        runs.directory().expect(*next);
      }
      const auto base = static_cast<std::uint32_t>(at);
      if (at == 0) {
        first_run(*here.in, here.length);
      } else if (is_list_) {
        next_run_by_list(*here.in, base, here.length);
      } else {
        next_run(*here.in, base, here.length);
      }
      // Cells read after a cut speak of other blocks than those compared before it (see run_store::try_cut): once more, from the start.
      is_whole = !here.was_cut();
      at = end;
      if (!is_whole || !has_any()) break;
    }
    if (is_whole && at != 0) finish(static_cast<std::uint32_t>(at));
  }
}

template void level_walk::run(const run_store&, const local_walk&, match_levels&);
template void level_walk::run(const run_store&, const sequence_walk&, match_levels&);

}  // namespace kvc::core
