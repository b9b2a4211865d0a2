// The insides of an HTTP session, for the two files that implement it.
#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>

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
  std::stop_source client_left;
  bool is_answered = false;  ///< or given up: nobody looks at the connection on its behalf any more
  http_request request;
  http_plan plan;
};

/// One connection. `run` is the whole story: between two requests it may be asked to leave, inside one it is not; the steps of one request
/// are reading its head, reading its body (http_session_read.cpp), having it answered and writing the reply (http_session.cpp).
class http_session {
 public:
  http_session(http_shared& shared, http_lane& local, asio::ip::tcp::socket socket)
      : shared_(shared),
        local_(local),
        counters_(local.here.counters),
        stream_(std::move(socket)),
        parser_(shared.settings.max_header_bytes, shared.settings.max_body_bytes),
        idle_timeout_(shared.settings.idle_timeout) {
    counters_.connections_open.add();
    error_code ignored;
    stream_.socket().non_blocking(true, ignored);  // for what is tried before it is waited for
  }
  ~http_session() { counters_.connections_open.subtract(); }
  http_session(const http_session&) = delete;
  http_session& operator=(const http_session&) = delete;

  asio::awaitable<void> run();

 private:
  /// How a step ended: go on, the client is gone, or the reply is ready although the request has not been read to its end.
  enum class went { on, away, refused };

  asio::awaitable<bool> read_some(std::size_t most);
  bool read_now(std::size_t most);
  asio::awaitable<went> read_head();
  asio::awaitable<went> read_body();
  asio::awaitable<void> have_answered(std::shared_ptr<http_exchange> asked, std::chrono::steady_clock::time_point deadline);
  std::size_t write_now(const std::array<asio::const_buffer, 2>& message);
  asio::awaitable<bool> write(bool keep_alive);
  asio::awaitable<http_body::progress> have_made(std::string& piece);
  asio::awaitable<bool> write_stream(bool keep_alive);
  asio::awaitable<void> drain(std::chrono::steady_clock::duration longest);

  void watch_client(const std::shared_ptr<http_exchange>& asked);
  void take_head();
  void decide_forms();
  void refuse(refusal_kind kind, std::string sentence) {
    reply_ = reply_with(refusal{kind, std::move(sentence)}, answer_form_);
    keep_alive_ = false;
  }
  went refuse_head_or_body(request_parser::step why);
  request_parser::step feed();
  void rest();

  http_shared& shared_;
  http_lane& local_;
  core::lane_counters& counters_;
  boost::beast::tcp_stream stream_;
  boost::beast::flat_buffer received_;
  request_parser parser_;
  std::shared_ptr<http_exchange> asked_;
  http_reply reply_;
  wire_form answer_form_ = wire_form::json;
  std::chrono::milliseconds idle_timeout_;  ///< before the next request
  bool keep_alive_ = true;    ///< the client wants it and the connection is in a state for it
  bool takes_chunks_ = true;  ///< the client speaks HTTP/1.1
  bool may_leave_ = true;     ///< nothing is owed to the client

  friend asio::awaitable<void> run_http_session(http_shared&, http_lane&, asio::ip::tcp::socket);
  friend asio::awaitable<void> refuse_http_connection(http_shared&, http_lane&, asio::ip::tcp::socket);
};

}  // namespace kvc::net
