// The whole life of one stream as a machine without I/O: what happened goes in, what to do next and how far to trust it come out.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/ids.hpp"
#include "core/registration.hpp"
#include "core/replay_fsm.hpp"
#include "core/stream_cursor.hpp"
#include "core/stream_facts.hpp"
#include "core/stream_rules.hpp"
#include "core/stream_status.hpp"

namespace kvc::core {

/// One publisher's stream: a rank's, or a multiplexed one's, whose ranks share their seqnos and so their fate.
///
///   joining --> catching_up --> whole <--> recovering --> incomplete          any --> stale (silence) --> where it was
///      ^                                       |               |
///      '---------- a new generation -----------'---------------'
///
/// Story: nothing is known before the first batch or, when there is none, some silence on a standing connection; then the publisher is
/// asked for everything from its beginning. Meanwhile live batches wait in the transport's bounded queue; what does not fit is a gap. A gap
/// is replayed before the batch behind it is applied. What cannot be had is lost: counted, passed, and, unless it is to be kept, everything
/// held then leaves, since a lost batch may have removed it; the stream is `incomplete` until a clear of everything or a new generation. A
/// batch nobody can read is a gap of one: its copy in the replay may be sound. A stream that falls silent is asked now and then whether
/// its last batch was dropped. A live seqno that goes back is another incarnation of the publisher, unless the batch is one of the last,
/// byte by byte, and so is one that was away and cannot show the last batch we had from it: a new generation begins, the old blocks leave,
/// it is read from its beginning. One that was away and cannot be asked has to go on with the next number: until it does the stream is
/// `recovering`, or `incomplete` after an absence of `stale_after`, and a hole is another incarnation. Where another can have published as
/// many batches unseen, not even that tells: what is held is doubted like after a loss, and the stream `incomplete`. A replay is asked for
/// a batch we know as well, where there is one; who shows another under its number is not our publisher, and nothing of its answer counts.
/// Should that one show a batch of ours later, or a restart be noticed in the next moments, it was the next life, which is then read.
/// A replay whose publisher goes away meanwhile is dropped, since what comes next may be somebody else's. Silence: neither a batch nor a
/// connection for `stale_after` is `stale`; after `evict_after` the blocks leave and a new generation begins.
///
/// Use: do what `next()` says, tell how it went by the `on_` member named there, and so on; `on_connection` and `on_evicted` at any time
/// but between a batch and its `on_applied`. The driver keeps the batch in hand. Pure; one lane.
class stream_fsm {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  enum class step : std::uint8_t {
    listen,       ///< wait for a live batch until `wake_at()`: on_live or on_quiet
    apply_live,   ///< apply the live batch in hand: on_applied
    request,      ///< ask for the batches from `request_from()` on, over a fresh socket, not before `ask_at()`: on_requested
    read_reply,   ///< wait for the next part of the answer until `wake_at()`: on_reply, on_reply_end, on_reply_noise or on_reply_silence
    apply_reply,  ///< apply the replayed batch in hand: on_applied
    forget,       ///< drop every block of the stream, and wait for nothing else before: on_forgotten
  };

  stream_fsm(const stream_rules& with, time_point now)
      : rules_(with), cursor_(with.first), stood_at_(now), last_sign_(now), wake_at_(now) {}

  [[nodiscard]] step next() const;
  [[nodiscard]] time_point wake_at() const { return wake_at_; }
  /// What to ask for. What comes from before it is ignored.
  [[nodiscard]] seqno request_from() const;
  /// When to ask; has mostly passed. Live batches wait until then as they do during the answer.
  [[nodiscard]] time_point ask_at() const { return ask_at_; }

  /// A live batch has come and is in hand. `bytes` are its own; they are read until it has been applied or another one has come, and mostly
  /// not before it has been applied, when they are near.
  void on_live(seqno number, std::span<const std::byte> bytes, time_point now);
  /// None has.
  void on_quiet(time_point now);
  /// Whether the request could be handed to the transport. One that could not has asked nobody: it is tried again.
  void on_requested(bool is_sent, time_point now);
  /// A batch of the answer has come and is in hand. `bytes` as of a live one.
  void on_reply(seqno number, std::span<const std::byte> bytes, time_point now);
  void on_reply_end(time_point now);
  /// Something that is no reply.
  void on_reply_noise(time_point now);
  void on_reply_silence(time_point now);
  /// What became of the batch in hand.
  struct applied_batch {
    bool is_readable = true;    ///< false: it could not be decoded, nothing was applied
    bool left_nothing = false;  ///< it cleared all the stream can ever have held: what was lost or evicted before does not matter
  };
  /// `followers`: the bytes of live batches that were applied with the one in hand, which `takes_followers` allowed; the last one is what
  /// `left_nothing` is about, and all of them could be read.
  void on_applied(const applied_batch& what, time_point now, std::span<const std::span<const std::byte>> followers = {});
  /// Whether live batches that came right behind the one in hand, with the next numbers and over the same connection, may be applied with
  /// it in one piece: told one by one, each would be applied at once.
  [[nodiscard]] bool takes_followers() const;
  void on_forgotten(time_point now);

