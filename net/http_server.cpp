#include "net/http_server.hpp"

#include <cerrno>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <new>
#include <sys/socket.h>
#include <utility>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "net/http_session.hpp"
#include "net/http_shared.hpp"
#include "net/log.hpp"
#include "net/open_socket.hpp"
#include "net/shortage_news.hpp"

namespace kvc::net {

using asio::ip::tcp;
using reuse_port = asio::detail::socket_option::boolean<SOL_SOCKET, SO_REUSEPORT>;

namespace {

constexpr std::size_t most_refusing = 256;              ///< connections per lane that are told why; more are closed without a word
constexpr std::chrono::milliseconds accept_pause{100};  ///< after running out of descriptors or memory

/// Opens, binds and listens. `shared` sockets may have the port in common with each other.
error_code open(tcp::acceptor& acceptor, const tcp::endpoint& at, bool shared) {
  error_code failed;
  acceptor.open(at.protocol(), failed);
  if (!failed) acceptor.set_option(tcp::acceptor::reuse_address(true), failed);
  if (!failed && shared) acceptor.set_option(reuse_port(true), failed);
  if (!failed && at.address().is_v6()) acceptor.set_option(asio::ip::v6_only(false), failed);
  if (!failed) acceptor.bind(at, failed);
  if (!failed) acceptor.listen(tcp::acceptor::max_listen_connections, failed);
  if (!failed) acceptor.native_non_blocking(true, failed);  // a client may have gone by the time it is accepted
  return failed;
}

bool is_shortage(const error_code& failed) {
  return failed == asio::error::no_descriptors || failed == asio::error::no_memory || failed == asio::error::no_buffer_space ||
         failed == boost::system::errc::too_many_files_open_in_system;
}

/// Waits for a connection and has a task serve it. Throws std::bad_alloc, and the next one can be waited for as before. That is why it does
/// not use the library's way, which needs memory for each socket where nobody can catch what is thrown, and forgets whoever waits.
asio::awaitable<error_code> accept_one(http_shared& shared, http_lane& local, tcp::acceptor& acceptor) {
  core::lane_counters& counters = local.here.counters;
  error_code failed;
  co_await acceptor.async_wait(tcp::acceptor::wait_read, asio::redirect_error(asio::use_awaitable, failed));
  if (failed) co_return failed;
  open_socket socket(::accept4(acceptor.native_handle(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (socket.number() < 0) co_return error_code(errno, boost::system::system_category());
  const int at_once = 1;
  ::setsockopt(socket.number(), IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof(at_once));
  if (shared.connections.load(std::memory_order_relaxed) < shared.settings.max_connections) {
    counters.connections_accepted.add();
    local.here.tasks.spawn("http session", run_http_session(shared, local, std::move(socket)));
    co_return failed;
  }
  counters.connections_refused.add();
  if (local.refusing < most_refusing) {
    local.here.tasks.spawn("http refusal", refuse_http_connection(shared, local, std::move(socket)));
  }
  co_return failed;
}

/// Accepts until the listening socket is closed or the lane's tasks are asked to stop.
asio::awaitable<void> accept_all(http_shared& shared, http_lane& local, tcp::acceptor& acceptor) {
  co_await asio::this_coro::throw_if_cancelled(false);
  co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
  asio::steady_timer pause(local.here.context);
  shortage_news news;
  for (;;) {
    const auto stopping = co_await asio::this_coro::cancellation_state;
    if (stopping.cancelled() != asio::cancellation_type::none) break;
    error_code failed;
    bool is_short = false;  // of memory to wait for a connection, or to serve the one that has come
    try {
      failed = co_await accept_one(shared, local, acceptor);
    } catch (const std::bad_alloc&) {
      failed = asio::error::no_memory;
      is_short = true;
    }
    if (failed && !acceptor.is_open()) break;
    if (is_shortage(failed)) {
      if (const auto times = news.on_shortage(std::chrono::steady_clock::now())) {
        log::warn(log::module::http, "cannot accept", {{"lane", local.here.index()}, {"reason", failed.message()}, {"times", *times}});
      }
      if (is_short) continue;  // a pause takes memory as well, and the want of it would end this task
      pause.expires_after(accept_pause);
      co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, failed));
    }
    // Any other failure: the client has gone already, or a stop, which the top of the loop sees.
  }
  error_code ignored;
  acceptor.close(ignored);
}

}  // namespace

struct http_server::state {
  state(runtime& lanes, http_service& service, http_settings settings) : runtime_(lanes), shared(service, std::move(settings)) {
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      locals.push_back(std::make_unique<http_lane>(lanes.at(i)));
      acceptors.emplace_back();
    }
  }

  runtime& runtime_;
  http_shared shared;
  std::vector<std::unique_ptr<http_lane>> locals;                      ///< by lane
  std::vector<std::vector<std::unique_ptr<tcp::acceptor>>> acceptors;  ///< by lane; touched on that lane once started
  std::vector<std::uint16_t> ports;
};

http_server::http_server(runtime& lanes, http_service& service, http_settings settings)
    : state_(std::make_unique<state>(lanes, service, std::move(settings))) {}
http_server::~http_server() = default;

std::optional<http_server::listen_failure> http_server::listen(const std::string& host, std::uint16_t port) {
  const std::string called = (host.find(':') == std::string::npos ? host : "[" + host + "]") + ":" + std::to_string(port);
  error_code failed;
  const auto address = asio::ip::make_address(host, failed);
  if (failed) return listen_failure{called, failed};
  tcp::endpoint at(address, port);
  if (port != 0) {
    // Sockets that share a port would also share it with another process of ours; this one does not share and so finds out.
    tcp::acceptor probe(state_->runtime_.at(0).context);
    failed = open(probe, at, false);
    if (failed) return listen_failure{called, failed};
  }
  std::vector<std::unique_ptr<tcp::acceptor>> opened;
  for (std::size_t i = 0; i < state_->locals.size(); ++i) {
    opened.push_back(std::make_unique<tcp::acceptor>(state_->runtime_.at(i).context));
    failed = open(*opened.back(), at, true);
    if (failed) return listen_failure{called, failed};
    at = opened.back()->local_endpoint(failed);  // with port 0, the first lane's choice is everybody's
  }
  for (std::size_t i = 0; i < opened.size(); ++i) state_->acceptors[i].push_back(std::move(opened[i]));
  state_->ports.push_back(at.port());
  return std::nullopt;
}

const std::vector<std::uint16_t>& http_server::ports() const noexcept {
  return state_->ports;
}

namespace {

void start_lane(http_shared& shared, http_lane& local, const std::vector<std::unique_ptr<tcp::acceptor>>& acceptors) {
  local.sockets.start();
  local.here.turns.look_at(local.sockets);
  for (const auto& each : acceptors) local.here.tasks.spawn("http acceptor", accept_all(shared, local, *each));
}

}  // namespace

void http_server::start() {
  for (std::size_t i = 0; i < state_->locals.size(); ++i) {
    state& self = *state_;
    asio::post(self.runtime_.at(i).context, [&self, i] { start_lane(self.shared, *self.locals[i], self.acceptors[i]); });
  }
}

void http_server::stop_accepting() {
  for (std::size_t i = 0; i < state_->locals.size(); ++i) {
    state& self = *state_;
    asio::post(self.runtime_.at(i).context, [&self, i] {
      error_code ignored;
      for (const auto& each : self.acceptors[i]) each->close(ignored);
    });
  }
}

std::size_t http_server::connections() const noexcept {
  return state_->shared.connections.load(std::memory_order_relaxed);
}

}  // namespace kvc::net
