// Takes a stream's payloads: decodes, applies in bounded turns, counts, and shows the result in the stream's status.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <boost/asio/awaitable.hpp>

#include "core/event_applier.hpp"
#include "core/stream_status.hpp"
#include "net/batch_row.hpp"
#include "net/event_codec.hpp"
#include "net/evictable.hpp"
#include "net/fleet_service.hpp"
#include "net/index_inlet.hpp"
#include "net/lane_bell.hpp"
#include "net/object_shelves.hpp"
#include "net/pool_asker.hpp"

namespace kvc::net {

/// The way from bytes to the index for one stream; live batches and replayed ones both pass here.
///
/// Lane: all members on the worker's lane. The coroutines yield between turns, so that queries on the lane stay fast; nothing else may be
/// called on the sink until they are done. They are not cancelled half-way: a batch that was begun is finished.
class stream_sink {
 public:
  /// Joins the worker's partition. Throws std::invalid_argument on a seed conflict. The references outlive the sink.
  stream_sink(lane& home, const service_info& service, core::catalog& catalog, core::medium_table& media, const stream_settings& settings);

  /// Decodes a batch, which is applied by the next `begin`, behind those read before it. Errors: those of event_decoder::decode; then it
  /// is as if it had not been read.
  [[nodiscard]] error_code read(std::span<const std::byte> payload);
  /// Whether the batch after the last one read may be applied in one piece with it: not if that clears something, since what a clear has
  /// left is looked at when it has been applied, nor if its events are about objects, which are kept batch by batch.
  [[nodiscard]] bool takes_another() const noexcept;
  /// Counts and logs a batch that could not be read.
  void reject_batch(core::seqno number, error_code why);
  /// Applies what was read, as much as may be done now: nearly always all, without what a coroutine costs. False: `finish` is to be
  /// awaited, next. The payloads are not needed any more. `now`: when it begins and, once it is done, when that was; looking at the clock
  /// for every purpose took a thirtieth of a busy lane.
  [[nodiscard]] bool begin(std::chrono::steady_clock::time_point& now);
  /// Applies the rest, piece by piece, and gives others their turns in between.
  [[nodiscard]] asio::awaitable<void> finish(std::chrono::steady_clock::time_point& now);

  /// Where the backends this stream speaks for can be told what was found out about them; see index_inlet. What is known of the registered
  /// one comes there from now on.
  void attach(std::weak_ptr<index_inlet> inlet);
  /// The stream speaks for no backend any more. To be called before everything is forgotten.
  void detach();
  /// Objects have turned out to be elsewhere than the publisher told; see index_inlet. They wait until `apply_changes_some` is called, or
  /// until too many do. As that not for coroutines, and `catch_up` is to be called afterwards.
  void take_changes(changed_objects what);
  [[nodiscard]] bool has_changes() const noexcept { return !changes_.empty(); }
  /// As everything will be forgotten.
  void forget_changes() noexcept {
    changes_.clear();
    next_change_ = 0;
  }
  /// Brings some of them up to what the table says. True when none are left, or nothing can be done in the middle of a batch. Not for
  /// coroutines, as `catch_up`, which is to be called afterwards.
  [[nodiscard]] bool apply_changes_some();
  void names_of(const core::partition_key& home, std::span<const core::seq_hash> blocks, std::vector<core::named_block>& into) const {
    applier_.names_of(home, blocks, into);
  }

  /// A batch or the forgetting of everything has been begun and not finished: the blocks stand for no seqno.
  [[nodiscard]] bool is_in_between() const noexcept { return is_in_between_; }

  /// Whether somebody has come in the middle of a batch and waits for its end, which is now; once for each.
  [[nodiscard]] bool take_awaited() noexcept { return std::exchange(is_awaited_, false); }

  /// For looking at what the stream's workers hold.
  [[nodiscard]] const core::event_applier& workers() const noexcept { return applier_; }

  /// Counts and logs a message or reply of the wrong shape. `number` absent: it had none.
  void reject_message(std::optional<core::seqno> number, std::string_view what, error_code why);

  /// Counts a message that the subscription let through and that is for somebody else; logged as rarely as what `reject` counts.
  void note_other_topic(std::string_view topic);

  /// Forgets all blocks of the stream. Answers how many.
  asio::awaitable<std::uint64_t> drop_all();

  /// A piece of the worker's part of a pass of eviction, counted; see core::lane_blocks::evict_some. Nothing is done in the middle of a
  /// batch: what its events say and what is given up are kept apart. Then somebody waits for its end.
  [[nodiscard]] eviction_part evict_some(core::eviction_pass& pass, std::size_t& budget, const std::function<void()>& before_first);

