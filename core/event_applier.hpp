// Applies a stream's events to the index, each to the worker it speaks about: a stream may speak for several ranks and several backends.
#pragma once

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/block_hasher.hpp"
#include "core/catalog.hpp"
#include "core/event.hpp"
#include "core/lane_blocks.hpp"
#include "core/registration.hpp"
#include "core/worker_applier.hpp"

namespace kvc::core {

/// One stream's events, on the lane that owns it.
///
/// Story: most streams speak for the worker they are registered for. Some carry the events of several ranks on one port, and a central
/// store those of several backends; what they hold, and what they clear, must not be mixed. So each further rank or backend is a worker of
/// its own from its first event on. Rank: an event's own goes before its batch's, and that before the registered one. One exception:
/// engines without data parallelism fill in rank 0, so a 0 on a stream registered under another rank is taken for the registered one, until
/// the stream has shown that it fills ranks in: by one that is neither, or by the registered one in the same place, of batches or of
/// events. (TensorRT-LLM's relay, which has one port for all ranks, is believed at once.) What was told under 0 until then is rank 0's from
/// then on, unless something was told for the registered rank as well, by saying none: then it cannot be told apart and stays. A pool has
/// no ranks. Backend: only pools are told apart by it, since an engine's tiers may have a backend each and still hold one prefix. The
/// registered backend, or if none is registered the first that is named, is the registered worker's. Bounds: `max_owners`; the stored
/// blocks of further ones are skipped and counted, until everything is dropped: then none but the registered worker is left. Events about
/// objects change the index where the stream is a pool's (pool_applier); whoever keeps the objects themselves takes them from the batch.
/// Lane: all members on the owning lane.
class event_applier {
 public:
  static constexpr std::size_t max_owners = 64;  ///< ranks times backends of one stream
  static constexpr std::size_t default_max_partitions = 256;

  struct options {
    std::size_t max_orphans = 65'536;       ///< of the stream, all its ranks together; names that a pool cannot explain yet: per backend
    std::shared_ptr<lane_names> lane = {};  ///< see lane_blocks::options
    std::size_t max_partitions = default_max_partitions;  ///< that one worker may be in by its events; what is in more is skipped
    /// Gives out the number of a further worker; none: everything belongs to the registered one.
    std::function<std::optional<worker_id>()> next_worker = {};
    std::shared_ptr<recipe_notes> recipe = {};     ///< null: nobody looks at how blocks are named
    std::chrono::milliseconds pool_settle{1'000};  ///< how long no new part of a block may come before those seen are taken for all
    std::function<medium_id()> pool_mixed = {};    ///< the medium of a pool's blocks whose parts lie on several; none: they count nowhere
    std::function<void()> pool_wake = {};          ///< called on any lane when `catch_up_some` has something to do
  };

  /// Whose blocks an event is about: one of the stream's workers.
  struct owner {
    dp_rank rank{};
    std::string backend;  ///< empty: the stream's own

    friend auto operator<=>(const owner&, const owner&) = default;
  };

  /// Joins the registration's partition. Throws std::invalid_argument when its seed conflicts: ask `catalog::accepts` first.
  event_applier(const registration& from, const member& who, catalog& partitions, options limits);

  /// Brings near what applying any batch begins with; worth it some hundred nanoseconds ahead, before the batch is decoded.
  void approach() const noexcept;

  /// As worker_applier::recipe, of all workers of the stream.
  [[nodiscard]] std::optional<hash_recipe> recipe() const;

  /// Where the work stands, between turns.
  struct progress {
    std::size_t next_batch = 0;
    std::size_t next_event = 0;  ///< of that batch
    std::size_t next_name = 0;   ///< of that event, if it has more than are applied at once
  };

  /// Applies events of `batches`, one batch after the other, from `at` on until about `budget` blocks have been touched, or a thousand of
  /// one event; to join a partition, or leave one, counts as some blocks. True when all are finished. The same batches must be passed until
  /// then, and nothing else may be applied meanwhile. Several small ones together are applied faster than each by itself, since what the
  /// next events need is asked for while others are applied.
  [[nodiscard]] bool apply_some(std::span<const event_batch> batches, progress& at, std::size_t budget, apply_tally& tally);
  [[nodiscard]] bool apply_some(const event_batch& batch, progress& at, std::size_t budget, apply_tally& tally) {
    return apply_some(std::span(&batch, 1), at, budget, tally);
  }

  /// Forgets everything the stream's workers hold, about `budget` blocks per call, then all of them but the registered one. True when
  /// nothing is left.
  [[nodiscard]] bool drop_some(std::size_t budget, apply_tally& tally);

  /// Queries stop seeing the stream's workers. Call `drop_some` until done afterwards.
  void leave();

  /// A piece of all workers' parts of a pass; see lane_blocks::evict_some. Not while a batch is half applied.
  [[nodiscard]] bool evict_some(eviction_pass& pass, std::size_t& budget, const std::function<void()>& before_first, apply_tally& tally);

  // For pools; an engine has nothing to do in any of these. Not while a batch is half applied, but for `answer`.

