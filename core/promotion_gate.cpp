#include "core/promotion_gate.hpp"

#include <algorithm>
#include <array>

namespace kvc::core {

/// Lets go of what has ended long enough ago, and of the oldest when there is too much.
void promotion_gate::forget_old(time_point now) {
  for (std::deque<ended>* const each : std::array{&done_, &failed_}) {
    while (!each->empty() && (each->front().until <= now || done_.size() + failed_.size() > rules_.remembered)) {
      const auto found = known_.find(each->front().object);
      if (found != known_.end() && found->second.serial == each->front().serial) known_.erase(found);
      each->pop_front();
    }
  }
}

/// Throws before anything has changed.
void promotion_gate::remember(std::deque<ended>& among, std::uint64_t object, entry& of, time_point until) {
  among.push_back({object, next_serial_, until});
  of.until = until;
  of.serial = next_serial_++;
}

promotion_gate::backend_state& promotion_gate::state_of(std::uint32_t backend) {
  if (backend >= backends_.size()) backends_.resize(std::size_t{backend} + 1);
  return backends_[backend];
}

std::size_t promotion_gate::share_of(const backend_state& one) const noexcept {
  const std::size_t others = flying_ - one.flying;
  const std::size_t left = rules_.in_flight > others ? rules_.in_flight - others : 0;
  return sharing_ > 1 ? (left + 1) / 2 : left;
}

promotion_verdict promotion_gate::ask(std::uint64_t object, std::uint32_t backend, time_point now, std::size_t most) {
  forget_old(now);
  backend_state& of = state_of(backend);
  if (const auto found = known_.find(object); found != known_.end()) {
    if (found->second.at == phase::flying) return promotion_verdict::joined;
    const bool is_of_today = found->second.era == of.era;
    if (is_of_today) return found->second.at == phase::done ? promotion_verdict::suppressed_recent : promotion_verdict::suppressed_failed;
  }
  if (of.until > now) return promotion_verdict::suppressed_pressure;
  if (of.flying >= std::min(share_of(of), most)) return promotion_verdict::suppressed_full;
  known_[object] = {.at = phase::flying, .backend = backend, .until = {}, .serial = next_serial_++, .era = 0};
  ++flying_;
  ++of.flying;
  return promotion_verdict::started;
}

void promotion_gate::land(const entry& of) {
  --flying_;
  --state_of(of.backend).flying;
}

void promotion_gate::finished(std::uint64_t object, promotion_end how, time_point now) {
  const auto found = known_.find(object);
  if (found == known_.end() || found->second.at != phase::flying) return;
  if (how == promotion_end::given_up) return forget(object);
  entry& of = found->second;
  const bool is_done = how == promotion_end::done;
  is_done ? remember(done_, object, of, now + rules_.dedup) : remember(failed_, object, of, now + rules_.cooldown);
  of.at = is_done ? phase::done : phase::failed;
  of.era = state_of(of.backend).era;
  land(of);
  if (is_done) ease(state_of(of.backend), now);
  if (how == promotion_end::pressure) press(of.backend, now);
  forget_old(now);
}

void promotion_gate::press(std::uint32_t backend, time_point now) {
  backend_state& of = state_of(backend);
  if (of.until > now) return;  // one refusal of many that were on their way together
  of.rest = of.rest.count() == 0 ? rules_.first_rest : std::min(of.rest * 2, rules_.longest_rest);
  of.until = now + of.rest;
  of.eased = of.until;
}

/// A success while the backend rests is of those that were on their way together with the refused one.
void promotion_gate::ease(backend_state& one, time_point now) {
  if (one.rest.count() == 0 || one.eased > now) return;
  one.rest /= 2;
  if (one.rest < rules_.first_rest) one.rest = {};
  one.eased = now + one.rest;
}

void promotion_gate::forget(std::uint64_t object) {
  const auto found = known_.find(object);
  if (found == known_.end()) return;
  if (found->second.at == phase::flying) land(found->second);
  known_.erase(found);
}

void promotion_gate::forget_ends(std::uint32_t backend) {
  ++state_of(backend).era;
}

void promotion_gate::forget_backend(std::uint32_t backend) {
  forget_ends(backend);
  backend_state& of = state_of(backend);
  of.rest = {};
  of.until = {};
}

void promotion_gate::set_sharing(std::uint32_t backend, bool does_share) {
  backend_state& of = state_of(backend);
  if (of.does_share == does_share) return;
  of.does_share = does_share;
  does_share ? ++sharing_ : --sharing_;
}

std::optional<promotion_gate::time_point> promotion_gate::rests_until(std::uint32_t backend, time_point now) const {
  if (backend >= backends_.size() || backends_[backend].until <= now) return std::nullopt;
  return backends_[backend].until;
}

}  // namespace kvc::core
