// Usage beside quotas, for one salt or for all: what operators ask for.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/quota.hpp"
#include "core/usage.hpp"

namespace kvc::core {

/// One salt's row.
struct usage_row {
  std::string_view salt;
  std::optional<double> quota_bytes;  ///< absent: no quota of its own
  std::uint64_t used_bytes = 0;
};

/// The row of a salt, also of one that nobody has heard of.
[[nodiscard]] usage_row usage_of(std::string_view salt, const usage_ledger& usage, const quota_table& quotas);

/// Calls `visit(row)` for each salt that has bytes or a quota, in order of code points. Salts are valid until either table changes.
/// Visits rows in one walk over two sorted tables; no copy, no sorting.
template <class Visit>
void each_usage_row(const usage_ledger& usage, const quota_table& quotas, Visit visit) {
  const salt_table& salts = usage.keys().salts();
  auto quota = quotas.all().begin();
  const auto quotas_end = quotas.all().end();
  for (const auto& [name, id] : salts.by_name()) {
    const std::uint64_t used = salts[id].bytes;
    if (used == 0) continue;  // as with a salt of empty objects only
    for (; quota != quotas_end && quota->first < name; ++quota) visit(usage_row{quota->first, quota->second, 0});
    usage_row row{.salt = name, .quota_bytes = std::nullopt, .used_bytes = used};
    if (quota != quotas_end && quota->first == name) row.quota_bytes = (quota++)->second;
    visit(row);
  }
  for (; quota != quotas_end; ++quota) visit(usage_row{quota->first, quota->second, 0});
}

}  // namespace kvc::core
