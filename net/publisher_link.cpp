#include "net/publisher_link.hpp"

#include <algorithm>
#include <cassert>
#include <exception>
#include <list>
#include <optional>
#include <string>
#include <utility>

#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "net/publisher_calls.hpp"
#include "net/publisher_session.hpp"

namespace kvc::net {
namespace {

using clock = std::chrono::steady_clock;

/// Of one call, before a message is there: a peer that has only very long ones, or commands, does not keep the lane for itself.
constexpr int most_receptions = 16;

}  // namespace

/// Held by shared_ptr: what has been asked of the kernel keeps a share, and finds that it is `over` when the link has gone meanwhile.
class publisher_link::state : public std::enable_shared_from_this<state> {
 public:
  state(asio::any_io_executor executor, chunk_pool& pool, std::string_view prefix, const link_options& options)
      : pool_(&pool),
        prefix_(prefix),
        options_(options),
        pause_(options.shortest_pause),
        socket_(executor),
        timer_(executor),
        sleeper_(executor) {}

  error_code connect(const asio::generic::stream_protocol::endpoint& to) {
    address_ = to;
    return begin();
  }

  error_code try_receive(publisher_message& into) {
    if (phase_ == phase::over) return errc::closed;
    go_on();
    if (!waiting_.empty()) {
      into = std::move(waiting_.front());
      waiting_.pop_front();
      return into.size() == 0 ? make_error_code(errc::bad_frame_count) : error_code();
    }
    into.clear();
    return phase_ == phase::open ? take(into) : make_error_code(errc::would_block);
  }

  static asio::awaitable<error_code> wait(std::shared_ptr<state> self, clock::time_point deadline) {
    const asio::cancellation_state cancellation = co_await asio::this_coro::cancellation_state;
    if (cancellation.cancelled() != asio::cancellation_type::none) co_return make_error_code(errc::cancelled);
    if (self->phase_ == phase::over) co_return make_error_code(errc::closed);
    self->go_on();
    const bool is_unfinished = self->is_readable_ && std::exchange(self->is_unfinished_, false);
    if (is_unfinished) {
      deadline = clock::now();  // is over as soon as the lane has looked at what else there is
    } else if (self->has_something()) {
      co_return error_code();
    } else if (deadline <= clock::now()) {
      co_return make_error_code(errc::timed_out);
    } else if (self->phase_ == phase::open) {
      self->session_->rest();
      self->listen();
    }
    assert(!self->is_sleeping_ && "one coroutine at a time waits");
    self->is_sleeping_ = true;
    self->sleeper_.expires_at(deadline);
    error_code woken;
    co_await self->sleeper_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    self->is_sleeping_ = false;
    if (self->phase_ == phase::over) co_return make_error_code(errc::closed);
    if (cancellation.cancelled() != asio::cancellation_type::none) co_return make_error_code(errc::cancelled);
    const bool is_late = !woken && !self->has_something();
    co_return is_late ? make_error_code(errc::timed_out) : error_code();
  }

  connection_seen poll() {
    if (phase_ != phase::over) go_on();
    const bool may_have_ended = phase_ == phase::open && seen_.connected;
    if (may_have_ended && publisher_calls::has_peer_ended(socket_.native_handle())) note_end();  // what it has said is still to be received
    has_notices_ = false;
    return seen_;
  }

  void take_in() {
    while (phase_ == phase::open && waiting_.size() < options_.most_waiting) {
      std::list<publisher_message> next(1);  // before there is something to be lost
      if (take(next.front()) == errc::would_block) return;
      waiting_.splice(waiting_.end(), next);  // one without frames is misshapen
    }
  }

  [[nodiscard]] bool has_notices() const noexcept { return has_notices_; }
  [[nodiscard]] bool is_for_older() const noexcept { return phase_ == phase::older && waiting_.empty(); }

  void close() noexcept {
    if (phase_ == phase::over) return;
    hang_up();
    phase_ = phase::over;
    seen_.connected = false;
    waiting_.clear();
    timer_.cancel();
    wake();
  }

 private:
  enum class phase : std::uint8_t {
    idle,        ///< a pause before the next try, or not begun
    connecting,  ///< the kernel has been asked
    shaking,     ///< hands
    open,
    broken,   ///< there was a breach of the protocol
    older,    ///< the peer speaks an older one
    stalled,  ///< there was no memory to go on with
    over,
  };

