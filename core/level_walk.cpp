#include "core/level_walk.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "core/cell_sweep.hpp"
#include "core/run_hint.hpp"

namespace kvc::core {
namespace {

constexpr unsigned word_bits = 64;

std::uint64_t bit_of(std::uint32_t slot) noexcept {
  return std::uint64_t{1} << (slot % word_bits);
}

std::uint32_t slot_in(std::uint32_t cell) noexcept {
  return cell >> cell_word::width;
}
cell_word word_in(std::uint32_t cell) noexcept {
  return cell_word(static_cast<std::uint16_t>(cell & ((1U << cell_word::width) - 1)));
}

/// Calls `sparse(cell)` for the sparse cells of a run, in use or not, and `dense(chunk)` for its dense chunks.
template <class Sparse, class Dense>
void visit_cells(const run& in, Sparse sparse, Dense dense) {
  const auto all_of = [&](const sparse_cell* cells, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) sparse(cells[i].load(std::memory_order_acquire));
  };
  all_of(in.cells.data(), run::inline_cells);
  for (const cell_chunk* chunk = in.more.load(std::memory_order_acquire); chunk != nullptr;
       chunk = chunk->next.load(std::memory_order_acquire)) {
    if (chunk->is_dense) {
      dense(*chunk);
    } else {
      all_of(chunk->sparse(), chunk->count);
    }
  }
}

}  // namespace

/// Points the bitmaps to memory of `words_` words each.
void level_walk::make_room() {
  constexpr std::size_t bitmaps = 4;
  if (room_.size() < bitmaps * words_) room_.resize(bitmaps * words_);
  alive_ = room_.data();
  next_ = alive_ + words_;
  full_ = next_ + words_;
  partial_ = full_ + words_;
}

/// Compares a dense chunk into full_ and partial_, as far as the bitmaps reach; answers how many words that are.
std::size_t level_walk::sweep(const cell_chunk& chunk, std::uint32_t length) {
  const std::size_t first = chunk.first_slot / word_bits;
  const std::size_t words = first >= words_ ? 0 : std::min<std::size_t>(chunk.count / word_bits, words_ - first);
  sweep_cells(chunk.dense(), words * word_bits, length, full_, partial_);
  return words;
}

/// The slots in partial_, of the `words` words of a dense chunk, are done: `base` blocks, and what their cells say of the next `length`,
/// which may have changed since they were compared. In one piece: a vector that grows one by one waits for its own end each time.
void level_walk::add_partial(const cell_chunk& chunk, std::size_t words, std::uint32_t base, std::uint32_t length) {
  std::size_t most = 0;
  for (std::size_t i = 0; i < words; ++i) most += static_cast<std::size_t>(std::popcount(partial_[i]));
  auto& all = out_->reaches;
  const std::size_t before = all.size();
  all.resize(before + most);
  match_levels::reach* to = all.data() + before;
  for (std::size_t i = 0; i < words; ++i) {
    for (std::uint64_t rest = partial_[i]; rest != 0; rest &= rest - 1) {
      const auto at = static_cast<std::uint32_t>(i * word_bits) + static_cast<std::uint32_t>(std::countr_zero(rest));
      const std::uint32_t depth = base + std::min(cell_word(chunk.dense()[at].load(std::memory_order_relaxed)).cutoff(), length);
      if (depth != 0) *to++ = {chunk.first_slot + at, depth};
    }
  }
  all.resize(static_cast<std::size_t>(to - all.data()));
}

void level_walk::first_run(const kvc::core::run& in, std::uint32_t length) {
  std::fill_n(next_, words_, 0);
  visit_cells(
      in,
      [&, next = next_, end = words_ * word_bits](std::uint32_t cell) {
        const std::uint32_t slot = slot_in(cell);
        const std::uint32_t cutoff = word_in(cell).cutoff();
        if (slot >= end) return;  // it was taken after the query began
        if (cutoff >= length) {
          next[slot / word_bits] |= bit_of(slot);
        } else if (cutoff != 0) {
          out_->reaches.push_back({slot, cutoff});
        }
      },
      [&](const cell_chunk& chunk) {
        const std::size_t words = sweep(chunk, length);
        const std::size_t first = chunk.first_slot / word_bits;
        std::uint64_t any = 0;
        for (std::size_t i = 0; i < words; ++i) {
          next_[first + i] |= full_[i];
          any |= partial_[i];
        }
        if (any != 0) add_partial(chunk, words, 0, length);
      });
  settle();
}

void level_walk::next_run(const kvc::core::run& in, std::uint32_t base, std::uint32_t length) {
  std::fill_n(next_, words_, 0);
  visit_cells(
      in,
      [&](std::uint32_t cell) {
        const std::uint32_t slot = slot_in(cell);
        const std::uint32_t cutoff = word_in(cell).cutoff();
        if (cutoff == 0 || slot >= words_ * word_bits || (alive_[slot / word_bits] & bit_of(slot)) == 0) return;
        alive_[slot / word_bits] &= ~bit_of(slot);
        if (cutoff >= length) {
          next_[slot / word_bits] |= bit_of(slot);
        } else {
          out_->reaches.push_back({slot, base + cutoff});
        }
      },
      [&](const cell_chunk& chunk) {
        const std::size_t words = sweep(chunk, length);
        const std::size_t first = chunk.first_slot / word_bits;
        std::uint64_t any = 0;
        for (std::size_t i = 0; i < words; ++i) {
          const std::uint64_t alive = alive_[first + i];
          next_[first + i] |= full_[i] & alive;
          partial_[i] &= alive;
          any |= partial_[i];
          alive_[first + i] = alive & ~(full_[i] | partial_[i]);
        }
        if (any != 0) add_partial(chunk, words, base, length);
      });
  add_level(base);  // whoever does not hold this run at all
  settle();
}

void level_walk::next_run_by_list(const kvc::core::run& in, std::uint32_t base, std::uint32_t length) {
  std::array<std::uint32_t, few> held{};
  visit_cells(
      in,
      [&](std::uint32_t cell) {
        if (cell == 0) return;
        for (std::size_t i = 0; i < listed_; ++i) {
          if (list_[i] == slot_in(cell)) held[i] = std::max(held[i], word_in(cell).cutoff());
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
  std::swap(alive_, next_);
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
  out_->sets.insert(out_->sets.end(), alive_, alive_ + words_);
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
  make_room();
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
        approach_heir(*here.in);  // its lines come while the finder's does
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
