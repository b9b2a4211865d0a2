// Byte budgets per cache salt, in the arithmetic of the service that clients know.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/errc.hpp"

namespace kvc::core {

/// Where cached objects lie, as quotas name it. Only `l2`, the storage all servers share, has quotas.
enum class cache_tier : std::uint8_t { l1, l2, all };
[[nodiscard]] std::string_view to_string(cache_tier tier) noexcept;
/// Lower case only; absent for other words.
[[nodiscard]] std::optional<cache_tier> parse_cache_tier(std::string_view word) noexcept;

/// The salt a path segment stands for: `_default` is the empty one.
[[nodiscard]] constexpr std::string_view salt_of_segment(std::string_view segment) noexcept {
  return segment == "_default" ? std::string_view{} : segment;
}

/// Bytes as GiB (1024^3), rounded once.
[[nodiscard]] constexpr double gib_of_bytes(double bytes) noexcept {
  return bytes / 1'073'741'824.0;
}

/// A limit in GiB as whole bytes, truncated toward zero. Kept as a number with a fraction since it may be beyond 2^64 and is exact all the
/// same. Errors: `quota_limit_invalid` for what is negative, not a number, or infinite in bytes.
[[nodiscard]] result<double> quota_bytes_of_gib(double gib);

/// Quotas of salts, and what holds for salts without one.
///
/// A salt without a quota has the default limit: 0 bytes unless told otherwise, which lets only listed salts keep anything; without a
/// default such salts are exempt. (Source: spec coordinator-api, sections 2 and 9.) Pure; one lane.
class quota_table {
 public:
  struct limits {
    std::size_t quotas = 1'000'000;
    std::size_t salt_bytes = std::size_t{64} << 20;  ///< of all salts: in a path they may have any length
  };

  quota_table() : quota_table(limits{}) {}
  explicit quota_table(const limits& with) : limits_(with) {}

  /// Creates or replaces. `limit_bytes` is from `quota_bytes_of_gib`. Errors: `quotas_exhausted`.
  result<void> set(std::string_view salt, double limit_bytes);
  /// False when there was none.
  bool remove(std::string_view salt);
  /// The salt's own quota in bytes; absent when it has none.
  [[nodiscard]] std::optional<double> find(std::string_view salt) const;

  /// What holds for a salt: its quota, else the default; absent: exempt from eviction.
  [[nodiscard]] std::optional<double> limit_of(std::string_view salt) const;
  void set_default_limit(std::optional<double> bytes) noexcept { default_bytes_ = bytes; }
  [[nodiscard]] std::optional<double> default_limit() const noexcept { return default_bytes_; }

  /// Salt to bytes, in order of the names' bytes.
  [[nodiscard]] const std::map<std::string, double, std::less<>>& all() const noexcept { return quotas_; }

 private:
  limits limits_;
  std::size_t salt_bytes_ = 0;
  std::optional<double> default_bytes_ = 0.0;
  std::map<std::string, double, std::less<>> quotas_;
};

}  // namespace kvc::core
