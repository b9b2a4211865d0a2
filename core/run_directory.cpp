#include "core/run_directory.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

#include <oneapi/tbb/concurrent_hash_map.h>

#include "core/arena_allocator.hpp"
#include "core/run.hpp"
#include "core/run_finder.hpp"
#include "core/spread.hpp"

namespace kvc::core {
namespace {

constexpr bool before(const holder& left, const holder& right) noexcept {
  return left.worker != right.worker ? left.worker < right.worker : left.medium < right.medium;
}

/// Sequence hashes are well mixed already, but a publisher on the standard hash chooses them itself.
struct hash_spread {
  static std::size_t hash(std::uint64_t block) noexcept { return static_cast<std::size_t>(spread(block)); }
  static bool equal(std::uint64_t left, std::uint64_t right) noexcept { return left == right; }
};

std::size_t heap_bytes(const holder_list& list) noexcept {
  return list.capacity() > holder_list::static_capacity ? list.capacity() * sizeof(holder) : 0;
}

template <class Map>
std::size_t map_bytes(const Map& map) noexcept {
  constexpr std::size_t node_bytes = sizeof(typename Map::value_type) + 2 * sizeof(void*);  // next pointer and element lock
  constexpr std::size_t bucket_bytes = 2 * sizeof(void*);
  return map.size() * node_bytes + map.bucket_count() * bucket_bytes;
}

/// A map in shards that come as they are needed: its table doubles in one piece, which would be a pause of milliseconds at a million
/// entries in one table.
template <class Map>
struct shards {
  static constexpr std::size_t count = 32;
  std::array<std::atomic<Map*>, count> all{};

  ~shards() {
    for (const auto& each : all) delete each.load();
  }
  static std::size_t number_of(std::uint64_t key) noexcept { return spread(key) >> 40 & (count - 1); }
  [[nodiscard]] Map* existing(std::uint64_t key) const noexcept { return all[number_of(key)].load(std::memory_order_acquire); }
  Map& of(std::uint64_t key) {
    std::atomic<Map*>& at = all[number_of(key)];
    Map* there = at.load(std::memory_order_acquire);
    if (there != nullptr) return *there;
    auto made = std::make_unique<Map>();
    return at.compare_exchange_strong(there, made.get(), std::memory_order_acq_rel) ? *made.release() : *there;
  }
  template <class Visit>
  void each(Visit visit) const {
    for (const auto& part : all) {
      if (const Map* there = part.load(std::memory_order_acquire)) visit(*there);
    }
  }
};

/// The runs beyond the finder's room, which is what some 15 million take.
class more_runs final : public run_overflow {
 public:
  using allocator = arena_allocator<std::pair<const std::uint64_t, run*>, arena_kind::directory>;
  using map = oneapi::tbb::concurrent_hash_map<std::uint64_t, run*, hash_spread, allocator>;

  [[nodiscard]] run* find(std::uint64_t first) const override {
    const map* const in = all_.existing(first);
    map::const_accessor found;
    return in != nullptr && in->find(found, first) ? found->second : nullptr;
  }
  void put(run* fresh) override {
    map::accessor found;
    all_.of(fresh->first_hash.get()).insert(found, fresh->first_hash.get());
    found->second = fresh;
  }
  bool remove(const run* gone) override {
    map* const in = all_.existing(gone->first_hash.get());
    map::accessor found;
    if (in == nullptr || !in->find(found, gone->first_hash.get()) || found->second != gone) return false;
    return in->erase(found);
  }
  [[nodiscard]] const shards<map>& all() const noexcept { return all_; }

