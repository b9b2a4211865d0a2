#include "perf/bench_positional.hpp"

#include <algorithm>
#include <atomic>
#include <utility>
#include <variant>

#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>
#include <oneapi/tbb/concurrent_hash_map.h>

#include "core/block_hasher.hpp"

namespace kvc::perf {
namespace {

using core::engine_hash;
using core::local_hash;
using core::seq_hash;

/// The sequence hashes of KVWL files are rolled under this seed.
constexpr std::uint64_t rolling_seed = 0;

using worker_set = boost::unordered_flat_set<std::uint32_t>;

/// The usual case: one prefix has this block at this position. Kept inline.
struct single_prefix {
  engine_hash name{};
  worker_set workers;
};
/// Several prefixes have the same block at the same position.
using many_prefixes = boost::unordered_flat_map<std::uint64_t, worker_set>;
using seq_entry = std::variant<single_prefix, many_prefixes>;

/// Multiplicative hashing, since the keys are hashes already and one multiplication is what the article's maps pay, too.
struct multiply_hash {
  static std::size_t hash(std::uint64_t key) noexcept {
    const std::uint64_t product = key * 0x9E37'79B9'7F4A'7C15ULL;
    return static_cast<std::size_t>(product ^ (product >> 32));
  }
  static bool equal(std::uint64_t left, std::uint64_t right) noexcept { return left == right; }
};

using position_map = oneapi::tbb::concurrent_hash_map<std::uint64_t, seq_entry, multiply_hash>;

/// Where a worker has a block.
struct block_place {
  std::uint32_t position = 0;
  local_hash local{};
};
using reverse_map = boost::unordered_flat_map<std::uint64_t, block_place>;
using worker_map = oneapi::tbb::concurrent_hash_map<std::uint64_t, reverse_map, multiply_hash>;

worker_set& holders_for_writing(seq_entry& entry, engine_hash name) {
  if (auto* one = std::get_if<single_prefix>(&entry)) {
    if (one->workers.empty()) one->name = name;
    if (one->name == name) return one->workers;
    many_prefixes several;
    several.emplace(one->name.get(), std::move(one->workers));
    entry = std::move(several);
  }
  return std::get<many_prefixes>(entry)[name.get()];
}

/// Whether nobody holds anything here any more.
bool drop_holder(seq_entry& entry, engine_hash name, std::uint32_t worker) {
  if (auto* one = std::get_if<single_prefix>(&entry)) {
    if (one->name == name) one->workers.erase(worker);
    return one->workers.empty();
  }
  auto& several = std::get<many_prefixes>(entry);
  const auto found = several.find(name.get());
  if (found == several.end()) return several.empty();
  found->second.erase(worker);
  if (found->second.empty()) several.erase(found);
  return several.empty();
}

}  // namespace

struct bench_positional::tables {
  tables() : positions(std::make_unique<std::atomic<position_map*>[]>(max_positions)) {}
  ~tables() {
    for (std::size_t i = 0; i < max_positions; ++i) delete positions[i].load(std::memory_order_relaxed);
  }
  tables(const tables&) = delete;
  tables& operator=(const tables&) = delete;

  [[nodiscard]] const position_map* at(std::size_t position) const noexcept {
    return position < max_positions ? positions[position].load(std::memory_order_acquire) : nullptr;
  }
  /// The map of a position, made by whoever needs it first.
  [[nodiscard]] position_map& make(std::size_t position) {
    position_map* there = positions[position].load(std::memory_order_acquire);
    if (there != nullptr) return *there;
    auto fresh = std::make_unique<position_map>();
    if (positions[position].compare_exchange_strong(there, fresh.get(), std::memory_order_acq_rel)) return *fresh.release();
    return *there;
  }
  void drop(std::uint32_t worker, engine_hash name, const block_place& place) {
    position_map& map = make(place.position);
    position_map::accessor entry;
    if (map.find(entry, place.local.get()) && drop_holder(entry->second, name, worker)) map.erase(entry);
  }

  std::unique_ptr<std::atomic<position_map*>[]> positions;
  worker_map workers;
  std::atomic<std::uint64_t> dropped{0};
};

namespace {

/// One query on its way: what it asks, and its sequence hashes as far as a crowded entry needed them.
class jump_search {
 public:
  jump_search(std::span<const local_hash> locals, positional_answer& into) : locals_(locals), into_(into) {
    into_.found.clear();
    into_.active.clear();
    into_.rolled.clear();
  }

  /// Calls `use` with the workers that hold the query's block at `position`, or with null, under the element's read lock.
  template <class Use>
  void with_holders(const position_map* map, std::size_t position, Use&& use) {
    position_map::const_accessor entry;
    if (map == nullptr || !map->find(entry, locals_[position].get())) return use(static_cast<const worker_set*>(nullptr));
    if (const auto* one = std::get_if<single_prefix>(&entry->second)) return use(&one->workers);
    const auto& several = std::get<many_prefixes>(entry->second);
    const auto found = several.find(rolled(position).get());
    use(found == several.end() ? nullptr : &found->second);
  }

