#include "net/zmq_socket.hpp"

#include <array>
#include <atomic>
#include <cassert>
#include <cerrno>
#include <limits>
#include <utility>

#include <boost/system/system_error.hpp>
#include <zmq.h>

#include "net/descriptor_wait.hpp"
#include "net/ipc_path.hpp"
#include "net/probe_rhythm.hpp"
#include "net/zmq_monitor.hpp"

namespace kvc::net {
namespace {

constexpr std::size_t max_frames = 64;
constexpr std::size_t usual_frames = 5;  // no message of a publisher has more
constexpr std::size_t kinds = static_cast<std::size_t>(zmq_socket::kind::heeding_publisher) + 1;
constexpr std::size_t longest_kept_frame = 32;  // lies in the message itself: a longer one keeps a buffer of 8 KiB

/// libzmq's errno where its meaning at this place is known.
error_code last_error() {
  switch (zmq_errno()) {
    case EAGAIN: return errc::would_block;
    case ETERM:
    case ENOTSOCK: return errc::closed;
    case EINVAL:
    case EPROTONOSUPPORT:
    case ENOCOMPATPROTO: return errc::invalid_endpoint;
    case EADDRINUSE: return errc::address_in_use;
    default: return {zmq_errno(), boost::system::system_category()};
  }
}

int kind_number(zmq_socket::kind what) {
  using kind = zmq_socket::kind;
  switch (what) {
    case kind::subscriber: return ZMQ_SUB;
    case kind::publisher: return ZMQ_PUB;
    case kind::dealer: return ZMQ_DEALER;
    case kind::router: return ZMQ_ROUTER;
    case kind::heeding_publisher: return ZMQ_XPUB;
  }
  return ZMQ_PUB;
}

template <class Value>
void set(void* socket, int option, const Value& value) {
  [[maybe_unused]] const int failed = zmq_setsockopt(socket, option, &value, sizeof(value));
  assert(failed == 0 && "the option exists and its value is legal");
}

/// -1: it has none, and `zmq_errno` says why.
int descriptor_of(void* socket) {
  int descriptor = -1;
  std::size_t size = sizeof(descriptor);
  return zmq_getsockopt(socket, ZMQ_FD, &descriptor, &size) == 0 ? descriptor : -1;
}

int receive_frame(zmq_msg_t* into, void* from) {
  for (;;) {
    const int received = zmq_msg_recv(into, from, ZMQ_DONTWAIT);
    if (received >= 0 || zmq_errno() != EINTR) return received;
  }
}

/// IPv6 where it is meant: a bracketed address, or binding to every interface. Names of hosts do not come as far as this: they are looked
/// up before, and an address of IPv6 comes in brackets then.
bool wants_ipv6(const std::string& endpoint, bool binding) {
  return endpoint.starts_with("tcp://[") || (binding && endpoint.starts_with("tcp://*"));
}

void probe(void* socket, const probe_rhythm& how) {
  set(socket, ZMQ_TCP_KEEPALIVE, 1);
  set(socket, ZMQ_TCP_KEEPALIVE_IDLE, how.after_s);
  set(socket, ZMQ_TCP_KEEPALIVE_INTVL, how.interval_s);
  set(socket, ZMQ_TCP_KEEPALIVE_CNT, how.count);
}

boost::system::system_error no_socket(const char* what) {
  return {zmq_errno(), boost::system::system_category(), what};
}

}  // namespace

/// Every stream has messages that wait to be filled, so a message has no room before something is received into it, and none for frames
/// that hardly ever come.
struct zmq_message::state {
  std::array<zmq_msg_t, usual_frames> usual;
  std::array<std::span<const std::byte>, usual_frames> contents;              ///< of those that have been received
  std::unique_ptr<std::array<zmq_msg_t, max_frames - usual_frames>> further;  ///< made when a message has more
  std::size_t count = 0;                                                      ///< frames that are initialised

  state() = default;
  ~state() { clear(); }
  state(const state&) = delete;
  state& operator=(const state&) = delete;

