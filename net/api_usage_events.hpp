// What MP servers tell about objects: /quota/events, and the later form of the same, /events.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "net/coordinator_context.hpp"
#include "net/event_batches.hpp"
#include "net/http_message.hpp"
#include "net/usage_batch.hpp"

namespace kvc::net {

/// POST /quota/events, read without faults and of tier l2: applied on the home lane in slices, in the order of the batch. (Contract: spec
/// coordinator-api, "Quota", with section 9.) The batch and the texts it views outlive the call.
[[nodiscard]] asio::awaitable<http_reply> record_usage_events(coordinator_context& context, lane& here, const usage_batch& batch);
/// The same in one go. Home lane.
[[nodiscard]] http_reply record_usage_events_now(coordinator_context& context, const usage_batch& batch);

/// POST /events and /directory/events, read: batches with an incarnation, so that none counts twice and none of an ended process at all.
/// Batches about other tiers than l2, and about other things than stores, accesses and deletions, are admitted and have no effect.
/// (Contract: spec coordinator-api, section 9.) The batches and the texts they view outlive the call.
[[nodiscard]] asio::awaitable<http_reply> record_event_batches(coordinator_context& context, lane& here, const event_batches& all);

}  // namespace kvc::net
