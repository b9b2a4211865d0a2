// The objects of all stores where every lane can reach them.
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
#include <mutex>
#include <optional>
#include <ratio>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/object_feed.hpp"
#include "core/object_table.hpp"
#include "net/index_inlet.hpp"
#include "net/inlet_mail.hpp"

namespace kvc::net {

class lane;

/// A few tables behind a lock each; a backend's objects are all in one of them.
///
/// Problem: events of stores are decoded on the lanes of their streams, probes are read on any lane and must not wait for a hop to another
/// one, which costs more than a batch of look-ups. So the tables are shared: a probe takes one lock for reading per batch of keys and
/// backend, some 10 us; a writer holds the other kind for at most `events_per_hold` events, some 30 us. Who wants to write stands at the
/// door first, so that readers, however many, cannot keep writers out. Locks of keys by their hash were the other way: nobody would ever
/// wait for long, but look-ups could not share their waits for memory, which is half of what they cost.
///
/// Guarantees: 1. what `read` is given does not change while it runs; 2. a write is seen by every `read` that begins afterwards; 3. a
/// number means the same backend for as long as that has objects, a stream that speaks for it, or a store. Where there is no other number
/// left, one of a backend that has none of these is given to another one. Re-entrancy: nothing of this class but `name` and `now` may be
/// called from inside `read` or `write`. Thread-safety: all members from any lane. No lock is held across a wait.
class object_shelves {
 public:
  static constexpr std::size_t shelf_count = 8;
  static constexpr std::size_t most_backends = 256;
  static constexpr std::size_t events_per_hold = 64;

  explicit object_shelves(const core::object_table::options& with);
  ~object_shelves();
  object_shelves(const object_shelves&) = delete;
  object_shelves& operator=(const object_shelves&) = delete;

  /// The number of a backend, given out at its first mention; absent: there are too many that are in use.
  [[nodiscard]] std::optional<std::uint32_t> open(std::string_view backend);
  /// The same for a backend that has a store from now on, until `release`.
  [[nodiscard]] std::optional<std::uint32_t> keep(std::string_view backend);
  /// The backend has no store any more.
  void release(std::uint32_t backend);
  /// Absent: it has never been mentioned, or has given way.
  [[nodiscard]] std::optional<std::uint32_t> find(std::string_view backend) const;
  /// Whether anybody answers for a backend: it has a store that can be asked, a stream that speaks for it, or objects left. Takes the lock
  /// of the names, and of the table if need be: to be asked only where it matters.
  [[nodiscard]] bool is_in_use(std::string_view backend) const;
  /// How many there are; their numbers are 0 to that.
  [[nodiscard]] std::uint32_t backends() const noexcept { return known_.load(std::memory_order_acquire); }
  /// Valid for the call it is asked in: see guarantee 3.
  [[nodiscard]] const std::string& name(std::uint32_t backend) const noexcept {
    return *entries_[backend].name.load(std::memory_order_acquire);
  }

  /// A store stands behind the backend that can be asked where objects are, and is.
  void set_asked(std::uint32_t backend, bool can_be) noexcept { entries_[backend].can_be_asked.store(can_be, std::memory_order_relaxed); }
  [[nodiscard]] bool can_be_asked(std::uint32_t backend) const noexcept {
    return entries_[backend].can_be_asked.load(std::memory_order_relaxed);
  }

  /// Calls `work(table)` while nobody writes to the backend's table, and answers what it answers.
  template <class Work>
  decltype(auto) read(std::uint32_t backend, Work work) const {
    const shelf& here = shelves_[backend % shelf_count];
    std::unique_lock door(here.door);
    const std::shared_lock inside(here.room);
    door.unlock();
    return work(static_cast<const core::object_table&>(*here.table));
  }
  /// Calls `work(table)` while nobody else looks at it. Bounded work only.
  template <class Work>
  decltype(auto) write(std::uint32_t backend, Work work) {
    shelf& here = shelves_[backend % shelf_count];
    const std::unique_lock door(here.door);
    const std::unique_lock inside(here.room);
    return work(*here.table);
  }

  /// Where the work on a batch stands, between turns.
  struct progress {
    std::size_t next_event = 0;
    std::uint32_t next_object = 0;   ///< of the table, when a clear of one medium is under way
    bool are_others_behind = false;  ///< see below
  };
  /// Applies the next few events of a batch; true when the batch is finished. `speaker`: the inlet of whoever has said them. Others that
  /// speak for the same backend, as masters do that lead in turn, are told of what is lost: they hold it for as long as nobody tells them.
  /// Something thrown makes them lose track, since not all of what it was about may have been told.
  [[nodiscard]] bool apply_some(const core::event_batch& batch, const core::object_source& from, progress& at, core::object_tally& tally,
                                const std::weak_ptr<index_inlet>& speaker = {});
  /// Whether those who are told of what is lost, but for `speaker`, should get some time before there is more.
  [[nodiscard]] bool are_others_behind(std::string_view backend, const std::weak_ptr<index_inlet>& speaker) const;
  /// Who asks a store about objects of which events have left nothing that is known, one tenant's at a time. `ask` is called on the
  /// lanes of streams. To be called before there are any.
  using doubt_call = std::function<void(std::uint32_t backend, const std::string& tenant, std::vector<std::string> keys)>;
  void call_on_doubt(doubt_call ask) { ask_ = std::move(ask); }
  /// Who is told that a backend has been cleared, or that nothing its stream has said holds any more. `tell` is called on the lanes of
  /// streams, more than once perhaps. To be called before there are any.
  void call_on_loss(std::function<void(std::uint32_t backend)> tell) { tell_of_loss_ = std::move(tell); }
  /// Nothing a backend's stream has said holds any more. Objects of a store that can be asked are doubted, those of others go, at most
  /// `budget` at a time. True when done.
  [[nodiscard]] bool forget_some(std::string_view backend, std::size_t budget);
  /// Nothing is known for sure about a backend's objects any more.
  void doubt(std::uint32_t backend);

