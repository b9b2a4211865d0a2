// What the events of one stream mean, as the specification says it: whose blocks they are about, in which partition, under which names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "core/event.hpp"
#include "core/registration.hpp"
#include "tests/support/placed_model.hpp"

namespace kvc::test {

/// Numbers for partitions, as models know them. A partition that is made anew under another seed is another one.
class partition_numbers {
 public:
  std::size_t of(const core::partition_key& key, std::uint64_t seed) {
    return numbers_.try_emplace({key, seed}, numbers_.size()).first->second;
  }
  [[nodiscard]] const std::map<std::pair<core::partition_key, std::uint64_t>, std::size_t>& all() const { return numbers_; }

 private:
  std::map<std::pair<core::partition_key, std::uint64_t>, std::size_t> numbers_;
};

/// One registered engine, or publisher of the standard, as its events tell of it.
///
/// Rules (kv-events.md sections 2.3, 10; core/README.md, Decisions)
///  1. An event's rank goes before its batch's, and that before the registered one. Under another registered rank a 0 means that one until
///     the stream has shown that it fills ranks in, in the same place or by a third rank; then what was told under 0 is rank 0's, if all
///     of it was.
///  2. What an event names of its partition goes before what is registered. Another size of blocks is another partition for the standard;
///     for engines they are pages: here always of two blocks, the second of which bears the page's name.
///  3. Names of another group than the first are apart, but for the standard's. Groups that answer for no prefix are only tracked.
///  4. Tokens that do not fit the names count as none. What vLLM tells of another tier is about the blocks its device holds, if it does.
///  5. A clear without a medium means the registered one, for the standard all; without dimensions, every partition.
/// What blocks and copies are is placed_model's business.
class told_model {
 public:
  /// `max_orphans`: of each worker; only a stream that speaks for one has them for itself.
  told_model(core::registration from, placed_model& blocks, partition_numbers& numbers, std::uint32_t first_worker,
             std::size_t max_orphans);

  /// `has_room`: there is a place for the partition of the event, which nobody has under another seed.
  void apply(const core::event& what, const core::event_batch& in, bool has_room = true);
  /// Everything is forgotten, but not how the publisher speaks.
  void drop();
  void begin_anew();
  /// Nobody sees its workers any more.
  void leave();

  /// The partition of a store, with the seed it has for this stream.
  [[nodiscard]] core::partition_key key_of(const core::event_scope& scope) const;
  [[nodiscard]] const core::registration& from() const { return from_; }
  /// The workers it speaks for, by rank.
  [[nodiscard]] const std::map<std::uint32_t, core::worker_id>& workers() const { return workers_; }
  [[nodiscard]] std::size_t tracked() const { return tracked_.size(); }

  /// The name of the first block of a page.
  [[nodiscard]] static core::engine_hash inner_name(core::engine_hash page) { return core::engine_hash{page.get() ^ 0x5EED'0F'A'9A6EU}; }
  /// Names of pages are odd, those of blocks even.
  [[nodiscard]] static bool is_page(core::engine_hash name) { return name.get() % 2 == 1; }

 private:
  struct place_of_rank {
    bool is_believed = false;
    bool said_0 = false;
  };

  [[nodiscard]] std::uint32_t rank_of(const core::event_scope& scope, const core::event_batch& in);
  void show_ranks();
  void be_unheard();
  [[nodiscard]] std::optional<core::worker_id> worker_of(const core::event_scope& scope, const core::event_batch& in, bool may_open);
  [[nodiscard]] core::worker_id add_worker();
  void store(core::worker_id who, std::uint32_t rank, const core::stored_event& what, bool has_room);
  void remove(core::worker_id who, std::uint32_t rank, const core::removed_event& what);
  void clear(core::worker_id who, std::uint32_t rank, const core::cleared_event& what);
  [[nodiscard]] bool is_standard() const { return from_.type == core::publisher_type::standard; }
  [[nodiscard]] std::uint64_t apart(core::engine_hash name, std::uint32_t group) const;

  core::registration from_;
  placed_model* blocks_;
  partition_numbers* numbers_;
  std::uint32_t next_worker_;
  std::size_t max_orphans_;
  std::map<std::uint32_t, core::worker_id> workers_;
  place_of_rank batches_;
  place_of_rank events_;
  bool has_own_ = false;
  std::uint32_t last_rank_ = 0;
  std::set<std::pair<std::uint32_t, std::uint32_t>> windows_;                                                  ///< rank and group
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t, core::medium_id>, std::uint32_t> tracked_;  ///< and name, medium: copies
};

}  // namespace kvc::test
