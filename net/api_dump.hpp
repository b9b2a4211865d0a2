// The handler that tells everything some workers hold: GET /dump.
#pragma once

#include <atomic>
#include <cstddef>

#include "net/api_context.hpp"
#include "net/http_message.hpp"

namespace kvc::net {

/// The blocks of the workers and partitions that the query parameters choose, streamed: `instance_id`, `tenant_id`, `dp_rank` choose
/// workers, those of further ranks of a stream included; `tenant_id`, `model`, `lora_name`, `cache_salt`, `block_size`, under any of the
/// names that registrations and queries know, partitions. What is absent may be anything; an empty `lora_name` is the base model. JSON is a
/// list of the standard's events (dump_events.hpp), MessagePack the compact form (dump_encode.hpp). Writers go on meanwhile, see
/// core::lane_blocks::dump_some. Refused: numbers that are none (400), workers nobody has registered (404), more than a few dumps at once
/// (503). `running` counts those; it and what the context refers to outlive the reply. Any lane.
[[nodiscard]] http_reply dump_blocks(const api_context& context, std::atomic<std::size_t>& running, const http_request& request);

}  // namespace kvc::net
