// The answering half of a session, and its loop.
#include "net/http_session.hpp"

#include <algorithm>
#include <array>
#include <ctime>
#include <optional>
#include <sys/socket.h>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/error.hpp>

#include "net/http_session_state.hpp"

namespace kvc::net {

namespace beast = boost::beast;
using asio::ip::tcp;
using steady = std::chrono::steady_clock;

namespace {

constexpr std::size_t idle_bytes = 1U << 10;          ///< buffer of a session that waits for a request
constexpr std::chrono::seconds longest_drain{10};     ///< how long the client of a refused request may go on sending
constexpr std::chrono::seconds stopping_drain{1};     ///< the same while the service stops: less than shutdown_timeout_ms
constexpr std::chrono::seconds refusal_drain{1};      ///< the same for a refused connection

/// Where the task that answers leaves the reply, and the alarm it stops.
struct waiting_reply {
  explicit waiting_reply(const asio::any_io_executor& executor) : alarm(executor) {}
  asio::steady_timer alarm;
  std::optional<http_reply> reply;
};

asio::awaitable<void> answer_for(http_service& service, lane& here, std::shared_ptr<http_exchange> asked, std::shared_ptr<waiting_reply> into) {
  http_reply reply = co_await service.answer(here, asked->request, asked->plan);
  into->reply = std::move(reply);
  into->alarm.cancel();
}

/// Lets `total` reach the operation in hand only while nothing is owed to the client; `terminal` always passes.
struct stop_filter {
  const bool* may_leave;
  asio::cancellation_type operator()(asio::cancellation_type type) const noexcept {
    return *may_leave ? type : type & asio::cancellation_type::terminal;
  }
};

/// One more for as long as it lives.
template <class Number>
class connection_count {
 public:
  explicit connection_count(Number& number) : number_(number) { ++number_; }
  ~connection_count() { --number_; }
  connection_count(const connection_count&) = delete;
  connection_count& operator=(const connection_count&) = delete;

