// Promotions of objects to memory: which may start, who carries them out, who waits for them.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include "core/counters.hpp"
#include "core/promotion_gate.hpp"
#include "net/object_shelves.hpp"
#include "net/runtime.hpp"
#include "net/store_executor.hpp"
#include "net/store_settings.hpp"

namespace kvc::net {

/// What a probe is told about a prefetch.
enum class prefetch_word : std::uint8_t { none, started, joined, suppressed, failed };
inline constexpr std::array<std::string_view, 5> prefetch_words{"none", "started", "joined", "suppressed", "failed"};

/// Somebody who waits for promotions. Made on the waiter's lane; the rest by promotion_service.
struct promotion_wait {
  explicit promotion_wait(lane& where) : home(where), alarm(where.context) {}

  lane& home;
  asio::steady_timer alarm;            ///< of the waiter's lane; cancelled when nothing is left to wait for
  std::mutex lock;                     ///< of what follows
  std::size_t left = 0;                ///< promotions that have not ended
  std::vector<std::uint64_t> failed;   ///< fingerprints of those that have failed
  std::vector<std::uint64_t> objects;  ///< of the waiter's lane: fingerprints of all it waits for
};

/// One backend's store, as registered. Lane: the stores' home lane.
struct promotion_target {
  promotion_target(lane& home, std::uint32_t number, std::unique_ptr<store_executor> by)
      : backend(number), executor(std::move(by)), stopped(home.context, asio::steady_timer::time_point::max()) {}

  std::uint32_t backend = 0;
  std::unique_ptr<store_executor> executor;
  std::list<promotion_order> queue;
  std::size_t runners = 0;
  std::chrono::steady_clock::duration typical{};  ///< length of an order lately
  bool is_stopping = false;
  asio::steady_timer stopped;  ///< cancelled when the store is unregistered
};

/// Tells what was seen of objects, by whom.
class truth_sink {
 public:
  truth_sink() = default;
  truth_sink(const truth_sink&) = delete;
  truth_sink& operator=(const truth_sink&) = delete;
  virtual ~truth_sink() = default;

  /// The store said where `keys` are, some time ago perhaps; `found` is as long. Home lane.
  virtual void take_truth(std::uint32_t backend, const std::string& tenant, std::span<const std::string> keys,
                          std::span<const placement> found) = 0;
  /// Whether the backend's store, as far as it has one that can be asked, has answered lately. From anywhere.
  [[nodiscard]] virtual bool is_reachable(std::uint32_t backend) const noexcept = 0;
};

/// The promotions of all stores.
///
/// Story: a probe asks for keys on its own lane; `core::promotion_gate`, behind a lock, lets some of them start, and the probe answers at
/// once. What starts goes to the home lane in orders of at most `most_keys_per_call` keys and waits for one of the store's few runners; a
/// runner that comes free makes one order of as many as belong together, so that wishes for single keys are not slower than long ones. It
/// is carried out by the store's executor until the order's deadline. How it ends is told the gate, the table (`truth_sink`), the counters
/// and whoever waits; what has not ended well may have come by events all the same, so the table is asked. A store that is unregistered, or
/// a process that stops, ends its orders at their next wait; they count as failed, and may be asked for again at once. So do those for
/// which there was no memory at any point: whatever is thrown, what was started ends, once. Bounds: `prefetch_in_flight` objects started
/// and not ended, over all stores; `prefetch_concurrency` calls per store; of one store, what its runners can serve by its deadline as fast
/// as they lately were, and one order's worth while it does not answer. Lane: `ask` and the counters anywhere; the rest on the home lane.
class promotion_service {
 public:
  promotion_service(lane& home, object_shelves& objects, const store_settings& settings, truth_sink& truth);
  ~promotion_service();
  promotion_service(const promotion_service&) = delete;
  promotion_service& operator=(const promotion_service&) = delete;

  /// Whose objects, and what for.
  struct wish {
    std::uint32_t backend = 0;
    std::string_view tenant;
    std::string_view preferred;
    // See promotion_order.
    std::string_view model = {};
    std::string_view salt = {};
    std::span<const std::uint32_t> tokens = {};
  };

  /// Asks for `keys`; `words[i]` becomes what is to be said about `keys[i]`, and `wait`, if given, is told of the end of all that start or
  /// are joined. Throws std::bad_alloc; what had been started ends all the same.
  void ask(const wish& what, std::span<const std::string_view> keys, std::span<prefetch_word> words,
           const std::shared_ptr<promotion_wait>& wait = {});

  /// Who waits goes away: nothing is told it any more. On its lane.
  void leave(const std::shared_ptr<promotion_wait>& wait);
  /// The backend is another one, or has lost what it had: how promotions ended before says nothing about those to come. From anywhere.
  void forget(std::uint32_t backend);
  /// The backend may have begun anew: the same, but for its rest when it was short of memory. From anywhere.
  void forget_ends(std::uint32_t backend);
  /// Whether a wish for an object of the backend can be carried out by a store. From anywhere.
  [[nodiscard]] bool has_target(std::uint32_t backend) const noexcept { return has_target_[backend].load(std::memory_order_acquire); }
  /// What is on its way by others: wishes for it are `joined` without having been asked here. From anywhere.
  void note_joined(std::size_t keys) { count(joined, keys); }

