#include "perf/sim_mp_world.hpp"

#include <utility>

#include "core/hex.hpp"

namespace kvc::sim {

mp_world::mp_world(net::lane& where, const mp_options& with)
    : home(where),
      chosen(with),
      random(with.seed),
      news(where.context, boost::asio::steady_timer::time_point::max()),
      release(where.context, boost::asio::steady_timer::time_point::max()) {}

bool mp_world::happens(std::initializer_list<mp_fault> possible, mp_fault& which) {
  if (is_quiet || chosen.faults == 0 || random.unit() >= chosen.fault_rate) return false;
  std::vector<mp_fault> allowed;
  for (const mp_fault each : possible) {
    if ((chosen.faults >> static_cast<unsigned>(each) & 1U) != 0) allowed.push_back(each);
  }
  if (allowed.empty()) return false;
  which = allowed[random.below(static_cast<std::uint32_t>(allowed.size()))];
  ++counts.faults[static_cast<std::size_t>(which)];
  return true;
}

void mp_world::meet_coordinator() {
  ++coordinator_changes;
  ++counts.coordinator_restarts;
  model = {};
  resync_is_over = false;
  last_page_served = false;
}

core::owned_object_key mp_world::new_key() {
  core::owned_object_key key;
  for (int word = 0; word < 4; ++word) {
    const std::uint64_t bits = random.next();
    for (unsigned shift = 0; shift < 64; shift += 8) key.hash.push_back(static_cast<char>(bits >> shift & 0xFFU));
  }
  key.model = chosen.model;
  // As four ranks of one host pack it. (Form: spec coordinator-api, section 2.)
  const auto rank = static_cast<std::int64_t>(random.below(4));
  key.kv_rank = std::int64_t{4} << 24 | rank << 16 | std::int64_t{4} << 8 | rank;
  key.salt = salt_name(random.below(chosen.salts));
  return key;
}

std::string mp_world::salt_name(std::size_t index) const {
  return index == 0 ? std::string() : "tenant-" + std::to_string(index);
}

void mp_world::complain(std::string what) {
  constexpr std::size_t most = 20;
  ++complaint_count_;
  if (complaints_.size() < most) complaints_.push_back(std::move(what));
}

void mp_world::begin_drain() {
  is_draining_ = true;
  places_.clear();
  left_to_drain_ = 0;
  for (const std::string& salt : model.salts()) {
    std::size_t position = 0;
    for (const core::owned_object_key& key : model.order(salt)) {
      const bool is_expected = !model.may_be_in_flight(key);
      places_[key] = {.position = position++, .is_expected = is_expected};
      left_to_drain_ += is_expected ? 1 : 0;
    }
  }
}

void mp_world::note_deletion(const std::vector<core::owned_object_key>& keys) {
  if (is_draining_) {
    std::map<std::string, std::size_t> reached;  // per salt, one behind the last key
    for (const core::owned_object_key& key : keys) {
      const auto found = places_.find(key);
      if (found == places_.end()) {
        complain("asked to delete a key that nobody ever told of, or that was deleted, in salt '" + key.salt + "'");
        continue;
      }
      drain_place& place = found->second;
      std::size_t& behind = reached[key.salt];
      if (place.position < behind) complain("keys of salt '" + key.salt + "' are evicted in another order than they were used");
      behind = place.position + 1;
      left_to_drain_ -= place.is_expected ? 1 : 0;
      place.is_expected = false;
    }
  }
  for (const core::owned_object_key& key : keys) model.ask(key);
  news.cancel();
}

}  // namespace kvc::sim
