#include "core/resync_fsm.hpp"

#include <algorithm>
#include <vector>

namespace kvc::core {

resync_fsm::action resync_fsm::end(phase how) {
  phase_ = how;
  token_.reset();
  return action::finish;
}

resync_fsm::action resync_fsm::ask_someone(time_point now, servers registered) {
  if (asked_.size() >= limits_.max_servers) return end(phase::gave_up);
  std::vector<const std::string*> fresh;
  for (const std::string& each : registered) {
    if (!asked_.contains(each)) fresh.push_back(&each);
  }
  if (fresh.empty()) {
    if (now - began_ >= limits_.max_wait) return end(phase::gave_up);
    phase_ = phase::waiting;
    return action::wait;
  }
  server_ = *fresh[static_cast<std::size_t>(random_() % fresh.size())];
  asked_.insert(server_);
  token_.reset();
  milestone_.reset();
  since_milestone_ = 0;
  milestone_span_ = 1;
  phase_ = phase::listing;
  return action::request;
}

resync_fsm::action resync_fsm::on_tick(time_point now, servers registered) {
  if (phase_ == phase::waiting) return ask_someone(now, registered);
  return phase_ == phase::listing ? action::request : action::finish;
}

/// Whether `next` was named before in this listing. One earlier token is kept and replaced at distances that double (R. Brent's method):
/// any circle is found after at most three times round, in the memory of one token.
bool resync_fsm::goes_round(std::string_view next) {
  if (milestone_ && *milestone_ == next) return true;
  if (!milestone_ || ++since_milestone_ == milestone_span_) {
    if (milestone_) milestone_span_ *= 2;
    milestone_ = std::string(next);
    since_milestone_ = 0;
  }
  return false;
}

resync_fsm::action resync_fsm::on_page(time_point now, std::optional<std::string_view> next, servers registered) {
  if (phase_ != phase::listing) return action::finish;
  ++pages_;
  if (!next) return end(phase::complete);
  if (is_out_of_time(now) || pages_ >= limits_.max_pages) return end(phase::gave_up);
  if (goes_round(*next)) {
    ++failed_;
    return ask_someone(now, registered);
  }
  token_ = std::string(*next);
  return action::request;
}

resync_fsm::action resync_fsm::on_failure(time_point now, servers registered) {
  if (phase_ != phase::listing) return action::finish;
  ++failed_;
  if (is_out_of_time(now)) return end(phase::gave_up);
  return ask_someone(now, registered);
}

}  // namespace kvc::core
