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

class runtime;

/// Bytes of a body that are read in a turn of a lane: a prompt of some hundred thousand tokens, in a millisecond as a rule. What is longer
/// is read aside.
inline constexpr std::size_t most_read_by_lane = std::size_t{1} << 20;

/// One thread for pure work that takes many milliseconds, such as reading a body of megabytes. It begins with the first piece of work, and
/// gives way to lanes on a busy machine.
///
/// What is queued has no bound here: whoever hands over work sees to it. Long bodies have a budget, pages a number (see shared_pages). Each
/// piece is answered when it is done, whatever is queued behind it. Life cycle: closed by a stop of the lanes once their patience is over,
/// or by the destructor: then what has not begun never does, so that a stop waits for one piece of work at most and not for all that is
/// queued. Destroyed after the lanes have stopped, and before they are destroyed; who still waited then is not told. Lane: `run`, `begin`
/// and `drop` from any lane; `close`, `is_closed` and `is_busy` from any thread.
class aside_thread {
 public:
  /// Belongs to no lanes: closed by its owner, or when it is destroyed.
  aside_thread() = default;
  /// Closed by the stop of these lanes, which outlive it. Made and destroyed by the thread that made them.
  explicit aside_thread(runtime& lanes);
  ~aside_thread();
  aside_thread(const aside_thread&) = delete;
  aside_thread& operator=(const aside_thread&) = delete;

  /// From now on no work begins; what has begun ends by itself. For good.
  void close() noexcept { is_closed_.store(true); }
  [[nodiscard]] bool is_closed() const noexcept { return is_closed_.load(); }
  /// Whether something has not ended yet that was handed over.
  [[nodiscard]] bool is_busy() const noexcept { return unfinished_.load() != 0; }

  /// Carries out `work()` there and answers on the caller's lane what it answered, or throws what it threw. `work` touches nothing that a
  /// lane may touch meanwhile; it may refer to what the caller keeps, as the caller waits: no cancellation reaches this wait. Deadline:
  /// none, the work ends by itself. Throws `cancelled` as a system_error when this thread was closed before the work has begun.
  template <class Work>
  auto run(Work work) -> asio::awaitable<decltype(work())> {
    if (is_closed()) throw_closed();
    using answer = std::optional<decltype(work())>;
    // Not `co_spawn`: it delivers from behind all that is queued here by then, as it goes through this thread's queue once more.
    auto hand_over = [this, &work](auto handler) {
      // The lane has something to wait for as long as the guard lives.
      auto back = asio::make_work_guard(handler);
      this->begin([&work, back = std::move(back), handler = std::move(handler)](bool is_refused) mutable {
        std::exception_ptr failure;
        answer made;
        try {
          if (is_refused) throw_closed();
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

  /// Calls `work(is_refused)` there, of which nobody is told. It throws nothing. `is_refused`: this thread is closed; nothing long is done
  /// then, but whoever waits is told.
  template <class Work>
  void begin(Work work) {
    done_.fetch_add(1, std::memory_order_relaxed);
    queue_up([this, work = std::move(work)]() mutable { std::move(work)(is_closed()); });
  }

  /// Destroys something large there, also when it is closed.
  template <class Thing>
  void drop(std::unique_ptr<Thing> gone) {
    queue_up([gone = std::move(gone)]() mutable { gone.reset(); });
  }

  /// Throws what those are told whose work is not begun any more.
  [[noreturn]] static void throw_closed();

  /// Pieces of work that `run` and `begin` were asked for.
  [[nodiscard]] std::uint64_t pieces() const noexcept { return done_.load(std::memory_order_relaxed); }

 private:
  /// Counts while it is queued or under way; destroyed with the work, whether that was done or not.
  class counted {
   public:
    explicit counted(std::atomic<std::size_t>& all) noexcept : all_(&all) { all_->fetch_add(1); }
    counted(counted&& other) noexcept : all_(std::exchange(other.all_, nullptr)) {}
    counted& operator=(counted&&) = delete;
    ~counted() {
      if (all_ != nullptr) all_->fetch_sub(1);
    }

   private:
    std::atomic<std::size_t>* all_;
  };

  template <class Work>
  void queue_up(Work work) {
    asio::post(executor(), [mine = counted(unfinished_), work = std::move(work)]() mutable { work(); });
  }
  [[nodiscard]] asio::thread_pool::executor_type executor();

  runtime* lanes_ = nullptr;
  std::once_flag begun_;
  std::atomic<std::uint64_t> done_{0};
  std::atomic<std::size_t> unfinished_{0};
  std::atomic<bool> is_closed_{false};
  std::optional<asio::thread_pool> pool_;  ///< last: what is queued there uses the rest
};

}  // namespace kvc::net
