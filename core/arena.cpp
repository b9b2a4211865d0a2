#include "core/arena.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "core/bring_near.hpp"
#include "core/large_page.hpp"
#include "core/page_blocks.hpp"
#include "core/sharded_count.hpp"

// Under a sanitizer every object comes from its allocator, so that use after free and leaks are found one by one.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define KVC_ARENA_IS_HEAP 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define KVC_ARENA_IS_HEAP 1
#endif
#endif

namespace kvc::core {
namespace {

struct accounts {
  std::array<sharded_count, arena_kinds> used;
  std::atomic<std::size_t> heap{0};  ///< mapped without being in blocks
  std::atomic<std::size_t> reclaimed{0};
};

/// Never destroyed: threads may end, and retired objects be freed, after the statics are gone.
accounts& books() {
  static accounts& only = *new accounts;
  return only;
}

#if !defined(KVC_ARENA_IS_HEAP)

constexpr std::size_t slab_bytes = std::size_t{64} << 10;  ///< pieces of one size are cut from slabs
constexpr std::size_t fine_step = 32;                      ///< sizes up to fine_limit are rounded to this
constexpr std::size_t fine_limit = 1'024;
constexpr std::size_t fine_classes = fine_limit / fine_step;
constexpr std::size_t steps_per_doubling = 8;  ///< above: at most an eighth is lost
/// Up to 4 KiB; what is larger is a block by itself. The larger this limit, the more of what is
/// mapped lies on the shelves of sizes that were wanted once: 35.9 bytes per entry of M1 with 2 KiB, 37.4 with 4, 39.0 with 8, 42 with 16
/// (`kv-conductor-bench index m1.kvwl --mode memory`, when what was larger came from the heap). Queries of M1 took a twentieth less time
/// with 4 KiB than with 2 (medians of four rounds in turn), and no less with 8; those of S256 a twelfth less (two rounds).
constexpr std::size_t doublings = 2;
constexpr std::size_t classes = fine_classes + steps_per_doubling * doublings;
constexpr std::size_t largest = fine_limit << doublings;
/// Of blocks, unless they are powers of two: larger ones would leave too much of a large page that is too short for another one (3 % with
/// 132 KiB), and come from the heap.
constexpr std::size_t largest_odd_block = std::size_t{64} << 10;
constexpr std::size_t bytes_in_hand = std::size_t{16} << 10;  ///< of one size, that a thread passes on at once

bool is_block(std::size_t bytes) noexcept {
  return bytes <= largest_odd_block || (bytes <= large_page_bytes && std::has_single_bit(bytes));
}

std::size_t class_of(std::size_t bytes) noexcept {
  if (bytes <= fine_limit) return bytes == 0 ? 0 : (bytes - 1) / fine_step;
  const auto doubling = static_cast<std::size_t>(std::bit_width(bytes - 1)) - static_cast<std::size_t>(std::bit_width(fine_limit));
  const std::size_t step = (fine_limit << doubling) / steps_per_doubling;
  return fine_classes + doubling * steps_per_doubling + (bytes - 1 - (fine_limit << doubling)) / step;
}

std::size_t size_of_class(std::size_t which) noexcept {
  if (which < fine_classes) return (which + 1) * fine_step;
  const std::size_t doubling = (which - fine_classes) / steps_per_doubling;
  const std::size_t base = fine_limit << doubling;
  return base + ((which - fine_classes) % steps_per_doubling + 1) * (base / steps_per_doubling);
}

/// A free piece. The pieces of a hand are linked through themselves, and so are the hands on a shelf, through their first pieces: to give
/// memory back takes none.
struct piece {
  piece* next;
  piece* next_hand;   ///< of the first piece of a hand that lies on a shelf
  std::size_t count;  ///< of it, how many the hand has
};
static_assert(sizeof(piece) <= fine_step);

struct hand {
  piece* top = nullptr;
  std::size_t count = 0;