  [[nodiscard]] bool has_something() const noexcept { return has_notices_ || !waiting_.empty() || is_readable_; }

  void wake() noexcept {
    if (is_sleeping_) sleeper_.cancel();
  }
  void tell() noexcept {
    has_notices_ = true;
    wake();
  }

  /// What the kernel calls back with, unless it is of an attempt that is over.
  template <class Work>
  void when_due(std::uint64_t attempt, Work work) noexcept {
    if (phase_ == phase::over || attempt != attempt_) return;
    try {
      work();
    } catch (const std::exception&) {
      hang_up();
      note_end();
      phase_ = phase::stalled;
      tell();
    }
  }

  /// Where there was no memory there may be some by now.
  void go_on() {
    if (phase_ != phase::stalled) return;
    phase_ = phase::idle;
    wait_until(clock::now() + pause_, [](state& me) { me.begin_or_rest(); });
  }

  template <class Work>
  void wait_until(clock::time_point when, Work work) {
    timer_.expires_at(when);
    try {
      timer_.async_wait([self = shared_from_this(), attempt = attempt_, work](const error_code& failed) {
        if (!failed) self->when_due(attempt, [&] { work(*self); });
      });
    } catch (const std::exception&) {
      phase_ = phase::stalled;
      throw;
    }
  }

  /// A try. What fails at once is answered.
  error_code begin() {
    hang_up();
    error_code failed;
    socket_.open(address_.protocol(), failed);
    if (!failed) socket_.non_blocking(true, failed);
    if (failed) {
      hang_up();
      return failed;
    }
    publisher_calls::prepare(socket_.native_handle(), address_.protocol().family());
    phase_ = phase::connecting;
    wait_until(clock::now() + options_.longest_handshake, [](state& me) {
      if (me.phase_ != phase::open) me.lose();
    });
    socket_.async_connect(address_, [self = shared_from_this(), attempt = attempt_](const error_code& refused) {
      self->when_due(attempt, [&] { self->meet(refused); });
    });
    return {};
  }
  void begin_or_rest() {
    if (begin()) rest();
  }
  void rest() {
    phase_ = phase::idle;
    const auto until = clock::now() + pause_;
    pause_ = std::min(2 * pause_, options_.longest_pause);
    wait_until(until, [](state& me) { me.begin_or_rest(); });
  }

  /// Whoever tries a port of this host that nobody listens at is given that port for its own end one day, and meets itself there. That is
  /// nobody, and no breach of the protocol.
  [[nodiscard]] bool is_with_itself() const {
    error_code failed;
    const auto here = socket_.local_endpoint(failed);
    return !failed && here == socket_.remote_endpoint(failed) && !failed;
  }

  void meet(const error_code& refused) {
    if (refused || is_with_itself()) return lose();
    session_.emplace(*pool_, prefix_, options_.max_frame_bytes);
    phase_ = phase::shaking;
    if (send()) listen();
  }

  /// The socket is to say when there is something to be read.
  void listen() {
    if (is_listening_) return;
    socket_.async_wait(asio::socket_base::wait_read, [self = shared_from_this(), attempt = attempt_](const error_code& failed) {
      self->when_due(attempt, [&] {
        self->is_listening_ = false;
        if (failed) return self->lose();
        self->be_stirred();
      });
    });
    is_listening_ = true;
  }

  void be_stirred() {
    if (phase_ == phase::shaking) return shake();
    is_readable_ = true;
    if (is_sleeping_) return wake();
    try {
      take_in();
    } catch (const std::bad_alloc&) {
      // Who receives will see.
    }
  }

  void shake() {
    publisher_message none;
    for (;;) {
      switch (session_->next(none)) {
        case publisher_session::step::starved: break;
        case publisher_session::step::agreed:
          if (send()) agree();
          return;
        case publisher_session::step::older: return end_as_older();
        default: return give_up();
      }
      if (!send() || !receive()) return;
    }
  }
  void agree() {
    timer_.cancel();
    phase_ = phase::open;
    pause_ = options_.shortest_pause;
    ++seen_.connects;
    seen_.connected = true;
    is_readable_ = true;  // what came behind the handshake
    tell();
  }

  /// True: go on. False: there is nothing at the moment, and the socket will say; or the connection has ended, and nothing is left of it.
  bool receive() {
    const publisher_calls::received got = publisher_calls::receive(socket_.native_handle(), session_->room());
    session_->took(got.bytes);
    is_readable_ = got.bytes > 0;
    if (is_readable_) return true;
    got.has_ended ? lose() : listen();
    return false;
  }

