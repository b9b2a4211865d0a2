// Has a lane look at something, soon, whoever asks for it and however often.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

namespace kvc::net {

namespace asio = boost::asio;

/// Rings on its lane once for all who have rung by then, so that no more than one ring is on its way.
///
/// Guarantee: what was done before `ring` is seen by a call that begins afterwards, but for want of memory: then nobody is called, and
/// whoever may be told this way has to look by himself now and then.
/// Life cycle: held by shared_ptr; kept by the ring that is on its way. The context outlives those who ring.
class lane_bell : public std::enable_shared_from_this<lane_bell> {
 public:
  explicit lane_bell(asio::io_context& home) : home_(&home) {}
  lane_bell(const lane_bell&) = delete;
  lane_bell& operator=(const lane_bell&) = delete;

  /// Who is called, until its owner has gone. Lane: the bell's.
  void answer_with(std::weak_ptr<std::function<void()>> who) noexcept { who_ = std::move(who); }

  /// Any lane.
  void ring() noexcept {
    if (is_ringing_.exchange(true, std::memory_order_acq_rel)) return;
    try {
      asio::post(*home_, [self = shared_from_this()] {
        self->is_ringing_.exchange(false, std::memory_order_acq_rel);  // reads what the last one has written, and so all before it
        if (const auto call = self->who_.lock()) (*call)();
      });
    } catch (const std::exception&) {
      is_ringing_.store(false, std::memory_order_release);
    }
  }

 private:
  asio::io_context* home_;
  std::weak_ptr<std::function<void()>> who_;
  std::atomic<bool> is_ringing_{false};
};

}  // namespace kvc::net