  /// What time it is: parts of blocks are waited for. To be told before events are applied, and now and then without any.
  void pass_time(std::chrono::steady_clock::time_point now);
  /// Takes in what engines have told of the names of the pool's blocks, and what has become sure, some `budget` blocks at a time. True when
  /// nothing is left.
  [[nodiscard]] bool catch_up_some(std::size_t budget, apply_tally& tally);
  /// Appends the names that the engines of every lane have to be asked for, no more than `most` for each board. True when there are more.
  [[nodiscard]] bool take_questions(std::vector<name_question>& into, std::size_t most);
  /// Tells the board of a question what the stream's workers mean by its names; what they do not hold they say nothing about. For engines.
  void answer(const name_question& asked);
  /// Goes on along a prompt with what each of the stream's workers knows; see lane_blocks::follow. For engines.
  void follow(const partition& home, std::span<const engine_hash> names, std::vector<seq_hash>& blocks, std::size_t& budget) const;
  /// Appends the names that the pool has for blocks of a partition; see pool_applier::names_of.
  void names_of(const partition_key& home, std::span<const seq_hash> blocks, std::vector<named_block>& into) const;
  /// Sums over the stream's workers.
  [[nodiscard]] pool_joiner::figures pooled() const noexcept;
  [[nodiscard]] bool is_pool() const noexcept { return home_->pool() != nullptr; }

  /// Whether such an event of this batch means every block the stream has ever stored, whosever it is and wherever it lies. As far as is
  /// known: what was lost may have been somebody else's, or on a medium that nobody has spoken of yet.
  [[nodiscard]] bool clears_everything(const cleared_event& cleared, const event_batch& batch) {
    return others_.empty() && !has_had_others_ && applier_of(cleared.scope, batch, false) == home_.get() &&
           home_->clears_everything(cleared);
  }

  /// What comes is another publisher's, or another life of this one: it need not speak for those that the one before spoke for, nor in its
  /// way. Precondition: everything has been dropped.
  void begin_anew();

  /// The worker behind `last`, of a rank if one is given: the registered one comes first (where `last` is absent), then the others in their
  /// order. None behind the last.
  [[nodiscard]] std::optional<owner> next_owner(const std::optional<owner>& last, std::optional<dp_rank> only) const;
  /// What one of them holds; of one that has gone, what the registered one does.
  [[nodiscard]] const lane_blocks& blocks_of(const owner& whose) const;

  // Over all workers of the stream; see lane_blocks and worker_applier.
  [[nodiscard]] std::uint64_t held_on(medium_id medium) const noexcept;
  [[nodiscard]] std::size_t names() const noexcept;
  [[nodiscard]] std::size_t orphans() const noexcept;
  [[nodiscard]] std::size_t uncounted() const noexcept;
  [[nodiscard]] std::size_t bytes() const noexcept;
  [[nodiscard]] std::size_t waiting_bytes() const noexcept;
  [[nodiscard]] std::size_t owners() const noexcept { return 1 + others_.size(); }

  /// Calls `visit(rank, blocks)` for every worker but the one the stream is registered for.
  template <class Visit>
  void visit_others(Visit visit) const {
    for (const auto& [whose, each] : others_) visit(whose.rank, each->blocks());
  }

 private:
  /// Where ranks may stand: what it has said so far.
  struct rank_speaker {
    bool is_believed = false;  ///< a 0 means rank 0
    bool said_0 = false;       ///< before it was believed
  };

  /// Of a publisher that has said nothing yet.
  [[nodiscard]] static rank_speaker unheard(const registration& from) {
    return {.is_believed = from.type == publisher_type::tensorrt_llm, .said_0 = false};
  }
  /// Learns from what is said.
  [[nodiscard]] dp_rank rank_of(const event_scope& scope, const event_batch& batch);
  /// Null: there is none, or no room for another one.
  [[nodiscard]] worker_applier* applier_of(const event_scope& scope, const event_batch& batch, bool may_open);
  [[nodiscard]] worker_applier* open(const owner& whose);
  /// Null: there is no room for another worker.
  [[nodiscard]] std::unique_ptr<worker_applier> make(const registration& as);
  /// What is held for the registered rank goes on as rank 0's, if it is known to be all of it.
  void give_to_rank_0();
  /// The number of blocks touched; absent: the event was left in the middle.
  [[nodiscard]] std::optional<std::size_t> apply(const event_batch& batch, progress& at, std::size_t budget, apply_tally& tally);
  class approach_line;
  /// Brings near what a coming event will need; see lane_blocks::expect. Null: none is coming.
  void expect(unsigned step, const event* which) const noexcept;

  member member_;
  catalog* catalog_;
  options limits_;
  std::shared_ptr<orphan_line> orphans_;  ///< of all its workers
  std::unique_ptr<worker_applier> home_;  ///< never null
  std::map<owner, std::unique_ptr<worker_applier>> others_;
  std::string own_backend_;  ///< empty: none has been named yet
  rank_speaker batches_;
  rank_speaker events_;
  bool has_had_others_ = false;                  ///< in this life of the publisher, dropped for a doubt of ours: they may come back
  bool has_own_ = false;                         ///< something was told for the registered rank that was not told under 0
  std::chrono::steady_clock::time_point now_{};  ///< as last told
};

}  // namespace kvc::core
