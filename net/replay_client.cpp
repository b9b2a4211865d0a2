#include "net/replay_client.hpp"

#include <utility>

#include "net/zmq_frames.hpp"

namespace kvc::net {

replay_client::replay_client(zmq_engine& engine, asio::any_io_executor executor, std::string endpoint, std::int64_t max_payload_bytes)
    : engine_(&engine), executor_(std::move(executor)), endpoint_(std::move(endpoint)), max_payload_bytes_(max_payload_bytes) {}

error_code replay_client::request(core::seqno from) {
  if (closed_) return errc::closed;
  zmq_options options;
  // The publisher's own queue is short enough already to lose replies; ours must hold a whole answer (kv-events.md section 7: publishers
  // keep 10,000 batches) and still have a bound.
  options.receive_high_water = 65'536;
  options.max_frame_bytes = max_payload_bytes_;
  if (const auto failed = zmq_socket::open(socket_, *engine_, executor_, zmq_socket::kind::dealer, options)) return failed;
  if (const auto failed = socket_->connect(endpoint_)) return failed;
  const replay_request wanted(from);
  const auto frames = wanted.frames();
  return socket_->try_send(frames);
}

asio::awaitable<replay_client::reply> replay_client::next(std::chrono::steady_clock::time_point deadline) {
  reply answer;
  if (closed_) {
    answer.what = reply::kind::stopped;
    co_return answer;
  }
  if (!socket_) co_return answer;  // nobody has been asked
  const error_code failed = co_await socket_->receive(message_, deadline);
  if (failed == errc::timed_out) co_return answer;
  if (closed_ || failed == errc::cancelled || failed == errc::closed) {
    answer.what = reply::kind::stopped;
    co_return answer;
  }
  if (failed) {  // of its shape, or of the transport: the rest of this answer will not come either, and the next has a socket of its own
    answer.what = reply::kind::unreadable;
    co_return answer;
  }
  const auto read = read_replay(message_);
  if (!read) {
    answer.what = reply::kind::unreadable;
  } else if (read->is_end) {
    answer.what = reply::kind::end;
  } else {
    answer.what = reply::kind::batch;
    answer.number = read->batch.number;
    answer.topic = read->batch.topic;
    answer.payload = read->batch.payload;
  }
  co_return answer;
}

void replay_client::close() noexcept {
  closed_ = true;
  if (socket_) socket_->close();
}

}  // namespace kvc::net