  /// What the transport says of the live connection: whether it stands, and how often it has broken so far. To be told at once: at rest the
  /// machine asks for a look only once a minute.
  void on_connection(bool is_connected, std::uint64_t disconnects, time_point now);
  /// The connection that was last told to stand has done so until `when` at least. Spares a publisher the doubt that it was away
  /// for longer.
  void on_standing(time_point when);
  /// Whether what waits in the transport may be of a publisher that has gone, so that it has to be listened to afresh. True once.
  [[nodiscard]] bool take_wants_fresh_transport() { return std::exchange(wants_fresh_transport_, false); }
  /// Whether what comes next may be of another publisher, or of another life of the same, so that nothing holds that was learnt of how it
  /// makes its hashes. True once; to be asked before anything else is applied.
  [[nodiscard]] bool take_is_another_life() { return std::exchange(is_another_life_, false); }
  /// Something went wrong here, in the middle of whatever it was: nothing that is held can be trusted, it is forgotten and read anew over a
  /// fresh transport. At any time. Throws std::bad_alloc when it has been done and cannot be told.
  void on_failure();
  /// The byte budget of the index is about to take blocks.
  void on_evicted() { is_evicted_ = true; }
  /// Some of what was stored in this generation has been evicted.
  [[nodiscard]] bool is_evicted() const { return is_evicted_; }

  [[nodiscard]] stream_state state() const;
  [[nodiscard]] bool is_verifying() const { return phase_ == phase::verify_request || phase_ == phase::verify_reply; }
  /// What is to be forgotten goes because what was missed may have removed it.
  [[nodiscard]] bool is_doubting() const { return forget_ == reason::doubt; }
  [[nodiscard]] const std::optional<seqno>& newest_applied() const { return cursor_.newest_applied(); }
  /// Batches known to have been published and not applied yet.
  [[nodiscard]] std::uint64_t behind() const;

  using totals = stream_totals;
  [[nodiscard]] const totals& so_far() const { return totals_; }

  using fact = stream_fact;
  /// What has happened since the last call; some dozen at most, of many lost ranges the first ones.
  [[nodiscard]] std::vector<fact> take_facts();
  [[nodiscard]] bool has_facts() const { return !facts_.empty(); }

 private:
  enum class phase : std::uint8_t { listening, live_in_hand, verify_request, verify_reply, replay_request, replay_reply, reply_in_hand };
  enum class reason : std::uint8_t { none, doubt, restart, failure, silence, foreign, unheard };  ///< why everything is to be forgotten
  struct known_batch {
    seqno number{};
    std::uint64_t fingerprint = 0;  ///< the digest of its bytes
    bool is_live = true;            ///< heard over the live connection, and not only of a replay
    bool is_sound = true;           ///< it could be read: its bytes are those that were sent
  };

  void decide(time_point now);
  void listen(time_point now);
  void look_at_silence(time_point now);
  [[nodiscard]] bool can_replay(time_point now) const { return rules_.has_replay && now >= no_replay_before_; }
  void recover(seqno from, std::optional<seqno> to, time_point now);
  void perform(replay_fsm::action what, time_point now);
  void take_losses();
  void count_recovery(replay_outcome how);
  void finish_recovery(replay_outcome how, time_point now);
  void decide_after_recovery(time_point now);
  void interrupt();
  [[nodiscard]] std::optional<known_batch> overlap() const;
  [[nodiscard]] std::optional<known_batch> recent_under(seqno number) const;
  [[nodiscard]] bool may_ask_for_all() const;
  [[nodiscard]] bool has_witness() const;
  void on_proof(seqno number, std::span<const std::byte> bytes, time_point now);
  void end_unknown(time_point now);
  void end_verifying(bool was_answered, time_point now);
  void end_unproven(const char* because, time_point now);
  void compare_duplicate(time_point now);
  void contradict();
  void compare_held(std::span<const std::byte> replayed);
  void drop_duplicate(time_point now);
  void prove();
  void disbelieve(seqno number, time_point now);
  void distrust(seqno number, time_point now);
  void disown(time_point now);
  void forgive(time_point now);
  [[nodiscard]] bool begins_anew();
  void check_tail(time_point now);
  void set_patience(time_point now);
  [[nodiscard]] bool was_applied(const known_batch& which) const;
  void lose(std::uint64_t batches);
  void doubt();
  [[nodiscard]] bool could_succeed_unseen(std::chrono::nanoseconds absence) const;
  void end_absence(time_point now);
  void go_on_unproven();
  void keep_unproven();
  void recognise();
  void begin_generation(reason why);
  void remember(const known_batch& what);
  void tell(const fact& what);

