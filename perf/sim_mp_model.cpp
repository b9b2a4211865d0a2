#include "perf/sim_mp_model.hpp"

namespace kvc::sim {

using core::owned_object_key;

void mp_model::change_bytes(const std::string& salt, std::uint64_t less, std::uint64_t more) {
  std::uint64_t& sum = bytes_[salt];
  sum = sum - less + more;
  if (sum == 0) bytes_.erase(salt);
}

void mp_model::touch(place& known, const owned_object_key& key) {
  salt_order& order = orders_[key.salt];
  order.used.splice(order.used.end(), known.is_seeded ? order.seeded : order.used, known.at);
  known.is_seeded = false;
}

void mp_model::store(const owned_object_key& key, std::uint64_t bytes) {
  asked_.erase(key);
  const auto known = places_.find(key);
  if (known != places_.end()) {
    touch(known->second, key);
    change_bytes(key.salt, known->second.bytes, bytes);
    known->second.bytes = bytes;
    return;
  }
  keys& used = orders_[key.salt].used;
  places_[key] = {.at = used.insert(used.end(), key), .bytes = bytes};
  change_bytes(key.salt, 0, bytes);
}

void mp_model::remove(const owned_object_key& key) {
  removed_.insert(key);
  asked_.erase(key);
  const auto known = places_.find(key);
  if (known == places_.end()) return;
  salt_order& order = orders_[key.salt];
  (known->second.is_seeded ? order.seeded : order.used).erase(known->second.at);
  if (order.seeded.empty() && order.used.empty()) orders_.erase(key.salt);
  change_bytes(key.salt, known->second.bytes, 0);
  places_.erase(known);
}

void mp_model::apply(const std::vector<mp_event>& events) {
  for (const mp_event& each : events) {
    switch (each.what) {
      case mp_event::kind::store: store(each.key, each.bytes); break;
      case mp_event::kind::lookup:
        if (const auto known = places_.find(each.key); known != places_.end()) touch(known->second, each.key);
        break;
      case mp_event::kind::remove: remove(each.key); break;
    }
  }
}

void mp_model::seed(const owned_object_key& key, std::uint64_t bytes) {
  if (places_.contains(key) || removed_.contains(key)) return;
  keys& seeded = orders_[key.salt].seeded;
  places_[key] = {.at = seeded.insert(seeded.end(), key), .is_seeded = true, .bytes = bytes};
  change_bytes(key.salt, 0, bytes);
}

bool mp_model::is_told(const owned_object_key& key) const {
  const auto known = places_.find(key);
  return known != places_.end() && !known->second.is_seeded;
}

std::uint64_t mp_model::total_bytes() const noexcept {
  std::uint64_t sum = 0;
  for (const auto& [salt, bytes] : bytes_) sum += bytes;
  return sum;
}

std::vector<owned_object_key> mp_model::order(const std::string& salt) const {
  const auto found = orders_.find(salt);
  if (found == orders_.end()) return {};
  std::vector<owned_object_key> all(found->second.seeded.begin(), found->second.seeded.end());
  all.insert(all.end(), found->second.used.begin(), found->second.used.end());
  return all;
}

std::vector<std::string> mp_model::salts() const {
  std::vector<std::string> names;
  for (const auto& [salt, order] : orders_) names.push_back(salt);
  return names;
}

}  // namespace kvc::sim
