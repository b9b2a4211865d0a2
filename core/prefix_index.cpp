#include "core/prefix_index.hpp"

#include <oneapi/tbb/concurrent_hash_map.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <boost/container/small_vector.hpp>
#include <utility>
#include <vector>

#include "core/block_hasher.hpp"

namespace kvc::core {
namespace {

/// One worker's hold on a block: how many of its names on this medium mean the block.
struct holder {
  std::uint32_t worker;
  medium_id medium;
  std::uint32_t names;
};

constexpr bool before(const holder& left, const holder& right) noexcept {
  return left.worker != right.worker ? left.worker < right.worker : left.medium < right.medium;
}

/// Sorted by (worker, medium), so that a query can walk it beside its sorted active workers.
using holder_list = boost::container::small_vector<holder, 2>;

/// Sequence hashes are well mixed already, but a publisher on the standard hash chooses them itself: one multiplication keeps chosen low bits
/// from filling one bucket.
struct spread {
  static std::size_t hash(std::uint64_t block) noexcept {
    const std::uint64_t mixed = (block ^ (block >> 32)) * 0x9E37'79B9'7F4A'7C15ULL;
    return static_cast<std::size_t>(mixed ^ (mixed >> 29));
  }
  static bool equal(std::uint64_t left, std::uint64_t right) noexcept { return left == right; }
};

/// A worker that still matches at the position in hand, or that the pools alone carry.
struct runner {
  std::uint32_t worker = 0;
  std::uint32_t row = 0;       ///< where its depths are written
  media_mask alone = all_media;  ///< media on which every block so far lies
  bool device_or_host = true;
};

constexpr media_mask device_and_host = mask_of(medium_id::gpu) | mask_of(medium_id::cpu);

/// One block further for a worker that can use `held`. False when its prefix ends here.
bool advance(runner& who, worker_depth& depth, media_mask held, std::uint32_t new_depth) noexcept {
  if (held == 0) return false;
  depth.any = new_depth;
  who.device_or_host = who.device_or_host && (held & device_and_host) != 0;
  if (who.device_or_host) depth.device_or_host = new_depth;
  who.alone &= held;
  for (unsigned rest = who.alone; rest != 0; rest &= rest - 1) depth.on[static_cast<std::size_t>(std::countr_zero(rest))] = new_depth;
  return true;
}

/// What one worker holds of the block in hand.
struct worker_media {
  std::uint32_t worker;
  media_mask held;
};

/// Buffers of the queries of one thread; a match never suspends, so they are free again when it returns.
struct match_buffers {
  holder_list holders;
  std::vector<worker_media> here;
  std::vector<runner> active;
  std::vector<runner> next;
};

}  // namespace

struct prefix_index::table {
  using map = oneapi::tbb::concurrent_hash_map<std::uint64_t, holder_list, spread>;
  map blocks;
  std::atomic<std::size_t> spilled_bytes{0};  ///< holder lists that outgrew their inline space; touched only when a list grows

  /// Copies the holders out, so that nothing is done while the element is locked. False when nobody holds the block.
  bool read(seq_hash block, holder_list& into) const {
    map::const_accessor found;
    if (!blocks.find(found, block.get())) return false;
    into.assign(found->second.begin(), found->second.end());
    return !into.empty();
  }

  static std::size_t heap_bytes(const holder_list& list) noexcept {
    return list.capacity() > 2 ? list.capacity() * sizeof(holder) : 0;
  }

  template <class HashAt>
  void match(std::size_t length, const match_scope& scope, match_result& out, HashAt hash_at) const;
};

namespace {

bool is_pool(const match_scope& scope, std::uint32_t worker) {
  return std::ranges::binary_search(scope.pools, worker_id{worker});
}

/// Turns holders into one mask per worker, sorted; returns what the shared pools hold. Private pools count for their instance's workers.
media_mask gather(const holder_list& holders, const match_scope& scope, std::vector<worker_media>& here) {
  here.clear();
  media_mask pooled = 0;
  bool sorted = true;
  for (const holder& each : holders) {
    const media_mask medium = mask_of(each.medium) & scope.media;
    if (medium == 0) continue;
    if (is_pool(scope, each.worker)) {
      pooled |= medium;
      continue;
    }
    const auto lent = std::ranges::lower_bound(scope.private_pools, worker_id{each.worker}, {}, &private_pool::pool);
    if (lent != scope.private_pools.end() && lent->pool == worker_id{each.worker}) {
      for (const worker_id user : lent->users) here.push_back({user.get(), medium});
      sorted = false;
    } else if (sorted && !here.empty() && here.back().worker == each.worker) {
      here.back().held |= medium;
    } else {
      here.push_back({each.worker, medium});
    }
  }
  if (!sorted) {
    std::ranges::sort(here, {}, &worker_media::worker);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < here.size(); ++i) {
      if (kept != 0 && here[kept - 1].worker == here[i].worker) {
        here[kept - 1].held |= here[i].held;
      } else {
        here[kept++] = here[i];
      }
    }
    here.resize(kept);
  }
  return pooled;
}

}  // namespace

