#include "core/run_finder.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <vector>

#include "core/arena.hpp"
#include "core/arena_allocator.hpp"
#include "core/bring_near.hpp"
#include "core/mixed_bits.hpp"
#include "core/quiescence.hpp"
#include "core/run_hint.hpp"
#include "core/spread.hpp"

namespace kvc::core {
namespace {

constexpr std::size_t ways = 5;
constexpr std::size_t lines = 62;                           ///< with the head 4,032 bytes, a size the arena has no waste for
constexpr std::size_t divide_above = lines * ways * 5 / 8;  ///< more would make lines overflow often
constexpr std::size_t join_below = divide_above / 8;        ///< each of two; together they are far from dividing again
constexpr std::size_t join_steps = 8;                       ///< so many removals between two tries, of which one may come at a bad moment
constexpr std::uint64_t low_mask = 63;
constexpr std::uint64_t address_mask = 0x0000'FFFF'FFFF'FFC0;

/// A publisher may choose sequence hashes, which are well mixed otherwise: one multiplication, and a secret, keep chosen ones from filling
/// one line.
std::uint64_t spread_first(std::uint64_t first) noexcept {
  const std::uint64_t hidden = first ^ spread_secret();
  const std::uint64_t mixed = (hidden ^ hidden >> 32) * golden;
  return mixed ^ mixed >> 29;
}

/// Runs are aligned to 64 and user addresses have 48 bits, so an address leaves room for 22 bits of the hash.
std::uint64_t entry_of(const run* which, std::uint64_t hash) noexcept {
  return reinterpret_cast<std::uintptr_t>(which) | (hash & ~address_mask);
}
bool may_be(std::uint64_t entry, std::uint64_t hash) noexcept {
  return ((entry ^ hash) & ~address_mask) == 0;
}
run* run_of(std::uint64_t entry) noexcept {
  return reinterpret_cast<run*>(entry & address_mask);
}
std::size_t line_of(std::uint64_t hash) noexcept {
  return (hash & low_mask) * lines / (low_mask + 1);
}
std::size_t next_line(std::size_t at) noexcept {
  return at + 1 == lines ? 0 : at + 1;
}

struct alignas(64) line {
  std::array<std::atomic<std::uint64_t>, ways> entries{};
  std::array<std::atomic<std::uint32_t>, ways> hints{};  ///< a `column_hint` each
  std::atomic<std::uint32_t> passed_on{0};               ///< entries that found this line full and went on to a later one

  void put(std::size_t way, std::uint64_t entry, std::uint32_t hint) noexcept {
    hints[way].store(hint, std::memory_order_relaxed);
    entries[way].store(entry, std::memory_order_release);
  }
  /// Brings near what a reader of `which` will look at, whose entry is or just was the one at `way`.
  void approach(std::size_t way, const run* which) const noexcept {
    column_hint(hints[way].load(std::memory_order_relaxed)).approach(which);
  }
};

}  // namespace

struct alignas(64) run_finder::segment {
  spin_lock lock;
  bool is_replaced = false;  ///< under lock
  std::uint32_t used = 0;    ///< under lock
  unsigned bits = 0;         ///< leading bits of the hash that all entries share
  std::array<line, lines> all;

