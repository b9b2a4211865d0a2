#include "net/sender_turns.hpp"

#include <optional>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "net/errc.hpp"

namespace kvc::net {

struct sender_turns::place {
  bool is_called = false;
  std::optional<asio::steady_timer> alarm{};  ///< of one that waits
};

asio::awaitable<sender_turns::turn> sender_turns::take(std::string sender) {
  const auto mine = std::make_shared<place>();
  const auto [line, is_free] = busy_->try_emplace(sender);
  mine->is_called = is_free;
  if (!is_free) line->second.push_back(mine);
  turn taken(busy_, std::move(sender), mine);
  if (!is_free) mine->alarm.emplace(executor_, asio::steady_timer::time_point::max());
  while (!mine->is_called) {
    error_code woken;
    co_await mine->alarm->async_wait(asio::redirect_error(asio::use_awaitable, woken));
  }
  co_return std::move(taken);
}

void sender_turns::leave(lines& all, const std::string& sender, const std::shared_ptr<place>& gone) {
  const auto found = all.find(sender);
  auto& waiting = found->second;
  if (!gone->is_called) {
    waiting.remove(gone);
  } else if (waiting.empty()) {
    all.erase(found);
  } else {
    const std::shared_ptr<place> next = waiting.front();
    waiting.pop_front();
    next->is_called = true;
    next->alarm->cancel();
  }
}

}  // namespace kvc::net
