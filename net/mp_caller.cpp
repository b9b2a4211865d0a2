#include "net/mp_caller.hpp"

#include <algorithm>
#include <exception>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace kvc::net {

using steady = std::chrono::steady_clock;

bool mp_caller::has_room(const server& to) const noexcept {
  return in_use_ < limits_.in_all && to.in_use < limits_.per_server;
}

bool mp_caller::has_room(const address& to) const {
  const auto known = servers_.find(to);
  return has_room(known == servers_.end() ? server() : known->second);
}

void mp_caller::enter(servers::iterator to) noexcept {
  ++in_use_;
  ++to->second.in_use;
}

/// A connection has come free, or is not used after all: the next one's.
void mp_caller::leave(servers::iterator to) {
  --in_use_;
  --to->second.in_use;
  // One, as there is room for one more and was for none before. Its room is taken here and now, so that nobody who comes meanwhile gets it.
  const auto next = std::ranges::find_if(waiting_, [this](const waiting_call* each) { return has_room(each->to->second); });
  if (next != waiting_.end()) {
    waiting_call& called = **next;
    waiting_.erase(next);
    enter(called.to);
    called.has_room = true;
    called.alarm.cancel();
  }
  if (to->second.in_use == 0 && to->second.waiting == 0) servers_.erase(to);
}

asio::awaitable<error_code> mp_caller::wait_in_line(waiting_call& mine, time_point deadline) {
  for (;;) {
    error_code woken;
    co_await mine.alarm.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    const auto stopping = co_await asio::this_coro::cancellation_state;
    if (stopping.cancelled() != asio::cancellation_type::none) co_return error_code(errc::cancelled);
    if (steady::now() >= deadline) co_return error_code(errc::timed_out);
    if (mine.has_room) co_return error_code{};
  }
}

/// No longer waits, whatever for. What was promised meanwhile stays with it.
void mp_caller::leave_line(waiting_call& mine, std::list<waiting_call*>::iterator place) {
  if (!mine.has_room) waiting_.erase(place);
  --mine.to->second.waiting;
}

/// Answers none when the caller may use a connection to `found`, which it has to `leave` then.
asio::awaitable<error_code> mp_caller::find_room(const address& to, time_point deadline, servers::iterator& found) {
  const bool has_to_wait = !has_room(to);
  if (has_to_wait && waiting_.size() >= limits_.waiting) co_return error_code(errc::overloaded);
  found = servers_.try_emplace(to).first;
  if (!has_to_wait) {
    enter(found);
    co_return error_code{};
  }
  waiting_call mine{.alarm = asio::steady_timer(executor_, deadline), .to = found};
  const auto place = waiting_.insert(waiting_.end(), &mine);
  ++found->second.waiting;
  error_code outcome;
  std::exception_ptr failure;
  try {
    outcome = co_await wait_in_line(mine, deadline);
  } catch (...) {
    failure = std::current_exception();
  }
  leave_line(mine, place);
  if (outcome || failure) {
    // Who was called and does not come passes it on, or it would be lost to those behind.
    if (mine.has_room) {
      leave(found);
    } else if (found->second.in_use == 0 && found->second.waiting == 0) {
      servers_.erase(found);
    }
  }
  if (failure) std::rethrow_exception(failure);
  co_return outcome;
}

http_client mp_caller::take(const address& to) {
  const auto idle = std::ranges::find(idle_, to, &idle_connection::to);
  if (idle == idle_.end()) return http_client(executor_, to.first, to.second);
  http_client client = std::move(idle->client);
  idle_.erase(idle);
  return client;
}

void mp_caller::keep(const address& to, http_client client) {
  idle_.push_back({to, std::move(client)});
  if (idle_.size() > limits_.idle) idle_.pop_front();
}

asio::awaitable<result<http_client::answer>> mp_caller::call(std::string host, std::uint16_t port, std::string_view method,
                                                             std::string target, std::string body, steady::duration patience,
                                                             std::size_t most_bytes, time_point latest) {
  const address to(std::move(host), port);
  servers::iterator found;
  const error_code no_room = co_await find_room(to, std::min(steady::now() + patience, latest), found);
  if (no_room) co_return no_room;
  result<http_client::answer> answer = error_code(errc::cancelled);
  try {
    http_client client = take(to);
    constexpr std::string_view content_type = "application/json";
    const steady::duration left = std::min(patience, latest - steady::now());
    answer = co_await client.call(method, std::move(target), std::move(body), left, content_type, most_bytes);
    if (answer) keep(to, std::move(client));
  } catch (...) {
    leave(found);
    throw;
  }
  leave(found);
  co_return answer;
}

}  // namespace kvc::net