  void begin(const position_map* map) {
    with_holders(map, 0, [&](const worker_set* holders) {
      if (holders != nullptr) into_.active.assign(holders->begin(), holders->end());
    });
  }
  [[nodiscard]] bool is_over() const noexcept { return into_.active.empty(); }

  /// Whether as many workers hold the block at `position` as are active: then the article takes everything before it for held, too.
  [[nodiscard]] bool all_reach(const position_map* map, std::size_t position) {
    bool equal = false;
    with_holders(map, position, [&](const worker_set* holders) { equal = holders != nullptr && holders->size() == into_.active.size(); });
    return equal;
  }

  /// Takes out the active workers that do not hold the block at `position`: they match that many blocks.
  void drain_at(const position_map* map, std::size_t position) {
    with_holders(map, position, [&](const worker_set* holders) {
      if (holders != nullptr && holders->size() == into_.active.size()) return;
      std::erase_if(into_.active, [&](std::uint32_t worker) {
        if (holders != nullptr && holders->contains(worker)) return false;
        into_.found.push_back({core::worker_id{worker}, static_cast<std::uint32_t>(position)});
        return true;
      });
    });
  }

  void finish() {
    for (const std::uint32_t worker : into_.active)
      into_.found.push_back({core::worker_id{worker}, static_cast<std::uint32_t>(locals_.size())});
  }

 private:
  [[nodiscard]] seq_hash rolled(std::size_t position) {
    auto& done = into_.rolled;
    if (done.empty()) done.push_back(core::first_in_sequence(locals_[0]));
    while (done.size() <= position) done.push_back(core::roll(done.back(), locals_[done.size()], rolling_seed));
    return done[position];
  }

  std::span<const local_hash> locals_;
  positional_answer& into_;
};

}  // namespace

bench_positional::bench_positional(std::uint32_t stride) : tables_(std::make_unique<tables>()), stride_(std::max(stride, 1U)) {}
bench_positional::~bench_positional() = default;

void bench_positional::store(std::uint32_t worker, const engine_hash* parent, std::span<const engine_hash> names,
                             std::span<const local_hash> locals) {
  worker_map::accessor own;
  tables_->workers.insert(own, worker);
  reverse_map& places = own->second;
  std::size_t position = 0;
  if (parent != nullptr) {
    const auto found = places.find(parent->get());
    if (found == places.end()) {
      tables_->dropped.fetch_add(names.size(), std::memory_order_relaxed);
      return;
    }
    position = std::size_t{found->second.position} + 1;
  }
  for (std::size_t i = 0; i < names.size(); ++i, ++position) {
    if (position >= max_positions) {
      tables_->dropped.fetch_add(names.size() - i, std::memory_order_relaxed);
      return;
    }
    const block_place place{static_cast<std::uint32_t>(position), locals[i]};
    const auto [known, is_new] = places.try_emplace(names[i].get(), place);
    if (!is_new && (known->second.position != place.position || known->second.local != place.local)) {
      tables_->drop(worker, names[i], std::exchange(known->second, place));
    }
    position_map::accessor entry;
    tables_->make(position).insert(entry, locals[i].get());
    holders_for_writing(entry->second, names[i]).insert(worker);
  }
}

void bench_positional::remove(std::uint32_t worker, std::span<const engine_hash> names) {
  worker_map::accessor own;
  if (!tables_->workers.find(own, worker)) return;
  for (const engine_hash name : names) {
    const auto found = own->second.find(name.get());
    if (found == own->second.end()) continue;
    tables_->drop(worker, name, found->second);
    own->second.erase(found);
  }
}

void bench_positional::query(std::span<const local_hash> locals, positional_answer& into) const {
  jump_search search(locals, into);
  if (locals.empty()) return;
  search.begin(tables_->at(0));
  const std::size_t last = locals.size() - 1;
  for (std::size_t checked = 0; checked < last && !search.is_over();) {
    const std::size_t checkpoint = std::min(checked + stride_, last);
    if (!search.all_reach(tables_->at(checkpoint), checkpoint)) {
      for (std::size_t at = checked + 1; at <= checkpoint && !search.is_over(); ++at) search.drain_at(tables_->at(at), at);
    }
    checked = checkpoint;
  }
  search.finish();
}

std::uint64_t bench_positional::entries() const {
  std::uint64_t all = 0;
  for (const auto& [worker, places] : tables_->workers) all += places.size();
  return all;
}

std::uint64_t bench_positional::dropped() const noexcept {
  return tables_->dropped.load(std::memory_order_relaxed);
}

}  // namespace kvc::perf
