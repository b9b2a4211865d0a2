// The reading half of a session: bytes to a request, within limits and deadlines.
#include <algorithm>
#include <array>
#include <cerrno>
#include <sys/socket.h>
#include <utility>

#include "net/http_session_state.hpp"

namespace kvc::net {

using step = request_parser::step;

namespace {

constexpr std::size_t head_bytes = 4U << 10;         ///< read at a time behind what has been kept of a head
constexpr std::size_t early_look_bytes = 64U << 10;  ///< bodies longer than this are refused before they are read
constexpr std::size_t most_drained_bytes = 512U << 20;

/// The path of a target as it was sent.
std::string_view raw_path(std::string_view target) {
  return target.substr(0, target.find_first_of("?#"));
}

}  // namespace

void http_session::on_ready() noexcept {
  try {
    switch (wants_) {
      case wants::request:
      case wants::head:
      case wants::body: read_turn(); break;
      case wants::answer: look_after_client(); break;
      case wants::room:
        if (may_write_) wants_ = write_rest();
        go_on();
        break;
      case wants::farewell: drain_turn(); break;
      case wants::stream:
      case wants::nothing: wake(); break;
    }
  } catch (...) {
    failure_ = std::current_exception();
    wants_ = wants::nothing;
    wake();
  }
}

/// After something was done: who does the next thing?
void http_session::go_on() {
  may_leave_ = wants_ == wants::request || wants_ == wants::stream;  // a body that is cut short can be told from a whole one
  const bool leaves = wants_ == wants::request && is_stopping();     // asked to when it could not: nobody asks again
  const bool reads = wants_ == wants::request || wants_ == wants::head || wants_ == wants::body;
  if (reads && !leaves) {
    if (may_read_ || (wants_ == wants::request && !bytes_.empty())) local_.sockets.again(*this);
  } else if (wants_ != wants::room) {
    wake();
  }
}

/// One piece of what has arrived, and one request at most: a client that sends many at once must not keep the lane for itself.
void http_session::read_turn() {
  if (wants_ == wants::request && is_stopping()) return;
  const bool has_next = wants_ == wants::request && !bytes_.empty();
  if (!has_next && (!may_read_ || !receive())) {
    if (wants_ == wants::nothing) wake();
    return;
  }
  wants_ = read();
  keep();
  go_on();
}

/// True when bytes have arrived; the end of the connection shows in `wants_`.
bool http_session::receive() {
  const std::size_t before = bytes_.size();
  std::span<char> space(reinterpret_cast<char*>(local_.arrived.get()), http_lane::arrived_bytes);
  if (before > 0) {
    kept_.resize(before + head_bytes);
    space = std::span(kept_).subspan(before);
  }
  const ssize_t got = ::recv(socket_, space.data(), space.size(), 0);
  const auto taken = static_cast<std::size_t>(std::max<ssize_t>(got, 0));
  if (before > 0) {
    kept_.resize(before + taken);
    bytes_ = kept_;
  } else {
    bytes_ = std::string_view(space.data(), taken);
  }
  may_read_ = got > 0 && (has_end_ || taken == space.size());
  if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) wants_ = wants::nothing;
  counters_.bytes_in.add(taken);
  return got > 0;
}

/// Copies what has not been used from the lane's buffer, which the next session needs.
void http_session::keep() {
  if (bytes_.empty()) {
    kept_.clear();
    if (kept_.capacity() > std::string().capacity()) kept_ = std::string();
  } else if (!kept_.empty()) {
    kept_.erase(0, kept_.size() - bytes_.size());
  } else {
    kept_.assign(bytes_);
  }
  bytes_ = kept_;
}

step http_session::feed() {
  const auto [now, used] = parser_.feed(std::span(bytes_));
  bytes_.remove_prefix(used);
  return now;
}

/// What the clients of a path are told.
http_reply http_session::told(std::string_view path, const refusal& why) {
  return shared_.service.refused_reply(path, why).value_or(reply_with(why, answer_form_));
}

void http_session::refuse(refusal_kind kind, std::string sentence, std::string_view path) {
  reply_ = told(path, refusal{kind, std::move(sentence)});
  keep_alive_ = false;
  is_refused_ = true;
  begun_ = steady::now();
}

/// The reply for bytes that are over a limit or no request at all.
http_session::wants http_session::refuse_rest(step why, std::string_view path) {
  if (!asked_) asked_ = std::make_shared<http_exchange>(shared_.bodies);
  asked_->method = parser_.method();  // as far as it is known: HEAD is not answered with a body, whatever is wrong with it
  if (why == step::head_too_large) {
    refuse(refusal_kind::body_too_large, "the header is larger than " + std::to_string(shared_.settings.max_header_bytes) + " bytes", path);
  } else if (why == step::frame_too_large) {
    const std::string most = std::to_string(shared_.settings.max_header_bytes);
    refuse(refusal_kind::body_too_large, "the body's trailers and chunk extensions are larger than " + most + " bytes", path);
  } else if (why == step::body_too_large) {
    refuse(refusal_kind::body_too_large, "the body is larger than " + std::to_string(shared_.settings.max_body_bytes) + " bytes", path);
  } else {
    refuse(refusal_kind::bad_http, std::string(parser_.what_is_bad()), path);
  }
  if (why != step::bad) counters_.bodies_refused.add();
  return finish();
}