  void push(void* memory) noexcept {
    auto* const pushed = static_cast<piece*>(memory);
    pushed->next = std::exchange(top, pushed);
    ++count;
  }
  void* pop() noexcept {
    --count;
    piece* const taken = std::exchange(top, top->next);
    if (top != nullptr) bring_near(top);  // the next taker reads where the one behind it is, and writes there
    return taken;
  }
};

/// Hands, the last one put there first.
struct pile {
  piece* top = nullptr;

  void put(const hand& full) noexcept {
    full.top->count = full.count;
    full.top->next_hand = std::exchange(top, full.top);
  }
  /// Precondition: there is one.
  hand take() noexcept {
    const hand taken{top, top->count};
    top = top->next_hand;
    return taken;
  }
};

/// What threads share of one size.
struct shelf {
  std::mutex lock;
  pile hands;

  void put(const hand& full) noexcept {
    if (full.count == 0) return;
    const std::lock_guard locked(lock);
    hands.put(full);
  }
};

/// Memory between its first byte not yet cut and its end.
struct strip {
  std::byte* at = nullptr;
  std::byte* end = nullptr;
};

struct stock {
  std::array<shelf, classes> shelves;
  page_blocks slabs;   ///< apart from blocks: by themselves they are aligned to their size
  page_blocks blocks;  ///< each by itself

  strip new_strip(std::size_t piece_bytes) {
    auto* const slab = static_cast<std::byte*>(slabs.take(slab_bytes));
    return {slab, slab + slab_bytes / piece_bytes * piece_bytes};
  }
};

stock& shared() {
  static stock& only = *new stock;
  return only;
}

/// What one thread has at hand of one size.
struct pocket {
  hand active;
  hand spare;
  strip fresh;
};

struct thread_pockets {
  std::array<pocket, classes> all;

  thread_pockets() = default;
  thread_pockets(const thread_pockets&) = delete;
  thread_pockets& operator=(const thread_pockets&) = delete;
  ~thread_pockets() {
    for (std::size_t which = 0; which < classes; ++which) {
      pocket& mine = all[which];
      const std::size_t bytes = size_of_class(which);
      for (; mine.fresh.at != mine.fresh.end; mine.fresh.at += bytes) mine.active.push(mine.fresh.at);
      for (const hand& each : {mine.active, mine.spare}) shared().shelves[which].put(each);
    }
  }

  void* take(std::size_t which) {
    pocket& mine = all[which];
    if (mine.active.count == 0) std::swap(mine.active, mine.spare);
    if (mine.active.count == 0) {
      if (mine.fresh.at == mine.fresh.end) refill(which, mine);
      if (mine.active.count == 0) return std::exchange(mine.fresh.at, mine.fresh.at + size_of_class(which));
    }
    return mine.active.pop();
  }
  static void refill(std::size_t which, pocket& mine) {
    {
      shelf& from = shared().shelves[which];
      const std::lock_guard locked(from.lock);
      if (from.hands.top != nullptr) {
        mine.active = from.hands.take();
        return;
      }
    }
    mine.fresh = shared().new_strip(size_of_class(which));
  }
  void give(std::size_t which, void* memory) noexcept {
    pocket& mine = all[which];
    if (mine.active.count >= std::max<std::size_t>(bytes_in_hand / size_of_class(which), 4)) {
      shared().shelves[which].put(mine.spare);
      mine.spare = std::exchange(mine.active, hand{});
    }
    mine.active.push(memory);
  }
};

thread_pockets& mine() {
  thread_local thread_pockets pockets;
  return pockets;
}

std::byte* slab_of(void* memory) noexcept {
  return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(memory) / slab_bytes * slab_bytes);
}

/// Slabs of one size of which every piece lies on the shelf go back to the stock.
void trim_shelf(std::size_t which) {
  shelf& of = shared().shelves[which];
  pile taken;
  {
    const std::lock_guard locked(of.lock);
    std::swap(taken, of.hands);
  }
  std::vector<void*> pieces;
  std::vector<std::byte*> whole;
  const std::size_t per_slab = slab_bytes / size_of_class(which);
  try {  // nothing below needs memory
    std::size_t count = 0;
    for (const piece* each = taken.top; each != nullptr; each = each->next_hand) count += each->count;
    pieces.reserve(count);
    whole.reserve(count / per_slab);
  } catch (const std::bad_alloc&) {
    while (taken.top != nullptr) of.put(taken.take());
    return;
  }
  while (taken.top != nullptr) {
    for (hand each = taken.take(); each.count != 0;) pieces.push_back(each.pop());
  }
  std::ranges::sort(pieces);
  hand kept;
  for (std::size_t first = 0; first < pieces.size();) {
    std::byte* const slab = slab_of(pieces[first]);
    std::size_t last = first;
    while (last < pieces.size() && slab_of(pieces[last]) == slab) ++last;
    if (last - first == per_slab) {
      whole.push_back(slab);
    } else {
      for (std::size_t i = first; i < last; ++i) {
        kept.push(pieces[i]);
        if (kept.count * size_of_class(which) >= bytes_in_hand) of.put(std::exchange(kept, hand{}));
      }
    }
    first = last;
  }
  of.put(kept);
  for (std::byte* slab : whole) shared().slabs.give(slab, slab_bytes);
}

#endif

void* take_from_heap(std::size_t bytes) {
  void* const memory = bytes % 64 == 0 && bytes != 0 ? std::aligned_alloc(64, bytes) : std::malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  books().heap.fetch_add(bytes, std::memory_order_relaxed);
  return memory;
}

void give_to_heap(void* memory, std::size_t bytes) noexcept {
  books().heap.fetch_sub(bytes, std::memory_order_relaxed);
  books().reclaimed.fetch_add(bytes, std::memory_order_relaxed);
  std::free(memory);
}

}  // namespace

