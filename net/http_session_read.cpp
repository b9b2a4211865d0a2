// The reading half of a session: bytes to a request, within limits and deadlines.
#include <algorithm>
#include <utility>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/error.hpp>

#include "net/http_session_state.hpp"

namespace kvc::net {

using step = request_parser::step;

namespace {

constexpr std::size_t head_bytes = 4U << 10;          ///< read at a time while the head arrives
constexpr std::size_t chunk_bytes = 64U << 10;        ///< read at a time while a body arrives
constexpr std::size_t early_look_bytes = 64U << 10;   ///< bodies longer than this are refused before they are read
constexpr std::size_t most_drained_bytes = 512U << 20;

}  // namespace

/// True when bytes have arrived. The stream's deadline was set by the caller.
asio::awaitable<bool> http_session::read_some(std::size_t most) {
  error_code failed;
  const auto space = received_.prepare(most);
  const std::size_t got = co_await stream_.async_read_some(space, asio::redirect_error(asio::use_awaitable, failed));
  if (failed) {
    if (failed == boost::beast::error::timeout) counters_.connections_timed_out.add();
    co_return false;
  }
  received_.commit(got);
  counters_.bytes_in.add(got);
  co_return true;
}

/// True when bytes were there already. Errors, and the end, are left for the operation that follows.
bool http_session::read_now(std::size_t most) {
  error_code would_wait;
  const std::size_t got = stream_.socket().read_some(received_.prepare(most), would_wait);
  received_.commit(got);
  counters_.bytes_in.add(got);
  return got > 0;
}

step http_session::feed() {
  const auto bytes = received_.data();
  const auto [now, used] = parser_.feed(std::span(static_cast<const char*>(bytes.data()), bytes.size()));
  received_.consume(used);
  return now;
}

/// The reply for bytes that are over a limit or no request at all.
http_session::went http_session::refuse_head_or_body(step why) {
  if (why == step::head_too_large) {
    refuse(refusal_kind::body_too_large, "the header is larger than " + std::to_string(shared_.settings.max_header_bytes) + " bytes");
  } else if (why == step::body_too_large) {
    refuse(refusal_kind::body_too_large, "the body is larger than " + std::to_string(shared_.settings.max_body_bytes) + " bytes");
  } else {
    refuse(refusal_kind::bad_http, "this is not a well-formed HTTP request");
  }
  if (why != step::bad) counters_.bodies_refused.add();
  return went::refused;
}

asio::awaitable<http_session::went> http_session::read_head() {
  parser_.begin();
  for (bool has_deadline = false;;) {
    const step now = feed();
    if (now == step::has_head) co_return went::on;
    if (now == step::needs_more) {
      // Most heads come in one piece; only the others need a deadline.
      if (!std::exchange(has_deadline, true)) stream_.expires_after(shared_.settings.header_timeout);
      const bool arrived = co_await read_some(head_bytes);
      if (!arrived) co_return went::away;
    } else {
      co_return refuse_head_or_body(now);
    }
  }
}

/// Turns the parsed head into a request that no longer refers to the parser.
void http_session::take_head() {
  asked_ = std::make_shared<http_exchange>(shared_.bodies);
  keep_alive_ = parser_.keep_alive();
  takes_chunks_ = parser_.takes_chunks();
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
  request.raw_query = asked_->target.raw_query;
  asked_->plan = shared_.service.plan(request);
}

asio::awaitable<http_session::went> http_session::read_body() {
  if (!parser_.has_body()) co_return went::on;
  const bool is_long = parser_.content_length().value_or(early_look_bytes + 1) > early_look_bytes;
  if (asked_->plan.refusal && (is_long || parser_.expects_continue())) {
    reply_ = std::move(*asked_->plan.refusal);
    keep_alive_ = false;
    co_return went::refused;
  }
  if (parser_.expects_continue() && received_.size() == 0) {
    error_code failed;
    stream_.expires_after(shared_.settings.body_timeout);
    co_await asio::async_write(stream_, asio::buffer(continue_head), asio::redirect_error(asio::use_awaitable, failed));
    if (failed) co_return went::away;
  }
  for (bool has_tried = false, has_deadline = false;;) {
    const step now = feed();
    if (!asked_->share.cover(parser_.body().size())) {
      refuse(refusal_kind::overloaded, "too many bodies are being read at this moment; try again");
      counters_.bodies_refused.add();
      co_return went::refused;
    }
    if (now == step::complete) co_return went::on;
    if (now == step::needs_more) {
      // Space for what is to come and no more: buffers of 64 KiB come and go through the slow paths of the allocator.
      const std::uint64_t left = parser_.content_length().value_or(~std::uint64_t{0}) - parser_.body().size();
      const auto most = static_cast<std::size_t>(std::clamp<std::uint64_t>(left, head_bytes, chunk_bytes));
      // The rest of a body of some kilobytes is there as a rule; of longer ones only one piece, so that others get their turn.
      const bool is_there = !std::exchange(has_tried, true) && read_now(most);
      if (!is_there && !std::exchange(has_deadline, true)) stream_.expires_after(shared_.settings.body_timeout);
      const bool arrived = is_there || co_await read_some(most);
      if (!arrived) co_return went::away;
    } else if (now != step::has_head) {
      co_return refuse_head_or_body(now);
    }
  }
}

/// Now that the body is there, its form is known, and with it that of the answer.
void http_session::decide_forms() {
  asked_->body = std::move(parser_.body());
  http_request& request = asked_->request;
  request.body = asked_->body;
  const std::string_view type = parser_.header("Content-Type");
  const std::optional<wire_form> form = body_form(type, parser_.header("Content-Encoding"), request.body);
  if (asked_->plan.reads_any_type) {
    request.body_form = wire_form::json;
  } else if (form) {
    request.body_form = *form;
  } else if (!asked_->plan.refusal) {
    const refusal why{refusal_kind::unknown_form, "bodies are application/json or application/msgpack, not encoded"};
    asked_->plan.refusal = reply_with(why, answer_form_);
  }
}

/// Takes what the client is still sending and throws it away, so that it gets to read why it was refused instead of a reset connection.
asio::awaitable<void> http_session::drain(std::chrono::steady_clock::duration longest) {
  error_code failed;
  stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_send, failed);
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

}  // namespace kvc::net