 private:
  shards<map> all_;
};

}  // namespace

struct run_directory::tables {
  using lone_map = oneapi::tbb::concurrent_hash_map<std::uint64_t, holder_list, hash_spread>;
  more_runs more;
  run_finder finder{more};
  shards<lone_map> lone;
  std::atomic<std::size_t> spilled_bytes{0};  ///< holder lists that outgrew their inline space
  std::atomic<media_mask> lone_media{0};
  std::atomic<std::size_t> lone_count{0};  ///< the map's own count is a sum over its segments; queries ask on every call
};

run_directory::run_directory() : tables_(std::make_unique<tables>()) {}
run_directory::~run_directory() = default;

run* run_directory::find(seq_hash first) const {
  return tables_->finder.find(first.get());
}
void run_directory::expect(seq_hash first) const noexcept {
  tables_->finder.expect(first.get());
}
void run_directory::expect_change(seq_hash first) const noexcept {
  tables_->finder.expect_change(first.get());
}
run* run_directory::add(run* fresh) {
  return tables_->finder.add(fresh);
}
void run_directory::erase(const run* dead) {
  tables_->finder.remove(dead);
}
void run_directory::note_column(const run& of) noexcept {
  tables_->finder.note_column(of);
}

void run_directory::each_run(const std::function<void(run*)>& visit) const {
  tables_->finder.each(visit);
  tables_->more.all().each([&](const more_runs::map& part) {
    for (const auto& [hash, each] : part) visit(each);
  });
}

void run_directory::each_lone(const std::function<void(seq_hash)>& visit) const {
  tables_->lone.each([&](const tables::lone_map& part) {
    for (const auto& [hash, holders] : part) visit(seq_hash{hash});
  });
}

void run_directory::hold(seq_hash block, worker_id worker, medium_id medium) {
  // First: who finds the block has to find its medium.
  if ((tables_->lone_media.load(std::memory_order_relaxed) & mask_of(medium)) == 0) tables_->lone_media.fetch_or(mask_of(medium));
  tables::lone_map::accessor found;
  if (tables_->lone.of(block.get()).insert(found, block.get())) tables_->lone_count.fetch_add(1, std::memory_order_release);
  holder_list& holders = found->second;
  const holder wanted{worker.get(), medium, 1};
  const auto at = std::lower_bound(holders.begin(), holders.end(), wanted, before);
  if (at != holders.end() && !before(wanted, *at)) {
    ++at->names;
    return;
  }
  const std::size_t old_bytes = heap_bytes(holders);
  holders.insert(at, wanted);
  tables_->spilled_bytes.fetch_add(heap_bytes(holders) - old_bytes, std::memory_order_relaxed);
}

void run_directory::release(seq_hash block, worker_id worker, medium_id medium) {
  tables::lone_map::accessor found;
  tables::lone_map& lone = tables_->lone.of(block.get());
  if (!lone.find(found, block.get())) return;
  holder_list& holders = found->second;
  const holder wanted{worker.get(), medium, 0};
  const auto at = std::lower_bound(holders.begin(), holders.end(), wanted, before);
  if (at == holders.end() || before(wanted, *at)) return;
  if (--at->names != 0) return;
  holders.erase(at);
  if (!holders.empty()) return;
  tables_->spilled_bytes.fetch_sub(heap_bytes(holders), std::memory_order_relaxed);
  lone.erase(found);
  tables_->lone_count.fetch_sub(1, std::memory_order_release);
}

bool run_directory::read(seq_hash block, holder_list& into) const {
  into.clear();
  const tables::lone_map* const lone = tables_->lone.existing(block.get());
  tables::lone_map::const_accessor found;
  if (lone == nullptr || !lone->find(found, block.get())) return false;
  into.assign(found->second.begin(), found->second.end());
  return !into.empty();
}

std::size_t run_directory::runs() const noexcept {
  return tables_->finder.size();
}
std::size_t run_directory::lone_blocks() const noexcept {
  return tables_->lone_count.load(std::memory_order_acquire);
}
media_mask run_directory::lone_media() const noexcept {
  return tables_->lone_media.load(std::memory_order_acquire);
}
std::size_t run_directory::bytes() const noexcept {
  std::size_t maps = sizeof(tables);
  tables_->more.all().each([&](const more_runs::map& part) { maps += sizeof(part) + map_bytes(part); });
  tables_->lone.each([&](const tables::lone_map& part) { maps += sizeof(part) + map_bytes(part); });
  return maps + tables_->finder.bytes() + tables_->spilled_bytes.load(std::memory_order_relaxed);
}

}  // namespace kvc::core
