// What is found out about a stream's objects, on its way to the stream.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

#include "net/handler_place.hpp"
#include "net/index_inlet.hpp"

namespace kvc::net {

class lane;

/// The way to one inlet from every lane.
///
/// Problem: nothing of what is told may be left out, as nobody would tell again of an object that has gone; and a lane that is busy, or a
/// stream in the middle of a long batch, takes it later than it comes. Story: what has been sent counts until it has been applied. Whoever
/// can wait does so while the inlet `is_behind`. Where it is told too much all the same, or there is no memory to tell it, it loses track:
/// what is sent then is thrown away, and it begins anew with what it holds. Bounds: `most_keys` for one inlet, in as many messages at most,
/// and a last one that says so, for which the memory is there.
/// Life cycle: made when the inlet attaches; kept by what is on its way. Thread-safety: all members from any lane.
class inlet_mail : public std::enable_shared_from_this<inlet_mail> {
 public:
  static constexpr std::size_t most_keys = 262'144;
  static constexpr std::size_t many_keys = most_keys / 2;

  /// `home` is the inlet's lane, which outlives what is posted there.
  inlet_mail(lane& home, std::weak_ptr<index_inlet> to) : home_(&home), to_(std::move(to)) {}
  inlet_mail(const inlet_mail&) = delete;
  inlet_mail& operator=(const inlet_mail&) = delete;

  [[nodiscard]] lane& home() const noexcept { return *home_; }
  [[nodiscard]] const std::weak_ptr<index_inlet>& to() const noexcept { return to_; }

  /// Tells the inlet, or has it lose track.
  void send(const changed_objects& what) noexcept;
  /// Something has changed that it cannot be told of.
  void lose_track() noexcept;
  /// Whether whoever has more to tell should give it some time.
  [[nodiscard]] bool is_behind() const noexcept {
    return !has_lost_track_.load(std::memory_order_relaxed) && waiting_keys_.load(std::memory_order_relaxed) > many_keys;
  }

 private:
  [[nodiscard]] std::shared_ptr<const void> count(std::size_t keys);

  lane* home_;
  std::weak_ptr<index_inlet> to_;
  std::atomic<std::size_t> waiting_keys_{0};
  std::atomic<bool> has_lost_track_{false};  ///< and the message that says so is on its way; it owns the place below
  const std::shared_ptr<handler_place> last_place_ = std::make_shared<handler_place>();
};

}  // namespace kvc::net
