#include "core/run_store.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "core/arena.hpp"
#include "core/block_hasher.hpp"
#include "core/cell_sweep.hpp"
#include "core/hash_compare.hpp"
#include "core/quiescence.hpp"
#include "core/run_hint.hpp"
#include "core/run_visits.hpp"

namespace kvc::core {
namespace {

const std::uint64_t* bare(std::span<const local_hash> locals) noexcept {
  return reinterpret_cast<const std::uint64_t*>(locals.data());
}

std::uint32_t narrow(std::size_t blocks) noexcept {
  return static_cast<std::uint32_t>(blocks);
}

constexpr std::size_t directory_bytes_per_run =
    28;  ///< a share of a segment of the finder, which has some 97 to 193 entries in 4,032 bytes

constexpr std::uint32_t first_blocks_per_line = 7;  ///< with their share of the marks, and of the head of the column
constexpr std::uint32_t most_first_blocks = 35;
static_assert(run_column::bytes_for(most_first_blocks) == most_first_blocks / first_blocks_per_line * 64);

/// Room in the first column of a run that begins with so many blocks: what fills its last line of 64 bytes. A longer run begins with a
/// column of its own, since the first one goes only with its run and most long runs outgrow what they begin with.
std::uint32_t first_capacity(std::uint32_t blocks) noexcept {
  constexpr std::uint32_t per_line = first_blocks_per_line;
  return blocks > most_first_blocks ? per_line : (blocks + per_line - 1) / per_line * per_line;
}

std::uint32_t rounded(std::uint32_t blocks) noexcept {
  return std::min((blocks + 15) / 16 * 16, max_run_blocks);
}

std::uint32_t run_bytes(std::uint32_t capacity) noexcept {
  return narrow((sizeof(run) + run_column::bytes_for(capacity) + 63) / 64 * 64);
}

/// Writes `locals` from `start` on and the digests that they complete.
void fill(run_column& column, std::uint32_t start, std::span<const local_hash> locals) {
  std::memcpy(column.locals() + start, locals.data(), locals.size_bytes());
  if (!digests_pay()) return;
  const std::uint32_t whole = (start + narrow(locals.size())) / blocks_per_digest;
  for (std::uint32_t i = start / blocks_per_digest; i < whole; ++i)
    column.digests()[i] = column_digest(column.locals() + i * blocks_per_digest);
}

/// What a column has for its first `length` blocks, into one that takes its place.
void copy_blocks(const run_column& from, std::uint32_t length, run_column& to) {
  std::memcpy(to.locals(), from.locals(), length * sizeof(std::uint64_t));
  const auto marked = static_cast<std::uint16_t>(std::min<std::uint32_t>(marks_of(length), from.marked.load(std::memory_order_acquire)));
  for (std::uint32_t i = 0; i < marked; ++i) to.marks()[i] = from.mark(i);
  to.marked.store(marked, std::memory_order_relaxed);
  if (digests_pay()) std::memcpy(to.digests(), from.digests(), length / blocks_per_digest * sizeof(std::uint64_t));
}

void free_column(void* column) {
  arena_give(arena_kind::columns, column, run_column::bytes_for(static_cast<run_column*>(column)->capacity));
}

using column_room = std::unique_ptr<run_column, decltype([](run_column* unused) { free_column(unused); })>;

column_room new_column(std::uint32_t capacity) {
  column_room made(new (arena_take(arena_kind::columns, run_column::bytes_for(capacity))) run_column);
  made->capacity = static_cast<std::uint16_t>(capacity);
  return made;
}

heir_hint heir_of(const run& parent) noexcept {
  return heir_hint(parent.heir.load(std::memory_order_relaxed));
}

void free_chunk(void* chunk) {
  arena_give(arena_kind::cells, chunk, static_cast<cell_chunk*>(chunk)->bytes());
}
void free_whole_run(void* dead) {
  auto* const gone = static_cast<run*>(dead);
  const std::size_t bytes = gone->bytes();
  gone->~run();
  arena_give(arena_kind::runs, gone, bytes);
}

}  // namespace

run_store::~run_store() {
  // Pins do not matter any more: whoever held them is gone, and the runs go with everything that hangs on them.
  directory_.each_run([](run* each) {
    for (cell_chunk* chunk = each->more.load(); chunk != nullptr;) free_chunk(std::exchange(chunk, chunk->next.load()));
    for (held_bits* bits = each->holes.load(); bits != nullptr;) free_bits(std::exchange(bits, bits->next.load()));
    if (run_column* column = each->column.load(); column != each->first_column()) free_column(column);
    free_whole_run(each);
  });
}

run_column* run_store::count_column(run_column* made) {
  bytes_.add(run_column::bytes_for(made->capacity));
  return made;
}

/// The column that `in` has just replaced; the first one goes with its run.
void run_store::drop_column(run& in, run_column* column) {
  if (column == in.first_column()) return;
  bytes_.subtract(run_column::bytes_for(column->capacity));
  retire(column, free_column);
}

run* run_store::make_run(run_place behind, seq_hash first, std::span<const local_hash> locals) {
  const auto count = std::min(narrow(locals.size()), max_run_blocks);
  const std::uint32_t capacity = first_capacity(count);
  const std::uint32_t bytes = run_bytes(capacity);
  column_room wide;  // before the run, since both may throw
  if (count > capacity) wide = new_column(rounded(count + room_behind(count)));
  auto* made = new (arena_take(arena_kind::runs, bytes)) run;
  bytes_.add(bytes);
  made->own_lines = static_cast<std::uint16_t>(bytes / 64);
  made->pins.store(run::one_visit, std::memory_order_relaxed);
  made->parent = behind.in;
  made->parent_offset = static_cast<std::uint16_t>(behind.offset);
  made->base = behind.in == nullptr ? 0 : behind.in->base + behind.offset + 1;
  made->first_hash = first;
  auto* column = new (made->first_column()) run_column;
  column->capacity = static_cast<std::uint16_t>(capacity);
  if (wide) column = count_column(wide.release());
  fill(*column, 0, locals.first(count));
  column->length.store(count, std::memory_order_relaxed);
  made->column.store(column, std::memory_order_release);
  made->recency.store(round(), std::memory_order_relaxed);
  if (behind.in != nullptr) {
    use(*behind.in);  // the caller's pin keeps it alive until here
    behind.in->children.fetch_add(1, std::memory_order_relaxed);
  }
  blocks_.add(count);
  return made;
}

/// A child has come to `parent`.
void run_store::note_heir(run& parent, const run& child) noexcept {
  if (parent.children.load(std::memory_order_relaxed) > heir_hint::most_children) return;
  parent.heir.store(heir_hint::of(parent, child).bits(), std::memory_order_relaxed);
}

/// A run has another column now, and whoever leads to the run is to lead there.
void run_store::note_column(const run& of) noexcept {
  directory_.note_column(of);
  run* const parent = of.parent;
  if (parent == nullptr || !heir_of(*parent).is_of(*parent, of)) return;
  parent->heir.store(heir_hint::of(*parent, of).bits(), std::memory_order_relaxed);
}

void run_store::append(run& in, std::span<const local_hash> locals) {
  run_column* column = in.column.load(std::memory_order_relaxed);
  const std::uint32_t length = column->length.load(std::memory_order_relaxed);
  const std::uint32_t wanted = length + narrow(locals.size());
  if (wanted > column->capacity) {
    directory_.expect(in.first_hash);  // for `note_column` below
    if (in.parent != nullptr) bring_near(&in.parent->heir);
    run_column* wider = count_column(new_column(rounded(std::max(wanted, length + length / 4))).release());
    copy_blocks(*column, length, *wider);
    fill(*wider, length, locals);
    wider->length.store(wanted, std::memory_order_relaxed);
    in.column.store(wider, std::memory_order_release);
    note_column(in);
    drop_column(in, column);
  } else {
    fill(*column, length, locals);
    column->length.store(wanted, std::memory_order_release);
  }
  in.has_tail_children = false;
  blocks_.add(locals.size());
}

run_stretch run_store::join_child(run_place behind, seq_hash first, std::span<const local_hash> locals) const {
  run* found = directory_.find(first);
  if (found == nullptr || !found->try_visit()) return {};
  const auto blocks = settled_blocks(*found);
  const bool is_it = found->parent == behind.in && found->parent_offset == behind.offset && blocks[0] == locals[0].get();
  const auto count = is_it ? common_prefix(blocks.data(), bare(locals), std::min(blocks.size(), locals.size())) : 0;
  return {found, 0, narrow(count)};
}

/// A run that begins with `local` is about to stand behind block `offset`.
void run_store::note_child(run& parent, std::uint32_t offset, std::uint64_t local) {
  const std::uint64_t mark = run::filter_bit(offset, local);
  if ((parent.child_filter.load(std::memory_order_relaxed) & mark) == 0) parent.child_filter.fetch_or(mark, std::memory_order_release);
  const auto wanted = static_cast<std::uint16_t>(offset + 1);
  std::uint16_t end = parent.child_end.load(std::memory_order_relaxed);
  while (end < wanted && !parent.child_end.compare_exchange_weak(end, wanted, std::memory_order_acq_rel)) continue;
}

run_stretch run_store::hang(run_place behind, seq_hash first, std::span<const local_hash> locals) {
  // Where no child's edge has ever left this mark, there is none to join; if another lane is making one just now, `add` tells.
  bool may_be_there = behind.in == nullptr ||
                      (behind.in->child_filter.load(std::memory_order_acquire) & run::filter_bit(behind.offset, locals[0].get())) != 0;
  directory_.expect_change(first);
  for (;; may_be_there = true) {
    const run_stretch there = may_be_there ? join_child(behind, first, locals) : run_stretch{};
    if (there.in != nullptr) {
      if (there.count != 0) return there;
      leave(there.in);  // another prefix with the same hash: 2^-64, or made on purpose
      return {};
    }
    run* fresh = make_run(behind, first, locals);
    if (behind.in != nullptr) note_child(*behind.in, behind.offset, locals[0].get());
    const std::uint32_t count = fresh->column.load(std::memory_order_relaxed)->length.load(std::memory_order_relaxed);
    if (enter(fresh)) {
      if (behind.in != nullptr) note_heir(*behind.in, *fresh);
      return {fresh, 0, count};
    }
  }
}

/// Whether a run that nobody knows yet is in the directory now. Else, and when something throws, it is gone: there is another for its hash.
bool run_store::enter(run* fresh) {
  const auto drop = [&] {
    if (fresh->parent != nullptr) fresh->parent->pins.fetch_sub(run::one_user, std::memory_order_relaxed);  // the caller's pin remains
    free_run(fresh);
  };
  try {
    if (directory_.add(fresh) == fresh) return true;
  } catch (...) {
    drop();
    throw;
  }
  drop();
  return false;
}

run_stretch run_store::follow(run_place behind, std::span<const local_hash> locals) {
  const run_stretch found = find_or_make(behind, locals);
  if (found.in != nullptr) found.in->note_use(round());
  return found;
}

/// The sequence hash of a block behind block `offset`.
seq_hash run_store::hash_behind(const run& in, std::uint32_t offset, local_hash local) const {
  return roll(seq_hash_at(in, offset, seed_), local, seed_);
}

run_stretch run_store::find_or_make(run_place behind, std::span<const local_hash> locals) {
  run* const in = behind.in;
  if (in == nullptr) return hang(behind, first_in_sequence(locals[0]), locals);
  const std::uint32_t next = behind.offset + 1;
  // Until a child that is hung here has been noted, only the visit keeps the run from being cut off where it stands; `append` would not
  // look for that child then. So the visit ends last, also by an exception, unless it is the answer's.
  in->pins.fetch_add(run::one_visit, std::memory_order_seq_cst);
  visit_guard visit(*in);
  auto blocks = settled_blocks(*in);
  if (next == blocks.size()) {
    if (next == max_run_blocks) (void)seq_hash_at(*in, behind.offset, seed_);  // all marks of the run, which would take long under the lock
    const std::lock_guard lock(in->lock);
    blocks = in->blocks();
    if (next == blocks.size() && in->has_tail_children) {
      const run_stretch child = join_child(behind, hash_behind(*in, behind.offset, locals[0]), locals);
      if (child.count != 0) return child;
      if (child.in != nullptr) {
        leave(child.in);
        return {};
      }
    }
    if (next == blocks.size() && next < max_run_blocks) {
      const auto count = std::min(narrow(locals.size()), max_run_blocks - next);
      append(*in, locals.first(count));
      visit.keep();
      return {in, next, count};
    }
    if (next == blocks.size()) in->has_tail_children = true;
  }
  if (next < blocks.size() && blocks[next] == locals[0].get()) {
    const auto rest = blocks.subspan(next);
    visit.keep();
    return {in, next, narrow(common_prefix(rest.data(), bare(locals), std::min(rest.size(), locals.size())))};
  }
  return hang(behind, hash_behind(*in, behind.offset, locals[0]), locals);
}

void run_store::expect_end(const run& in) const noexcept {
  if (in.users() == 1) directory_.expect_change(in.first_hash);
}

std::size_t run_store::bytes_of(run& in) noexcept {
  const run_column* const column = in.column.load(std::memory_order_acquire);
  std::size_t bytes = in.bytes() + directory_bytes_per_run;
  if (column != in.first_column()) bytes += run_column::bytes_for(column->capacity);
  for (const cell_chunk* chunk = in.more.load(std::memory_order_acquire); chunk != nullptr;
       chunk = chunk->next.load(std::memory_order_acquire)) {
    bytes += chunk->bytes();
  }
  return bytes;
}

std::size_t run_store::bytes_in_use() const noexcept {
  return bytes_.sum() + directory_.runs() * directory_bytes_per_run + directory_.lone_blocks() * bytes_per_lone_block;
}

void run_store::free_run(run* gone) {
  run_column* column = gone->column.load(std::memory_order_relaxed);
  std::size_t bytes = gone->bytes();
  if (run* const parent = gone->parent; parent != nullptr) {  // pinned by this run until its caller ends that
    parent->children.fetch_sub(1, std::memory_order_acq_rel);
    if (heir_of(*parent).is_of(*parent, *gone)) parent->heir.store(0, std::memory_order_relaxed);
  }
  blocks_.subtract(column->length.load(std::memory_order_relaxed));
  for (cell_chunk* chunk = gone->more.load(std::memory_order_relaxed); chunk != nullptr;) {
    bytes += chunk->bytes();
    cell_chunk* const next = chunk->next.load(std::memory_order_relaxed);
    retire(chunk, free_chunk);
    chunk = next;
  }
  bytes_.subtract(bytes);
  drop_column(*gone, column);
  retire(gone, free_whole_run);
}

void run_store::unpin(run* in, std::uint64_t pin) {
  // A run is in use by its children, so the end of one may be the end of a whole chain.
  while (in != nullptr && in->pins.fetch_sub(pin, std::memory_order_acq_rel) == pin) {
    directory_.erase(in);
    run* const parent = in->parent;
    free_run(in);
    in = parent;
    pin = run::one_user;
  }
}

void run_store::expect_move(const run& in, std::uint32_t length) const {
  const auto blocks = in.blocks();
  if (length < blocks.size()) directory_.expect_change(hash_behind(in, length - 1, local_hash{blocks[length]}));
}

bool run_store::cut(run& in, std::uint32_t length, std::uint32_t visits, std::uint32_t slot, const tail_move& move) {
  const std::lock_guard lock(in.lock);
  run_column* const old = in.column.load(std::memory_order_relaxed);
  const std::uint32_t old_length = old->length.load(std::memory_order_relaxed);
  if (length == 0 || length >= old_length) return length == old_length;
  if (in.holes.load(std::memory_order_acquire) != nullptr) return false;
  // Whoever joins blocks of a run visits it first and looks at the flag then: either the visit is seen here, or the joiner waits for the
  // lock.
  const flag_guard being_cut(in.is_being_cut);
  bool is_free =
      in.pins.load(std::memory_order_seq_cst) / run::one_visit <= visits && in.child_end.load(std::memory_order_acquire) <= length;
  if (is_free) {  // cells that have more have records, of which there are none
    const reaching_slots holders = find_reaching(in, length + 1, 2);
    is_free = holders.count == 0 || (holders.count == 1 && holders.last == slot);
  }
  column_room room;
  if (is_free) {  // before anything has changed: once a holder has moved, there is no way back
    try {
      room = new_column(rounded(length + 1));
    } catch (const std::bad_alloc&) {
      return false;  // blocks are being let go of, mostly, which has to go on without memory
    }
  }
  if (is_free && slot != no_slot) {
    const std::span tail(reinterpret_cast<const local_hash*>(old->locals()) + length, old_length - length);
    const seq_hash first = hash_behind(in, length - 1, tail[0]);
    run* const child = make_run({&in, length - 1}, first, tail);
    child->recency.store(in.recency.load(std::memory_order_relaxed), std::memory_order_relaxed);  // what was old stays old
    note_child(in, length - 1, tail[0].get());
    is_free = enter(child);  // else see `follow`: another prefix with the same hash
    if (is_free) {
      note_heir(in, *child);
      try {
        move.before(child);
      } catch (...) {
        leave(child);
        throw;
      }
      leave(child);
    }
  }
  if (is_free) {
    // A new column even where the old one has room: a reader may be comparing blocks of the old one.
    run_column* const shorter = count_column(room.release());
    copy_blocks(*old, length, *shorter);
    shorter->length.store(length, std::memory_order_relaxed);
    in.column.store(shorter, std::memory_order_release);
    in.cuts.fetch_add(1, std::memory_order_release);  // after the column: who has read the new count compares the new column
    in.has_tail_children = in.child_end.load(std::memory_order_acquire) == length;
    note_column(in);
    blocks_.subtract(old_length - length);
    if (slot != no_slot) move.after();
    drop_column(in, old);
  }
  return is_free;
}

}  // namespace kvc::core
