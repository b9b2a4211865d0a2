#include "net/zmq_engine.hpp"

#include <algorithm>
#include <cerrno>
#include <new>
#include <sys/resource.h>

#include <zmq.h>

#include "net/short_slices.hpp"

namespace kvc::net {
namespace {

/// How many sockets of `wanted` there can be: libzmq has room for all of them from the beginning, and each takes a descriptor or more.
int possible_sockets(int wanted) {
  rlimit descriptors{};
  if (::getrlimit(RLIMIT_NOFILE, &descriptors) != 0 || descriptors.rlim_max == RLIM_INFINITY) return wanted;
  return static_cast<int>(std::min<rlim_t>(static_cast<rlim_t>(wanted), descriptors.rlim_max));
}

/// One context of libzmq, whose threads run where the thread may that makes it.
class zmq_threads {
 public:
  zmq_threads(int io_threads, int max_sockets) : context_(zmq_ctx_new()) {
    if (context_ == nullptr) throw std::bad_alloc();
    zmq_ctx_set(context_, ZMQ_IO_THREADS, std::max(io_threads, 1));
    zmq_ctx_set(context_, ZMQ_MAX_SOCKETS, possible_sockets(std::min(max_sockets, zmq_ctx_get(context_, ZMQ_SOCKET_LIMIT))));
    // The threads come with the first socket: here, and not on a lane, whose CPU they would share for ever when lanes have one each.
    const short_slices prompt(shortest_slice);
    void* const first = ::zmq_socket(context_, ZMQ_PAIR);
    if (first != nullptr) zmq_close(first);
  }
  ~zmq_threads() {
    while (zmq_ctx_term(context_) != 0 && zmq_errno() == EINTR) continue;
  }
  zmq_threads(const zmq_threads&) = delete;
  zmq_threads& operator=(const zmq_threads&) = delete;

  [[nodiscard]] void* context() const noexcept { return context_; }

 private:
  void* context_;
};

}  // namespace

struct zmq_engine::state {
  zmq_threads watched;
  zmq_threads others;
};

zmq_engine::zmq_engine(int io_threads, int max_sockets)
    : state_(new state{.watched = {io_threads, max_sockets}, .others = {io_threads, max_sockets}}) {}

zmq_engine::~zmq_engine() = default;

void* zmq_engine::handle(bool is_watched) const noexcept {
  return is_watched ? state_->watched.context() : state_->others.context();
}

}  // namespace kvc::net
