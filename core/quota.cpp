#include "core/quota.hpp"

#include <cmath>

namespace kvc::core {

std::string_view to_string(cache_tier tier) noexcept {
  switch (tier) {
    case cache_tier::l1: return "l1";
    case cache_tier::l2: return "l2";
    case cache_tier::all: return "all";
  }
  return "l2";
}

std::optional<cache_tier> parse_cache_tier(std::string_view word) noexcept {
  for (const cache_tier each : {cache_tier::l1, cache_tier::l2, cache_tier::all}) {
    if (word == to_string(each)) return each;
  }
  return std::nullopt;
}

result<double> quota_bytes_of_gib(double gib) {
  const double bytes = std::trunc(gib * 1'073'741'824.0);
  if (!(gib >= 0) || !std::isfinite(bytes)) return make_error_code(errc::quota_limit_invalid);
  return bytes;
}

result<void> quota_table::set(std::string_view salt, double limit_bytes) {
  if (const auto known = quotas_.find(salt); known != quotas_.end()) {
    known->second = limit_bytes;
    return {};
  }
  if (quotas_.size() >= limits_.quotas || salt_bytes_ + salt.size() > limits_.salt_bytes) return make_error_code(errc::quotas_exhausted);
  quotas_.emplace(salt, limit_bytes);
  salt_bytes_ += salt.size();
  return {};
}

bool quota_table::remove(std::string_view salt) {
  const auto known = quotas_.find(salt);
  if (known == quotas_.end()) return false;
  salt_bytes_ -= known->first.size();
  quotas_.erase(known);
  return true;
}

std::optional<double> quota_table::find(std::string_view salt) const {
  const auto known = quotas_.find(salt);
  if (known == quotas_.end()) return std::nullopt;
  return known->second;
}

std::optional<double> quota_table::limit_of(std::string_view salt) const {
  const auto own = find(salt);
  return own ? own : default_bytes_;
}

}  // namespace kvc::core
