// Which sockets of a lane have something to be read or written, served in the order they stirred.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/intrusive/list.hpp>

#include "net/handler_place.hpp"

namespace kvc::net {

namespace asio = boost::asio;

/// The sockets of a lane, watched together.
///
/// Problem: an operation per read costs a try that finds nothing, a place in the lane's queue, a handler and two clocks, a quarter of what
/// a small request takes; and a request that has arrived waits behind everything else that is ready on the lane. Story: all sockets are in
/// one epoll of their own, told of edges, and the lane waits for that one descriptor. When it stirs, those that have something are called
/// one after the other for `turn`; the rest go on behind whatever else the lane has to do. Life cycle: construct; `start`; `watch` any
/// number; destroy after the lane's context has stopped and all clients are gone. Lane: all members on the context's thread; `start` may
/// come from another before it runs.
class ready_sockets {
 public:
  /// Who owns a watched socket. Leaves by itself when it is destroyed.
  class client : public boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
   public:
    client() = default;
    client(const client&) = delete;
    client& operator=(const client&) = delete;
    virtual ~client() = default;

    /// Its socket stirred, see the flags, or `again` was asked for. Must bound what it does: others wait.
    virtual void on_ready() noexcept = 0;

   protected:
    // Set when the system says so; for the client to clear once a read or write would have to wait.
    bool may_read_ = false;
    bool may_write_ = true;
    bool has_end_ = false;  ///< the other side has closed, so what was read short is not all there is to read

   private:
    friend class ready_sockets;
  };

  /// Of one turn, as for the streams of a lane (`lane_turns`). Measured beside 500 us, with which a lane that is overloaded does less of
  /// both.
  static constexpr std::chrono::microseconds turn{100};

  /// Throws boost::system::system_error when the system has no descriptor left.
  explicit ready_sockets(asio::io_context& context);
  ready_sockets(const ready_sockets&) = delete;
  ready_sockets& operator=(const ready_sockets&) = delete;

  /// Begins to wait. Once.
  void start();

  /// Calls `who` whenever `descriptor`, which must not block, stirs, until it is closed. False when the system does not allow it.
  /// Precondition: the descriptor is closed before the client is destroyed.
  [[nodiscard]] bool watch(int descriptor, client& who) noexcept;

  /// Calls `who` again soon, behind those that are waiting.
  void again(client& who);

  /// Calls those that have stirred by now, for a `turn`, unless they are about to be called anyway. For who keeps the lane from its own
  /// wait, see `lane_turns`. After `start`; not from `on_ready`.
  void look();

 private:
  using queue = boost::intrusive::list<client, boost::intrusive::constant_time_size<false>>;

  bool collect() noexcept;
  void serve();
  void wait();
  void go_on();

  asio::io_context& context_;
  // Whoever finds no memory for one of them would leave the lane's sockets alone for good.
  const std::shared_ptr<handler_place> turn_place_ = std::make_shared<handler_place>();
  const std::shared_ptr<handler_place> wait_place_ = std::make_shared<handler_place>();
  asio::posix::stream_descriptor epoll_;
  queue waiting_;
  bool is_serving_ = false;  ///< or will be, by a handler that is on its way
  bool is_waiting_ = false;  ///< for the epoll to stir
};

}  // namespace kvc::net
