// Where pools ask what engines call their blocks, and engines answer: shared by all lanes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/ids.hpp"

namespace kvc::core {

/// Which block a name means, as far as the engines have told.
struct name_meaning {
  enum class state : std::uint8_t {
    unknown,  ///< nobody has told
    known,
    doubtful,  ///< engines have told different blocks: it means none of them
  };
  state what = state::unknown;
  std::uint16_t adapter = 0;  ///< whose partition the block is in; see name_board::adapter
  seq_hash block{};
  std::shared_ptr<const std::vector<seq_hash>> before = {};  ///< blocks in front of it, where the name is of several; null: none

  [[nodiscard]] bool is_same(const name_meaning& other) const noexcept {
    return what == other.what && adapter == other.adapter && block == other.block &&
           (before == other.before || (before && other.before && *before == *other.before));
  }
  /// Whether this says the same as `other`, and more: the blocks in front of it as well.
  [[nodiscard]] bool refines(const name_meaning& other) const noexcept {
    return what == other.what && adapter == other.adapter && block == other.block && before && !other.before;
  }
};

/// Whoever waits for the meaning of names: the inbox of one pool.
///
/// Thread-safety: `put` from any lane, `take` from the lane of the pool.
class name_listener {
 public:
  struct news {
    engine_hash name{};
    std::uint32_t whose = 0;  ///< of the watch; see name_board::anybodys
    name_meaning means;
  };

  /// `wake` is called, on any lane and without a lock, when something has come into an empty inbox; it may be empty.
  explicit name_listener(std::function<void()> wake) : wake_(std::move(wake)) {}

  void put(const news& what);
  /// Takes all there is; `into` is cleared first. Bounded by the names the listener watches.
  void take(std::vector<news>& into);

 private:
  std::mutex changing_;
  std::vector<news> waiting_;
  std::function<void()> wake_;
};

/// The names that pools of a family of partitions (those that differ by their adapter only) want explained, and the explanations.
///
/// Story: a pool's keys name blocks as engines do, but which block a name means only the engines' events tell, on whatever lanes they are.
/// A pool *watches* each name it holds; an engine that stores blocks looks whether their names are watched, which is one relaxed load while
/// none is, and *tells* what they mean. A name that was stored before it was watched is asked for on every lane (event_applier::answer).
/// What has been told stays, whatever the engine does with its own copy afterwards, until nobody watches the name any more: a name is the
/// name of a content. Where two engines mean different blocks by one name nobody can know whose the pool's object is, and the name is
/// doubtful from then on. A pool that has been told whose its block is watches for what engines mean *in that adapter's partition*; who has
/// not watches for anybody's meaning. The two are explained, and become doubtful, each by itself.
///
/// Guarantees: an engine that stores a block after `watch` has returned finds it watched; one that stored it before has it when it is asked
/// afterwards. Thread-safety: all members from any lane; a call holds the lock of one of 256 shards for one look-up. No callback is called
/// with a lock held.
class name_board {
 public:
  static constexpr std::size_t max_adapters = 65'535;
  static constexpr std::size_t max_adapter_bytes = std::size_t{8} << 20;  ///< of their names
  static constexpr std::uint32_t anybodys = 0x1'0000;                     ///< in place of an adapter's number: whoever means something

  name_board();
  ~name_board();
  name_board(const name_board&) = delete;
  name_board& operator=(const name_board&) = delete;

  /// The number of an adapter, 0 for "". Numbers are not used again, since what was told under them stays: there are enough for the
  /// adapters that come and go in the life of a family. Those beyond either bound have none and share `max_adapters`, which is told of no
  /// name.
  [[nodiscard]] std::uint16_t adapter(std::string_view lora);
  /// Its name. Precondition: the number was given out, and is below `max_adapters`.
  [[nodiscard]] std::string adapter_name(std::uint16_t number) const;

  /// From now on `who` hears when the meaning of `name` changes that it has to `whose` engines, an adapter's or anybody's; the answer is
  /// what it means now. Each watch is ended by itself.
  [[nodiscard]] name_meaning watch(engine_hash name, const std::shared_ptr<name_listener>& who, std::uint32_t whose = anybodys);
  void unwatch(engine_hash name, const name_listener* who, std::uint32_t whose = anybodys);

  /// Whether anything is watched at all.
  [[nodiscard]] bool is_in_use() const noexcept { return watched_.load(std::memory_order_relaxed) != 0; }
  /// Whether somebody wants to know what this name means to an adapter's engines.
  [[nodiscard]] bool is_watched(engine_hash name, std::uint16_t adapter) const;
  /// What engines have told of this name; unknown as well where nobody wants to know.
  [[nodiscard]] name_meaning meaning_of(engine_hash name, std::uint32_t whose = anybodys) const;
  /// An engine means this by `name`; `told` is known. Throws std::bad_alloc: then some have not heard, and do when it is told again.
  void tell(engine_hash name, const name_meaning& told);

  [[nodiscard]] std::size_t watched() const noexcept { return watched_.load(std::memory_order_relaxed); }

 private:
  struct watched_name;
  struct shard;
  struct shards;

  [[nodiscard]] shard* shard_of(engine_hash name) const noexcept;
  [[nodiscard]] shard& made_shard_of(engine_hash name);
  void tell_one(shard& in, const watched_name& which, const name_meaning& told);
  static void take_back(shard& in, const name_listener::news& told, const name_meaning& before) noexcept;

  std::atomic<shards*> shards_{nullptr};  ///< made when they are first needed: most partitions have no pool
  std::atomic<std::size_t> watched_{0};
  mutable std::mutex adapters_changing_;
  std::map<std::string, std::uint16_t, std::less<>> adapter_numbers_;
  std::vector<const std::string*> adapters_;  ///< by number, the names in the map
  std::size_t adapter_bytes_ = 0;
};

}  // namespace kvc::core
