// Which objects to delete so that every cache salt comes back under its quota: planned in slices, remembered until it has happened.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "core/object_key.hpp"
#include "core/quota.hpp"
#include "core/usage.hpp"

namespace kvc::core {

/// How much of a salt over its limit one cycle takes. `keys`: a share of its keys, by count. `bytes`: until it is under the watermark.
enum class eviction_unit : std::uint8_t { keys, bytes };

/// Figures since the start, all rising; numbers of keys. Confirmed ones are counted by the ledger.
struct eviction_counters {
  std::uint64_t cycles = 0;
  std::uint64_t planned = 0;
  std::uint64_t failed = 0;   ///< released because their deletion failed or was refused
  std::uint64_t expired = 0;  ///< released because no deletion was told of them
};

/// The planner.
///
/// A cycle visits the salts in the order in which they began to be tracked. One whose bytes reach `watermark` times its limit gives up its
/// least recently used keys: all of them when the limit is 0, else floor(keys x `ratio`), at least one if the ratio is above 0 (spec
/// coordinator-api, section 3); with `eviction_unit::bytes` as many as bring it under that mark. Keys are put in flight as they are chosen
/// and count as gone from then on for the planner, never for the ledger: what was sent is neither sent again nor made up for by other keys.
/// A key comes back when its piece fails or expires, and when it is stored anew; so every deletion is asked for at least once. What servers
/// were asked for `most_in_vain` times in a row without a deletion being told is set aside: it is passed over while other keys are enough,
/// else what no server can delete would stand at the old end for ever and keep its salt over the limit. Every `cycles_until_retry`th cycle,
/// and one that takes all keys anyway, makes no difference.
///
/// Use: `begin`, `step` until it says done, `take_pieces`; send each piece's keys (`visit_keys`) and report what became of it (`accepted`,
/// `refused`, `failed`); `expire` now and then. Between two calls the ledger may change in any way. Hold it back while a resync goes on
/// (`resync_fsm::holds_eviction`). Memory: 4 bytes per key in flight. Pure; one lane, the ledger's.
class evictor {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  struct options {
    double ratio = 0.2;      ///< 0 to 1
    double watermark = 1.0;  ///< above 0, at most 1
    eviction_unit unit = eviction_unit::keys;
    std::chrono::nanoseconds remembered = std::chrono::seconds(30);  ///< how long a sent key is not sent again
    std::size_t keys_per_piece = 10'000;                             ///< most that an MP server takes in one request; at least 1
    std::size_t text_per_piece = std::size_t{4} << 20;               ///< bytes its keys may take in a request; one may take more
  };

  /// A part of the plan that is one request.
  struct piece {
    std::uint32_t id = 0;  ///< never 0
    std::size_t keys = 0;
    std::size_t text = 0;  ///< bytes that the keys take in a request at most
  };
  /// How much of a piece is read at a time, at least one key.
  struct slice {
    std::size_t keys = 0;
    std::size_t text = ~std::size_t{0};  ///< as above
  };

  /// `ledger` and `quotas` outlive this object.
  evictor(usage_ledger& ledger, const quota_table& quotas, const options& with) : ledger_(ledger), quotas_(quotas), options_(with) {}

  /// Begins a cycle. Precondition: none is under way.
  void begin();
  /// Looks at no more than `budget` keys and salts, some 100 ns each. True when the plan is complete.
  [[nodiscard]] bool step(std::size_t budget);

  /// The pieces of the complete plan, in order; they count as sent from `now` on. Empty when nothing is to be done.
  [[nodiscard]] std::vector<piece> take_pieces(time_point now);

  /// Calls `visit(object_key)` for keys of a piece from the place `from` on that are still to be deleted: a key stored anew or gone since
  /// is left out. Views are valid during the call. The place where the next slice begins; nothing when the piece ends, or is unknown.
  template <class Visit>
  std::optional<std::size_t> visit_keys(std::uint32_t id, std::size_t from, const slice& most, Visit visit) const;