  [[nodiscard]] zmq_msg_t* at(std::size_t index) noexcept {
    return index < usual_frames ? &usual[index] : &(*further)[index - usual_frames];
  }
  /// Precondition: there is room for one more.
  zmq_msg_t* add() {
    if (count == usual_frames && !further) further = std::make_unique_for_overwrite<std::array<zmq_msg_t, max_frames - usual_frames>>();
    zmq_msg_t* const frame = at(count);
    zmq_msg_init(frame);
    ++count;
    return frame;
  }
  /// The frame that was added last has been received, with `size` bytes as zmq_msg_recv tells it.
  void note_received(int size) noexcept {
    if (count <= usual_frames) contents[count - 1] = contents_of(usual[count - 1], size);
  }
  [[nodiscard]] std::span<const std::byte> frame(std::size_t index) noexcept {
    return index < usual_frames ? contents[index] : contents_of(*at(index), std::numeric_limits<int>::max());
  }
  /// One that may be kept for long. Null: there is none.
  [[nodiscard]] zmq_msg_t* small_frame() noexcept {
    for (std::size_t i = 0; i < count; ++i) {
      if (frame(i).size() <= longest_kept_frame) return at(i);
    }
    return nullptr;
  }
  void clear() noexcept {
    for (std::size_t i = 0; i < count; ++i) zmq_msg_close(at(i));
    count = 0;
  }

 private:
  /// `size`: the greatest int where there are as many bytes or more, or where it is not known.
  static std::span<const std::byte> contents_of(zmq_msg_t& frame, int size) noexcept {
    const bool is_known = size != std::numeric_limits<int>::max();
    return {static_cast<const std::byte*>(zmq_msg_data(&frame)), is_known ? static_cast<std::size_t>(size) : zmq_msg_size(&frame)};
  }
};

zmq_message::zmq_message() noexcept = default;
zmq_message::~zmq_message() = default;
zmq_message::zmq_message(zmq_message&&) noexcept = default;
zmq_message& zmq_message::operator=(zmq_message&&) noexcept = default;

std::size_t zmq_message::size() const noexcept {
  return state_ ? state_->count : 0;
}

std::span<const std::byte> zmq_message::frame(std::size_t index) const noexcept {
  assert(index < size());
  return state_->frame(index);
}

void zmq_message::clear() noexcept {
  if (state_) state_->clear();
}

/// What all messages of a connection share: what libzmq learned of the peer at its handshake. A message of that connection is kept, so
/// that nothing else can get the same address meanwhile.
class connection_mark {
 public:
  connection_mark() { zmq_msg_init(&kept_); }
  ~connection_mark() { zmq_msg_close(&kept_); }
  connection_mark(const connection_mark&) = delete;
  connection_mark& operator=(const connection_mark&) = delete;

  /// Whether a frame came over the same connection as the one this was asked about before. False when that cannot be told.
  bool is_same(zmq_msg_t* frame) {
    const char* const shared = shared_by(frame);
    if (shared != nullptr && shared == shared_) return true;
    shared_ = shared != nullptr && zmq_msg_copy(&kept_, frame) == 0 ? shared : nullptr;
    return false;
  }
  /// The same, and what is kept stays.
  [[nodiscard]] bool would_be_same(zmq_msg_t* frame) const { return shared_ != nullptr && shared_by(frame) == shared_; }

 private:
  static const char* shared_by(zmq_msg_t* frame) { return zmq_msg_gets(frame, "Socket-Type"); }

  zmq_msg_t kept_;
  const char* shared_ = nullptr;  ///< of the kept one; null: none is
};

struct zmq_socket::state {
  void* socket = nullptr;
  std::shared_ptr<descriptor_wait> wait;
  zmq_monitor monitor;     ///< open when its connection is watched
  bool connects = false;   ///< it is not bound
  connection_mark newest;  ///< of the message that was asked about last

