// The insides of an HTTP session, for the files that implement it.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/steady_timer.hpp>

#include "net/http_body.hpp"
#include "net/http_parser.hpp"
#include "net/http_reply.hpp"
#include "net/http_session.hpp"
#include "net/http_target.hpp"

namespace kvc::net {

/// A request being answered. Shared with the task that answers it, which may outlive the session's patience.
struct http_exchange {
  explicit http_exchange(byte_budget& bodies) : share(bodies) {}

  budget_share share;
  http_target target;
  std::string method;
  std::string authorization;
  std::string body;
  std::stop_source client_left{std::nostopstate};  ///< has a state once somebody is to be told
  http_request request;
  http_plan plan;

  /// Bytes that would serve another request.
  [[nodiscard]] std::size_t kept_bytes() const noexcept;
  /// As before the request, and with its memory. Precondition: the body has taken nothing from the budget.
  void clear();
};

/// One connection, in two halves. What can be done at once is done where the socket stirs, by `on_ready`: reading, answering what needs
/// nobody else, writing; http_session_read.cpp and http_session_write.cpp. What has to be waited for is the coroutine's: deadlines, answers
/// of others, bodies that are made while they are sent, leaving; http_session.cpp and http_session_stream.cpp. `wants_` says at any time
/// what cannot be gone on without. Between two requests a session may be asked to leave, inside one it is not.
class http_session final : private ready_sockets::client {
 public:
  http_session(http_shared& shared, http_lane& local, open_socket socket);
  ~http_session() override;
  http_session(const http_session&) = delete;
  http_session& operator=(const http_session&) = delete;

  asio::awaitable<void> run();

 private:
  using steady = std::chrono::steady_clock;

  enum class wants : std::uint8_t {
    request,   ///< the first byte of one
    head,      ///< the rest of it
    body,      ///< the rest of it
    answer,    ///< that others have to give
    room,      ///< in the socket, for the rest of the reply
    stream,    ///< the pieces of the body
    farewell,  ///< nothing, but the client may still be sending
    nothing,   ///< the connection is over
  };

  // At once.
  void on_ready() noexcept override;
  void read_turn();
  [[nodiscard]] bool receive();
  void keep();
  [[nodiscard]] wants read();
  [[nodiscard]] wants read_body();
  [[nodiscard]] bool take_body();
  void refuse_for_want_of_room();
  [[nodiscard]] request_parser::step feed();
  void take_head();
  [[nodiscard]] bool is_refused_early();
  void decide_forms();
  /// `path`: of the request; empty where it is not known.
  void refuse(refusal_kind kind, std::string sentence, std::string_view path);
  [[nodiscard]] wants refuse_rest(request_parser::step why, std::string_view path);
  [[nodiscard]] wants handle();
  [[nodiscard]] http_reply answered_now();
  [[nodiscard]] wants finish();
  [[nodiscard]] wants finish_without_body(bool is_late);
  void count_reply();
  [[nodiscard]] wants write();
  [[nodiscard]] wants write_rest();
  [[nodiscard]] bool has_surplus() const;
  [[nodiscard]] wants after_reply();
  [[nodiscard]] http_reply told(std::string_view path, const refusal& why);
  [[nodiscard]] std::optional<std::size_t> send(std::span<const std::string_view> parts);
  /// What is to be written of the reply's body behind its first `sent` bytes: of what it shares with others, and of its own.
  [[nodiscard]] std::array<std::string_view, 2> body_after(std::size_t sent) const;
  [[nodiscard]] bool charge_reply();
  void drop_reply();
  void rest();
  void look_after_client();
  void drain_turn();
  void go_on();

  // With waiting.
  asio::awaitable<void> sleep();
  asio::awaitable<void> have_answered(std::shared_ptr<http_exchange> asked);
  asio::awaitable<std::optional<http_body::progress>> have_made(std::string& piece);
  asio::awaitable<wants> write_stream();
  asio::awaitable<bool> write_all(std::span<std::string_view> parts, steady::time_point deadline);
  asio::awaitable<void> drain();
  void set_deadline(steady::time_point when);
  void wake();
  [[nodiscard]] bool is_stopping() const noexcept { return stop_.cancelled() != asio::cancellation_type::none; }
  [[nodiscard]] bool must_end() const noexcept {
    return (stop_.cancelled() & asio::cancellation_type::terminal) != asio::cancellation_type::none;
  }

  http_shared& shared_;
  http_lane& local_;
  core::lane_counters& counters_;
  const open_socket owned_;
  const int socket_;
  wants wants_ = wants::request;
  request_parser parser_;
  std::string kept_;        ///< arrived in earlier turns and not used yet
  std::string_view bytes_;  ///< arrived and not used yet: in `kept_`, or for this turn in the lane's buffer
  std::string_view lying_;  ///< the request's body, where it has come with its head; valid in this turn
  std::shared_ptr<http_exchange> asked_;
  http_reply reply_;
  std::size_t reply_charge_ = 0;        ///< bytes of the budget for replies that it takes
  std::string owed_head_;               ///< the rest of the reply's head, while there is no room for it
  std::size_t body_sent_ = 0;           ///< of the reply
  std::size_t drained_ = 0;             ///< of what a refused client went on to send
  std::chrono::seconds drain_for_{10};  ///< how long it may
  steady::time_point begun_;            ///< when the request was there as a whole
  steady::time_point ended_;            ///< when the reply was there, or had been written if that had to wait
  steady::time_point deadline_;
  steady::time_point rests_until_;          ///< the deadline from before the first byte of what may be a head
  std::chrono::milliseconds idle_timeout_;  ///< before the next request
  wire_form answer_form_ = wire_form::json;
  bool keep_alive_ = true;    ///< the client wants it and the connection is in a state for it
  bool takes_chunks_ = true;  ///< the client speaks HTTP/1.1
  bool is_refused_ = false;   ///< the request has not been read to its end
  bool may_leave_ = true;     ///< nothing is owed to the client that a stop has to wait for
  bool is_asleep_ = false;
  asio::steady_timer bell_;  ///< rings at a deadline, perhaps an earlier one than is valid by then, and is cancelled to wake
  asio::cancellation_state stop_;
  std::exception_ptr failure_;  ///< met at once, to be thrown by the coroutine

  friend asio::awaitable<void> run_http_session(http_shared&, http_lane&, open_socket);
  friend asio::awaitable<void> refuse_http_connection(http_shared&, http_lane&, open_socket);
};

}  // namespace kvc::net
