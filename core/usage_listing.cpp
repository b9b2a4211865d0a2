#include "core/usage_listing.hpp"

namespace kvc::core {

usage_row usage_of(std::string_view salt, const usage_ledger& usage, const quota_table& quotas) {
  return {.salt = salt, .quota_bytes = quotas.find(salt), .used_bytes = usage.bytes_of(salt)};
}

}  // namespace kvc::core