 private:
  Number& number_;
};

}  // namespace

/// Tells the request when the client closes its side. A client that sends the next request already cannot be watched, as its bytes hide the
/// end. The wait is cancelled once the answer is there, and keeps what it needs.
void http_session::watch_client(const std::shared_ptr<http_exchange>& asked) {
  asked->request.client_left = asked->client_left.get_token();
  if (received_.size() > 0) return;
  stream_.socket().async_wait(tcp::socket::wait_read, [asked, descriptor = stream_.socket().native_handle()](const error_code& failed) {
    if (failed || asked->is_answered) return;
    char next = 0;
    if (::recv(descriptor, &next, 1, MSG_PEEK | MSG_DONTWAIT) <= 0) asked->client_left.request_stop();
  });
}

asio::awaitable<void> http_session::have_answered(std::shared_ptr<http_exchange> asked, steady::time_point deadline) {
  const auto waiting = std::make_shared<waiting_reply>(stream_.get_executor());
  waiting->alarm.expires_at(deadline);
  if (asked->plan.ends_with_client) watch_client(asked);
  local_.here.tasks.spawn("http handler", answer_for(shared_.service, local_.here, asked, waiting));
  error_code woken;
  if (!waiting->reply) co_await waiting->alarm.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  asked->is_answered = true;
  if (asked->plan.ends_with_client) stream_.socket().cancel(woken);
  if (waiting->reply) {
    reply_ = std::move(*waiting->reply);
  } else {
    reply_ = reply_with(refusal{refusal_kind::overloaded, "the answer took too long; the request may still be carried out"}, answer_form_);
  }
}

/// Bytes of the reply that the socket takes at once, which is nearly always all of them: no deadline has to be set and no operation be
/// waited for, which was a tenth of a small request. Not while another request is there already: a client that sends many at once would
/// keep the lane for itself. Errors are left for the operation that follows.
std::size_t http_session::write_now(const std::array<asio::const_buffer, 2>& message) {
  if (received_.size() > 0) return 0;
  error_code would_wait;
  return stream_.socket().write_some(message, would_wait);
}

/// True when the client has taken the whole reply.
asio::awaitable<bool> http_session::write(bool keep_alive) {
  const bool is_head = asked_ && asked_->method == "HEAD";
  if (reply_.stream && !is_head) co_return co_await write_stream(keep_alive);
  const auto framing = takes_chunks_ ? body_framing::chunks : body_framing::connection;
  const std::string head = reply_head(reply_, keep_alive, local_.date.at(std::time(nullptr)), framing);
  const bool is_bare = is_head || !has_body(reply_.status);
  const std::string_view body = is_bare ? std::string_view() : std::string_view(reply_.body);
  std::array<asio::const_buffer, 2> message{asio::buffer(head), asio::buffer(body)};
  std::size_t written = write_now(message);
  counters_.bytes_out.add(written);
  if (written == head.size() + body.size()) co_return true;
  for (asio::const_buffer& each : message) {
    const std::size_t part = std::min(written, each.size());
    each += part;
    written -= part;
  }
  stream_.expires_after(shared_.settings.write_timeout);
  error_code failed;
  written = co_await asio::async_write(stream_, message, asio::redirect_error(asio::use_awaitable, failed));
  counters_.bytes_out.add(written);
  if (failed == beast::error::timeout) counters_.connections_timed_out.add();
  co_return !failed;
}

/// Gives back what a request needed before waiting for the next.
void http_session::rest() {
  asked_.reset();
  parser_.end();
  reply_ = http_reply{};
  answer_form_ = wire_form::json;
  if (received_.size() == 0 && received_.capacity() > idle_bytes) received_ = beast::flat_buffer{};
}

asio::awaitable<void> http_session::run() {
  for (;;) {
    // Between two requests: the place where the session may be asked to leave.
    const auto asked_to_stop = co_await asio::this_coro::cancellation_state;
    if (asked_to_stop.cancelled() != asio::cancellation_type::none) co_return;
    if (received_.size() == 0) {
      may_leave_ = true;
      stream_.expires_after(idle_timeout_);
      const bool arrived = co_await read_some(idle_bytes);
      may_leave_ = false;
      if (!arrived) co_return;
    }
    may_leave_ = false;

    went now = co_await read_head();
    if (now == went::on) {
      take_head();
      now = co_await read_body();
    }
    if (now == went::away) co_return;
    const steady::time_point begun = steady::now();
    if (now == went::on) {
      decide_forms();
      http_plan& plan = asked_->plan;
      if (plan.refusal) {
        reply_ = std::move(*plan.refusal);
      } else if (plan.waits || shared_.service.has_to_wait(local_.here, asked_->request, plan)) {
        const bool is_own = plan.patience.count() != 0;
        co_await have_answered(asked_, begun + (is_own ? plan.patience : shared_.settings.handler_timeout));
      } else {
        reply_ = shared_.service.answer_now(local_.here, asked_->request, plan);
      }
    }
    const bool has_own_idle = asked_ && asked_->plan.idle_timeout.count() != 0;
    idle_timeout_ = has_own_idle ? asked_->plan.idle_timeout : shared_.settings.idle_timeout;
    const core::route counter = asked_ ? asked_->plan.counter : core::route::other;
    core::route_counters& counted = counters_.routes[static_cast<std::size_t>(counter)];
    counted.handling.observe_ns(static_cast<std::uint64_t>(std::chrono::nanoseconds(steady::now() - begun).count()));
    counted.by_status_class[reply_.status / 100 % counted.by_status_class.size()].add();

    const auto stopping = co_await asio::this_coro::cancellation_state;
    if (reply_.stream && !takes_chunks_) keep_alive_ = false;
    const bool goes_on = keep_alive_ && stopping.cancelled() == asio::cancellation_type::none;
    const bool taken = co_await write(goes_on);
    if (!taken) co_return;
    if (!goes_on) {
      // Bytes nobody read would turn the close into a reset, and the reply might be lost with it.
      const bool is_stopping = stopping.cancelled() != asio::cancellation_type::none;
      if (now == went::refused || received_.size() > 0) co_await drain(is_stopping ? stopping_drain : longest_drain);
      co_return;
    }
    rest();
  }
}

asio::awaitable<void> run_http_session(http_shared& shared, http_lane& local, tcp::socket socket) {
  const connection_count counted(shared.connections);
  http_session serving(shared, local, std::move(socket));
  co_await asio::this_coro::throw_if_cancelled(false);
  const stop_filter filter{&serving.may_leave_};
  co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation(), filter);
  co_await serving.run();
  error_code ignored;
  serving.stream_.socket().shutdown(tcp::socket::shutdown_both, ignored);
  serving.stream_.close();
}

asio::awaitable<void> refuse_http_connection(http_shared& shared, http_lane& local, tcp::socket socket) {
  const connection_count counted(local.refusing);
  http_session refusing(shared, local, std::move(socket));
  co_await asio::this_coro::throw_if_cancelled(false);
  co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
  refusing.refuse(refusal_kind::overloaded, "too many connections; try again");
  const bool taken = co_await refusing.write(false);
  if (taken) co_await refusing.drain(refusal_drain);
  refusing.stream_.close();
}

}  // namespace kvc::net
