#include "core/run_store.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "core/block_hasher.hpp"
#include "core/hash_compare.hpp"
#include "core/quiescence.hpp"

namespace kvc::core {
namespace {

const std::uint64_t* bare(std::span<const local_hash> locals) noexcept { return reinterpret_cast<const std::uint64_t*>(locals.data()); }

std::uint32_t narrow(std::size_t blocks) noexcept { return static_cast<std::uint32_t>(blocks); }

std::uint32_t rounded(std::uint32_t blocks) noexcept { return std::min((blocks + 15) / 16 * 16, max_run_blocks); }

/// Writes `locals` from `start` on and the marks that fall among them; answers the hash of the last one.
seq_hash fill(run_column& column, std::uint32_t start, seq_hash rolled, std::span<const local_hash> locals, std::uint64_t seed) {
  std::memcpy(column.locals() + start, locals.data(), locals.size_bytes());
  for (std::uint32_t i = 0; i < locals.size(); ++i) {
    const std::uint32_t offset = start + i;
    if (offset != 0) rolled = roll(rolled, locals[i], seed);
    if (offset % blocks_per_mark == blocks_per_mark - 1) column.marks()[offset / blocks_per_mark] = rolled.get();
  }
  return rolled;
}

}  // namespace

run_store::~run_store() {
  // Pins do not matter any more: whoever held them is gone, and the runs go with everything that hangs on them.
  directory_.each_run([](run* each) {
    for (cell_chunk* chunk = each->more.load(); chunk != nullptr;) std::free(std::exchange(chunk, chunk->next.load()));
    for (held_bits* bits = each->holes.load(); bits != nullptr;) std::free(std::exchange(bits, bits->next.load()));
    std::free(each->column.load());
    delete each;
  });
}

run_column* run_store::make_column(std::uint32_t capacity) {
  const std::size_t bytes = run_column::bytes_for(capacity);
  void* memory = std::malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  auto* made = new (memory) run_column;
  made->capacity = capacity;
  bytes_.fetch_add(bytes, std::memory_order_relaxed);
  return made;
}

run* run_store::make_run(run_place behind, seq_hash first, std::span<const local_hash> locals) {
  const auto count = std::min(narrow(locals.size()), max_run_blocks);
  auto* made = new run;
  bytes_.fetch_add(sizeof(run), std::memory_order_relaxed);
  made->parent = behind.in;
  made->parent_offset = behind.offset;
  made->base = behind.in == nullptr ? 0 : behind.in->base + behind.offset + 1;
  made->first_hash = first;
  run_column* column = make_column(rounded(count));
  made->last_hash = fill(*column, 0, first, locals.first(count), seed_);
  column->length.store(count, std::memory_order_relaxed);
  made->column.store(column, std::memory_order_release);
  if (behind.in != nullptr) behind.in->pins.fetch_add(1, std::memory_order_relaxed);  // the caller's pin keeps it alive until here
  blocks_.fetch_add(count, std::memory_order_relaxed);
  return made;
}

void run_store::append(run& in, std::span<const local_hash> locals) {
  run_column* column = in.column.load(std::memory_order_relaxed);
  const std::uint32_t length = column->length.load(std::memory_order_relaxed);
  const std::uint32_t wanted = length + narrow(locals.size());
  if (wanted > column->capacity) {
    run_column* wider = make_column(rounded(std::max(wanted, length + length / 2)));
    std::memcpy(wider->locals(), column->locals(), length * sizeof(std::uint64_t));
    std::memcpy(wider->marks(), column->marks(), length / blocks_per_mark * sizeof(std::uint64_t));
    in.last_hash = fill(*wider, length, in.last_hash, locals, seed_);
    wider->length.store(wanted, std::memory_order_relaxed);
    in.column.store(wider, std::memory_order_release);
    bytes_.fetch_sub(run_column::bytes_for(column->capacity), std::memory_order_relaxed);
    retire(column, std::free);
  } else {
    in.last_hash = fill(*column, length, in.last_hash, locals, seed_);
    column->length.store(wanted, std::memory_order_release);
  }
  in.has_tail_children = false;
  blocks_.fetch_add(locals.size(), std::memory_order_relaxed);
}

run_stretch run_store::join_child(run_place behind, seq_hash first, std::span<const local_hash> locals) const {
  run* found = directory_.find(first);
  if (found == nullptr || !found->try_pin()) return {};
  const auto blocks = found->blocks();
  const bool is_it = found->parent == behind.in && found->parent_offset == behind.offset && blocks[0] == locals[0].get();
  const auto count = is_it ? common_prefix(blocks.data(), bare(locals), std::min(blocks.size(), locals.size())) : 0;
  return {found, 0, narrow(count)};
}

run_stretch run_store::hang(run_place behind, seq_hash first, std::span<const local_hash> locals) {
  // Where no child's edge has ever left this mark, there is none to join; if another lane is making one just now, `add` tells.
  const std::uint64_t mark = run::filter_bit(behind.offset, locals[0].get());
  bool may_be_there = behind.in == nullptr || (behind.in->child_filter.load(std::memory_order_acquire) & mark) != 0;
  for (;; may_be_there = true) {
    const run_stretch there = may_be_there ? join_child(behind, first, locals) : run_stretch{};
    if (there.in != nullptr) {
      if (there.count != 0) return there;
      unpin(there.in);  // another prefix with the same hash: 2^-64, or made on purpose
      return {};
    }
    run* fresh = make_run(behind, first, locals);
    if (behind.in != nullptr) behind.in->child_filter.fetch_or(mark, std::memory_order_release);
    const std::uint32_t count = fresh->column.load(std::memory_order_relaxed)->length.load(std::memory_order_relaxed);
    if (directory_.add(fresh) == fresh) return {fresh, 0, count};
    if (behind.in != nullptr) behind.in->pins.fetch_sub(1, std::memory_order_relaxed);
    free_run(fresh);
  }
}

run_stretch run_store::follow(run_place behind, std::span<const local_hash> locals) {
  run* const in = behind.in;
  if (in == nullptr) return hang(behind, first_in_sequence(locals[0]), locals);
  const std::uint32_t next = behind.offset + 1;
  auto blocks = in->blocks();
  if (next == blocks.size()) {
    const std::lock_guard lock(in->lock);
    blocks = in->blocks();
    if (next == blocks.size()) {
      const seq_hash first = roll(in->last_hash, locals[0], seed_);
      if (in->has_tail_children) {
        const run_stretch child = join_child(behind, first, locals);
        if (child.count != 0) return child;
        if (child.in != nullptr) unpin(child.in);
      }
      if (next < max_run_blocks) {
        const auto count = std::min(narrow(locals.size()), max_run_blocks - next);
        append(*in, locals.first(count));
        in->pins.fetch_add(1, std::memory_order_relaxed);
        return {in, next, count};
      }
      in->has_tail_children = true;
      return hang(behind, first, locals);
    }
  }
  if (blocks[next] == locals[0].get()) {
    const auto rest = blocks.subspan(next);
    in->pins.fetch_add(1, std::memory_order_relaxed);
    return {in, next, narrow(common_prefix(rest.data(), bare(locals), std::min(rest.size(), locals.size())))};
  }
  return hang(behind, roll(seq_hash_at(*in, behind.offset, seed_), locals[0], seed_), locals);
}

void run_store::free_run(run* gone) {
  run_column* column = gone->column.load(std::memory_order_relaxed);
  std::size_t bytes = sizeof(run) + run_column::bytes_for(column->capacity);
  blocks_.fetch_sub(column->length.load(std::memory_order_relaxed), std::memory_order_relaxed);
  for (cell_chunk* chunk = gone->more.load(std::memory_order_relaxed); chunk != nullptr;) {
    bytes += sizeof(cell_chunk) + chunk->count * sizeof(run_cell);
    cell_chunk* const next = chunk->next.load(std::memory_order_relaxed);
    retire(chunk, std::free);
    chunk = next;
  }
  bytes_.fetch_sub(bytes, std::memory_order_relaxed);
  retire(column, std::free);
  retire(gone, [](void* dead) { delete static_cast<run*>(dead); });
}

void run_store::unpin(run* in) {
  // A run holds a pin on its parent, so the end of one may be the end of a whole chain.
  while (in != nullptr && in->pins.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    directory_.erase(in);
    run* const parent = in->parent;
    free_run(in);
    in = parent;
  }
}

run_cell* run_store::take_cell(run& in, cell_value value) {
  const std::lock_guard lock(in.lock);
  const auto take = [&](run_cell* cells, std::uint32_t count) -> run_cell* {
    for (std::uint32_t i = 0; i < count; ++i) {
      if (cells[i].load(std::memory_order_relaxed) != 0) continue;
      cells[i].store(value.bits(), std::memory_order_release);
      --in.free_cells;
      return &cells[i];
    }
    return nullptr;
  };
  std::uint32_t last_count = run::inline_cells;
  std::atomic<cell_chunk*>* end = &in.more;
  if (in.free_cells != 0) {
    if (run_cell* cell = take(in.cells.data(), run::inline_cells)) return cell;
  }
  for (cell_chunk* chunk = end->load(std::memory_order_relaxed); chunk != nullptr; chunk = end->load(std::memory_order_relaxed)) {
    if (in.free_cells != 0) {
      if (run_cell* cell = take(chunk->cells(), chunk->count)) return cell;
    }
    last_count = chunk->count;
    end = &chunk->next;
  }
  const std::uint32_t count = std::min(last_count * 3, std::uint32_t{4'096});
  const std::size_t bytes = sizeof(cell_chunk) + count * sizeof(run_cell);
  void* memory = std::calloc(1, bytes);
  if (memory == nullptr) throw std::bad_alloc();
  auto* chunk = new (memory) cell_chunk;
  chunk->count = count;
  for (std::uint32_t i = 0; i < count; ++i) new (&chunk->cells()[i]) run_cell(0);
  chunk->cells()[0].store(value.bits(), std::memory_order_relaxed);
  in.free_cells += count - 1;
  bytes_.fetch_add(bytes, std::memory_order_relaxed);
  end->store(chunk, std::memory_order_release);
  return &chunk->cells()[0];
}

void run_store::give_back(run& in, run_cell* cell) {
  const std::lock_guard lock(in.lock);
  cell->store(0, std::memory_order_release);
  ++in.free_cells;
}

held_bits* run_store::open_bits(run& in, worker_id worker, medium_id medium, std::uint32_t words) {
  const std::size_t bytes = sizeof(held_bits) + words * sizeof(std::uint64_t);
  void* memory = std::malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  auto* made = new (memory) held_bits;
  made->worker = worker;
  made->medium = medium;
  made->words = words;
  for (std::uint32_t i = 0; i < words; ++i) new (&made->bits()[i]) std::atomic<std::uint64_t>(0);
  bytes_.fetch_add(bytes, std::memory_order_relaxed);
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
  const std::size_t bytes = sizeof(held_bits) + words * sizeof(std::uint64_t);
  void* memory = std::malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  auto* made = new (memory) held_bits;
  made->worker = bits->worker;
  made->medium = bits->medium;
  made->words = words;
  for (std::uint32_t i = 0; i < words; ++i) {
    new (&made->bits()[i]) std::atomic<std::uint64_t>(i < bits->words ? bits->bits()[i].load(std::memory_order_relaxed) : 0);
  }
  bytes_.fetch_add((words - bits->words) * sizeof(std::uint64_t), std::memory_order_relaxed);
  {
    const std::lock_guard lock(in.lock);
    unlink(in, bits, made);
  }
  retire(bits, std::free);
  return made;
}

void run_store::close_bits(run& in, held_bits* bits) {
  {
    const std::lock_guard lock(in.lock);
    unlink(in, bits, nullptr);
  }
  bytes_.fetch_sub(sizeof(held_bits) + bits->words * sizeof(std::uint64_t), std::memory_order_relaxed);
  retire(bits, std::free);
}

}  // namespace kvc::core
