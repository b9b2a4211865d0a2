// Long work that needs no lane: a thread beside them, so that a lane goes on with what is short.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/executor_work_guard.hpp>
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
/// What is queued has no bound here: whoever hands over work sees to it. Long bodies have a budget, pages a number (see shared_pages). Each
/// piece is answered when it is done, whatever is queued behind it. Life cycle: destroyed after the lanes have stopped, and before they are
/// destroyed; then what is queued is finished, and who waited is not told. Lane: `run`, `begin` and `drop` from any lane.
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
    using answer = std::optional<decltype(work())>;
    // Not `co_spawn`: it delivers from behind all that is queued here by then, as it goes through this thread's queue once more.
    auto hand_over = [this, &work](auto handler) {
      // The lane has something to wait for as long as the guard lives.
      auto back = asio::make_work_guard(handler);
      begin([&work, back = std::move(back), handler = std::move(handler)]() mutable {
        std::exception_ptr failure;
        answer made;
        try {
          made.emplace(work());
        } catch (...) {
          failure = std::current_exception();
        }
        asio::post(back.get_executor(), [handler = std::move(handler), failure = std::move(failure), made = std::move(made)]() mutable {
          std::move(handler)(std::move(failure), std::move(made));
        });
      });
    };
    using told = void(std::exception_ptr, answer);
    // Nothing listens to the caller's cancellation.
    answer made = co_await asio::async_initiate<const asio::use_awaitable_t<>, told>(std::move(hand_over), asio::use_awaitable);
    co_return std::move(*made);
  }

  /// As `run` if the work is long; else it is done at once, in the turn of the caller.
  template <class Work>
  auto run_if(bool is_long, Work work) -> asio::awaitable<decltype(work())> {
    if (!is_long) co_return work();
    co_return co_await run(std::move(work));
  }

  /// Carries out `work()` there, of which nobody is told. It throws nothing.
  template <class Work>
  void begin(Work work) {
    done_.fetch_add(1, std::memory_order_relaxed);
    asio::post(executor(), std::move(work));
  }

  /// Destroys something large there.
  template <class Thing>
  void drop(std::unique_ptr<Thing> gone) {
    asio::post(executor(), [gone = std::move(gone)] {});
  }

  /// Pieces of work that `run` and `begin` were asked for.
  [[nodiscard]] std::uint64_t pieces() const noexcept { return done_.load(std::memory_order_relaxed); }

 private:
  [[nodiscard]] asio::thread_pool::executor_type executor();

  std::once_flag begun_;
  std::optional<asio::thread_pool> pool_;
  std::atomic<std::uint64_t> done_{0};
};

}  // namespace kvc::net
