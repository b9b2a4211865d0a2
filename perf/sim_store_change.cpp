#include "perf/sim_store_change.hpp"

namespace kvc::sim {

std::string store_location(const store_replica& replica, std::string_view key) {
  const std::string host = "10.7.0." + std::to_string(replica.segment + 1);
  switch (replica.medium) {
    case store_medium::memory: return host + ":17812";
    case store_medium::local_disk: return host + ":50052";
    case store_medium::disk: break;
  }
  return "/mnt/kv/" + std::string(key);
}

std::vector<store_replica> complete_ones(const std::vector<store_replica>& among) {
  std::vector<store_replica> chosen;
  for (const store_replica& each : among) {
    if (each.is_complete) chosen.push_back(each);
  }
  return chosen;
}

}  // namespace kvc::sim
