// Usage beside quotas, for one salt or for all: what operators ask for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

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

/// How far a listing has come: up to and with this salt; absent before the first.
using usage_place = std::optional<std::string>;

/// Calls `visit(row)` for each salt that has bytes or a quota, in order of code points, in one walk over two sorted tables. Looks at `most`
/// salts from `place` on and moves it; true when there may be more. A visit that answers false has had enough for now: the next call goes
/// on behind its row. Long listings are made in slices; each row is then as it was in its slice. Salts in rows are valid until either table
/// changes.
template <class Visit>
bool some_usage_rows(const usage_ledger& usage, const quota_table& quotas, usage_place& place, std::size_t most, Visit visit) {
  const salt_table& salts = usage.keys().salts();
  auto used = place ? salts.by_name().upper_bound(*place) : salts.by_name().begin();
  auto quota = place ? quotas.all().upper_bound(*place) : quotas.all().begin();
  std::string_view last;
  bool has_enough = false;
  for (std::size_t seen = 0; seen < most && !has_enough; ++seen) {
    const bool has_used = used != salts.by_name().end();
    const bool has_quota = quota != quotas.all().end();
    if (!has_used && !has_quota) return false;
    usage_row row{.salt = has_used ? used->first : std::string_view(quota->first), .quota_bytes = std::nullopt, .used_bytes = 0};
    if (has_quota && quota->first <= row.salt) {
      row.salt = quota->first;
      row.quota_bytes = (quota++)->second;
    }
    if (has_used && used->first == row.salt) row.used_bytes = salts[(used++)->second].bytes;
    const bool is_listed = row.used_bytes != 0 || row.quota_bytes;  // a salt of empty objects only is not
    if constexpr (std::is_void_v<std::invoke_result_t<Visit&, const usage_row&>>) {
      if (is_listed) visit(row);
    } else {
      has_enough = is_listed && !visit(row);
    }
    last = row.salt;
  }
  if (most != 0) place.emplace(last);
  return true;
}

/// All rows at once.
template <class Visit>
void each_usage_row(const usage_ledger& usage, const quota_table& quotas, Visit visit) {
  usage_place place;
  (void)some_usage_rows(usage, quotas, place, std::numeric_limits<std::size_t>::max(), visit);
}

}  // namespace kvc::core
