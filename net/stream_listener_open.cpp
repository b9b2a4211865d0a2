// How a stream gets its sockets: where its publisher is, and what there is to connect with.
#include <chrono>
#include <string>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "net/endpoint_host.hpp"
#include "net/stream_listener.hpp"

namespace kvc::net {
namespace {

constexpr std::chrono::seconds longest_lookup{5};

}  // namespace

asio::awaitable<result<std::string>> stream_listener::located(const std::string& endpoint) {
  const std::string name(name_in_endpoint(endpoint));
  if (name.empty()) co_return endpoint;
  const auto found = co_await lookup_.find(name, clock::now() + longest_lookup);
  if (found.has_error()) co_return found.error();
  co_return endpoint_at(endpoint, found->front());
}

asio::awaitable<void> stream_listener::rest(std::chrono::milliseconds pause) {
  // A request to leave that has come by now is not told again.
  const asio::cancellation_state cancellation = co_await asio::this_coro::cancellation_state;
  if (stopping_ || cancellation.cancelled() != asio::cancellation_type::none) co_return;
  pause_.expires_after(pause);
  boost::system::error_code woken;
  co_await pause_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
}

asio::awaitable<void> stream_listener::come_by_socket() {
  const error_code failed = co_await find_and_open();
  if (stopping_) co_return;
  if (!failed) {  // whatever asked for a fresh one has it
    binding_.reset();
    wants_another_socket_ = false;
    (void)machine_.take_wants_fresh_transport();
    co_return;
  }
  machine_.on_connection(false, breaks_.told(), clock::now());  // without a socket there is nothing to ask how the connection is
  news_.show(machine_);
  // Our own last socket may have the address for some moments more, as the transport closes it on a thread of its own.
  co_await rest(failed == errc::address_in_use ? binding_.next(clock::duration()) : settings_->idle_check);
  machine_.on_quiet(clock::now());
}

asio::awaitable<error_code> stream_listener::find_and_open() {
  const core::registration& from = service_->registration;
  result<std::string> live = from.endpoint;
  if (!from.bind) live = co_await located(from.endpoint);
  if (stopping_) co_return error_code(errc::cancelled);
  const error_code failed = live ? open(*live) : live.error();
  if (!failed) {
    opened_at_ = clock::now();  // not before the look-up: a publisher gets all of its time to answer, however long that took
    news_.has_opened();
  } else if (failed != errc::cancelled) {
    news_.cannot_open(failed);
  }
  co_return failed;
}

error_code stream_listener::open(const std::string& endpoint) {
  const core::registration& from = service_->registration;
  live_options options;
  options.endpoint = endpoint;
  options.bind = from.bind;
  options.prefix = core::topic_prefix(from.topic);
  options.receive_high_water = settings_->receive_high_water;
  options.max_frame_bytes = settings_->max_payload_bytes;
  const error_code failed = live_socket::open(socket_, *engine_, lane_->context.get_executor(), lane_->chunks, options);
  seen_ = {};
  is_untold_ = false;  // that it is not connected yet is nothing to tell: it will be, or does not come to be in time
  return failed;
}

void stream_listener::drop_transport() {
  drop_transport(socket_ ? socket_->poll_connection().disconnects : 0);
}

void stream_listener::lose_transport() noexcept {
  drop_transport(seen_.disconnects);
}

void stream_listener::drop_transport(std::uint64_t breaks) noexcept {
  end_replay();
  replay_.reset();
  if (!socket_) return;
  breaks_.on_fresh_transport(breaks);
  if (burst_) burst_->drop_untold();
  socket_.reset();
}

asio::awaitable<error_code> stream_listener::find_replay() {
  if (replay_) co_return error_code();
  // Who asks again at once would wait for the same answer, and live batches with it.
  if (replay_failure_ && clock::now() - replay_failed_at_ < lookup_pause_) co_return replay_failure_;
  const result<std::string> found = co_await located(service_->registration.replay_endpoint);
  if (stopping_) co_return error_code(errc::cancelled);
  if (found.has_error()) {
    if (found.error() == errc::cancelled) co_return found.error();
    replay_failure_ = found.error();
    replay_failed_at_ = clock::now();
    co_return replay_failure_;
  }
  replay_failure_ = {};
  replay_.emplace(*engine_, lane_->context.get_executor(), *found, settings_->max_payload_bytes);
  co_return error_code();
}

}  // namespace kvc::net
