// Membership of MP servers: /instances.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include "core/mp_registry.hpp"
#include "net/coordinator_context.hpp"
#include "net/coordinator_tables.hpp"
#include "net/field_faults.hpp"
#include "net/http_message.hpp"
#include "net/json_tree.hpp"

namespace kvc::net {

/// Reads the body of POST /instances; what is wrong is in `faults`. An id that is not named is empty. Pure; takes time by the size of the
/// body.
void read_instance(const tape_value& body, core::mp_server& into, field_faults& faults);

/// (Contract of all: spec coordinator-api, "Membership and health".) Home lane, and never waiting, but for the list.

/// POST /instances, read without faults. `high` and `low` are 64 random bits each, for a server that names no id.
[[nodiscard]] http_reply add_instance_reply(coordinator_tables& tables, core::mp_server server, std::uint64_t high, std::uint64_t low,
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
