// How a session sends a body that is made while it is sent.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <optional>
#include <utility>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "net/http_session_state.hpp"

namespace kvc::net {
namespace {

/// A client has one `write_timeout` for all of a streamed answer, and another for each so many bytes that it has taken.
constexpr std::size_t patience_bytes = 8U << 20;

/// Where the task that makes a piece leaves it, and the alarm it stops.
struct waiting_piece {
  explicit waiting_piece(asio::io_context& context) : alarm(context) {}
  asio::steady_timer alarm;
  std::optional<http_body::progress> made;
  std::string bytes;
  bool has_ended = false;
};

/// Wakes the session whatever way the task has ended.
class ending {
 public:
  explicit ending(waiting_piece& of) : of_(of) {}
  ~ending() {
    of_.has_ended = true;
    of_.alarm.cancel();
  }
  ending(const ending&) = delete;
  ending& operator=(const ending&) = delete;

 private:
  waiting_piece& of_;
};

asio::awaitable<void> make_piece(std::shared_ptr<http_body> from, lane& here, std::shared_ptr<waiting_piece> into) {
  const ending wake(*into);
  const http_body::progress made = co_await from->next(here, into->bytes);
  into->made = made;
}

}  // namespace

/// The next piece, or nothing when it is not there at the deadline.
asio::awaitable<std::optional<http_body::progress>> http_session::have_made(std::string& piece) {
  const auto waiting = std::make_shared<waiting_piece>(local_.here.context);
  waiting->bytes = std::move(piece);
  waiting->bytes.clear();
  waiting->alarm.expires_after(shared_.settings.handler_timeout);
  local_.here.tasks.spawn("http body", make_piece(reply_.stream, local_.here, waiting));
  error_code woken;
  if (!waiting->has_ended) co_await waiting->alarm.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  if (!waiting->made) co_return waiting->has_ended ? std::optional(http_body::progress::broken) : std::nullopt;
  piece = std::move(waiting->bytes);
  co_return *waiting->made;
}

/// The reply in place of a body of which there is not even a first piece: nothing has been sent, so the client can still be told.
http_session::wants http_session::finish_without_body(bool is_late) {
  const refusal why{refusal_kind::overloaded, "the answer took too long"};
  http_reply instead = is_late ? told(asked_ ? asked_->request.path : std::string_view(), why) : failed_reply();
  drop_reply();
  reply_ = std::move(instead);
  return finish();
}

/// True when the client has taken all of it by then.
asio::awaitable<bool> http_session::write_all(std::span<std::string_view> parts, steady::time_point deadline) {
  set_deadline(deadline);
  for (;;) {
    std::optional<std::size_t> sent = send(parts);
    if (!sent) co_return false;
    bool is_done = true;
    for (std::string_view& each : parts) {
      const std::size_t part = std::min(*sent, each.size());
      each.remove_prefix(part);
      *sent -= part;
      is_done = is_done && each.empty();
    }
    if (is_done) co_return true;
    while (!may_write_) {
      if (steady::now() >= deadline_) {
        counters_.connections_timed_out.add();
        co_return false;
      }
      co_await sleep();
      if (is_stopping()) co_return false;
    }
  }
}

/// What is cut short is not ended, so that the client can tell.
asio::awaitable<http_session::wants> http_session::write_stream() {
  const bool in_chunks = takes_chunks_;
  std::string head =
      reply_head(reply_, keep_alive_, local_.date.at(std::time(nullptr)), in_chunks ? body_framing::chunks : body_framing::connection);
  std::string piece;
  if (asked_) {  // the answer has kept what it still needs, and the body would be there twice
    asked_->request.body = {};
    std::string().swap(asked_->body);  // an assignment would keep the memory
  }
  // What the answer keeps is kept from others: who takes each piece in time, but all of them slowly, has an end as well. Only the time in
  // which we waited for the client counts.
  steady::duration waited{};
  std::size_t taken = 0;
  for (;;) {
    if (is_stopping()) co_return wants::nothing;  // it may last for long: the service does not wait for it
    const std::optional<http_body::progress> made = co_await have_made(piece);
    const bool is_first = !head.empty();
    if (!made || *made == http_body::progress::broken) co_return is_first ? finish_without_body(!made) : wants::nothing;
    if (is_first) {
      ended_ = steady::now();
      count_reply();
    }
    const bool is_last = made == http_body::progress::last;
    const bool has_chunk = in_chunks && !piece.empty();
    const std::string begin = has_chunk ? chunk_head(piece.size()) : std::string();
    std::array<std::string_view, 5> message{head, begin, piece, has_chunk ? chunk_end : std::string_view(),
                                            in_chunks && is_last ? last_chunk : std::string_view()};
    const auto bytes = head.size() + begin.size() + piece.size();
    const auto begun = steady::now();
    const auto times = static_cast<std::int64_t>(1 + taken / patience_bytes);
    const auto left = shared_.settings.write_timeout * times - waited;
    const bool is_taken = co_await write_all(message, begun + std::min<steady::duration>(shared_.settings.write_timeout, left));
    if (!is_taken) co_return wants::nothing;
    waited += steady::now() - begun;
    taken += bytes;
    if (is_last) break;
    head.clear();
  }
  ended_ = steady::now();
  co_return after_reply();
}

}  // namespace kvc::net