template <class HashAt>
void prefix_index::table::match(std::size_t length, const match_scope& scope, match_result& out, HashAt hash_at) const {
  thread_local match_buffers buffers;
  out.clear();
  auto& [holders, here, active, next] = buffers;
  active.clear();
  runner pools;
  bool pools_reach = true;  // every block so far lies in a shared pool, so a worker may still join here

  for (std::size_t i = 0; i < length; ++i) {
    if (!read(hash_at(i), holders)) return;
    const media_mask pooled = gather(holders, scope, here);
    const auto new_depth = static_cast<std::uint32_t>(i + 1);
    const runner pools_before = pools;
    const worker_depth pools_depth_before = out.pools_alone;
    const bool pools_reached_before = pools_reach;
    pools_reach = pools_reach && advance(pools, out.pools_alone, pooled, new_depth);

    next.clear();
    auto running = active.begin();
    auto holding = here.begin();
    while (running != active.end() || holding != here.end()) {
      if (holding == here.end() || (running != active.end() && running->worker < holding->worker)) {
        if (advance(*running, out.workers[running->row], pooled, new_depth)) next.push_back(*running);
        ++running;
      } else if (running == active.end() || holding->worker < running->worker) {
        if (pools_reached_before) {  // first block of its own: until here the pools carried it, or this is the first position
          runner joined = pools_before;
          joined.worker = holding->worker;
          joined.row = static_cast<std::uint32_t>(out.workers.size());
          out.workers.push_back(pools_depth_before);
          out.workers.back().worker = worker_id{holding->worker};
          if (advance(joined, out.workers.back(), holding->held | pooled, new_depth)) next.push_back(joined);
        }
        ++holding;
      } else {
        if (advance(*running, out.workers[running->row], holding->held | pooled, new_depth)) next.push_back(*running);
        ++running;
        ++holding;
      }
    }
    std::swap(active, next);
    if (active.empty() && !pools_reach) return;
  }
}

prefix_index::prefix_index(std::uint64_t seed) : seed_(seed), table_(std::make_unique<table>()) {}
prefix_index::~prefix_index() = default;

void prefix_index::hold(seq_hash block, worker_id worker, medium_id medium) {
  table::map::accessor found;
  table_->blocks.insert(found, block.get());
  holder_list& holders = found->second;
  const holder wanted{worker.get(), medium, 1};
  const auto at = std::lower_bound(holders.begin(), holders.end(), wanted, before);
  if (at != holders.end() && !before(wanted, *at)) {
    ++at->names;
    return;
  }
  const std::size_t heap_before = table::heap_bytes(holders);
  holders.insert(at, wanted);
  const std::size_t heap_after = table::heap_bytes(holders);
  if (heap_after != heap_before) table_->spilled_bytes.fetch_add(heap_after - heap_before, std::memory_order_relaxed);
}

void prefix_index::release(seq_hash block, worker_id worker, medium_id medium) {
  table::map::accessor found;
  if (!table_->blocks.find(found, block.get())) return;
  holder_list& holders = found->second;
  const holder wanted{worker.get(), medium, 0};
  const auto at = std::lower_bound(holders.begin(), holders.end(), wanted, before);
  if (at == holders.end() || before(wanted, *at)) return;
  if (--at->names != 0) return;
  holders.erase(at);
  if (!holders.empty()) return;
  const std::size_t heap = table::heap_bytes(holders);
  if (heap != 0) table_->spilled_bytes.fetch_sub(heap, std::memory_order_relaxed);
  table_->blocks.erase(found);
}

void prefix_index::match(std::span<const local_hash> query, const match_scope& scope, match_result& out) const {
  seq_hash rolled{};
  table_->match(query.size(), scope, out, [&](std::size_t i) {
    rolled = i == 0 ? first_in_sequence(query[0]) : roll(rolled, query[i], seed_);
    return rolled;
  });
  std::ranges::sort(out.workers, {}, &worker_depth::worker);
}

void prefix_index::match(std::span<const seq_hash> query, const match_scope& scope, match_result& out) const {
  table_->match(query.size(), scope, out, [&](std::size_t i) { return query[i]; });
  std::ranges::sort(out.workers, {}, &worker_depth::worker);
}

std::size_t prefix_index::blocks() const noexcept { return table_->blocks.size(); }

std::size_t prefix_index::bytes() const noexcept {
  constexpr std::size_t node_bytes = sizeof(table::map::value_type) + 2 * sizeof(void*);  // next pointer and element lock
  constexpr std::size_t bucket_bytes = 2 * sizeof(void*);
  return table_->blocks.size() * node_bytes + table_->blocks.bucket_count() * bucket_bytes +
         table_->spilled_bytes.load(std::memory_order_relaxed);
}

}  // namespace kvc::core