  [[nodiscard]] bool is_ready(int wanted) const {
    int events = 0;
    std::size_t size = sizeof(events);
    return zmq_getsockopt(socket, ZMQ_EVENTS, &events, &size) != 0 || (events & wanted) != 0;  // an error shows at the next try
  }
};

zmq_socket::zmq_socket(zmq_engine& engine, asio::any_io_executor executor, kind what, zmq_options options)
    : state_(std::make_unique<state>()) {
  void* const socket = ::zmq_socket(engine.handle(options.watch_connection), kind_number(what));
  if (socket == nullptr) throw no_socket("no ZeroMQ socket left");
  state_->socket = socket;
  const int off = 0;
  set(socket, ZMQ_LINGER, off);
  set(socket, ZMQ_RCVHWM, options.receive_high_water);
  set(socket, ZMQ_SNDHWM, options.send_high_water);
  set(socket, ZMQ_MAXMSGSIZE, options.max_frame_bytes);
  set(socket, ZMQ_RECONNECT_IVL, options.reconnect_ms);
  set(socket, ZMQ_RECONNECT_IVL_MAX, options.reconnect_max_ms);
  static std::array<std::atomic<unsigned>, kinds> turns{};  // by kind: who opens several opens one of each, and again
  probe(socket, probe_rhythm::of(turns[static_cast<std::size_t>(what)].fetch_add(1, std::memory_order_relaxed)));
  if (what == kind::router) set(socket, ZMQ_ROUTER_MANDATORY, off);
  if (what == kind::publisher || what == kind::heeding_publisher) set(socket, ZMQ_XPUB_NODROP, off);
  if (what == kind::heeding_publisher) set(socket, ZMQ_XPUB_VERBOSE, 1);

  try {
    const int descriptor = descriptor_of(socket);
    if (descriptor < 0) throw no_socket("ZeroMQ gave no descriptor");
    state_->wait = descriptor_wait::create(executor, descriptor);
    if (options.watch_connection && !state_->monitor.open(engine.handle(true), socket, state_->wait))
      throw no_socket("no ZeroMQ socket left to watch connections with");
  } catch (...) {
    close();  // no destructor is called for what was never made
    throw;
  }
}

error_code zmq_socket::open(std::optional<zmq_socket>& into, zmq_engine& engine, asio::any_io_executor executor, kind what,
                            zmq_options options) {
  into.reset();
  try {
    into.emplace(engine, std::move(executor), what, options);
  } catch (const boost::system::system_error& refused) {
    return refused.code();
  }
  return {};
}

zmq_socket::~zmq_socket() {
  close();
}
zmq_socket::zmq_socket(zmq_socket&&) noexcept = default;
zmq_socket& zmq_socket::operator=(zmq_socket&& other) noexcept {
  if (this != &other) {
    close();
    state_ = std::move(other.state_);
  }
  return *this;
}

error_code zmq_socket::connect(const std::string& endpoint) {
  if (state_->socket == nullptr) return errc::closed;
  state_->connects = true;
  set(state_->socket, ZMQ_IPV6, static_cast<int>(wants_ipv6(endpoint, false)));
  return zmq_connect(state_->socket, endpoint.c_str()) == 0 ? error_code() : last_error();
}

error_code zmq_socket::bind(const std::string& endpoint) {
  if (state_->socket == nullptr) return errc::closed;
  if (is_taken_path(endpoint)) return errc::address_in_use;
  set(state_->socket, ZMQ_IPV6, static_cast<int>(wants_ipv6(endpoint, true)));
  return zmq_bind(state_->socket, endpoint.c_str()) == 0 ? error_code() : last_error();
}

std::string zmq_socket::bound_endpoint() const {
  std::array<char, 512> text{};
  std::size_t size = text.size();
  if (state_->socket == nullptr || zmq_getsockopt(state_->socket, ZMQ_LAST_ENDPOINT, text.data(), &size) != 0) return {};
  return {text.data()};
}

error_code zmq_socket::subscribe(std::string_view prefix) {
  if (state_->socket == nullptr) return errc::closed;
  return zmq_setsockopt(state_->socket, ZMQ_SUBSCRIBE, prefix.data(), prefix.size()) == 0 ? error_code() : last_error();
}

error_code zmq_socket::try_receive(zmq_message& into) {
  if (state_->socket == nullptr) return errc::closed;
  if (!into.state_) into.state_ = std::make_unique<zmq_message::state>();
  zmq_message::state& message = *into.state_;
  message.clear();
  bool too_many = false;
  for (bool more = true; more;) {
    if (message.count == max_frames) {  // keep reading, or the rest would look like the next message
      too_many = true;
      message.clear();
    }
    zmq_msg_t* const frame = message.add();
    const int received = receive_frame(frame, state_->socket);
    if (received < 0) {
      const error_code failure = last_error();
      message.clear();
      return failure;
    }
    message.note_received(received);
    more = zmq_msg_more(frame) != 0;
  }
  if (too_many) message.clear();
  return too_many ? make_error_code(errc::bad_frame_count) : error_code();
}

error_code zmq_socket::try_send(std::span<const std::string_view> frames) {
  if (state_->socket == nullptr) return errc::closed;
  if (frames.empty() || frames.size() > max_frames) return errc::bad_frame_count;
  error_code failure;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const int flags = ZMQ_DONTWAIT | (i + 1 < frames.size() ? ZMQ_SNDMORE : 0);
    int sent = zmq_send(state_->socket, frames[i].data(), frames[i].size(), flags);
    while (sent < 0 && zmq_errno() == EINTR) sent = zmq_send(state_->socket, frames[i].data(), frames[i].size(), flags);
    if (sent < 0 && !failure) {
      failure = last_error();
      // Refused at the first frame nothing was sent. Refused later the peer has gone and took the message along: libzmq then swallows
      // the frames up to the last, which must still be offered or it would swallow the next message instead.
      if (i == 0) break;
    }
  }
  return failure;
}