  /// The number under which the gate knows an object; depends on the secret (core/text_spread.hpp).
  [[nodiscard]] static std::uint64_t fingerprint(std::uint32_t backend, std::string_view tenant, std::string_view key);

  /// From now on `backend` has a store; the one before, if any, ends its orders. Home lane.
  void add_target(std::uint32_t backend, std::unique_ptr<store_executor> executor);
  /// Home lane.
  void remove_target(std::uint32_t backend);
  /// Null: there is none. Home lane; the pointer keeps it.
  [[nodiscard]] std::shared_ptr<promotion_target> target(std::uint32_t backend) const;

  enum outcome : std::uint8_t { started, joined, suppressed, accepted, already, rejected_pressure, unsupported, gone, failed, no_store };
  static constexpr std::array<const char*, 10> outcome_names{"started",           "joined",      "suppressed", "accepted", "already",
                                                             "rejected_pressure", "unsupported", "gone",       "failed",   "no_store"};
  enum cause : std::uint8_t { recent, cooldown, full, pressure };
  static constexpr std::array<const char*, 4> cause_names{"recent", "cooldown", "full", "pressure"};

  struct counters {
    std::array<std::atomic<std::uint64_t>, outcome_names.size()> outcomes{};
    std::array<std::atomic<std::uint64_t>, cause_names.size()> suppressed{};
    std::atomic<std::uint64_t> bytes{0};  ///< of promoted objects, as far as the stores tell
    core::latency_histogram latency;      ///< from the wish to memory; home lane
  };
  [[nodiscard]] const counters& counts() const noexcept { return counters_; }
  [[nodiscard]] std::size_t in_flight() const;

 private:
  using steady = std::chrono::steady_clock;

  /// An order that is being seen to.
  struct work {
    promotion_order order;
    std::vector<bool> has_ended = {};  ///< by place; shorter: those beyond have not
    [[nodiscard]] bool is_open(std::size_t place) const noexcept { return place >= has_ended.size() || !has_ended[place]; }
  };

  void begin(const wish& what, std::span<const std::string_view> keys, std::span<prefetch_word> words,
             const std::shared_ptr<promotion_wait>& wait, std::vector<std::shared_ptr<work>>& orders, std::optional<std::uint64_t>& lone);
  void enqueue(work& what, std::uint32_t backend);
  /// A runner's place among those of a target, for as long as there is a runner.
  class runner_place {
   public:
    explicit runner_place(std::shared_ptr<promotion_target> of) : of_(std::move(of)) { ++of_->runners; }
    runner_place(runner_place&&) noexcept = default;
    runner_place& operator=(runner_place&&) = delete;
    ~runner_place() {
      if (of_) --of_->runners;
    }
    [[nodiscard]] const std::shared_ptr<promotion_target>& target() const noexcept { return of_; }

   private:
    std::shared_ptr<promotion_target> of_;
  };
  [[nodiscard]] asio::awaitable<void> run(runner_place place);
  [[nodiscard]] asio::awaitable<void> carry_out(std::shared_ptr<promotion_target> target, work& what);
  static void take_next(promotion_target& target, promotion_order& into);
  void note_length(promotion_target& target, std::chrono::steady_clock::duration took);
  [[nodiscard]] std::vector<bool> by_table(std::uint32_t backend, const promotion_order& order, std::span<const std::size_t> places) const;
  /// The end of those of the objects at these places that have not ended; `outcomes` has one for each of the order's. What has ended before
  /// something is thrown has.
  void settle(std::uint32_t backend, work& what, std::span<const std::size_t> places, std::span<const promotion_outcome> outcomes);
  void end_one(std::uint32_t backend, const promotion_order& order, std::size_t place, const promotion_outcome& how, bool is_there);
  /// Of all that have not ended.
  void give_up(std::uint32_t backend, work& what) noexcept;
  /// The same without a look at the table. On any lane.
  void abandon(std::uint32_t backend, const work& what) noexcept;
  void drop_queue(promotion_target& of) noexcept;
  void finish(std::uint64_t object, core::promotion_end how, outcome what);
  void note_failure(std::uint32_t backend, const promotion_order& order, std::size_t key, const promotion_outcome& why);
  void count(outcome what, std::uint64_t by = 1) { counters_.outcomes[what].fetch_add(by, std::memory_order_relaxed); }

  lane& home_;
  object_shelves& objects_;
  const store_settings& settings_;
  truth_sink& truth_;
  counters counters_;
  std::array<std::atomic<bool>, object_shelves::most_backends> has_target_{};
  std::array<std::atomic<std::size_t>, object_shelves::most_backends> room_{};  ///< objects of each that may be on their way

  std::array<std::uint64_t, object_shelves::most_backends> failures_{};  ///< objects that were not promoted; home lane

  mutable std::mutex lock_;  ///< of the gate and those who wait
  core::promotion_gate gate_;
  std::unordered_map<std::uint64_t, std::vector<std::shared_ptr<promotion_wait>>> waiting_;

  std::map<std::uint32_t, std::shared_ptr<promotion_target>> targets_;  ///< home lane
};

}  // namespace kvc::net