  /// Precondition: there is room somewhere.
  void put(std::uint64_t entry, std::uint32_t hint, std::uint64_t hash) noexcept {
    for (std::size_t at = line_of(hash);; at = next_line(at)) {
      for (std::size_t way = 0; way < ways; ++way) {
        if (all[at].entries[way].load(std::memory_order_relaxed) != 0) continue;
        all[at].put(way, entry, hint);
        ++used;
        return;
      }
      all[at].passed_on.fetch_add(1, std::memory_order_release);
    }
  }
  struct spot {
    std::size_t at = lines;  ///< so many: nowhere
    std::size_t way = 0;
  };
  /// Where the run that starts with `first` stands.
  [[nodiscard]] spot locate_first(std::uint64_t first, std::uint64_t hash) const noexcept {
    for (std::size_t i = 0, at = line_of(hash); i < lines; ++i, at = next_line(at)) {
      for (std::size_t way = 0; way < ways; ++way) {
        const std::uint64_t entry = all[at].entries[way].load(std::memory_order_acquire);
        if (may_be(entry, hash) && run_of(entry) != nullptr && run_of(entry)->first_hash.get() == first) return {at, way};
      }
      if (all[at].passed_on.load(std::memory_order_acquire) == 0) break;
    }
    return {};
  }
  /// Where this very entry stands.
  [[nodiscard]] spot locate(std::uint64_t entry, std::uint64_t hash) const noexcept {
    for (std::size_t i = 0, at = line_of(hash); i < lines; ++i, at = next_line(at)) {
      for (std::size_t way = 0; way < ways; ++way) {
        if (all[at].entries[way].load(std::memory_order_relaxed) == entry) return {at, way};
      }
      if (all[at].passed_on.load(std::memory_order_relaxed) == 0) break;
    }
    return {};
  }
  /// Puts the entries of a segment that this one takes the place of where `which` says for each.
  template <class Which>
  void deal_out(Which which) const noexcept {
    for (const line& each : all) {
      for (std::size_t way = 0; way < ways; ++way) {
        const std::uint64_t entry = each.entries[way].load(std::memory_order_relaxed);
        // An entry has all bits of the hash that its place follows from, wherever it has got to by overflowing.
        if (entry != 0) which(entry)->put(entry, each.hints[way].load(std::memory_order_relaxed), entry);
      }
    }
  }
};
static_assert(sizeof(line) == 64);

/// Segments by the leading `bits` bits of the hash; one with fewer bits stands in several places. On large pages: where the heap took new
/// memory for it, a doubling to 64 KiB waited some 0.15 ms for the system to find and clear the pages.
struct run_finder::index {
  explicit index(unsigned with_bits) : bits(with_bits), all(std::size_t{1} << with_bits) {}
  unsigned bits;
  std::vector<std::atomic<segment*>, arena_allocator<std::atomic<segment*>, arena_kind::directory>> all;

