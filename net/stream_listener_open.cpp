// How a stream gets its sockets: where its publisher is, and what there is to connect with.
#include <chrono>
#include <string>

#include "net/endpoint_host.hpp"
#include "net/stream_listener.hpp"

namespace kvc::net {
namespace {

constexpr std::chrono::seconds longest_lookup{5};

}  // namespace

asio::awaitable<result<std::string>> stream_listener::located(const std::string& endpoint) {
  const std::string name(name_in_endpoint(endpoint));
  if (name.empty()) co_return endpoint;
  is_named_ = true;
  const auto found = co_await lookup_.find(name, clock::now() + longest_lookup);
  if (found.has_error()) co_return found.error();
  co_return endpoint_at(endpoint, found->front());
}

asio::awaitable<bool> stream_listener::find_and_open() {
  const core::registration& from = service_->registration;
  opened_at_ = clock::now();
  result<std::string> live = from.endpoint;
  if (!from.bind) live = co_await located(from.endpoint);
  result<std::string> replay = from.replay_endpoint;
  if (live && !stopping_) replay = co_await located(from.replay_endpoint);
  if (stopping_) co_return false;
  if (live && replay) co_return open(*live, *replay);
  const error_code failed = live ? replay.error() : live.error();
  if (failed != errc::cancelled) news_.cannot_open(failed);
  co_return false;
}

bool stream_listener::open(const std::string& endpoint, const std::string& replay_endpoint) {
  const core::registration& from = service_->registration;
  zmq_options options;
  options.receive_high_water = settings_->receive_high_water;
  options.max_frame_bytes = settings_->max_payload_bytes;
  options.watch_connection = true;
  error_code failed = zmq_socket::open(socket_, *engine_, lane_->context.get_executor(), zmq_socket::kind::subscriber, options);
  if (!failed) failed = socket_->subscribe(core::topic_prefix(from.topic));
  if (!failed) failed = from.bind ? socket_->bind(endpoint) : socket_->connect(endpoint);
  if (!failed) {
    if (!replay_endpoint.empty()) {
      replay_.emplace(*engine_, lane_->context.get_executor(), replay_endpoint, settings_->max_payload_bytes);
    }
    news_.has_opened();
    return true;
  }
  news_.cannot_open(failed);
  socket_.reset();
  return false;
}

}  // namespace kvc::net
