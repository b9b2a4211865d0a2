#include "net/store_caller.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace kvc::net {
namespace {

using steady = std::chrono::steady_clock;

constexpr std::chrono::milliseconds between_leaders{100};  ///< while nobody leads
constexpr unsigned most_moves = 4;                         ///< from one server to another without a pause
constexpr unsigned not_leading = 503;

}  // namespace

asio::awaitable<bool> store_caller::find_leader(steady::time_point deadline) {
  // Who was registered is asked when who led before does not know, or is not there any more.
  for (const store_url& asked : {at_, url_}) {
    const auto patience = std::min<steady::duration>(patience_, deadline - steady::now());
    if (patience <= steady::duration::zero()) co_return false;
    const auto told = co_await calls_.call(asked.host, asked.port, "GET", asked.path + "/leader", std::string(), patience,
                                           mp_caller::most_answer_bytes, deadline);
    if (!told || told->status / 100 != 2) continue;
    std::vector<store_url> found = find_addresses(told->body, asked.port);
    if (found.empty()) continue;
    for (store_url& each : found) each.path = url_.path;
    // Who does not lead although it was found there is followed by the next candidate.
    const auto tried = std::ranges::find(found, at_);
    store_url& next = tried == found.end() || tried + 1 == found.end() ? found.front() : *(tried + 1);
    const bool is_news = next != at_;
    at_ = std::move(next);
    co_return is_news;
  }
  co_return false;
}

asio::awaitable<result<http_client::answer>> store_caller::call(std::string_view method, std::string target, std::string body,
                                                                steady::time_point deadline, std::size_t most_bytes) {
  for (unsigned moves = 0;;) {
    const auto patience = std::min<steady::duration>(patience_, deadline - steady::now());
    if (patience <= steady::duration::zero()) co_return error_code(errc::timed_out);
    const store_url asked = at_;
    std::string whole = asked.path + target;
    if (whole.empty()) whole = "/";
    auto answer = co_await calls_.call(asked.host, asked.port, method, std::move(whole), body, patience, most_bytes, deadline);
    if (who_ == led_by::one_server) co_return answer;
    if (!answer && answer.error() == errc::cancelled) co_return answer.error();
    const bool leads = answer && answer->status != not_leading;
    if (leads) co_return answer;
    const bool is_elsewhere = asked != url_;
    if (!answer && !is_elsewhere) co_return answer;  // the registered server cannot be reached, and nobody else is known
    if (!answer) at_ = url_;                         // the leader has gone: begin again where the operator said
    bool has_moved = !answer;
    if (answer) has_moved = co_await find_leader(deadline);
    if (has_moved && ++moves <= most_moves) continue;  // servers may send us to each other in a circle
    moves = 0;
    if (steady::now() + between_leaders >= deadline) co_return answer;
    asio::steady_timer pause(executor_, between_leaders);
    error_code woken;
    co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    const auto stopping = co_await asio::this_coro::cancellation_state;
    if (woken || stopping.cancelled() != asio::cancellation_type::none) co_return error_code(errc::cancelled);
  }
}

}  // namespace kvc::net
