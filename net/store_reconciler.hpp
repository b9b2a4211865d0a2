// Keeps what is known of objects true to what their stores say.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "core/reconcile.hpp"
#include "net/line_budget.hpp"
#include "net/object_shelves.hpp"
#include "net/promotion_service.hpp"
#include "net/runtime.hpp"
#include "net/store_settings.hpp"

namespace kvc::net {

/// The looks at registered stores, and what comes of them.
///
/// Story: a master says nothing about offload, promotion, removal of everything, lost segments and dead clients. So keys that somebody asks
/// for are read again when they were last known long ago, and all others in turn, those known for longest first, some each second. A medium
/// that loses the last known copy of an object may have handed it to another one, so that such keys are read as well. What is different
/// changes the table, is counted by kind, and goes to the index as events of the streams that speak for the backend. An event that came
/// while the store was being asked is newer than its answer and stands. Promotions are told here as well (`take_truth`). Lane: `touch`,
/// `seek`, `doubt` and the counters from anywhere, the rest on the home lane.
class store_reconciler final : public truth_sink {
 public:
  store_reconciler(lane& home, object_shelves& objects, const store_settings& settings)
      : home_(home), objects_(objects), settings_(settings) {}

  void take_truth(std::uint32_t backend, const std::string& tenant, std::span<const std::string> keys,
                  std::span<const placement> found) override;

  /// Somebody wants to know about these keys, and what is known is old. More than can be read are left to the sweep.
  void touch(std::uint32_t backend, std::string_view tenant, std::vector<std::string> keys);
  /// Somebody wants to know about these keys, and nothing is known of them. They take at most a quarter of the room: most are nowhere, and
  /// misses, however many, must not keep what is known from being read again.
  void seek(std::uint32_t backend, std::string_view tenant, std::vector<std::string> keys);
  /// Events have left nothing that is known of these keys, and their store may have them all the same: nobody else would ask for them, as
  /// the sweep knows only what is in the table. They take at most half of the room, so that evictions cannot crowd out who asks.
  void doubt(std::uint32_t backend, std::string_view tenant, std::vector<std::string> keys);
  /// How old knowledge must be for that, in ticks of the tables' clock.
  [[nodiscard]] std::uint32_t age() const noexcept;

  /// Looks at a store for as long as it is registered. To be called before another one is looked at for the same backend.
  [[nodiscard]] asio::awaitable<void> keep_true(std::shared_ptr<promotion_target> target);

  /// The backend's store is registered no more: without one the events are all there is.
  void end_of(std::uint32_t backend);

  /// Whether the last look at the backend's store was answered, as far as it has one. Not before the first answer.
  [[nodiscard]] bool is_reachable(std::uint32_t backend) const noexcept override {
    const reach known = reach_[backend].load(std::memory_order_relaxed);
    return known == reach::fine || known == reach::unasked;
  }
  /// Whether the last look at a registered store was answered; absent: none has ended, or nothing is read again at all. From anywhere.
  [[nodiscard]] std::optional<bool> last_look(std::uint32_t backend) const noexcept {
    const reach known = reach_[backend].load(std::memory_order_relaxed);
    return known == reach::fine || known == reach::away ? std::optional(known == reach::fine) : std::nullopt;
  }
  /// Who is told that a store answers after several looks in a row that it did not answer: it may have begun anew. One lost answer is no
  /// sign of that. `tell` is called on the home lane; to be called before there are any stores.
  void call_on_return(std::function<void(std::uint32_t backend)> tell) { tell_of_return_ = std::move(tell); }

  struct counters {
    std::array<std::atomic<std::uint64_t>, core::difference_count> differences{};
    std::atomic<std::uint64_t> looked_at{0};  ///< keys
    std::atomic<std::uint64_t> failed{0};     ///< looks that were not answered
    std::atomic<std::uint64_t> untold{0};     ///< keys that an answer says nothing about, or that cannot be asked for
    std::atomic<std::uint64_t> overtaken{0};  ///< answers that an event was faster than
    std::atomic<std::uint64_t> left_out{0};   ///< touched keys for which there was no room
  };
  [[nodiscard]] const counters& counts() const noexcept { return counters_; }

 private:
  struct touched {
    std::string tenant;
    std::string key;
  };
  struct waiting {
    std::deque<touched> keys;
    std::unordered_set<std::uint64_t> known;  ///< fingerprints of those
  };
  struct look {
    std::string tenant;
    std::vector<std::string> keys;
    std::vector<bool> were_known;  ///< whether each was in the table when the store was asked; empty: all were
    bool is_touched = false;       ///< somebody has asked for them; else it was their turn
  };

  /// What is known of a store.
  enum class reach : std::uint8_t { unasked, fine, unknown, away };  ///< unasked: it never is

  void remember(std::uint32_t backend, std::string_view tenant, std::vector<std::string> keys, std::size_t most);
  void keep(std::uint32_t backend, const std::string& tenant, std::vector<std::string> keys, std::size_t most);
  void apply(std::uint32_t backend, const look& which, std::span<const placement> found, std::uint32_t asked_at);
  void note_untold(const std::string& backend, const std::string& key, std::uint64_t keys);
  void note_known(std::uint32_t backend, look& which) const;
  [[nodiscard]] look next_touched(std::uint32_t backend, std::size_t most);
  [[nodiscard]] look next_doubtful(std::uint32_t backend, std::size_t most);
  void put_back(std::uint32_t backend, look which);
  [[nodiscard]] asio::awaitable<std::chrono::steady_clock::duration> look_around(promotion_target& target, bool sweeps,
                                                                                 std::chrono::milliseconds& away);
  [[nodiscard]] asio::awaitable<bool> ask(promotion_target& target, look which, std::size_t& asked);
  enum class heard : std::uint8_t { answer, nonsense, silence };
  [[nodiscard]] asio::awaitable<heard> look_at(promotion_target& target, look which);
  [[nodiscard]] asio::awaitable<bool> greet(promotion_target& target);
  void note_silence(std::uint32_t backend, const error_code& why);
  void note_answer(std::uint32_t backend, std::span<const placement> found);
  void tell_reach(std::uint32_t backend, std::string_view why);
  void tell_kept_back(std::uint32_t backend);
  [[nodiscard]] asio::awaitable<void> watch(std::shared_ptr<promotion_target> target, std::uint64_t number);

  lane& home_;
  object_shelves& objects_;
  const store_settings& settings_;
  std::map<std::uint32_t, waiting> touched_;
  std::map<std::uint32_t, std::uint64_t> watches_;   ///< by backend: number of the store that is looked at
  std::atomic<std::size_t> under_way_{0};            ///< keys on their way to the home lane
  std::map<std::uint32_t, std::size_t> sweep_from_;  ///< by backend: which of its tenants comes next
  std::array<std::atomic<reach>, object_shelves::most_backends> reach_{};
  std::function<void(std::uint32_t backend)> tell_of_return_;
  std::map<std::uint32_t, std::uint32_t> silences_;  ///< by backend: looks in a row that were not answered
  std::map<std::uint32_t, line_budget> lines_;       ///< by backend: of the log, of one that comes and goes
  counters counters_;
};

}  // namespace kvc::net
