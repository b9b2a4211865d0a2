#include "net/inlet_mail.hpp"

#include <exception>

#include <boost/asio/post.hpp>

#include "net/runtime.hpp"

namespace kvc::net {

/// Null: there is no room for them.
std::shared_ptr<const void> inlet_mail::count(std::size_t keys) {
  if (waiting_keys_.fetch_add(keys, std::memory_order_relaxed) + keys > most_keys) {
    waiting_keys_.fetch_sub(keys, std::memory_order_relaxed);
    return nullptr;
  }
  // Also when there is no memory for this, it is called.
  return {this, [self = shared_from_this(), keys](const void*) { self->waiting_keys_.fetch_sub(keys, std::memory_order_relaxed); }};
}

void inlet_mail::send(const changed_objects& what) noexcept {
  if (has_lost_track_.load(std::memory_order_acquire)) return;  // all of what it holds is looked at anew behind this
  try {
    changed_objects mine = what;
    mine.until_applied = count(mine.keys.size());
    if (mine.until_applied) {
      asio::post(home_->context, [inlet = to_, mine = std::move(mine)]() mutable {
        if (const auto alive = inlet.lock()) alive->take_changes(std::move(mine));
      });
      return;
    }
  } catch (const std::exception&) {  // there is no memory
  }
  lose_track();
}

void inlet_mail::lose_track() noexcept {
  if (has_lost_track_.exchange(true, std::memory_order_acq_rel)) return;
  asio::post(home_->context, placed_handler{last_place_, [self = shared_from_this()] {
                                              self->has_lost_track_.store(false, std::memory_order_release);
                                              if (const auto alive = self->to_.lock()) alive->lose_track();
                                            }});
}

}  // namespace kvc::net
