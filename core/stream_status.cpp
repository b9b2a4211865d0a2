#include "core/stream_status.hpp"

namespace kvc::core {

std::string_view to_string(stream_state state) noexcept {
  switch (state) {
    case stream_state::joining: return "joining";
    case stream_state::whole: return "whole";
    case stream_state::recovering: return "recovering";
    case stream_state::incomplete: return "incomplete";
    case stream_state::stale: return "stale";
    case stream_state::stopped: return "stopped";
  }
  return "unknown";
}

std::string_view to_string(connection_state state) noexcept {
  switch (state) {
    case connection_state::connecting: return "connecting";
    case connection_state::connected: return "connected";
    case connection_state::disconnected: return "disconnected";
  }
  return "unknown";
}

}  // namespace kvc::core
