#include "net/mp_caller.hpp"

#include <algorithm>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace kvc::net {

using steady = std::chrono::steady_clock;

bool mp_caller::has_room(const address& to) const {
  if (in_use_ >= limits_.in_all) return false;
  const auto busy = in_use_by_server_.find(to);
  return busy == in_use_by_server_.end() || busy->second < limits_.per_server;
}

asio::awaitable<error_code> mp_caller::wait_for_room(const address& to, time_point deadline) {
  if (has_room(to)) co_return error_code{};
  if (waiting_.size() >= limits_.waiting) co_return error_code(errc::overloaded);
  asio::steady_timer alarm(executor_);
  const auto place = waiting_.insert(waiting_.end(), &alarm);
  error_code outcome;
  while (!has_room(to)) {
    alarm.expires_at(deadline);
    error_code woken;
    co_await alarm.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    const auto stopping = co_await asio::this_coro::cancellation_state;
    if (stopping.cancelled() != asio::cancellation_type::none) outcome = errc::cancelled;
    if (!outcome && steady::now() >= deadline) outcome = errc::timed_out;
    if (outcome) break;
  }
  waiting_.erase(place);
  co_return outcome;
}

http_client mp_caller::take(const address& to) {
  ++in_use_;
  ++in_use_by_server_[to];
  const auto idle = std::ranges::find(idle_, to, &idle_connection::to);
  if (idle == idle_.end()) return http_client(executor_, to.first, to.second);
  http_client client = std::move(idle->client);
  idle_.erase(idle);
  return client;
}

void mp_caller::give_back(const address& to, http_client client, bool is_good) {
  --in_use_;
  if (const auto busy = in_use_by_server_.find(to); --busy->second == 0) in_use_by_server_.erase(busy);
  if (is_good) {
    idle_.push_back({to, std::move(client)});
    if (idle_.size() > limits_.idle) idle_.pop_front();
  }
  // All of them, since the first may wait for another server; each looks again.
  for (asio::steady_timer* each : waiting_) each->cancel();
}

asio::awaitable<result<http_client::answer>> mp_caller::call(std::string host, std::uint16_t port, std::string_view method,
                                                             std::string target, std::string body, steady::duration patience,
                                                             std::size_t most_bytes, time_point latest) {
  const address to(std::move(host), port);
  const error_code no_room = co_await wait_for_room(to, std::min(steady::now() + patience, latest));
  if (no_room) co_return no_room;
  http_client client = take(to);
  result<http_client::answer> answer = error_code(errc::cancelled);
  try {
    constexpr std::string_view content_type = "application/json";
    const steady::duration left = std::min(patience, latest - steady::now());
    answer = co_await client.call(method, std::move(target), std::move(body), left, content_type, most_bytes);
  } catch (...) {
    give_back(to, std::move(client), false);
    throw;
  }
  const bool is_good = answer.has_value();
  give_back(to, std::move(client), is_good);
  co_return answer;
}

}  // namespace kvc::net
