// Membership of MP servers: /instances.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include "net/coordinator_context.hpp"
#include "net/coordinator_tables.hpp"
#include "net/http_message.hpp"
#include "net/json_tree.hpp"

namespace kvc::net {

/// (Contract of all: spec coordinator-api, "Membership and health".) Home lane, and never waiting, but for the list.

/// POST /instances. `random`: two times 64 random bits, for servers that name no id.
[[nodiscard]] http_reply add_instance_reply(coordinator_tables& tables, const tape_value& body, std::uint64_t high, std::uint64_t low,
                                            std::chrono::steady_clock::time_point now);
/// PUT /instances/{id}/heartbeat.
[[nodiscard]] http_reply heartbeat_reply(coordinator_tables& tables, std::string_view instance_id,
                                         std::chrono::steady_clock::time_point now);
/// DELETE /instances/{id}.
[[nodiscard]] http_reply remove_instance_reply(coordinator_tables& tables, std::string_view instance_id);
/// GET /instances, of any number of servers: in turns of the home lane, and a long list while it is sent. On any lane, `here`. A server
/// that goes meanwhile may be in it or not, one that comes is not, and nobody is in it twice.
[[nodiscard]] asio::awaitable<http_reply> list_instances_reply(coordinator_context& context, lane& here);

}  // namespace kvc::net
