#include "net/zmq_monitor.hpp"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>

#include <zmq.h>

namespace kvc::net {
namespace {

constexpr int wanted_notices = ZMQ_EVENT_CONNECTED | ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_DISCONNECTED |
                               ZMQ_EVENT_CONNECT_DELAYED | ZMQ_EVENT_CONNECT_RETRIED;
constexpr std::size_t most_at_once = 256;  // bounds one look

bool receive(zmq_msg_t* into, void* from) {
  for (;;) {
    if (zmq_msg_recv(into, from, ZMQ_DONTWAIT) >= 0) return true;
    if (zmq_errno() != EINTR) return false;
  }
}

}  // namespace

zmq_monitor::~zmq_monitor() {
  close();
}

bool zmq_monitor::open(void* context, void* socket, std::shared_ptr<descriptor_wait> sleeper) {
  static std::atomic<std::uint64_t> next_name{0};
  const std::string name = "inproc://kvc-monitor-" + std::to_string(next_name.fetch_add(1, std::memory_order_relaxed));
  if (zmq_socket_monitor(socket, name.c_str(), wanted_notices) != 0) return false;
  watched_ = socket;
  notices_ = ::zmq_socket(context, ZMQ_PAIR);
  if (notices_ == nullptr) return false;
  const int none = 0;  // of waiting at the end; of a limit, since a full pair would block libzmq's own thread
  zmq_setsockopt(notices_, ZMQ_LINGER, &none, sizeof(none));
  zmq_setsockopt(notices_, ZMQ_RCVHWM, &none, sizeof(none));
  int descriptor = -1;
  std::size_t size = sizeof(descriptor);
  if (zmq_connect(notices_, name.c_str()) != 0 || zmq_getsockopt(notices_, ZMQ_FD, &descriptor, &size) != 0) return false;
  sleeper_ = std::move(sleeper);
  read();  // libzmq tells nobody of what comes who has not found the pair empty once
  sleeper_->listen_to(descriptor);
  return true;
}

void zmq_monitor::close() noexcept {
  if (watched_ != nullptr) zmq_socket_monitor(watched_, nullptr, 0);
  if (notices_ != nullptr) zmq_close(notices_);
  watched_ = nullptr;
  notices_ = nullptr;
}

void zmq_monitor::note(std::uint16_t event, std::int32_t value) {
  using notice = connection_notes::notice;
  notice what = notice::retry;
  if (event == ZMQ_EVENT_CONNECTED || event == ZMQ_EVENT_ACCEPTED) what = notice::begun;
  if (event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED) what = notice::agreed;
  if (event == ZMQ_EVENT_DISCONNECTED) what = notice::ended;
  seen_.note(what, value, std::chrono::steady_clock::now());
}

const connection_notes& zmq_monitor::read() {
  for (std::size_t i = 0; notices_ != nullptr && i < most_at_once; ++i) {
    zmq_msg_t frame;
    zmq_msg_init(&frame);
    const bool received = receive(&frame, notices_);
    std::uint16_t event = 0;
    std::int32_t value = 0;
    const bool has_event = received && zmq_msg_size(&frame) >= sizeof(event) + sizeof(value);
    if (has_event) {
      std::memcpy(&event, zmq_msg_data(&frame), sizeof(event));
      std::memcpy(&value, static_cast<const char*>(zmq_msg_data(&frame)) + sizeof(event), sizeof(value));
    }
    bool more = received && zmq_msg_more(&frame) != 0;
    while (more) more = receive(&frame, notices_) && zmq_msg_more(&frame) != 0;  // the endpoint, which we know
    zmq_msg_close(&frame);
    if (!received) {  // all is read, so that the next one stirs the descriptor
      sleeper_->listen_again();
      break;
    }
    if (has_event) note(event, value);
  }
  return seen_;
}

}  // namespace kvc::net
