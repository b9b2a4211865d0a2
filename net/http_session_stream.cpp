// How a session sends a body that is made while it is sent.
#include <algorithm>
#include <array>
#include <ctime>
#include <optional>
#include <utility>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "net/http_session_state.hpp"

namespace kvc::net {
namespace {

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

/// The next piece, or `broken` when it is not there at the deadline.
asio::awaitable<http_body::progress> http_session::have_made(std::string& piece) {
  const auto waiting = std::make_shared<waiting_piece>(local_.here.context);
  waiting->bytes = std::move(piece);
  waiting->bytes.clear();
  waiting->alarm.expires_after(shared_.settings.handler_timeout);
  local_.here.tasks.spawn("http body", make_piece(reply_.stream, local_.here, waiting));
  error_code woken;
  if (!waiting->has_ended) co_await waiting->alarm.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  if (!waiting->made) co_return http_body::progress::broken;
  piece = std::move(waiting->bytes);
  co_return *waiting->made;
}

/// True when the client has taken all of it within the time for that.
asio::awaitable<bool> http_session::write_all(std::span<std::string_view> parts) {
  set_deadline(steady::now() + shared_.settings.write_timeout);
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
      if (must_end()) co_return false;
    }
  }
}

/// True when the client has taken the whole body. What is cut short is not ended, so that the client can tell.
asio::awaitable<bool> http_session::write_stream() {
  const bool in_chunks = takes_chunks_;
  std::string head =
      reply_head(reply_, keep_alive_, local_.date.at(std::time(nullptr)), in_chunks ? body_framing::chunks : body_framing::connection);
  std::string piece;
  for (;;) {
    if (is_stopping()) co_return false;  // it may last for long: the service does not wait for it
    const http_body::progress made = co_await have_made(piece);
    if (made == http_body::progress::broken) co_return false;
    const bool is_last = made == http_body::progress::last;
    const bool has_chunk = in_chunks && !piece.empty();
    const std::string begin = has_chunk ? chunk_head(piece.size()) : std::string();
    std::array<std::string_view, 5> message{head, begin, piece, has_chunk ? chunk_end : std::string_view(),
                                            in_chunks && is_last ? last_chunk : std::string_view()};
    const bool is_taken = co_await write_all(message);
    if (!is_taken) co_return false;
    if (is_last) co_return true;
    head.clear();
  }
}

}  // namespace kvc::net