  [[nodiscard]] std::atomic<segment*>& at(std::uint64_t hash) noexcept {
    return all[bits == 0 ? 0 : static_cast<std::size_t>(hash >> (64 - bits))];
  }
};

run_finder::run_finder(run_overflow& overflow, unsigned bits)
    : overflow_(overflow), bits_(std::min(bits, most_bits)), index_(nullptr), segments_of_{1} {
  static_assert(sizeof(segment) == 4'032);
  auto first = std::make_unique<index>(0);
  first->all[0].store(make_segment(0));
  index_.store(first.release());  // now that nothing can fail: nobody frees it of a finder that was never made
}

run_finder::~run_finder() {
  each_segment([](segment* gone) { arena_give(arena_kind::directory, gone, sizeof(segment)); });
  delete index_.load();
}

template <class Visit>
void run_finder::each_segment(Visit visit) const {
  segment* previous = nullptr;  // one that stands in several places stands there in a row
  for (const auto& place : index_.load(std::memory_order_acquire)->all) {
    segment* const now = place.load(std::memory_order_acquire);
    if (previous != nullptr && now != previous) visit(previous);
    previous = now;
  }
  visit(previous);
}

void run_finder::each(const std::function<void(run*)>& visit) const {
  each_segment([&](const segment* in) {
    for (const line& some : in->all) {
      for (const auto& entry : some.entries) {
        if (run* const there = run_of(entry.load(std::memory_order_acquire)); there != nullptr) visit(there);
      }
    }
  });
}

run_finder::segment* run_finder::make_segment(unsigned bits) {
  auto* const made = new (arena_take(arena_kind::directory, sizeof(segment))) segment();
  made->bits = bits;
  segments_.fetch_add(1, std::memory_order_relaxed);
  return made;
}

void run_finder::expect(std::uint64_t first) const noexcept {
  const std::uint64_t hash = spread_first(first);
  bring_near(&index_.load(std::memory_order_acquire)->at(hash).load(std::memory_order_acquire)->all[line_of(hash)]);
}

void run_finder::expect_change(std::uint64_t first) const noexcept {
  const std::uint64_t hash = spread_first(first);
  const segment& in = *index_.load(std::memory_order_acquire)->at(hash).load(std::memory_order_acquire);
  bring_near(&in.lock);
  bring_near(&in.all[line_of(hash)]);
}

run* run_finder::find(std::uint64_t first) const noexcept {
  const std::uint64_t hash = spread_first(first);
  const segment& in = *index_.load(std::memory_order_acquire)->at(hash).load(std::memory_order_acquire);
  for (std::size_t i = 0, at = line_of(hash); i < lines; ++i, at = next_line(at)) {
    for (std::size_t way = 0; way < ways; ++way) {
      const std::uint64_t entry = in.all[at].entries[way].load(std::memory_order_acquire);
      run* const found = run_of(entry);
      if (!may_be(entry, hash) || found == nullptr) continue;
      in.all[at].approach(way, found);
      if (found->first_hash.get() == first) return found;
    }
    if (in.all[at].passed_on.load(std::memory_order_acquire) == 0) break;
  }
  return is_partial() ? overflow_.find(first) : nullptr;
}

run_finder::segment& run_finder::lock_segment(std::uint64_t hash) const noexcept {
  for (;;) {
    segment& now = *index_.load(std::memory_order_acquire)->at(hash).load(std::memory_order_acquire);
    now.lock.lock();
    if (!now.is_replaced) return now;
    now.lock.unlock();
  }
}

void run_finder::put_segment(index& into, std::uint64_t hash, unsigned bits, segment* made) {
  const std::size_t span = std::size_t{1} << (into.bits - bits);
  const std::size_t place = into.bits == 0 ? 0 : static_cast<std::size_t>(hash >> (64 - into.bits));
  for (std::size_t i = place / span * span, end = i + span; i < end; ++i) into.all[i].store(made, std::memory_order_release);
}

void run_finder::replace(index* present, index* instead) {
  index_.store(instead, std::memory_order_release);
  retire(present, [](void* old) { delete static_cast<index*>(old); });
}

void run_finder::end(segment& replaced) {
  replaced.is_replaced = true;
  segments_.fetch_sub(1, std::memory_order_relaxed);
  retire(&replaced, [](void* old) { arena_give(arena_kind::directory, old, sizeof(segment)); });
}

void run_finder::divide(segment& full, std::uint64_t hash) {
  const std::lock_guard changing(dividing_);
  index* now = index_.load(std::memory_order_relaxed);
  if (full.bits == now->bits) {
    auto* const twice = new index(now->bits + 1);
    for (std::size_t i = 0; i < twice->all.size(); ++i)
      twice->all[i].store(now->all[i / 2].load(std::memory_order_relaxed), std::memory_order_relaxed);
    replace(now, twice);
    now = twice;
  }
  const unsigned bits = full.bits + 1;
  const std::uint64_t parting = std::uint64_t{1} << (64 - bits);
  segment* const low = make_segment(bits);
  segment* const high = make_segment(bits);
  full.deal_out([&](std::uint64_t entry) { return (entry & parting) != 0 ? high : low; });
  put_segment(*now, hash & ~parting, bits, low);
  put_segment(*now, hash | parting, bits, high);
  --segments_of_[full.bits];
  segments_of_[bits] += 2;
  end(full);
}

void run_finder::join(segment& sparse, std::uint64_t hash) {
  const std::lock_guard changing(dividing_);
  index* now = index_.load(std::memory_order_relaxed);
  segment& other = *now->at(hash ^ std::uint64_t{1} << (64 - sparse.bits)).load(std::memory_order_relaxed);
  // Whoever divides has a segment's lock and waits for the index; to wait for a lock here would be the other way round.
  if (other.bits != sparse.bits || !other.lock.try_lock()) return;
  const std::lock_guard lock(other.lock, std::adopt_lock);
  if (other.used > join_below) return;
  segment* const both = make_segment(sparse.bits - 1);
  sparse.deal_out([both](std::uint64_t) { return both; });
  other.deal_out([both](std::uint64_t) { return both; });
  put_segment(*now, hash, both->bits, both);
  segments_of_[sparse.bits] -= 2;
  ++segments_of_[both->bits];
  other.is_replaced = true;  // whatever becomes of the first
  end(sparse);
  end(other);
  if (segments_of_[now->bits] != 0) return;
  auto* const half = new index(now->bits - 1);  // no segment needs the last bit any more
  for (std::size_t i = 0; i < half->all.size(); ++i)
    half->all[i].store(now->all[2 * i].load(std::memory_order_relaxed), std::memory_order_relaxed);
  replace(now, half);
}

run_finder::segment& run_finder::lock_with_room(std::uint64_t hash) {
  for (;;) {
    segment& into = lock_segment(hash);
    if (into.used < divide_above || into.bits >= bits_) return into;
    const std::lock_guard lock(into.lock, std::adopt_lock);
    divide(into, hash);
  }
}

run* run_finder::add(run* fresh) {
  const quiescent_scope working;
  const std::uint64_t first = fresh->first_hash.get();
  const std::uint64_t hash = spread_first(first);
  segment& into = lock_with_room(hash);
  const std::lock_guard lock(into.lock, std::adopt_lock);
  // A dead run is about to be taken out by whoever let go of it last; its place is free already.
  if (const auto [at, way] = into.locate_first(first, hash); at != lines) {
    run* const there = run_of(into.all[at].entries[way].load(std::memory_order_relaxed));
    if (!there->is_dead()) return there;
    into.all[at].put(way, entry_of(fresh, hash), column_hint::of(*fresh).bits());
    return fresh;
  }
  if (run* const there = is_partial() ? overflow_.find(first) : nullptr; there != nullptr) {
    if (!there->is_dead()) return there;
    overflow_.put(fresh);
    return fresh;
  }
  if (into.used < lines * ways) {
    into.put(entry_of(fresh, hash), column_hint::of(*fresh).bits(), hash);
  } else {
    is_partial_.store(true, std::memory_order_release);  // first: who finds nothing here looks there from now on
    overflow_.put(fresh);
  }
  size_.add(1);
  return fresh;
}

void run_finder::remove(const run* gone) {
  const quiescent_scope working;
  const std::uint64_t hash = spread_first(gone->first_hash.get());
  segment& in = lock_segment(hash);
  const std::lock_guard lock(in.lock, std::adopt_lock);
  const auto [at, way] = in.locate(entry_of(gone, hash), hash);
  if (at == lines) {
    if (is_partial() && overflow_.remove(gone)) size_.subtract(1);
    return;
  }
  in.all[at].entries[way].store(0, std::memory_order_release);
  --in.used;
  size_.subtract(1);
  for (std::size_t back = line_of(hash); back != at; back = next_line(back)) in.all[back].passed_on.fetch_sub(1, std::memory_order_release);
  if (in.used > join_below || in.used % join_steps != 0 || in.bits == 0) return;
  try {
    join(in, hash);
  } catch (const std::bad_alloc&) {
    // Nothing that leaves may stay for want of memory; the segment does.
  }
}

void run_finder::note_column(const run& of) noexcept {
  const std::uint64_t hash = spread_first(of.first_hash.get());
  segment& in = *index_.load(std::memory_order_acquire)->at(hash).load(std::memory_order_acquire);
  const auto [at, way] = in.locate(entry_of(&of, hash), hash);
  if (at != lines) in.all[at].hints[way].store(column_hint::of(of).bits(), std::memory_order_relaxed);
}

std::size_t run_finder::bytes() const noexcept {
  return segments_.load(std::memory_order_relaxed) * sizeof(segment) + index_.load(std::memory_order_relaxed)->all.size() * sizeof(void*);
}

}  // namespace kvc::core
