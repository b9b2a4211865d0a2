#include "core/stream_status.hpp"

namespace kvc::core {

std::string_view to_string(stream_state state) noexcept {
  switch (state) {
    case stream_state::joining: return "joining";
    case stream_state::catching_up: return "catching_up";
    case stream_state::whole: return "whole";
    case stream_state::recovering: return "recovering";
    case stream_state::incomplete: return "incomplete";
    case stream_state::stale: return "stale";
    case stream_state::stopped: return "stopped";
  }
  return "unknown";
}

int severity_of(stream_state state) noexcept {
  switch (state) {
    case stream_state::whole: return 0;
    case stream_state::joining: return 1;
    case stream_state::catching_up: return 2;
    case stream_state::recovering: return 3;
    case stream_state::stale: return 4;
    case stream_state::incomplete: return 5;
    case stream_state::stopped: return 6;
  }
  return 0;
}

std::string_view to_string(replay_outcome outcome) noexcept {
  switch (outcome) {
    case replay_outcome::complete: return "complete";
    case replay_outcome::partial: return "partial";
    case replay_outcome::unanswered: return "unanswered";
    case replay_outcome::interrupted: return "interrupted";
    case replay_outcome::foreign: return "foreign";
  }
  return "unknown";
}

std::string_view to_string(connection_state state) noexcept {
  switch (state) {
    case connection_state::connecting: return "connecting";
    case connection_state::connected: return "connected";
    case connection_state::disconnected: return "disconnected";
    case connection_state::failed: return "failed";
  }
  return "unknown";
}

}  // namespace kvc::core
