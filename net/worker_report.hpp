// Who holds how much: workers, each of which may have several streams, and streams that speak for several workers.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <vector>

#include "core/medium.hpp"
#include "core/stream_status.hpp"
#include "net/answer_writer.hpp"
#include "net/api_context.hpp"
#include "net/http_message.hpp"

namespace kvc::net {

/// Blocks per medium.
using block_counts = std::array<std::uint64_t, core::max_media>;

[[nodiscard]] block_counts blocks_of(const core::stream_status& status);
/// Writes `blocks`: the media everybody has, and others where there is something.
void write_blocks(answer_writer& out, const core::medium_table& media, const block_counts& blocks);

/// The registered publishers a request is about: all, or those of `?instance_id=`.
[[nodiscard]] std::vector<const service_info*> chosen_services(const fleet_view& fleet, const http_request& request);

/// GET /workers: one entry per tenant, instance and rank, those of ranks a multiplexed stream speaks for included; `?instance_id=` leaves
/// one instance. Any lane.
[[nodiscard]] http_reply list_workers(const api_context& context, const http_request& request, std::chrono::steady_clock::time_point now);

}  // namespace kvc::net