  /// A server has said that it deletes them: those that are not heard of by the time the piece expires were asked for in vain.
  void accepted(std::uint32_t id) noexcept;
  /// A server has said that it did not (no 2xx, `ok` false): its keys were asked for in vain, and may be planned again. Takes time by the
  /// size of a piece, as does `failed`.
  void refused(std::uint32_t id) { give_up(id, true); }
  /// Nothing was heard (no connection, no answer in time, no server): its keys may be planned again, and nothing is known of them.
  void failed(std::uint32_t id) { give_up(id, false); }
  /// The same of the keys at the places from `from` to the one before `to` only, where a piece was asked for in parts.
  void refused(std::uint32_t id, std::size_t from, std::size_t to) { give_up(id, from, to, true); }
  void failed(std::uint32_t id, std::size_t from, std::size_t to) { give_up(id, from, to, false); }
  /// Releases what was sent too long ago: at most one piece per call. True when there may be more.
  bool expire(time_point now);

  /// Pieces that are neither failed nor expired.
  [[nodiscard]] std::size_t pieces_remembered() const noexcept { return sent_.size(); }
  [[nodiscard]] const eviction_counters& counters() const noexcept { return counters_; }

  /// Some five minutes at the usual interval.
  static constexpr std::uint64_t cycles_until_retry = 64;

 private:
  struct sent_piece {
    std::uint32_t id = 0;
    bool is_accepted = false;
    time_point until{};
    std::vector<std::uint32_t> keys;
    std::size_t text = 0;  ///< bytes, at most
  };

  /// Where a cycle stands in a salt.
  struct place {
    std::uint64_t serial = 0;  ///< of the salt; 0 before the first
    bool is_open = false;      ///< keys of this salt are being chosen
    bool takes_all = false;    ///< those that are set aside, too
    std::uint64_t wanted = 0;  ///< keys still to choose, by count
    std::uint64_t unseen = 0;  ///< keys still to look at: touched ones come round again and are not met twice
    long double mark = 0;      ///< bytes at which the salt is over
  };

  [[nodiscard]] bool next_salt();
  void open(salt_state& salt, double limit);
  [[nodiscard]] bool has_enough(const salt_state& salt) const noexcept;
  [[nodiscard]] bool is_at_end(const salt_state& salt) const noexcept { return at_.unseen == 0 || salt.cursor == no_record; }
  [[nodiscard]] bool begin_again(salt_state& salt) noexcept;
  [[nodiscard]] std::size_t choose(salt_state& salt, std::size_t budget);
  void add_to_plan(std::uint32_t key);
  void give_up(std::uint32_t id, bool was_in_vain);
  void give_up(std::uint32_t id, std::size_t from, std::size_t to, bool was_in_vain);
  [[nodiscard]] std::uint64_t release(std::uint32_t id, std::span<const std::uint32_t> keys, bool was_in_vain);
  [[nodiscard]] bool has_room(const sent_piece& one, std::size_t text) const noexcept;
  [[nodiscard]] std::deque<sent_piece>::const_iterator find(std::uint32_t id) const noexcept;

  usage_ledger& ledger_;
  const quota_table& quotas_;
  options options_;
  bool is_planning_ = false;
  place at_;
  std::vector<sent_piece> plan_;
  std::deque<sent_piece> sent_;  ///< in order of `until`, which is that of `id`
  std::uint32_t last_piece_ = 0;
  eviction_counters counters_;
};

template <class Visit>
std::optional<std::size_t> evictor::visit_keys(std::uint32_t id, std::size_t from, const slice& most, Visit visit) const {
  const auto one = find(id);
  if (one == sent_.end()) return std::nullopt;
  const key_store& keys = ledger_.keys();
  std::size_t text = 0;
  for (std::size_t i = from; i < one->keys.size(); ++i) {
    if (i != from && i - from >= most.keys) return i;
    const std::uint32_t key = one->keys[i];
    if (keys[key].piece != id) continue;
    text += keys.written_size(key);
    if (i != from && text > most.text) return i;
    visit(keys.key_of(key));
  }
  return std::nullopt;
}

}  // namespace kvc::core
