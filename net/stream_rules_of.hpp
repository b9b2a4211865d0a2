// What a stream's machine has to know of its registration and of the settings.
#pragma once

#include "core/registration.hpp"
#include "core/stream_rules.hpp"
#include "net/fleet_service.hpp"

namespace kvc::net {

/// What a registration says itself comes before the settings. Pure; any lane.
[[nodiscard]] core::stream_rules stream_rules_of(const core::registration& from, const stream_settings& settings);

}  // namespace kvc::net