  /// What is found out about a backend's blocks elsewhere can be told here. `home` is the inlet's lane. What is known of its objects is
  /// doubted, since the inlet has not been told. False: there are too many backends.
  /// Changes no list when it has been done before.
  bool attach(std::string_view backend, lane& home, std::weak_ptr<index_inlet> inlet);
  /// The inlet's stream speaks for the backend no more.
  void detach(std::string_view backend, const std::weak_ptr<index_inlet>& inlet);
  /// Whether a stream speaks for the backend.
  [[nodiscard]] bool is_spoken_for(std::string_view backend) const;
  [[nodiscard]] std::vector<std::pair<lane*, std::weak_ptr<index_inlet>>> inlets(std::uint32_t backend) const;
  /// Tells the inlets of a backend, each on its lane, but for that of `speaker`; see inlet_mail.
  void tell(std::uint32_t backend, const changed_objects& what, const std::weak_ptr<index_inlet>& speaker = {}) const;

  struct totals {
    std::size_t objects = 0;
    std::array<std::size_t, core::replica_kinds> complete{};  ///< objects with a complete replica of each kind
    std::size_t bytes = 0;
    std::uint64_t refused = 0;
    std::uint64_t replicas_left_out = 0;
  };
  [[nodiscard]] totals sum() const;

  /// The tables' clock: sixteenths of a second since these shelves were made, from 1; eight years of them.
  [[nodiscard]] std::uint32_t now() const noexcept { return ticks(std::chrono::steady_clock::now() - made_) + 1; }
  [[nodiscard]] static std::uint32_t ticks(std::chrono::steady_clock::duration length) noexcept {
    using sixteenths = std::chrono::duration<std::int64_t, std::ratio<1, 16>>;
    return static_cast<std::uint32_t>(std::chrono::duration_cast<sixteenths>(length).count());
  }

 private:
  struct alignas(64) shelf {
    mutable std::mutex door;
    mutable std::shared_mutex room;
    std::unique_ptr<core::object_table> table;
  };
  struct entry {
    std::unique_ptr<const std::string> text;
    std::atomic<const std::string*> name{nullptr};  ///< the same, for those who hold no lock
    std::atomic<bool> can_be_asked{false};
    bool has_store = false;
    std::vector<std::shared_ptr<inlet_mail>> inlets;
  };
  /// The name of a backend that has given way, for whoever may be reading it still.
  struct former {
    std::unique_ptr<const std::string> text;
    std::uint32_t until = 0;
  };

  [[nodiscard]] static bool has_stream(const entry& one);
  [[nodiscard]] static bool has_objects(const core::object_table& table, std::string_view backend);
  [[nodiscard]] std::optional<std::uint32_t> number_of(std::string_view backend);
  [[nodiscard]] std::optional<std::uint32_t> give_way(const std::string& to);
  void apply_next(const core::event_batch& batch, const core::object_source& from, progress& at, core::object_tally& tally,
                  const std::weak_ptr<index_inlet>& speaker, std::optional<std::uint32_t>& heard_of);
  [[nodiscard]] bool clear_some(const core::cleared_objects& which, progress& at, std::vector<core::named_object>* lost = nullptr);
  [[nodiscard]] bool is_heard_by_others(std::uint32_t backend, const std::weak_ptr<index_inlet>& speaker) const;
  [[nodiscard]] bool is_any_behind(std::uint32_t backend, const std::weak_ptr<index_inlet>& speaker) const;
  template <class Work>
  void each_other(std::uint32_t backend, const std::weak_ptr<index_inlet>& speaker, Work work) const;
  void tell_lost(std::uint32_t backend, std::vector<core::named_object>& lost, const std::weak_ptr<index_inlet>& speaker) const;

  const std::chrono::steady_clock::time_point made_ = std::chrono::steady_clock::now();
  std::array<shelf, shelf_count> shelves_;
  mutable std::shared_mutex names_lock_;  ///< of names, inlets and who has a store; taken before a shelf's
  std::map<std::string, std::uint32_t, std::less<>> numbers_;
  std::array<entry, most_backends> entries_;
  std::atomic<std::uint32_t> known_{0};
  std::uint32_t next_to_give_way_ = 0;  ///< where the search for a backend that is not in use goes on
  std::deque<former> former_;
  doubt_call ask_;
  std::function<void(std::uint32_t backend)> tell_of_loss_;
};

}  // namespace kvc::net
