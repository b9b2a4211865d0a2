// Quotas and usage: /quota.
#pragma once

#include <optional>
#include <string_view>

#include <boost/asio/awaitable.hpp>

#include "core/quota.hpp"
#include "net/coordinator_context.hpp"
#include "net/field_faults.hpp"
#include "net/http_message.hpp"
#include "net/json_tree.hpp"

namespace kvc::net {

/// A quota as it is wanted.
struct quota_order {
  double limit_gib = 0;  ///< perhaps no limit at all: infinite, or not a number
  core::cache_tier tier = core::cache_tier::l2;
};
/// The same for salts without one; absent: they are exempt.
struct default_quota_order {
  std::optional<double> limit_gib;
};
/// Each reads a body; what is wrong is in `faults`. Pure; takes time by the size of the body.
void read_quota(const tape_value& body, quota_order& into, field_faults& faults);
void read_default_quota(const tape_value& body, default_quota_order& into, field_faults& faults);

/// (Contract of all: spec coordinator-api, "Quota", with section 9.) Home lane, but for the list. `segment`: the salt as the path has it.

/// PUT /quota/{cache_salt}.
[[nodiscard]] http_reply set_quota_reply(coordinator_tables& tables, std::string_view segment, const quota_order& wanted);
/// GET and DELETE /quota/{cache_salt}.
[[nodiscard]] http_reply read_usage_reply(const coordinator_tables& tables, std::string_view segment, const http_request& request);
[[nodiscard]] http_reply remove_quota_reply(coordinator_tables& tables, std::string_view segment, const http_request& request);
/// GET and PUT /quota/config.
[[nodiscard]] http_reply read_default_quota_reply(const coordinator_tables& tables);
[[nodiscard]] http_reply set_default_quota_reply(coordinator_tables& tables, const default_quota_order& wanted);
/// GET /quota, of any number of salts: in turns, each row as it was in its turn, and a long list while it is sent. The total is of the
/// beginning. On any lane, `here`.
[[nodiscard]] asio::awaitable<http_reply> list_usage_reply(coordinator_context& context, lane& here, const http_request& request);

}  // namespace kvc::net
