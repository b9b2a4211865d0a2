// The tier that quota requests name: known words, of which only one has quotas.
#pragma once

#include <optional>

#include "core/quota.hpp"
#include "net/field_faults.hpp"
#include "net/http_message.hpp"
#include "net/json_tree.hpp"

namespace kvc::net {

/// The member `tier`, `l2` when it is absent. Nothing after a fault. Pure.
[[nodiscard]] std::optional<core::cache_tier> read_body_tier(const tape_value& body, const field_place& root, field_faults& faults);

/// 422 when the query's `tier` is no tier, 400 when it is one without quotas, else nothing. The last one counts. Pure.
[[nodiscard]] std::optional<http_reply> refuse_query_tier(const http_request& request);

/// 400 for a tier without quotas. Pure.
[[nodiscard]] http_reply wrong_tier_reply(core::cache_tier tier);

}  // namespace kvc::net
