// Long work that needs no lane: a thread beside them, so that a lane goes on with what is short.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace kvc::net {

namespace asio = boost::asio;

/// Bytes of a body that are read in a turn of a lane: a prompt of some hundred thousand tokens, in a millisecond as a rule. What is longer is
/// read aside.
inline constexpr std::size_t most_read_by_lane = std::size_t{1} << 20;

/// One thread for pure work that takes many milliseconds, such as reading a body of megabytes. It begins with the first piece of work, and
/// gives way to lanes on a busy machine.
///
/// What is queued is bounded by who waits for it: one piece per request, whose bodies have a budget. Life cycle: destroyed after the lanes
/// have stopped, and before they are destroyed; then what is under way is finished, and who waited is not told. Lane: `run` and `drop` from
/// any lane.
class aside_thread {
 public:
  aside_thread() = default;
  ~aside_thread() {
    if (pool_) pool_->join();
  }
  aside_thread(const aside_thread&) = delete;
  aside_thread& operator=(const aside_thread&) = delete;

  /// Carries out `work()` there and answers on the caller's lane what it answered, or throws what it threw. `work` touches nothing that a
  /// lane may touch meanwhile; it may refer to what the caller keeps, as the caller waits: no cancellation reaches this wait. Deadline:
  /// none, the work ends by itself.
  template <class Work>
  auto run(Work work) -> asio::awaitable<decltype(work())> {
    done_.fetch_add(1, std::memory_order_relaxed);
    const auto there = executor();
    co_return co_await asio::co_spawn(there, carried_out(std::move(work)),
                                      asio::bind_cancellation_slot(asio::cancellation_slot(), asio::use_awaitable));
  }

  /// As `run` if the work is long; else it is done at once, in the turn of the caller.
  template <class Work>
  auto run_if(bool is_long, Work work) -> asio::awaitable<decltype(work())> {
    if (!is_long) co_return work();
    co_return co_await run(std::move(work));
  }

  /// Destroys something large there.
  template <class Thing>
  void drop(std::unique_ptr<Thing> gone) {
    asio::post(executor(), [gone = std::move(gone)] {});
  }

  /// Pieces of work that `run` was asked for.
  [[nodiscard]] std::uint64_t pieces() const noexcept { return done_.load(std::memory_order_relaxed); }

 private:
  template <class Work>
  static auto carried_out(Work work) -> asio::awaitable<decltype(work())> {
    co_return work();
  }
  [[nodiscard]] asio::thread_pool::executor_type executor();

  std::once_flag begun_;
  std::optional<asio::thread_pool> pool_;
  std::atomic<std::uint64_t> done_{0};
};

}  // namespace kvc::net
