#include "net/exist_wait.hpp"

#include <algorithm>
#include <memory>
#include <mutex>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace kvc::net {
namespace {

constexpr std::chrono::milliseconds between_readings{50};  ///< of the table, by a probe that waits for what others bring

}  // namespace

asio::awaitable<void> look_and_wait(lane& here, promotion_service& promotions, exist_lookup& lookup, const exist_request& request,
                                    exist_answer& answer, std::chrono::milliseconds longest) {
  const auto wait = std::make_shared<promotion_wait>(here);
  const struct leaving {
    lane& here;
    promotion_service& promotions;
    const std::shared_ptr<promotion_wait>& wait;
    ~leaving() {
      // One that is cut off at the end of the process goes with its lane, after the promotions.
      if (!here.context.stopped()) promotions.leave(wait);
    }
  } at_end{here, promotions, wait};
  lookup.run(request, answer, request.wait_ms != 0 ? wait : nullptr);
  const auto wanted = std::chrono::milliseconds(request.wait_ms);
  const auto until = std::chrono::steady_clock::now() + std::min(wanted, longest);
  const auto left = [&wait] {
    const std::lock_guard holding(wait->lock);
    return wait->left;
  };
  for (;;) {
    // What others bring is nobody's promotion here: the table tells.
    const bool is_coming = lookup.is_coming(request, answer);
    const auto now = std::chrono::steady_clock::now();
    // At a stop what the words say so far is better than a request that is cut off; nobody else ends a wait for what others bring.
    if ((!is_coming && left() == 0) || now >= until || here.tasks.is_leaving()) break;
    // Promotions may end while others are still being asked for, so that one call of the alarm is not the last.
    wait->alarm.expires_at(is_coming ? std::min(until, now + between_readings) : until);
    error_code woken;
    co_await wait->alarm.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  }
  lookup.note_failed(request, *wait, answer);
}

}  // namespace kvc::net