  /// For pools: takes in what engines have told meanwhile and what the time has made sure, and asks what there is to ask. False when there
  /// is more to do; nothing is done in the middle of a batch, which does it itself at its end. Not for coroutines: it does a bounded piece
  /// and returns.
  [[nodiscard]] bool catch_up(std::chrono::steady_clock::time_point now);
  /// Parts of blocks are being waited for, so that time alone may change something.
  [[nodiscard]] bool is_waiting_for_parts() const { return applier_.is_pool() && applier_.pooled().unsure != 0; }
  [[nodiscard]] bool is_pool() const noexcept { return applier_.is_pool(); }
  /// For engines: see name_source.
  void answer(const core::name_question& asked) { applier_.answer(asked); }
  void follow(const core::partition& home, std::span<const core::engine_hash> names, std::vector<core::seq_hash>& blocks,
              std::size_t& budget) const {
    applier_.follow(home, names, blocks, budget);
  }
  /// `news` is called on the lane, some time after engines have told something, until its owner has gone.
  void call_on_news(std::weak_ptr<std::function<void()>> news) noexcept { news_->answer_with(std::move(news)); }

  /// What comes is of another publisher, or of another life of this one.
  void begin_anew() {
    applier_.begin_anew();
    decoder_.begin_anew();
  }
  /// Queries stop seeing the worker.
  void leave() { applier_.leave(); }

  /// How many barriers have been applied: clears of all that the stream may ever have held, behind which it held nothing, so that earlier
  /// losses and evictions no longer matter.
  [[nodiscard]] std::uint64_t barriers() const noexcept { return barriers_; }

  /// How often blocks have been given up or forgotten, which no batch said.
  [[nodiscard]] std::uint64_t losses() const noexcept { return losses_; }

 private:
  /// Counts what could not be understood as a whole, and logs it: the first ones, then ever fewer, so that a publisher of rubbish cannot
  /// flood the log.
  void reject(std::optional<core::seqno> number, std::string_view what, error_code why);
  [[nodiscard]] asio::awaitable<void> keep_objects();
  /// Until others who hear of the backend's objects have kept up, or for `patience` at most, of which what it took is gone then.
  [[nodiscard]] asio::awaitable<void> let_others_catch_up(const std::string& backend, std::chrono::steady_clock::duration& patience);
  void note_backend(const std::string& name);
  void note_refused(std::uint64_t more);
  void tell_what_table_says(const changed_objects& which, std::size_t from, std::size_t count, core::event_batch& into) const;
  /// Blocks that are touched before the clock is looked at.
  [[nodiscard]] std::size_t piece() const noexcept;
  void end_batches(std::chrono::steady_clock::time_point& now);
  void put_row_back();
  void count(std::span<const core::event_batch> batches, const core::apply_tally& tally);
  /// What they hold, whatever came of it.
  void count_contents(std::span<const core::event_batch> batches);
  void note_unknown(const core::unknown_word& word);
  void note_other_rank(core::dp_rank said);
  void note_objects_of_no_store(std::uint64_t more);
  void note_bound(std::string_view what, std::size_t limit, std::uint64_t more, std::uint64_t& so_far);
  void note_delays(std::span<const core::event_batch> batches);
  void show_blocks();
  void show_shares(std::size_t media);
  void show_pool();

  lane* lane_;
  const stream_settings* settings_;
  std::shared_ptr<core::stream_status> status_;
  const core::registration& registration_;
  event_decoder decoder_;
  std::shared_ptr<lane_bell> news_;  ///< rung by engines
  core::event_applier applier_;
  pool_asker asker_;
  std::unique_ptr<batch_row> row_;    ///< what was read and is not applied yet; null: nothing
  core::event_applier::progress at_;  ///< of its batches, while they are applied
  core::apply_tally tally_;           ///< what has come of it so far
  bool is_applied_ = false;           ///< all of its events; what a pool has to catch up with may be left
  std::chrono::steady_clock::time_point begun_{};
  core::medium_table* media_;
  std::map<core::dp_rank, std::shared_ptr<core::rank_share>> shares_;  ///< of further ranks
  std::uint64_t messages_rejected_ = 0;                                ///< and batches; without single events
  std::uint64_t barriers_ = 0;
  std::uint64_t losses_ = 0;
  std::uint64_t beyond_partitions_ = 0;  ///< blocks left out for want of room, see core::apply_tally
  std::uint64_t beyond_owners_ = 0;
  std::uint64_t beyond_pages_ = 0;
  bool is_in_between_ = false;
  bool is_awaited_ = false;
  object_shelves* objects_;  ///< null: its events are about no objects
  core::object_source object_source_;
  std::set<std::string> backends_;  ///< those whose objects it has spoken about
  std::weak_ptr<index_inlet> inlet_;
  std::deque<changed_objects> changes_;
  std::size_t next_change_ = 0;  ///< key of the first of them
  std::uint64_t refused_objects_ = 0;
};

}  // namespace kvc::net