/// What the bytes bring the session to.
http_session::wants http_session::read() {
  if (wants_ == wants::body) return read_body();
  if (wants_ == wants::request) parser_.begin();
  const step now = feed();
  if (now == step::needs_more) {
    if (bytes_.empty() && !parser_.has_begun()) {
      parser_.end();  // an empty line behind the last request begins none, in however many pieces it comes: the connection rests as before
      if (wants_ == wants::head) set_deadline(rests_until_);
      return wants::request;
    }
    if (wants_ == wants::request) {
      rests_until_ = deadline_;
      set_deadline(steady::now() + shared_.settings.header_timeout);
    }
    return wants::head;
  }
  // Of these only a length that is claimed is refused where the head is there, and the path known.
  if (now != step::has_head) return refuse_rest(now, now == step::body_too_large ? raw_path(parser_.target()) : std::string_view());
  take_head();
  return is_refused_early() ? finish() : read_body();
}

/// Turns the parsed head into a request that no longer refers to the parser.
void http_session::take_head() {
  if (!asked_) asked_ = std::make_shared<http_exchange>(shared_.bodies);
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
    const refusal why{refusal_kind::bad_http, "the request target cannot be decoded: escapes are %XX, and what they spell is UTF-8"};
    asked_->plan.refusal = told(raw_path(parser_.target()), why);
    return;
  }
  asked_->target = std::move(*target);
  request.path = asked_->target.path;
  request.query = std::move(asked_->target.query);
  request.raw_query = asked_->target.raw_query;
  asked_->plan = shared_.service.plan(request);
}

/// Whether the request is answered without its body. A client that asks whether it may send the body is told so; if there is no room for
/// that in the socket it is not, which it has to expect (RFC 9110, section 10.1.1).
bool http_session::is_refused_early() {
  if (!parser_.has_body()) return false;
  const bool is_long = parser_.content_length().value_or(early_look_bytes + 1) > early_look_bytes;
  if (asked_->plan.refusal && (is_long || parser_.expects_continue())) {
    reply_ = std::move(*asked_->plan.refusal);
    keep_alive_ = false;
    is_refused_ = true;
    begun_ = steady::now();
    return true;
  }
  if (parser_.expects_continue() && bytes_.empty()) {
    const std::array<std::string_view, 1> parts{continue_head};
    const auto sent = send(parts);
    // A piece of it would spoil the reply.
    if (sent && *sent > 0 && *sent < continue_head.size()) ::shutdown(socket_, SHUT_RDWR);
  }
  return false;
}

http_session::wants http_session::read_body() {
  if (!parser_.has_body()) return handle();
  if (wants_ != wants::body && parser_.content_length().value_or(bytes_.size() + 1) <= bytes_.size()) {
    // It has come with its head: it is answered from where it lies, unless others have to be waited for.
    lying_ = bytes_.substr(0, static_cast<std::size_t>(*parser_.content_length()));
    bytes_.remove_prefix(lying_.size());
    return handle();
  }
  const step now = feed();
  if (!asked_->share.cover(parser_.body().size())) {
    refuse_for_want_of_room();
    return finish();
  }
  if (now == step::complete) return handle();
  if (now != step::needs_more) return refuse_rest(now, asked_->request.path);
  if (wants_ != wants::body) set_deadline(steady::now() + shared_.settings.body_timeout);
  return wants::body;
}

/// Copies a body that lies in a buffer of the lane's, which other sessions need while others are waited for. False: there is no room.
bool http_session::take_body() {
  if (lying_.empty()) return true;
  if (!asked_->share.cover(lying_.size())) {
    refuse_for_want_of_room();
    return false;
  }
  asked_->body.assign(lying_);
  asked_->request.body = asked_->body;
  lying_ = {};
  return true;
}

void http_session::refuse_for_want_of_room() {
  refuse(refusal_kind::overloaded, "too many bodies are being read at this moment; try again", asked_->request.path);
  counters_.bodies_refused.add();
}

/// Now that the body is there, its form is known, and with it that of the answer.
void http_session::decide_forms() {
  http_request& request = asked_->request;
  request.body = lying_;
  if (lying_.empty()) {
    asked_->body = std::move(parser_.body());
    request.body = asked_->body;
  }
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

/// Throws away a piece of what a refused client is still sending.
void http_session::drain_turn() {
  while (may_read_) {
    const ssize_t got = ::recv(socket_, local_.arrived.get(), http_lane::arrived_bytes, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) break;
    const auto taken = static_cast<std::size_t>(std::max<ssize_t>(got, 0));
    counters_.bytes_in.add(taken);
    drained_ += taken;
    if (got > 0 && drained_ < most_drained_bytes) return local_.sockets.again(*this);
    wants_ = wants::nothing;
    return wake();
  }
  may_read_ = false;
}

}  // namespace kvc::net
