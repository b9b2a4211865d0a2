#include "core/name_board.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <boost/container/small_vector.hpp>
#include <boost/unordered/unordered_flat_map.hpp>

#include "core/mixed_bits.hpp"
#include "core/spread.hpp"

namespace kvc::core {

struct name_board::watched_name {
  std::uint64_t name = 0;
  std::uint32_t whose = anybodys;

  friend bool operator==(const watched_name&, const watched_name&) = default;
};

struct name_board::shard {
  struct key_spread {
    using is_avalanching = void;
    std::size_t operator()(const watched_name& which) const noexcept {
      return static_cast<std::size_t>(spread(which.name ^ (which.whose * golden)));
    }
  };
  struct entry {
    name_meaning means;
    boost::container::small_vector<std::shared_ptr<name_listener>, 1> listeners;
  };
  mutable std::mutex changing;
  boost::unordered_flat_map<watched_name, entry, key_spread> names;
  std::size_t adapters = 0;  ///< names among them that are watched for an adapter's meaning; mostly none: then one look-up is enough
};

struct name_board::shards {
  std::array<shard, 256> all;
};

void name_listener::put(const news& what) {
  bool was_empty = false;
  {
    const std::lock_guard lock(changing_);
    was_empty = waiting_.empty();
    waiting_.push_back(what);
  }
  if (was_empty && wake_) wake_();
}

void name_listener::take(std::vector<news>& into) {
  into.clear();
  const std::lock_guard lock(changing_);
  into.swap(waiting_);
}

name_board::name_board() {
  (void)adapter({});
}

name_board::~name_board() {
  delete shards_.load(std::memory_order_acquire);
}

std::uint16_t name_board::adapter(std::string_view lora) {
  const std::lock_guard lock(adapters_changing_);
  if (const auto known = adapter_numbers_.find(lora); known != adapter_numbers_.end()) return known->second;
  const bool has_room = adapters_.size() < max_adapters && lora.size() <= max_adapter_bytes - adapter_bytes_;
  if (!has_room) return max_adapters;
  const auto made = adapter_numbers_.emplace(lora, static_cast<std::uint16_t>(adapters_.size())).first;
  adapters_.push_back(&made->first);
  adapter_bytes_ += lora.size();
  return made->second;
}

std::string name_board::adapter_name(std::uint16_t number) const {
  const std::lock_guard lock(adapters_changing_);
  return *adapters_[number];
}

name_board::shard* name_board::shard_of(engine_hash name) const noexcept {
  shards* const made = shards_.load(std::memory_order_acquire);
  if (made == nullptr) return nullptr;
  return &made->all[(name.get() * golden) >> 56];
}

name_board::shard& name_board::made_shard_of(engine_hash name) {
  if (shards_.load(std::memory_order_acquire) == nullptr) {
    auto fresh = std::make_unique<shards>();
    shards* expected = nullptr;
    if (shards_.compare_exchange_strong(expected, fresh.get(), std::memory_order_acq_rel)) (void)fresh.release();
  }
  return *shard_of(name);
}

name_meaning name_board::watch(engine_hash name, const std::shared_ptr<name_listener>& who, std::uint32_t whose) {
  shard& in = made_shard_of(name);
  const std::lock_guard lock(in.changing);
  const auto [entry, is_new] = in.names.try_emplace(watched_name{name.get(), whose});
  if (is_new) watched_.fetch_add(1, std::memory_order_relaxed);
  if (is_new && whose != anybodys) ++in.adapters;
  entry->second.listeners.push_back(who);
  return entry->second.means;
}

void name_board::unwatch(engine_hash name, const name_listener* who, std::uint32_t whose) {
  shard* const in = shard_of(name);
  if (in == nullptr) return;
  const std::lock_guard lock(in->changing);
  const auto found = in->names.find({name.get(), whose});
  if (found == in->names.end()) return;
  auto& listeners = found->second.listeners;
  const auto mine = std::ranges::find(listeners, who, [](const std::shared_ptr<name_listener>& each) { return each.get(); });
  if (mine == listeners.end()) return;
  listeners.erase(mine);
  if (!listeners.empty()) return;
  in->names.erase(found);
  if (whose != anybodys) --in->adapters;
  watched_.fetch_sub(1, std::memory_order_relaxed);
}

bool name_board::is_watched(engine_hash name, std::uint16_t adapter) const {
  const shard* const in = shard_of(name);
  if (in == nullptr) return false;
  const std::lock_guard lock(in->changing);
  return in->names.contains({name.get(), anybodys}) || (in->adapters != 0 && in->names.contains({name.get(), adapter}));
}

name_meaning name_board::meaning_of(engine_hash name, std::uint32_t whose) const {
  const shard* const in = shard_of(name);
  if (in == nullptr) return {};
  const std::lock_guard lock(in->changing);
  const auto found = in->names.find({name.get(), whose});
  return found == in->names.end() ? name_meaning{} : found->second.means;
}

void name_board::tell(engine_hash name, const name_meaning& told) {
  if (told.adapter >= max_adapters) return;
  shard* const in = shard_of(name);
  if (in == nullptr) return;
  tell_one(*in, {name.get(), anybodys}, told);
  tell_one(*in, {name.get(), told.adapter}, told);
}

void name_board::tell_one(shard& in, const watched_name& which, const name_meaning& told) {
  boost::container::small_vector<std::shared_ptr<name_listener>, 4> listeners;
  name_listener::news what{engine_hash{which.name}, which.whose, {}};
  name_meaning before;
  {
    const std::lock_guard lock(in.changing);
    if (which.whose != anybodys && in.adapters == 0) return;
    const auto found = in.names.find(which);
    if (found == in.names.end()) return;
    name_meaning& means = found->second.means;
    if (means.what == name_meaning::state::doubtful || means.is_same(told) || means.refines(told)) return;
    const bool is_news = means.what == name_meaning::state::unknown || told.refines(means);
    listeners.assign(found->second.listeners.begin(), found->second.listeners.end());
    before = std::exchange(means, is_news ? told : name_meaning{.what = name_meaning::state::doubtful});
    what.means = means;
  }
  // Two tellings may arrive in either order; whoever hears of a name twice in different words takes it for doubtful (pool_joiner).
  try {
    for (const auto& each : listeners) each->put(what);
  } catch (...) {
    // An inbox had no memory: the engine starts over, and must be heard when it tells this again.
    take_back(in, what, before);
    throw;
  }
}

/// The meaning just told, which not everybody has heard, was not told, unless somebody has told more since.
void name_board::take_back(shard& in, const name_listener::news& told, const name_meaning& before) noexcept {
  const std::lock_guard lock(in.changing);
  const auto found = in.names.find({told.name.get(), told.whose});
  if (found != in.names.end() && found->second.means.is_same(told.means)) found->second.means = before;
}

}  // namespace kvc::core
