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

void promotion_gate::remember(std::deque<ended>& among, std::uint64_t object, entry& of, time_point until) {
  of.until = until;
  of.serial = next_serial_++;
  among.push_back({object, of.serial, until});
}

promotion_verdict promotion_gate::ask(std::uint64_t object, std::uint32_t backend, time_point now) {
  forget_old(now);
  if (const auto found = known_.find(object); found != known_.end()) {
    switch (found->second.at) {
      case phase::flying:
        return promotion_verdict::joined;
      case phase::done:
        return promotion_verdict::suppressed_recent;
      case phase::failed:
        return promotion_verdict::suppressed_failed;
    }
  }
  if (rests_until(backend, now)) return promotion_verdict::suppressed_pressure;
  if (flying_ >= rules_.in_flight) return promotion_verdict::suppressed_full;
  known_[object] = {.at = phase::flying, .backend = backend, .until = {}, .serial = next_serial_++};
  ++flying_;
  return promotion_verdict::started;
}

void promotion_gate::finished(std::uint64_t object, promotion_end how, time_point now) {
  const auto found = known_.find(object);
  if (found == known_.end() || found->second.at != phase::flying) return;
  --flying_;
  entry& of = found->second;
  if (how == promotion_end::done) {
    of.at = phase::done;
    if (of.backend < backends_.size()) backends_[of.backend] = {};
    remember(done_, object, of, now + rules_.dedup);
  } else {
    of.at = phase::failed;
    if (how == promotion_end::pressure) press(of.backend, now);
    remember(failed_, object, of, now + rules_.cooldown);
  }
  forget_old(now);
}

void promotion_gate::press(std::uint32_t backend, time_point now) {
  if (backend >= backends_.size()) backends_.resize(std::size_t{backend} + 1);
  pressure& of = backends_[backend];
  if (of.until > now) return;  // one refusal of many that were on their way together
  of.rest = of.rest.count() == 0 ? rules_.first_rest : std::min(of.rest * 2, rules_.longest_rest);
  of.until = now + of.rest;
}

void promotion_gate::forget(std::uint64_t object) {
  const auto found = known_.find(object);
  if (found == known_.end()) return;
  if (found->second.at == phase::flying) --flying_;
  known_.erase(found);
}

std::optional<promotion_gate::time_point> promotion_gate::rests_until(std::uint32_t backend, time_point now) const {
  if (backend >= backends_.size() || backends_[backend].until <= now) return std::nullopt;
  return backends_[backend].until;
}

}  // namespace kvc::core
