#include "net/name_lookup.hpp"

#include <algorithm>
#include <optional>

#include <boost/asio/error.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace kvc::net {

using asio::ip::tcp;
using addresses = std::vector<asio::ip::address>;

/// Shared with the look-up, which may come back when nobody waits any more.
struct name_lookup::question {
  explicit question(const asio::any_io_executor& executor) : resolver(executor), is_over(executor) {}

  tcp::resolver resolver;
  asio::steady_timer is_over;
  std::optional<result<addresses>> answer;
  bool is_cancelled = false;
};

asio::awaitable<result<addresses>> name_lookup::find(std::string host, std::chrono::steady_clock::time_point deadline) {
  boost::system::error_code is_name;
  const auto address = asio::ip::make_address(host, is_name);
  if (!is_name) co_return addresses{address};

  const auto asked = std::make_shared<question>(executor_);
  pending_ = asked;
  asked->is_over.expires_at(deadline);
  asked->resolver.async_resolve(host, "", [asked](const boost::system::error_code& failed, const tcp::resolver::results_type& found) {
    addresses all;
    for (const auto& each : found) all.push_back(each.endpoint().address());
    std::ranges::stable_partition(all, [](const asio::ip::address& each) { return each.is_v4(); });
    if (all.empty()) {
      asked->answer.emplace(failed ? failed : error_code(asio::error::host_not_found));
    } else {
      asked->answer.emplace(std::move(all));
    }
    asked->is_over.cancel();
  });
  boost::system::error_code woken;
  co_await asked->is_over.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  pending_.reset();
  // One that waits for its turn on the thread is passed over there, so that no more are left than there are who ask.
  if (!asked->answer) asked->resolver.cancel();
  if (asked->is_cancelled) co_return error_code(errc::cancelled);
  if (!asked->answer) co_return error_code(woken ? errc::cancelled : errc::timed_out);
  co_return std::move(*asked->answer);
}

void name_lookup::cancel() noexcept {
  if (!pending_) return;
  pending_->is_cancelled = true;
  pending_->is_over.cancel();
}

}  // namespace kvc::net
