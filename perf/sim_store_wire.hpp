// Texts of a Mooncake master's admin interface, in the form that masters write them. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "perf/sim_store_storage.hpp"

namespace kvc::sim {

/// Most keys that a master answers for in one call. (Source: store-prefetch.md, "Mooncake master over HTTP".)
inline constexpr std::size_t store_most_keys = 128;

/// The value of a parameter as it was sent, escapes and all; empty when it is not there.
[[nodiscard]] std::string_view raw_parameter(std::string_view raw_query, std::string_view name) noexcept;

/// The keys of a list: whatever is between commas, empty ones left out. A key with a comma in it comes apart.
[[nodiscard]] std::vector<std::string> split_keys(std::string_view list);

/// Answer of GET /batch_query_keys:
/// `{"success":true,"data":{"K":{"ok":true,"values":[...],"disk_values":[...],"local_disk_values":[...]},"L":{"ok":false,"error":"..."}}}`.
/// A replica in memory is `{"size_":1,"buffer_address_":2,"protocol_":"tcp","transport_endpoint_":"host:port"}`, on disk
/// `{"file_path":"...","object_size":1}`, on local disk `{"client_id":"...","object_size":1,"transport_endpoint":"host:port"}`; only
/// complete ones are told. With `leaves_out` every other key is missing, as from a master that gave up half-way.
[[nodiscard]] std::string store_batch_answer(const store_storage& from, std::span<const std::string> keys, bool leaves_out);

/// Answer of GET /query_key: a line for each replica in memory, as above.
[[nodiscard]] std::string store_key_answer(const store_storage::object& what);

/// Why nothing of an object can be told: it is not there, or nothing of it is complete. Null: something can.
[[nodiscard]] const char* store_absence(const store_storage::object* what) noexcept;

/// Answer of GET /metrics.
[[nodiscard]] std::string store_metrics(const store_storage& of);

}  // namespace kvc::sim