// All loops: try; ask the flags, because trying may have swallowed the descriptor's edge; only then sleep. The flags decide, the
// descriptor only says when to look again.

asio::awaitable<error_code> zmq_socket::receive(zmq_message& into, std::chrono::steady_clock::time_point deadline) {
  for (;;) {
    const error_code tried = try_receive(into);
    if (tried != errc::would_block) co_return tried;
    if (state_->is_ready(ZMQ_POLLIN)) continue;
    const error_code stirred = co_await descriptor_wait::sleep(state_->wait, deadline);
    if (stirred) co_return stirred;
  }
}

asio::awaitable<error_code> zmq_socket::wait(std::chrono::steady_clock::time_point deadline) {
  if (state_->socket == nullptr) co_return make_error_code(errc::closed);
  while (!state_->is_ready(ZMQ_POLLIN) && !state_->monitor.has_stirred()) {
    const error_code stirred = co_await descriptor_wait::sleep(state_->wait, deadline);
    if (stirred) co_return stirred;
  }
  co_return error_code();
}

asio::awaitable<error_code> zmq_socket::send(std::span<const std::string_view> frames, std::chrono::steady_clock::time_point deadline) {
  for (;;) {
    const error_code tried = try_send(frames);
    if (tried != errc::would_block) co_return tried;
    if (state_->is_ready(ZMQ_POLLOUT)) continue;
    const error_code stirred = co_await descriptor_wait::sleep(state_->wait, deadline);
    if (stirred) co_return stirred;
  }
}

zmq_socket::connection zmq_socket::poll_connection() {
  const connection_notes& seen = state_->monitor.read();
  const bool is_open = state_->socket != nullptr;
  return {.connected = is_open && seen.is_connected(),
          .connects = seen.connects(),
          .disconnects = seen.disconnects(),
          .given_up = is_open && state_->connects && seen.has_given_up(std::chrono::steady_clock::now()),
          // It does not say; a publisher that has been understood has hardly anything else left to do wrong.
          .fault = seen.connects() > 0 ? errc::message_too_large : errc::not_understood};
}

bool zmq_socket::has_notices() const noexcept {
  return state_->monitor.has_stirred();
}

bool zmq_socket::is_of_same_connection(const zmq_message& message) {
  zmq_msg_t* const small = message.state_ ? message.state_->small_frame() : nullptr;
  return small != nullptr && state_->newest.is_same(small);
}

bool zmq_socket::are_of_same_connection(const zmq_message& last) const {
  zmq_msg_t* const small = state_->connects && last.state_ ? last.state_->small_frame() : nullptr;
  return small != nullptr && state_->newest.would_be_same(small);
}

void zmq_socket::close() noexcept {
  if (!state_ || state_->socket == nullptr) return;
  if (state_->wait) state_->wait->close();  // before libzmq closes the number: asio must forget it first, and must not close it again
  state_->monitor.close();
  zmq_close(state_->socket);
  state_->socket = nullptr;
}

}  // namespace kvc::net
