// Which promotions to memory may start: once per key, not again too soon, so many at a time, and fewer while a backend is short of memory.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <unordered_map>
#include <vector>

namespace kvc::core {

/// What becomes of a wish to promote an object.
enum class promotion_verdict : std::uint8_t {
  started,              ///< the caller has it promoted, and tells `finished`
  joined,               ///< it is on its way
  suppressed_recent,    ///< it was promoted within `dedup`
  suppressed_failed,    ///< it failed within `cooldown`
  suppressed_full,      ///< as many are on their way as may be
  suppressed_pressure,  ///< its backend is short of memory
};

/// How a promotion ended.
enum class promotion_end : std::uint8_t {
  done,  ///< the object is in memory, by whomever
  failed,
  pressure,  ///< the backend had no room
  given_up,  ///< by us: nobody was asked, or the answer was not waited for
};

/// The gate that every promotion goes through.
///
/// Story: probes come in storms for the same keys, and each promotion moves megabytes, so a second wish for a key joins the first one, and
/// a key that was promoted or has just failed is left alone for a while: the store knows better why it evicted it again. What we gave up
/// ourselves says nothing about the key, and neither does what ended before its backend began anew. A backend without room is asked less
/// and less, twice as long after each refusal, up to `longest_rest`; what works halves that, once for as long as the rest was, since the
/// successes of one moment are one. Backends share what may be on its way: each may have half of what the others leave, so that one whose
/// promotions never end leaves room. Objects are told apart by a well-mixed number made of backend, tenant and key, so that one that went
/// and came again is the same; backends by a small one. What ended is remembered for as long as it matters, and no more than `remembered`
/// of it, the oldest first to go. Pure, time is an argument and never goes back; one lane.
class promotion_gate {
 public:
  using time_point = std::chrono::steady_clock::time_point;
  static constexpr std::size_t no_bound = std::numeric_limits<std::size_t>::max();
  struct rules {
    std::chrono::milliseconds dedup = std::chrono::seconds(30);             ///< after success
    std::chrono::milliseconds cooldown = std::chrono::seconds(5);           ///< after failure
    std::chrono::milliseconds first_rest = std::chrono::milliseconds(500);  ///< of a backend after its first refusal
    std::chrono::milliseconds longest_rest = std::chrono::seconds(60);
    std::size_t in_flight = 1'024;    ///< at most, over all backends
    std::size_t remembered = 65'536;  ///< ended ones
  };

  explicit promotion_gate(const rules& with) : rules_(with) {}

  /// Asks for `object` of `backend`, of which `most` may be on their way. After `started` the object counts as on its way until `finished`.
  [[nodiscard]] promotion_verdict ask(std::uint64_t object, std::uint32_t backend, time_point now, std::size_t most = no_bound);
  /// A promotion that was started has ended. Nothing happens for others. Throws std::bad_alloc, and then it has not ended; not where it was
  /// given up.
  void finished(std::uint64_t object, promotion_end how, time_point now);
  /// The backend says by itself that it is short of memory (its counter of rejections grew).
  void press(std::uint32_t backend, time_point now);
  /// Nothing is known of the object any more: its promotion, if there was one, has been given up.
  void forget(std::uint64_t object);
  /// The backend may have begun anew: how its promotions ended means nothing any more. Those on their way stay, and so does its rest:
  /// who is short of memory is slow to answer, and to have been away is no sign of room.
  void forget_ends(std::uint32_t backend);
  /// The backend is another one, or has lost what it had: its rest is over as well.
  void forget_backend(std::uint32_t backend);
  /// Whether the backend takes part in the sharing of what may be on its way. One alone may have it all.
  void set_sharing(std::uint32_t backend, bool does_share);

  [[nodiscard]] std::size_t in_flight() const noexcept { return flying_; }
  /// Until when the backend is left alone; nothing when it is not.
  [[nodiscard]] std::optional<time_point> rests_until(std::uint32_t backend, time_point now) const;

 private:
  enum class phase : std::uint8_t { flying, done, failed };
  struct entry {
    phase at = phase::flying;
    std::uint32_t backend = 0;
    time_point until;          ///< of done and failed
    std::uint64_t serial = 0;  ///< tells a later entry of the same object from this one
    std::uint64_t era = 0;     ///< of its backend, when it ended
  };
  struct ended {
    std::uint64_t object = 0;
    std::uint64_t serial = 0;
    time_point until;
  };
  struct backend_state {
    std::chrono::milliseconds rest{};  ///< 0: none
    time_point until;
    time_point eased;        ///< until then a success is one with the last that counted
    std::size_t flying = 0;  ///< of its objects
    std::uint64_t era = 0;   ///< how often it has begun anew
    bool does_share = false;
  };

  [[nodiscard]] backend_state& state_of(std::uint32_t backend);
  [[nodiscard]] std::size_t share_of(const backend_state& one) const noexcept;
  void ease(backend_state& one, time_point now);
  void land(const entry& of);
  void forget_old(time_point now);
  void remember(std::deque<ended>& among, std::uint64_t object, entry& of, time_point until);

  rules rules_;
  std::unordered_map<std::uint64_t, entry> known_;
  std::deque<ended> done_;  ///< by time, as each of the two has one length
  std::deque<ended> failed_;
  std::vector<backend_state> backends_;
  std::size_t flying_ = 0;
  std::size_t sharing_ = 0;  ///< backends
  std::uint64_t next_serial_ = 1;
};

}  // namespace kvc::core
