#include "net/live_socket.hpp"

#include <cassert>
#include <utility>

#include "net/publisher_address.hpp"

namespace kvc::net {

namespace {

constexpr std::uint64_t no_limit = std::uint64_t{1} << 62;

}  // namespace

error_code live_socket::open(std::optional<live_socket>& into, zmq_engine& engine, asio::any_io_executor executor, chunk_pool& pool,
                             const live_options& options) {
  into.reset();
  live_socket made(engine, std::move(executor), options);
  std::optional<asio::generic::stream_protocol::endpoint> address;
  if (!options.bind) address = publisher_address(options.endpoint);
  if (const error_code failed = address ? made.open_link(pool, *address) : made.open_socket()) return failed;
  into.emplace(std::move(made));
  return {};
}

error_code live_socket::open_link(chunk_pool& pool, const asio::generic::stream_protocol::endpoint& to) {
  link_options chosen;
  chosen.most_waiting = static_cast<std::size_t>(options_.receive_high_water);
  chosen.max_frame_bytes = options_.max_frame_bytes < 0 ? no_limit : static_cast<std::uint64_t>(options_.max_frame_bytes);
  chosen.shortest_pause = std::chrono::milliseconds(options_.reconnect_ms);
  chosen.longest_pause = std::chrono::milliseconds(options_.reconnect_max_ms);
  link_.emplace(executor_, pool, options_.prefix, chosen);
  return link_->connect(to);
}

error_code live_socket::open_socket() {
  zmq_options chosen;
  chosen.receive_high_water = options_.receive_high_water;
  chosen.max_frame_bytes = options_.max_frame_bytes;
  chosen.reconnect_ms = options_.reconnect_ms;
  chosen.reconnect_max_ms = options_.reconnect_max_ms;
  chosen.watch_connection = true;
  error_code failed = zmq_socket::open(socket_, *engine_, executor_, zmq_socket::kind::subscriber, chosen);
  if (!failed) failed = socket_->subscribe(options_.prefix);
  if (!failed) failed = options_.bind ? socket_->bind(options_.endpoint) : socket_->connect(options_.endpoint);
  if (failed) socket_.reset();
  return failed;
}

void live_socket::change_over() {
  // Until there is a socket the link stays, and is asked again: with an older peer that is all it can do.
  if (!link_ || !link_->is_for_older() || open_socket()) return;
  before_ = link_->poll_connection();
  link_.reset();
}

error_code live_socket::try_receive(live_message& into) {
  change_over();
  into.is_linked_ = link_.has_value();
  return into.is_linked_ ? link_->try_receive(into.linked_) : socket_->try_receive(into.queued_);
}

asio::awaitable<error_code> live_socket::wait(std::chrono::steady_clock::time_point deadline) {
  change_over();
  assert(link_ || socket_);
  return link_ ? link_->wait(deadline) : socket_->wait(deadline);
}

connection_seen live_socket::poll_connection() {
  if (link_) {
    const connection_seen seen = link_->poll_connection();
    change_over();
    if (link_) return seen;
  }
  connection_seen seen = socket_->poll_connection();
  seen.connects += before_.connects;
  seen.disconnects += before_.disconnects;
  return seen;
}

bool live_socket::is_of_same_connection(const live_message& message) {
  if (!message.is_linked_) return socket_ && socket_->is_of_same_connection(message.queued_);
  return message.linked_.connection() == std::exchange(newest_, message.linked_.connection());
}

bool live_socket::are_of_same_connection(const live_message& last) const {
  if (!last.is_linked_) return socket_ && socket_->are_of_same_connection(last.queued_);
  return last.linked_.connection() == newest_;
}

void live_socket::close() noexcept {
  if (link_) link_->close();
  if (socket_) socket_->close();
}

}  // namespace kvc::net
