// What a Mooncake master's admin interface is asked and what its answers mean. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "net/store_executor.hpp"

namespace kvc::net {

/// Whether a key cannot stand in a list: the server decodes the list before it splits it at commas, and so asks for other keys.
[[nodiscard]] bool goes_alone(std::string_view key) noexcept;

/// Target of a look at where `keys` are. The master knows no tenants for certain: another one than `default` is named, and one that does
/// not know the parameter ignores it.
[[nodiscard]] std::string locate_target(std::string_view path, const std::vector<std::string>& keys, std::string_view tenant);

/// The keys at `places`, in lists of which each makes a target of some `most_bytes` at most; a key that alone is longer stands alone.
[[nodiscard]] std::deque<std::vector<std::size_t>> lists_by_bytes(const std::vector<std::string>& keys, std::span<const std::size_t> places,
                                                                  std::size_t most_bytes);

/// Target of the look-up that feeds promotion on hit. The key stands there as it is, since this route decodes nothing; absent: it cannot
/// stand in a target that way.
[[nodiscard]] std::optional<std::string> touch_target(std::string_view path, std::string_view key, std::string_view tenant);

/// Reads where keys are out of `{"data":{KEY:{"ok":..,"values":[..],"disk_values":[..],"local_disk_values":[..]}}}`, with or without the
/// `data` around it. A key the answer does not have is unknown; one that is not `ok` because it was not found is gone; an error of another
/// kind is unknown. Absent: this is no such answer.
[[nodiscard]] std::optional<std::vector<placement>> read_placements(std::string_view body, const std::vector<std::string>& keys);

/// Reads the answer of the look-up of a single key: a line for each copy in memory, which is all it tells; 404 when the object is gone or
/// not complete yet. Unknown: this is no such answer.
[[nodiscard]] placement read_single(unsigned status, std::string_view body);

/// The sum of all series of a metrics page that count what was rejected by a watermark.
[[nodiscard]] std::uint64_t read_watermark_rejections(std::string_view page);

}  // namespace kvc::net
