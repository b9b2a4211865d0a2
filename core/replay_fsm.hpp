// The recovery of missing batches as a machine without I/O: what happened goes in, what to do comes out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/ids.hpp"

namespace kvc::core {

/// One recovery of the batches [from, to], or of everything the publisher has from `from` on.
///
/// Story: the publisher is asked for its batches from some seqno on. Its answers come in order but are lossy: its buffer may begin later,
/// its queue may have dropped some, the end marker may never come (kv-events.md sections 0.4 and 7). The machine lets only the next batch
/// in, asks again from the first hole, and passes a hole only when a fresh answer begins behind it, which proves that the publisher no
/// longer has it, or when `attempts` requests in a row have brought nothing. Who falls silent as often, though it has answered before, may
/// have a batch that cannot be transported, one above our limit for instance, at which each of its answers ends: what stands behind that
/// batch is asked for, then behind the next one, `attempts` times; once where nothing tells that there is more. What comes then is proof
/// for all before it: that much is lost, and no more; if nothing does, the rest is given up. Where nothing tells how much there is, the
/// marker alone does not prove that all has come, since batches before it may have been dropped: behind an answer that brought something
/// one more request looks for them, once. Whatever it passes or gives up is listed as lost, never silently skipped. Use: perform
/// `start()`'s action, then feed each outcome and perform the action it returns, until `finish`. Pure; one lane. The caller keeps the
/// deadlines.
class replay_fsm {
 public:
  struct limits {
    std::size_t attempts = 3;  ///< requests in a row without progress, then batches left out, before giving up; at least 1
    /// Requests in all; beyond it holes are passed at once. As many as vLLM's publisher keeps batches, of which each request that makes
    /// progress brings one or more: it is the caller's deadline that ends a recovery, not this.
    std::size_t max_requests = 10'000;
  };

  enum class action : std::uint8_t {
    request,  ///< ask for batches from `request_from()` on, over a fresh socket
    apply,    ///< apply the batch just reported, then report nothing and wait for the next reply
    ignore,   ///< drop the batch just reported and wait for the next reply
    finish,   ///< done: see `lost()`
  };

  struct range {
    seqno from{};
    seqno to{};
    friend bool operator==(const range&, const range&) = default;
  };

  /// `to` absent: until the end marker. `has_answered`: who is asked has, some time before, so that silence need not mean
  /// that nobody is there.
  replay_fsm(seqno from, std::optional<seqno> to, limits with, bool has_answered = false);

  [[nodiscard]] action start();
  /// A reply with this number has come. After `apply`, ask `is_complete()`: true means the range is full and no further reply is needed.
  [[nodiscard]] action on_batch(seqno number);
  /// The batch before the one asked for has come, which was wanted as well to see whose answer it is. What follows is as the first of it.
  void on_batch_before() { answered_ = true; }
  /// The end marker has come.
  [[nodiscard]] action on_end();
  /// No reply in time, or the socket failed.
  [[nodiscard]] action on_silence();
  /// There is no time left for more: what is missing is lost. Always `finish`.
  [[nodiscard]] action abandon() { return give_up(); }

  [[nodiscard]] seqno request_from() const { return seqno{next_.get() + skipped_}; }
  [[nodiscard]] bool is_complete() const { return to_ && next_ > *to_; }
  /// What will not come any more, in order; at most 1,024 ranges, the last of which then covers all that follow.
  [[nodiscard]] const std::vector<range>& lost() const { return lost_; }
  [[nodiscard]] std::uint64_t lost_count() const { return lost_count_; }
  [[nodiscard]] std::uint64_t applied_count() const { return applied_; }
  /// False when the publisher never answered at all.
  [[nodiscard]] bool was_answered() const { return answered_; }
  /// Nothing is missing as far as anybody says: the range is full, or the marker stood behind what came last.
  [[nodiscard]] bool has_ended() const { return is_complete() || ended_; }
  /// A request that brought nothing but the marker has proven it.
  [[nodiscard]] bool is_end_proven() const { return ended_ && is_last_empty_; }
  /// The request under way only looks for what was dropped before the marker.
  [[nodiscard]] bool is_second_look() const { return ended_ && has_looked_twice_; }

 private:
  [[nodiscard]] action ask_again();
  [[nodiscard]] action give_up();
  void lose(seqno from, seqno to);

  seqno next_;
  std::optional<seqno> to_;
  limits limits_;
  bool has_answered_before_;
  std::vector<range> lost_;
  std::uint64_t lost_count_ = 0;
  std::uint64_t applied_ = 0;
  std::size_t requests_ = 0;
  std::size_t fruitless_ = 0;  ///< requests in a row that let no batch in
  std::size_t skipped_ = 0;    ///< batches from the next one on that the request leaves out, since answers end there
  bool has_begun_ = false;     ///< a batch of the current answer has come
  bool answered_ = false;
  bool ended_ = false;          ///< the marker has come, and no batch since
  bool is_last_empty_ = false;  ///< with nothing before it
  bool has_looked_twice_ = false;
};

}  // namespace kvc::core
