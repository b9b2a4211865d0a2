// A session's answering, its deadlines, and its end.
#include "net/http_session.hpp"

#include <algorithm>
#include <cerrno>
#include <exception>
#include <optional>
#include <sys/socket.h>
#include <utility>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "net/http_reply.hpp"
#include "net/http_session_state.hpp"
#include "net/log.hpp"

namespace kvc::net {

namespace {

constexpr std::chrono::seconds stopping_drain{1};  ///< while the service stops: less than shutdown_timeout_ms
constexpr std::chrono::seconds refusal_drain{1};   ///< of a refused connection

/// Where the task that answers leaves the reply, and the alarm it stops.
struct waiting_reply {
  explicit waiting_reply(asio::io_context& context) : alarm(context) {}
  asio::steady_timer alarm;
  std::optional<http_reply> reply;
  bool has_ended = false;
};

/// Wakes the session whatever way the task has ended.
class ending_of_answer {
 public:
  explicit ending_of_answer(waiting_reply& of) : of_(of) {}
  ~ending_of_answer() {
    of_.has_ended = true;
    of_.alarm.cancel();
  }
  ending_of_answer(const ending_of_answer&) = delete;
  ending_of_answer& operator=(const ending_of_answer&) = delete;

 private:
  waiting_reply& of_;
};

asio::awaitable<void> answer_for(http_service& service, lane& here, std::shared_ptr<http_exchange> asked,
                                 std::shared_ptr<waiting_reply> into) {
  const ending_of_answer wake(*into);
  http_reply reply;
  std::exception_ptr failure;
  try {
    reply = co_await service.answer(here, asked->request, asked->plan);
  } catch (...) {
    failure = std::current_exception();
    reply = failed_reply();
  }
  into->reply = std::move(reply);
  if (failure) std::rethrow_exception(failure);  // its scope logs it
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

http_session::http_session(http_shared& shared, http_lane& local, open_socket socket)
    : shared_(shared),
      local_(local),
      counters_(local.here.counters),
      owned_(std::move(socket)),
      socket_(owned_.number()),
      parser_(shared.settings.max_header_bytes, shared.settings.max_body_bytes),
      idle_timeout_(shared.settings.idle_timeout),
      bell_(local.here.context) {
  counters_.connections_open.add();
}

http_session::~http_session() {
  drop_reply();
  counters_.connections_open.subtract();
}

/// A request that is there as a whole.
http_session::wants http_session::handle() {
  decide_forms();
  begun_ = steady::now();
  http_plan& plan = asked_->plan;
  if (plan.refusal) {
    reply_ = std::move(*plan.refusal);
  } else if (plan.waits || shared_.service.has_to_wait(local_.here, asked_->request, plan)) {
    if (take_body()) return wants::answer;
  } else {
    reply_ = answered_now();
  }
  lying_ = {};
  return finish();
}

/// The reply of a service that need not wait; it may have failed, of which a client is told like everybody's.
http_reply http_session::answered_now() {
  try {
    return shared_.service.answer_now(local_.here, asked_->request, asked_->plan);
  } catch (const std::exception& failed) {
    log::error(
        log::module::http, "handler failed",
        {{"lane", local_.here.index()}, {"method", asked_->request.method}, {"path", asked_->request.path}, {"reason", failed.what()}});
    return failed_reply();
  }
}

/// The reply is there.
http_session::wants http_session::finish() {
  const bool has_own_idle = asked_ && asked_->plan.idle_timeout.count() != 0;
  idle_timeout_ = has_own_idle ? asked_->plan.idle_timeout : shared_.settings.idle_timeout;
  if (!charge_reply()) {
    const std::string_view path = asked_ ? asked_->request.path : std::string_view();
    reply_ = told(path, refusal{refusal_kind::overloaded, "too many answers are being written; the request may have been carried out"});
  }
  ended_ = steady::now();
  const bool is_streamed = reply_.stream && !(asked_ && asked_->method == "HEAD");
  if (!is_streamed) count_reply();  // else it may become another one while there is nothing of its body
  if ((reply_.stream && !takes_chunks_) || is_stopping()) keep_alive_ = false;
  return write();
}

/// The reply is what the client will see.
void http_session::count_reply() {
  const core::route counter = asked_ ? asked_->plan.counter : core::route::other;
  core::route_counters& counted = counters_.routes[static_cast<std::size_t>(counter)];
  counted.handling.observe_ns(static_cast<std::uint64_t>(std::chrono::nanoseconds(ended_ - begun_).count()));
  counted.by_status_class[reply_.status / 100 % counted.by_status_class.size()].add();
}

/// Tells the request when the client closes its side. A client that sends the next request already cannot be watched, as its bytes hide the
/// end.
void http_session::look_after_client() {
  if (!asked_->plan.ends_with_client || !bytes_.empty()) return;
  char next = 0;
  const ssize_t got = ::recv(socket_, &next, 1, MSG_PEEK);
  if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) asked_->client_left.request_stop();
}

asio::awaitable<void> http_session::have_answered(std::shared_ptr<http_exchange> asked) {
  const auto waiting = std::make_shared<waiting_reply>(local_.here.context);
  asked->request.kept_body = &asked->body;
  const bool is_own = asked->plan.patience.count() != 0;
  waiting->alarm.expires_at(begun_ + (is_own ? asked->plan.patience : shared_.settings.handler_timeout));
  if (asked->plan.ends_with_client) {
    asked->client_left = std::stop_source();
    asked->request.client_left = asked->client_left.get_token();
    look_after_client();
  }
  local_.here.tasks.spawn("http handler", answer_for(shared_.service, local_.here, asked, waiting));
  error_code woken;
  if (!waiting->has_ended) co_await waiting->alarm.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  if (waiting->reply) {
    reply_ = std::move(*waiting->reply);
  } else if (waiting->has_ended) {
    reply_ = failed_reply();
  } else {
    reply_ = told(asked->request.path, refusal{refusal_kind::overloaded, "the answer took too long; the request may still be carried out"});
  }
}

/// Sleeps until something has been done that the coroutine has to know of, or the bell's time has come. May wake for nothing.
asio::awaitable<void> http_session::sleep() {
  bell_.expires_at(deadline_);
  is_asleep_ = true;
  error_code woken;
  co_await bell_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  is_asleep_ = false;
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void http_session::wake() {
  if (is_asleep_) bell_.cancel();
}

/// Moving the deadline away costs nothing: the bell rings early, and is set again then.
void http_session::set_deadline(steady::time_point when) {
  deadline_ = when;
  if (is_asleep_ && when < bell_.expiry()) wake();
}

/// Takes what the client is still sending and throws it away, so that it gets to read why it was refused instead of a reset connection.
asio::awaitable<void> http_session::drain() {
  bool was_stopping = is_stopping();
  ::shutdown(socket_, SHUT_WR);
  may_leave_ = true;
  parser_.end();
  asked_.reset();
  drop_reply();
  kept_ = {};
  bytes_ = {};
  set_deadline(steady::now() + (was_stopping ? std::min(stopping_drain, drain_for_) : drain_for_));
  local_.sockets.again(*this);
  while (wants_ == wants::farewell && !must_end()) {
    if (is_stopping() && !std::exchange(was_stopping, true)) set_deadline(std::min(deadline_, steady::now() + stopping_drain));
    if (steady::now() >= deadline_) {
      counters_.connections_timed_out.add();
      break;
    }
    co_await sleep();
  }
}

asio::awaitable<void> http_session::run() {
  stop_ = co_await asio::this_coro::cancellation_state;
  if (wants_ == wants::request) set_deadline(steady::now() + idle_timeout_);
  if (!local_.sockets.watch(socket_, *this)) {
    log::warn(log::module::http, "cannot watch a connection", {{"lane", local_.here.index()}, {"errno", errno}});
    co_return;
  }
  while (wants_ != wants::nothing && !must_end()) {
    if (wants_ == wants::answer) {
      co_await have_answered(asked_);
      wants_ = finish();
    } else if (wants_ == wants::stream) {
      wants_ = co_await write_stream();
    } else if (wants_ == wants::farewell) {
      co_await drain();
      co_return;
    } else if (wants_ == wants::request && is_stopping()) {
      co_return;
    } else if (steady::now() >= deadline_) {
      counters_.connections_timed_out.add();
      co_return;
    } else {
      co_await sleep();
      continue;
    }
    go_on();
  }
}

asio::awaitable<void> run_http_session(http_shared& shared, http_lane& local, open_socket socket) {
  const connection_count counted(shared.connections);
  http_session serving(shared, local, std::move(socket));
  co_await asio::this_coro::throw_if_cancelled(false);
  const stop_filter filter{&serving.may_leave_};
  co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation(), filter);
  co_await serving.run();
}

asio::awaitable<void> refuse_http_connection(http_shared& shared, http_lane& local, open_socket socket) {
  const connection_count counted(local.refusing);
  http_session refusing(shared, local, std::move(socket));
  co_await asio::this_coro::throw_if_cancelled(false);
  co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
  refusing.drain_for_ = refusal_drain;
  refusing.refuse(refusal_kind::overloaded, "too many connections; try again", {});
  refusing.wants_ = refusing.write();
  co_await refusing.run();
}

}  // namespace kvc::net
