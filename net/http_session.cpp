#include "net/http_session.hpp"

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <utility>

#include "net/http_parser.hpp"
#include "net/http_reply.hpp"
#include "net/http_target.hpp"

namespace kvc::net {

namespace beast = boost::beast;
using asio::ip::tcp;
using step = request_parser::step;
using steady = std::chrono::steady_clock;

namespace {

constexpr std::size_t idle_bytes = 1U << 10;          ///< buffer of a session that waits for a request
constexpr std::size_t head_bytes = 4U << 10;          ///< read at a time while the head arrives
constexpr std::size_t chunk_bytes = 64U << 10;        ///< read at a time while a body arrives
constexpr std::size_t early_look_bytes = 64U << 10;   ///< bodies longer than this are refused before they are read
constexpr std::size_t most_drained_bytes = 512U << 20;
constexpr std::chrono::seconds longest_drain{10};     ///< how long the client of a refused request may go on sending
constexpr std::chrono::seconds refusal_drain{1};      ///< the same for a refused connection

/// A request being answered. Shared with the task that answers it, which may outlive the session's patience.
struct exchange {
  explicit exchange(byte_budget& bodies) : share(bodies) {}

  budget_share share;
  http_target target;
  std::string method;
  std::string authorization;
  std::string body;
  http_request request;
  http_plan plan;
};

/// Where the task that answers leaves the reply, and the alarm it stops.
struct waiting_reply {
  explicit waiting_reply(const asio::any_io_executor& executor) : alarm(executor) {}
  asio::steady_timer alarm;
  std::optional<http_reply> reply;
};

asio::awaitable<void> answer_for(http_service& service, lane& here, std::shared_ptr<exchange> asked, std::shared_ptr<waiting_reply> into) {
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

class session {
 public:
  session(http_shared& shared, http_lane& local, tcp::socket socket)
      : shared_(shared),
        local_(local),
        counters_(local.here.counters),
        stream_(std::move(socket)),
        parser_(shared.settings.max_header_bytes, shared.settings.max_body_bytes) {
    counters_.connections_open.add();
  }
  ~session() { counters_.connections_open.subtract(); }
  session(const session&) = delete;
  session& operator=(const session&) = delete;

  asio::awaitable<void> run();

 private:
  enum class went { on, away, refused };

  asio::awaitable<bool> read_some(std::size_t most);
  asio::awaitable<went> read_head();
  asio::awaitable<went> read_body();
  asio::awaitable<void> have_answered(std::shared_ptr<exchange> asked, steady::time_point deadline);
  asio::awaitable<bool> write(bool keep_alive);
  asio::awaitable<void> drain(steady::duration longest);

  void take_head();
  void decide_forms();
  void refuse(refusal_kind kind, std::string sentence) {
    reply_ = reply_with(refusal{kind, std::move(sentence)}, answer_form_);
    keep_alive_ = false;
  }
  step feed();
  void rest();

  http_shared& shared_;
  http_lane& local_;
  core::lane_counters& counters_;
  beast::tcp_stream stream_;
  beast::flat_buffer received_;
  request_parser parser_;
  std::shared_ptr<exchange> asked_;
  http_reply reply_;
  wire_form answer_form_ = wire_form::json;
  bool keep_alive_ = true;
  bool has_reply_ = false;
  bool may_leave_ = true;
  error_code ended_by_;

  friend asio::awaitable<void> kvc::net::run_http_session(http_shared&, http_lane&, tcp::socket);
  friend asio::awaitable<void> kvc::net::refuse_http_connection(http_shared&, http_lane&, tcp::socket);
};

/// True when bytes have arrived. The stream's deadline was set by the caller.
asio::awaitable<bool> session::read_some(std::size_t most) {
  error_code failed;
  const auto space = received_.prepare(most);
  const std::size_t got = co_await stream_.async_read_some(space, asio::redirect_error(asio::use_awaitable, failed));
  if (failed) {
    if (failed == beast::error::timeout) counters_.connections_timed_out.add();
    ended_by_ = failed;
    co_return false;
  }
  received_.commit(got);
  counters_.bytes_in.add(got);
  co_return true;
}

step session::feed() {
  const auto bytes = received_.data();
  const auto [now, used] = parser_.feed(std::span(static_cast<const char*>(bytes.data()), bytes.size()));
  received_.consume(used);
  return now;
}

asio::awaitable<session::went> session::read_head() {
  parser_.begin();
  stream_.expires_after(shared_.settings.header_timeout);
  for (;;) {
    const step now = feed();
    if (now == step::has_head) co_return went::on;
    if (now == step::needs_more) {
      const bool arrived = co_await read_some(head_bytes);
      if (!arrived) co_return went::away;
    } else if (now == step::head_too_large) {
      refuse(refusal_kind::body_too_large, "the header is larger than " + std::to_string(shared_.settings.max_header_bytes) + " bytes");
      counters_.bodies_refused.add();
      co_return went::refused;
    } else if (now == step::body_too_large) {
      refuse(refusal_kind::body_too_large, "the body is larger than " + std::to_string(shared_.settings.max_body_bytes) + " bytes");
      counters_.bodies_refused.add();
      co_return went::refused;
    } else {
      refuse(refusal_kind::bad_http, "this is not a well-formed HTTP request");
      co_return went::refused;
    }
  }
}

/// Turns the parsed head into a request that no longer refers to the parser.
void session::take_head() {
  asked_ = std::make_shared<exchange>(shared_.bodies);
  keep_alive_ = parser_.keep_alive();
  asked_->method = parser_.method();
  asked_->authorization = parser_.header("Authorization");
  http_request& request = asked_->request;
  request.method = asked_->method;
  request.authorization = asked_->authorization;
  const wire_form named = body_form(parser_.header("Content-Type"), {}, {}).value_or(wire_form::json);
  answer_form_ = accepted_form(parser_.header("Accept"), named);
  request.answer_form = answer_form_;
  std::optional<http_target> target = parse_target(parser_.target());
  if (!target) {
    asked_->plan.refusal = reply_with(refusal{refusal_kind::bad_http, "the request target cannot be decoded"}, answer_form_);
    return;
  }
  asked_->target = std::move(*target);
  request.path = asked_->target.path;
  request.query = std::move(asked_->target.query);
  asked_->plan = shared_.service.plan(request);
}

asio::awaitable<session::went> session::read_body() {
  if (!parser_.has_body()) co_return went::on;
  stream_.expires_after(shared_.settings.body_timeout);
  const bool is_long = parser_.content_length().value_or(early_look_bytes + 1) > early_look_bytes;
  if (asked_->plan.refusal && (is_long || parser_.expects_continue())) {
    reply_ = std::move(*asked_->plan.refusal);
    keep_alive_ = false;
    co_return went::refused;
  }
  if (parser_.expects_continue() && received_.size() == 0) {
    error_code failed;
    co_await asio::async_write(stream_, asio::buffer(continue_head), asio::redirect_error(asio::use_awaitable, failed));
    if (failed) co_return went::away;
  }
  for (;;) {
    const step now = feed();
    if (!asked_->share.cover(parser_.body().size())) {
      refuse(refusal_kind::overloaded, "too many bodies are being read at this moment; try again");
      counters_.bodies_refused.add();
      co_return went::refused;
    }
    if (now == step::complete) co_return went::on;
    if (now == step::needs_more) {
      const bool arrived = co_await read_some(chunk_bytes);
      if (!arrived) co_return went::away;
    } else if (now == step::body_too_large) {
      refuse(refusal_kind::body_too_large, "the body is larger than " + std::to_string(shared_.settings.max_body_bytes) + " bytes");
      counters_.bodies_refused.add();
      co_return went::refused;
    } else if (now != step::has_head) {
      refuse(refusal_kind::bad_http, "the body is not well-formed HTTP");
      co_return went::refused;
    }
  }
}

/// Now that the body is there, its form is known, and with it that of the answer.
void session::decide_forms() {
  asked_->body = std::move(parser_.body());
  http_request& request = asked_->request;
  request.body = asked_->body;
  const std::string_view type = parser_.header("Content-Type");
  const std::optional<wire_form> form = body_form(type, parser_.header("Content-Encoding"), request.body);
  if (form) {
    request.body_form = *form;
  } else if (!asked_->plan.refusal) {
    const refusal why{refusal_kind::unknown_form, "bodies are application/json or application/msgpack, not encoded"};
    asked_->plan.refusal = reply_with(why, answer_form_);
  }
}

asio::awaitable<void> session::have_answered(std::shared_ptr<exchange> asked, steady::time_point deadline) {
  const auto waiting = std::make_shared<waiting_reply>(stream_.get_executor());
  waiting->alarm.expires_at(deadline);
  local_.here.tasks.spawn("http handler", answer_for(shared_.service, local_.here, asked, waiting));
  error_code woken;
  if (!waiting->reply) co_await waiting->alarm.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  if (waiting->reply) {
    reply_ = std::move(*waiting->reply);
  } else {
    reply_ = reply_with(refusal{refusal_kind::overloaded, "the answer took too long; the request may still be carried out"}, answer_form_);
  }
}

/// True when the client has taken the whole reply.
asio::awaitable<bool> session::write(bool keep_alive) {
  const std::string head = reply_head(reply_, keep_alive, local_.date.at(std::time(nullptr)));
  const bool is_head = asked_ && asked_->method == "HEAD";
  const std::string_view body = is_head ? std::string_view() : std::string_view(reply_.body);
  const std::array<asio::const_buffer, 2> message{asio::buffer(head), asio::buffer(body)};
  stream_.expires_after(shared_.settings.write_timeout);
  error_code failed;
  const std::size_t written = co_await asio::async_write(stream_, message, asio::redirect_error(asio::use_awaitable, failed));
  counters_.bytes_out.add(written);
  if (failed == beast::error::timeout) counters_.connections_timed_out.add();
  co_return !failed;
}

/// Takes what the client is still sending and throws it away, so that it gets to read why it was refused instead of a reset connection.
asio::awaitable<void> session::drain(steady::duration longest) {
  error_code failed;
  stream_.socket().shutdown(tcp::socket::shutdown_send, failed);
  if (failed) co_return;
  may_leave_ = true;
  stream_.expires_after(longest);
  parser_.end();
  asked_.reset();
  for (std::size_t drained = 0; drained < most_drained_bytes;) {
    received_.clear();
    const bool arrived = co_await read_some(chunk_bytes);
    if (!arrived) co_return;
    drained += received_.size();
  }
}

/// Gives back what a request needed before waiting for the next.
void session::rest() {
  asked_.reset();
  parser_.end();
  reply_ = http_reply{};
  answer_form_ = wire_form::json;
  if (received_.size() == 0 && received_.capacity() > idle_bytes) received_ = beast::flat_buffer{};
}

asio::awaitable<void> session::run() {
  for (;;) {
    // Between two requests: the place where the session may be asked to leave.
    const auto asked_to_stop = co_await asio::this_coro::cancellation_state;
    if (asked_to_stop.cancelled() != asio::cancellation_type::none) co_return;
    if (received_.size() == 0) {
      may_leave_ = true;
      stream_.expires_after(shared_.settings.idle_timeout);
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
      } else if (plan.waits) {
        co_await have_answered(asked_, begun + shared_.settings.handler_timeout);
      } else {
        reply_ = shared_.service.answer_now(local_.here, asked_->request, plan);
      }
    }
    const core::route counter = asked_ ? asked_->plan.counter : core::route::other;
    core::route_counters& counted = counters_.routes[static_cast<std::size_t>(counter)];
    counted.handling.observe_ns(static_cast<std::uint64_t>(std::chrono::nanoseconds(steady::now() - begun).count()));
    counted.by_status_class[reply_.status / 100 % counted.by_status_class.size()].add();

    const auto stopping = co_await asio::this_coro::cancellation_state;
    const bool goes_on = keep_alive_ && stopping.cancelled() == asio::cancellation_type::none;
    const bool taken = co_await write(goes_on);
    if (!taken) co_return;
    if (!goes_on) {
      // Bytes nobody read would turn the close into a reset, and the reply might be lost with it.
      if (now == went::refused || received_.size() > 0) co_await drain(longest_drain);
      co_return;
    }
    rest();
  }
}

}  // namespace

asio::awaitable<void> run_http_session(http_shared& shared, http_lane& local, tcp::socket socket) {
  const connection_count counted(shared.connections);
  session serving(shared, local, std::move(socket));
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
  session refusing(shared, local, std::move(socket));
  co_await asio::this_coro::throw_if_cancelled(false);
  co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
  refusing.refuse(refusal_kind::overloaded, "too many connections; try again");
  const bool taken = co_await refusing.write(false);
  if (taken) co_await refusing.drain(refusal_drain);
  refusing.stream_.close();
}

}  // namespace kvc::net
