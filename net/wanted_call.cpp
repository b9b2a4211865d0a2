#include "net/wanted_call.hpp"

#include <exception>
#include <memory>
#include <new>
#include <utility>
#include <variant>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace kvc::net {
namespace {

using awaited_answer = asio::awaitable<result<http_client::answer>>;

/// What a call has come to.
struct call_end {
  result<http_client::answer> answer = error_code(errc::cancelled);
  std::exception_ptr thrown;
};

/// A call that is made by one task for another.
struct call_in_hand {
  explicit call_in_hand(const asio::any_io_executor& home) : over(home, forever), unwanted(home, forever) {}

  static constexpr auto forever = asio::steady_timer::time_point::max();
  asio::steady_timer over;      ///< cancelled when the answer is there, or will never be
  asio::steady_timer unwanted;  ///< cancelled when nobody waits for it any more
  bool is_over = false;
  bool is_unwanted = false;
  call_end end;
};

/// Says that a call is over, also when its task was never begun.
class call_place {
 public:
  explicit call_place(std::shared_ptr<call_in_hand> call) : call_(std::move(call)) {}
  call_place(call_place&&) noexcept = default;
  call_place& operator=(call_place&&) = delete;
  ~call_place() {
    if (!call_) return;
    call_->is_over = true;
    call_->over.cancel();
  }
  [[nodiscard]] call_in_hand& call() const { return *call_; }

 private:
  std::shared_ptr<call_in_hand> call_;
};

/// Never throws once it has begun: of a group of coroutines that waits for the first good end, one that throws is none, and the group would
/// wait on for a client that waits for it.
asio::awaitable<call_end> whatever_comes(awaited_answer call) {
  co_await asio::this_coro::throw_if_cancelled(false);
  call_end end;
  try {
    end.answer = co_await std::move(call);
  } catch (...) {
    end.thrown = std::current_exception();
  }
  co_return end;
}

asio::awaitable<void> until_unwanted(call_in_hand& call) {
  co_await asio::this_coro::throw_if_cancelled(false);
  error_code woken;
  if (!call.is_unwanted) co_await call.unwanted.async_wait(asio::redirect_error(asio::use_awaitable, woken));
}

asio::awaitable<void> carry_out(awaited_answer call, call_place place) {
  using namespace asio::experimental::awaitable_operators;
  co_await asio::this_coro::throw_if_cancelled(false);
  auto first = co_await (whatever_comes(std::move(call)) || until_unwanted(place.call()));
  if (call_end* const end = std::get_if<0>(&first)) place.call().end = std::move(*end);
}

}  // namespace

awaited_answer make_wanted_call(lane& home, std::string name, awaited_answer call, std::stop_token unwanted) {
  const auto mine = std::make_shared<call_in_hand>(home.context.get_executor());
  home.tasks.spawn(std::move(name), carry_out(std::move(call), call_place(mine)));
  const std::stop_callback on_leaving(unwanted, [mine] {
    try {
      asio::post(mine->unwanted.get_executor(), [mine] {
        mine->is_unwanted = true;
        mine->unwanted.cancel();
      });
    } catch (const std::bad_alloc&) {
      // Who asks for a stop cannot be told, and nothing may leave here. The call ends by its deadline.
    }
  });
  error_code woken;
  if (!mine->is_over) co_await mine->over.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  if (mine->end.thrown) std::rethrow_exception(mine->end.thrown);
  co_return std::move(mine->end.answer);
}

}  // namespace kvc::net