void* arena_take(arena_kind kind, std::size_t bytes) {
  void* memory = nullptr;
#if defined(KVC_ARENA_IS_HEAP)
  memory = take_from_heap(bytes);
#else
  if (bytes <= largest) {
    memory = mine().take(class_of(bytes));
  } else {
    memory = is_block(bytes) ? shared().blocks.take(bytes) : take_from_heap(bytes);
  }
#endif
  books().used[static_cast<std::size_t>(kind)].add(bytes);
  return memory;
}

void arena_give(arena_kind kind, void* memory, std::size_t bytes) noexcept {
  if (memory == nullptr) return;
  books().used[static_cast<std::size_t>(kind)].subtract(bytes);
#if defined(KVC_ARENA_IS_HEAP)
  give_to_heap(memory, bytes);
#else
  if (bytes <= largest) {
    mine().give(class_of(bytes), memory);
  } else if (is_block(bytes)) {
    shared().blocks.give(memory, bytes);
  } else {
    give_to_heap(memory, bytes);
  }
#endif
}

std::size_t arena_trim() {
#if defined(KVC_ARENA_IS_HEAP)
  return 0;
#else
  for (std::size_t which = 0; which < classes; ++which) trim_shelf(which);
  const std::size_t bytes = shared().slabs.trim() + shared().blocks.trim();
  books().reclaimed.fetch_add(bytes, std::memory_order_relaxed);
  return bytes;
#endif
}

std::size_t arena_usage::used_in_all() const noexcept {
  std::size_t all = 0;
  for (const std::size_t each : used) all += each;
  return all;
}

double arena_usage::fragmentation() const noexcept {
  const std::size_t all = used_in_all();
  return mapped == 0 || all >= mapped ? 0.0 : 1.0 - static_cast<double>(all) / static_cast<double>(mapped);
}

arena_usage arena_now() noexcept {
  arena_usage now;
  for (std::size_t i = 0; i < arena_kinds; ++i) now.used[i] = books().used[i].sum();
  now.mapped = books().heap.load(std::memory_order_relaxed);
#if !defined(KVC_ARENA_IS_HEAP)
  now.mapped += shared().slabs.mapped() + shared().blocks.mapped();
#endif
  now.reclaimed = books().reclaimed.load(std::memory_order_relaxed);
  return now;
}

}  // namespace kvc::core