  stream_rules rules_;
  stream_cursor cursor_;
  phase phase_ = phase::listening;
  reason forget_ = reason::none;
  std::optional<seqno> held_;              ///< the live batch in hand
  std::span<const std::byte> held_bytes_;  ///< of it
  bool is_held_contradicted_ = false;      ///< a replay has another batch under its number: if it can be read, that was a stranger's
  bool is_held_unreadable_ = false;        ///< it was tried already; a sound copy is being asked for
  std::optional<seqno> in_reply_;          ///< the replayed batch in hand
  std::span<const std::byte> reply_bytes_;
  std::optional<replay_fsm> recovery_;
  seqno recovery_from_{};
  std::optional<seqno> recovery_to_;
  std::uint64_t recovery_lost_ = 0;  ///< of its losses, those counted already
  std::size_t recovery_listed_ = 0;  ///< of its lost ranges, those told already
  time_point give_up_at_{};
  time_point ask_at_{};
  std::size_t unsent_ = 0;                ///< requests in a row that could not be sent
  std::array<known_batch, 16> recent_{};  ///< applied last, the oldest is overwritten
  std::size_t recent_count_ = 0;
  bool is_tail_unchecked_ = false;  ///< batches came since the publisher was last asked for what follows
  bool is_tail_check_ = false;      ///< the recovery is only a look for a dropped last batch
  time_point next_tail_check_{};
  std::optional<known_batch> last_;          ///< applied last
  std::optional<known_batch> suspect_;       ///< applied last before the connection broke: the publisher has to show it again
  std::optional<known_batch> before_break_;  ///< the same, until it has shown it or gone on with the next number; set when `suspect_` is
  bool has_broken_again_ = false;            ///< since `suspect_` was set: what waits may be of a life in between
  std::optional<known_batch> compared_;      ///< the live batch in hand: who has replayed its number is asked to show it
  bool is_endpoint_proven_ = false;    ///< it has shown a batch that was heard live, since the connection was last told to have broken
  bool is_distrusted_ = false;         ///< it has answered for another publisher, and shown nothing of ours since
  time_point distrusted_at_{};         ///< when it did
  bool was_lost_in_distrust_ = false;  ///< something of this generation was given up while it was distrusted
  bool must_begin_anew_ = false;       ///< and it is ours after all
  bool has_overlap_ = false;           ///< the recovery began with asking for a batch we know
  bool is_uncompared_ = false;         ///< a replay brought batches, and nothing has told whose they are
  bool holds_unproven_ = false;        ///< some of what is held was replayed, and nothing has told since that the endpoint is ours
  bool is_another_life_ = false;
  bool must_catch_up_ = true;           ///< something before the next live batch may be missing, and nothing tells how much
  bool was_interrupted_ = false;        ///< and some of it is known to be missing
  bool is_settled_ = false;             ///< it is known what came before the cursor
  bool are_copies_unreadable_ = false;  ///< the replayed copy of an unreadable batch was unreadable too: not asked for again
  bool holds_ = false;                  ///< something was applied since everything was last forgotten
  bool is_evicted_ = false;
  bool is_connected_ = false;
  bool is_silent_ = false;
  bool wants_fresh_transport_ = false;
  bool has_answered_ = false;  ///< the replay endpoint, at least once, and for nobody else since
  std::size_t unanswered_proofs_ = 0;
  std::uint64_t disconnects_ = 0;
  time_point stood_at_;                   ///< when the connection was last seen to stand
  std::optional<time_point> away_since_;  ///< it has broken, and not been seen to stand since
  bool may_be_another_ = false;           ///< who came back, and nothing but a proof can tell
  bool was_long_away_ = false;            ///< who came back: for `stale_after`
  std::uint64_t kept_unproven_ = 0;       ///< of the unproven absences, those whose blocks were kept for the next number to tell
  time_point last_sign_;                  ///< last batch, or last moment with a connection
  time_point wake_at_;
  time_point no_replay_before_{};  ///< the replay endpoint did not answer: leave it alone until then
  totals totals_;
  std::vector<fact> facts_;
};

}  // namespace kvc::core