  /// What the session has to say. False: the peer does not take it, which says that it is none, and nothing is left of the connection. That
  /// an open one has ended is found out by reading: behind what it brought, which stands in the kernel.
  bool send() {
    std::string& words = session_->to_send();
    if (words.empty()) return true;
    const publisher_calls::sent done = publisher_calls::send(socket_.native_handle(), words);
    words.clear();
    if (done == publisher_calls::sent::all || (done == publisher_calls::sent::ended && phase_ == phase::open)) return true;
    lose();
    return false;
  }

  /// A message, of the session or the kernel. Precondition: open.
  error_code take(publisher_message& into) {
    for (int receptions = 0; receptions < most_receptions; ++receptions) {
      switch (session_->next(into)) {
        case publisher_session::step::message: into.connection_ = seen_.connects; return {};
        case publisher_session::step::misshapen: return errc::bad_frame_count;
        case publisher_session::step::starved: break;
        default: give_up(); return errc::would_block;
      }
      if (!send() || !receive()) return errc::would_block;
    }
    is_unfinished_ = true;
    return errc::would_block;  // the rest when others of the lane have had their turn
  }

  /// The connection, or the try, is over; nothing that was asked for it will be heard of.
  void hang_up() noexcept {
    ++attempt_;
    error_code ignored;
    socket_.close(ignored);
    session_.reset();
    is_listening_ = false;
    is_readable_ = false;
  }
  void note_end() noexcept {
    if (!std::exchange(seen_.connected, false)) return;
    ++seen_.disconnects;
    tell();
  }
  void lose() {
    hang_up();
    note_end();
    rest();
  }
  void end_as_older() noexcept {
    hang_up();
    timer_.cancel();
    phase_ = phase::older;
    tell();
  }
  void give_up() {
    seen_.fault = session_->fault();
    hang_up();
    note_end();
    phase_ = phase::broken;
    wait_until(clock::now() + options_.after_a_breach, [](state& me) {
      me.seen_.given_up = true;
      me.tell();
    });
  }

  chunk_pool* pool_;
  std::string prefix_;
  link_options options_;
  std::chrono::milliseconds pause_;  ///< before the next try
  asio::generic::stream_protocol::endpoint address_;
  asio::generic::stream_protocol::socket socket_;
  asio::steady_timer timer_;    ///< of the pause, the handshake, or what is to be told later
  asio::steady_timer sleeper_;  ///< whoever waits
  std::optional<publisher_session> session_;
  std::list<publisher_message> waiting_;
  connection_seen seen_;
  std::uint64_t attempt_ = 0;
  phase phase_ = phase::idle;
  bool is_listening_ = false;   ///< the socket will say when there is something
  bool is_readable_ = false;    ///< there may be something in it, or in the session
  bool is_unfinished_ = false;  ///< not all of that was looked at
  bool has_notices_ = false;
  bool is_sleeping_ = false;
};

publisher_link::publisher_link(asio::any_io_executor executor, chunk_pool& pool, std::string_view prefix, const link_options& options)
    : state_(std::make_shared<state>(std::move(executor), pool, prefix, options)) {}
publisher_link::~publisher_link() {
  close();
}
publisher_link::publisher_link(publisher_link&&) noexcept = default;
publisher_link& publisher_link::operator=(publisher_link&& other) noexcept {
  if (this != &other) {
    close();
    state_ = std::move(other.state_);
  }
  return *this;
}

error_code publisher_link::connect(const asio::generic::stream_protocol::endpoint& to) {
  return state_->connect(to);
}
error_code publisher_link::try_receive(publisher_message& into) {
  return state_->try_receive(into);
}
asio::awaitable<error_code> publisher_link::wait(std::chrono::steady_clock::time_point deadline) {
  return state::wait(state_, deadline);
}
void publisher_link::take_in() {
  state_->take_in();
}
connection_seen publisher_link::poll_connection() {
  return state_->poll();
}
bool publisher_link::has_notices() const noexcept {
  return state_->has_notices();
}
bool publisher_link::is_for_older() const noexcept {
  return state_->is_for_older();
}
void publisher_link::close() noexcept {
  if (state_) state_->close();
}

}  // namespace kvc::net
