// Texts between MP servers and the coordinator, both ways, in the form that LMCache writes them. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "perf/sim_mp_storage.hpp"

namespace kvc::sim {

/// Which route a server tells its events on: `quota` as servers up to v0.5.2 do, numbered only; `events` as newer ones, with an
/// incarnation.
enum class mp_dialect : std::uint8_t { quota, events };

/// What a server says about itself.
struct mp_identity {
  std::string instance_id;
  std::string ip;
  std::uint16_t port = 0;
  std::uint64_t incarnation = 1;  ///< rises with every restart
};

/// Body of POST /instances: all fields, as the client sends them.
[[nodiscard]] std::string mp_registration(const mp_identity& who);

/// Body of POST /quota/events.
[[nodiscard]] std::string mp_quota_batch(std::string_view instance_id, std::uint64_t number, std::span<const mp_event> events);

/// How many batches `mp_event_batches` makes of these events: one for each stretch of one kind.
[[nodiscard]] std::size_t mp_batch_count(std::span<const mp_event> events) noexcept;
/// Body of POST /events; batches are numbered from `first_number` on.
[[nodiscard]] std::string mp_event_batches(const mp_identity& who, std::uint64_t first_number, std::span<const mp_event> events);

/// Body of an answer to GET /cache/objects. With `leave_out_a_size` the first entry lacks it, as a broken adapter might do.
[[nodiscard]] std::string mp_listing(const mp_page& page, bool leave_out_a_size);

/// The opaque token of the page that begins behind a key, and back; nothing when it is no token of ours.
[[nodiscard]] std::string mp_token_of_key(const core::owned_object_key& key);
[[nodiscard]] std::optional<core::owned_object_key> mp_key_of_token(std::string_view token);

/// The keys that the body of DELETE /cache/objects names; nothing when it is none.
[[nodiscard]] std::optional<std::vector<core::owned_object_key>> mp_read_deletion(std::string_view body);

/// Bytes per salt from an answer of GET /quota, salts without bytes left out; nothing when it is none.
[[nodiscard]] std::optional<std::map<std::string, std::uint64_t>> mp_read_usage(std::string_view body);

/// A whole number or a text of a JSON object; nothing when it is absent, something else, or the body no object.
[[nodiscard]] std::optional<std::uint64_t> mp_read_number(std::string_view body, std::string_view member);
[[nodiscard]] std::optional<std::string> mp_read_text(std::string_view body, std::string_view member);

/// A series without labels from an exposition (GET /metrics); nothing when it is not there.
[[nodiscard]] std::optional<double> mp_read_metric(std::string_view page, std::string_view name);

/// Path segment of a salt: `_default` for the empty one, the rest percent-encoded.
[[nodiscard]] std::string mp_salt_segment(std::string_view salt);

}  // namespace kvc::sim
