// The cells of runs, and the bits of those that have holes: how run_store gives them out and takes them back.
#include <algorithm>
#include <limits>
#include <mutex>
#include <new>

#include "core/arena.hpp"
#include "core/quiescence.hpp"
#include "core/run_store.hpp"

namespace kvc::core {
namespace {

/// Whether the next cells of a run that has so many sparse ones are dense: where they are no larger than three times as many sparse ones
/// would be, or else, from 32 on, no slower to read than those that are there. A sparse cell takes a reader as long as some 32 dense ones
/// (M4's queries, whose shared prompt had 128 sparse cells before this, took a fifth longer).
bool is_time_for_dense(std::uint32_t sparse_cells, std::uint32_t slots) noexcept {
  constexpr std::uint32_t by_size = 8;  // two bytes per slot beside twelve per sparse cell; dense ones may take a third more
  constexpr std::uint32_t by_time = 32;
  constexpr std::uint32_t fewest_by_time = 32;
  // Sparse ones are four times as many after each chunk of them, so this bounds how many a run has.
  static_assert(max_slots / by_time * 4 <= std::numeric_limits<decltype(run::free_cells)>::max());
  return sparse_cells * by_size >= slots || (sparse_cells >= fewest_by_time && sparse_cells * by_time >= slots);
}

held_bits* make_bits(std::uint32_t slot, std::uint32_t words, const held_bits* from) {
  auto* made = new (arena_take(arena_kind::holes, sizeof(held_bits) + words * sizeof(std::uint64_t))) held_bits;
  made->slot = slot;
  made->words = words;
  for (std::uint32_t i = 0; i < words; ++i) {
    new (&made->bits()[i])
        std::atomic<std::uint64_t>(from != nullptr && i < from->words ? from->bits()[i].load(std::memory_order_relaxed) : 0);
  }
  return made;
}

}  // namespace

/// A chunk in which `slot` has a cell.
cell_chunk* run_store::add_chunk(run& in, std::uint32_t sparse_cells, std::uint32_t slot) {
  const std::uint32_t slots = slots_.end();
  std::uint32_t dense_end = 0;
  std::atomic<cell_chunk*>* end = &in.more;
  for (cell_chunk* chunk = end->load(std::memory_order_relaxed); chunk != nullptr; chunk = end->load(std::memory_order_relaxed)) {
    if (chunk->is_dense) dense_end = chunk->first_slot + chunk->count;
    end = &chunk->next;
  }
  const bool is_dense = dense_end != 0 || is_time_for_dense(sparse_cells, slots);
  const std::uint32_t first = is_dense ? dense_end : 0;
  const std::uint32_t sparse = (sparse_cells * 4 + 31) / 32 * 32 - sparse_cells;  // four times as many in all, from 32 on
  const std::uint32_t count = is_dense ? (std::max(slot + 1, slots + slots / 8) - first + 63) / 64 * 64 : std::min(sparse, max_slots);
  const std::size_t bytes = cell_chunk::bytes_for(count, is_dense);
  auto* chunk = new (arena_take(arena_kind::cells, bytes)) cell_chunk;
  chunk->count = count;
  chunk->first_slot = first;
  chunk->is_dense = is_dense;
  if (is_dense) {
    for (std::uint32_t i = 0; i < count; ++i) new (&chunk->dense()[i]) dense_cell(0);
  } else {
    for (std::uint32_t i = 0; i < count; ++i) new (&chunk->sparse()[i]) sparse_cell(0);
    in.free_cells = static_cast<std::uint16_t>(in.free_cells + count);
  }
  bytes_.add(bytes);
  end->store(chunk, std::memory_order_release);
  return chunk;
}

cell_ref run_store::take_cell(run& in, std::uint32_t slot, cell_word word) {
  const auto find_dense = [&]() -> cell_ref {
    for (cell_chunk* chunk = in.more.load(std::memory_order_acquire); chunk != nullptr;
         chunk = chunk->next.load(std::memory_order_acquire)) {
      if (chunk->is_dense && slot >= chunk->first_slot && slot < chunk->first_slot + chunk->count)
        return cell_ref(&chunk->dense()[slot - chunk->first_slot]);
    }
    return {};
  };
  cell_ref taken = find_dense();
  if (!taken) {
    const std::lock_guard lock(in.lock);
    taken = find_dense();  // somebody else may have added them meanwhile
    const auto take = [&](sparse_cell* from, std::uint32_t count) {
      for (std::uint32_t i = 0; i < count && !taken; ++i) {
        if (from[i].load(std::memory_order_relaxed) == 0) taken = cell_ref(&from[i]);
      }
    };
    std::uint32_t sparse_cells = run::inline_cells;
    if (!taken && in.free_cells != 0) take(in.cells.data(), run::inline_cells);
    for (cell_chunk* chunk = in.more.load(std::memory_order_relaxed); chunk != nullptr && !taken;
         chunk = chunk->next.load(std::memory_order_relaxed)) {
      if (chunk->is_dense) continue;
      sparse_cells += chunk->count;
      if (in.free_cells != 0) take(chunk->sparse(), chunk->count);
    }
    if (!taken) {
      cell_chunk* const chunk = add_chunk(in, sparse_cells, slot);
      taken = chunk->is_dense ? cell_ref(&chunk->dense()[slot - chunk->first_slot]) : cell_ref(&chunk->sparse()[0]);
    }
    if (!taken.is_dense()) {
      --in.free_cells;
      taken.write(slot, word);  // under the lock, so that nobody else takes it
      return taken;
    }
  }
  taken.write(slot, word);
  return taken;
}

void run_store::give_back(run& in, cell_ref cell) {
  if (cell.is_dense()) {
    cell.dense().store(0, std::memory_order_release);
    return;
  }
  const std::lock_guard lock(in.lock);
  cell.sparse().store(0, std::memory_order_release);
  ++in.free_cells;
}

void run_store::free_bits(void* bits) {
  arena_give(arena_kind::holes, bits, static_cast<held_bits*>(bits)->bytes());
}

held_bits* run_store::open_bits(run& in, std::uint32_t slot, std::uint32_t words) {
  held_bits* const made = make_bits(slot, words, nullptr);
  bytes_.add(made->bytes());
  const std::lock_guard lock(in.lock);
  made->next.store(in.holes.load(std::memory_order_relaxed), std::memory_order_relaxed);
  in.holes.store(made, std::memory_order_release);
  return made;
}

void run_store::unlink(run& in, const held_bits* bits, held_bits* instead) {
  std::atomic<held_bits*>* at = &in.holes;
  while (at->load(std::memory_order_relaxed) != bits) at = &at->load(std::memory_order_relaxed)->next;
  held_bits* const after = bits->next.load(std::memory_order_relaxed);
  if (instead != nullptr) instead->next.store(after, std::memory_order_relaxed);
  at->store(instead != nullptr ? instead : after, std::memory_order_release);
}

held_bits* run_store::widen_bits(run& in, held_bits* bits, std::uint32_t words) {
  held_bits* const made = make_bits(bits->slot, words, bits);
  bytes_.add(made->bytes());
  {
    const std::lock_guard lock(in.lock);
    unlink(in, bits, made);
  }
  bytes_.subtract(bits->bytes());
  retire(bits, free_bits);
  return made;
}

void run_store::close_bits(run& in, held_bits* bits) {
  {
    const std::lock_guard lock(in.lock);
    unlink(in, bits, nullptr);
  }
  bytes_.subtract(bits->bytes());
  retire(bits, free_bits);
}

}  // namespace kvc::core
