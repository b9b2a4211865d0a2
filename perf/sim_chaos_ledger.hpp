// What became of each batch of a chaos publisher on its way, and so which of them nobody can be expected to know.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "perf/sim_chaos_cache.hpp"

namespace kvc::sim {

/// The fates of the batches of one incarnation of a publisher.
///
/// Who listens owes the knowledge of every batch that reached it in sound form: live, or in the answer to a replay. Two things cannot be
/// seen from here and are decided in its favour. What went over a connection that has broken since may have been lost with it. And a number
/// that an answer leaves out may be given up although its live copy is waiting, since a replay of everything is read before what came
/// meanwhile. Thread-safety: none; one owner.
class chaos_ledger {
 public:
  /// `answers`: there is somebody who can be asked for a batch again.
  explicit chaos_ledger(bool answers) : answers_(answers) {}

  void restart();        ///< another incarnation: nothing is published, nobody listens
  void on_subscribed();  ///< somebody listens from here on
  void on_broken();      ///< nobody does any more

  // One batch.
  void publish(std::uint64_t number) { fates_[number]; }
  /// Its live copy is damaged so that its number can be read, and nothing else.
  void spoil(std::uint64_t number) { fates_[number].is_spoilt = true; }
  /// It is good nowhere; `is_repeated`: replays have it all the same.
  void ruin(std::uint64_t number, bool is_repeated);
  /// Its live copy goes out, perhaps for a second time.
  void send(std::uint64_t number, bool is_sound);

  // A replay, asked for from `first` on while `next` was the number of the next batch.
  /// Whether whoever asks can have passed none of the batches behind `first` yet. It may only want to compare one, otherwise.
  [[nodiscard]] bool is_recovery(std::uint64_t first, std::uint64_t next) const;
  void give(std::uint64_t number, bool is_for_recovery);
  void leave_out(std::uint64_t number);
  /// Nothing came back. Who has asked in vain may ask less often from now on.
  void ignore(std::uint64_t first, std::uint64_t next);

  /// What may be unknown to whoever has listened to the end.
  [[nodiscard]] chaos_losses losses() const;
  /// Whether whoever listens has been away, in this incarnation or between two.
  [[nodiscard]] bool has_broken() const noexcept { return has_broken_; }

 private:
  struct fate {
    bool is_sent = false;
    bool is_heard = false;  ///< soundly, over the connection that stands
    bool is_spoilt = false;
    bool is_ruined = false;
    bool is_left_out = false;  ///< of the last answer that could have had it, or no answer came
    bool is_given = false;     ///< by it
  };
  [[nodiscard]] bool may_be_lost(std::uint64_t number, const fate& of) const;

  bool answers_;
  bool is_listened_to_ = false;
  bool was_listened_to_ = false;
  bool has_broken_ = false;
  bool has_restarted_ = false;
  bool repeats_ruins_ = false;
  std::optional<std::uint64_t> ignored_from_;
  std::map<std::uint64_t, fate> fates_;
};

}  // namespace kvc::sim
