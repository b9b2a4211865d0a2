// The writing half of a session: replies into the socket, as far as they fit.
#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <utility>

#include "net/http_session_state.hpp"

namespace kvc::net {
namespace {

constexpr std::size_t joined_bytes = 16U << 10;  ///< bodies up to this are copied behind their head: one piece is sent faster than two
constexpr std::size_t most_leaving_bytes = 64U << 10;  ///< kept of the lane's buffer
constexpr std::size_t idle_bytes = 1U << 10;           ///< that a session which waits for a request may keep

}  // namespace

std::size_t http_exchange::kept_bytes() const noexcept {
  return target.path.capacity() + target.raw_query.capacity() + method.capacity() + authorization.capacity() + body.capacity();
}

void http_exchange::clear() {
  method.clear();
  authorization.clear();
  body.clear();
  request = http_request{};
  plan = http_plan{};
}

/// Bytes of `parts` that the socket took at once, or nothing when the connection is broken.
std::optional<std::size_t> http_session::send(std::span<const std::string_view> parts) {
  std::array<iovec, 8> pieces{};
  std::size_t count = 0;
  std::size_t all = 0;
  for (const std::string_view each : parts) {
    if (each.empty() || count == pieces.size()) continue;
    pieces[count++] = {const_cast<char*>(each.data()), each.size()};
    all += each.size();
  }
  msghdr message{};
  message.msg_iov = pieces.data();
  message.msg_iovlen = count;
  const ssize_t sent =
      count == 1 ? ::send(socket_, pieces[0].iov_base, pieces[0].iov_len, MSG_NOSIGNAL) : ::sendmsg(socket_, &message, MSG_NOSIGNAL);
  if (sent < 0 && errno != EAGAIN && errno != EINTR) return std::nullopt;
  const auto taken = static_cast<std::size_t>(std::max<ssize_t>(sent, 0));
  if (taken < all) may_write_ = false;
  counters_.bytes_out.add(taken);
  return taken;
}

std::array<std::string_view, 2> http_session::body_after(std::size_t sent) const {
  const bool is_bare = (asked_ && asked_->method == "HEAD") || !has_body(reply_.status);
  if (is_bare) return {};
  const std::string_view shared = reply_.shared ? std::string_view(*reply_.shared) : std::string_view();
  const std::size_t of_shared = std::min(sent, shared.size());
  return {shared.substr(of_shared), std::string_view(reply_.body).substr(sent - of_shared)};
}

http_session::wants http_session::write() {
  const bool is_head = asked_ && asked_->method == "HEAD";
  if (reply_.stream && !is_head) return wants::stream;
  const auto framing = takes_chunks_ ? body_framing::chunks : body_framing::connection;
  std::string& text = local_.leaving;
  text.clear();
  append_reply_head(text, reply_, keep_alive_, local_.date.at(std::time(nullptr)), framing);
  const std::size_t head = text.size();
  const auto [shared, own] = body_after(0);
  const std::size_t body = shared.size() + own.size();
  const bool is_joined = body <= joined_bytes;
  if (is_joined) text.append(shared).append(own);
  const std::array<std::string_view, 3> parts{text, is_joined ? std::string_view() : shared, is_joined ? std::string_view() : own};
  const std::optional<std::size_t> sent = send(parts);
  if (!sent) return wants::nothing;
  if (*sent == head + body) return after_reply();
  const std::size_t of_head = std::min(*sent, head);
  owed_head_.assign(text, of_head, head - of_head);
  body_sent_ = *sent - of_head;
  set_deadline(steady::now() + shared_.settings.write_timeout);
  return wants::room;
}

/// Goes on with a reply that did not fit.
http_session::wants http_session::write_rest() {
  const auto [shared, own] = body_after(body_sent_);
  const std::array<std::string_view, 3> parts{owed_head_, shared, own};
  const std::optional<std::size_t> sent = send(parts);
  if (!sent) return wants::nothing;
  const std::size_t of_head = std::min(*sent, owed_head_.size());
  const std::size_t of_body = *sent - of_head;
  owed_head_.erase(0, of_head);
  body_sent_ += of_body;
  if (!owed_head_.empty() || of_body < shared.size() + own.size()) return wants::room;
  ended_ = steady::now();
  return after_reply();
}

/// Whether more has come than the requests that were answered.
bool http_session::has_surplus() const {
  int unread = 0;
  return !bytes_.empty() || (::ioctl(socket_, FIONREAD, &unread) == 0 && unread > 0);
}

/// The socket has taken the whole reply. Bytes nobody read would turn a close into a reset, and what the client has not taken yet would be
/// lost with it. A stop may have been asked for since the reply's head was written.
http_session::wants http_session::after_reply() {
  if (!keep_alive_ || is_stopping()) return is_refused_ || has_surplus() ? wants::farewell : wants::nothing;
  rest();
  set_deadline(ended_ + idle_timeout_);
  return wants::request;
}

/// False: there is no room for the reply, as too many clients do not take theirs. What replies share counts where it is made.
bool http_session::charge_reply() {
  const bool is_head = asked_ && asked_->method == "HEAD";  // written at once
  const std::size_t bytes = reply_.body.size();
  if (is_head || bytes <= budget_share::free_bytes) return true;
  if (!shared_.replies.take(bytes)) return false;
  reply_charge_ = bytes;
  return true;
}

void http_session::drop_reply() {
  reply_ = http_reply{};
  if (reply_charge_ != 0) shared_.replies.give_back(std::exchange(reply_charge_, 0));
}

/// Gives back what a request needed, before waiting for the next.
void http_session::rest() {
  // Its body may have been taken away by who answered; what that took from the budget is given back by the exchange alone.
  if (asked_ && asked_.use_count() == 1 && asked_->share.is_free() && asked_->kept_bytes() <= idle_bytes) {
    asked_->clear();
  } else {
    asked_.reset();
  }
  parser_.end();
  drop_reply();
  owed_head_.clear();
  answer_form_ = wire_form::json;
  if (local_.leaving.capacity() > most_leaving_bytes) local_.leaving = {};
}

}  // namespace kvc::net
