// Events that nobody should believe, and batches with one of them inside.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kvc::sim {

/// MessagePack of events that every decoder must leave out, one of each kind and dialect: unknown tags, wrong types, missing fields, blocks
/// that are their own parents or come twice, what is somebody else's. Those with tokens name `held`, a block that is really there, and
/// `tokens`, which are another one's, so that whoever believes them answers wrongly. Pure.
[[nodiscard]] std::vector<std::string> poison_events(std::uint64_t held, const std::vector<std::uint32_t>& tokens);

/// `payload` with the event in front of its own. `empty` is the same batch written without events: where the two begin to differ is the
/// list. A batch of more than 14 events comes back as it is. Pure.
[[nodiscard]] std::string with_event(std::string_view payload, std::string_view empty, std::string_view event);

}  // namespace kvc::sim
