// What the fleet coordinator may do and how often; see app/config for how it is set.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "core/evictor.hpp"

namespace kvc::net {

/// Seconds with a fraction, as the coordinator's settings have always been told.
using seconds_setting = std::chrono::duration<double>;

/// Defaults and limits are those of the other service where it has the setting. (Source: spec coordinator-api, section 4, and its seed.)
struct coordinator_settings {
  seconds_setting instance_timeout{30};        ///< above 0: silence that ends a membership
  seconds_setting health_check_interval{10};   ///< 0: never
  seconds_setting eviction_check_interval{5};  ///< 0: never
  double eviction_ratio = 0.2;                 ///< 0 to 1
  double trigger_watermark = 1.0;              ///< above 0, at most 1
  core::eviction_unit eviction_unit = core::eviction_unit::keys;
  std::size_t blend_chunk_size = 256;  ///< tokens
  std::size_t blend_probe_stride = 1;  ///< tokens
  std::size_t blend_max_chunks = 1'048'576;
  std::chrono::seconds timeout_keep_alive{10};  ///< silence between two requests of a connection
  bool enable_startup_resync = true;
  seconds_setting resync_poll_interval{1};
  seconds_setting resync_max_wait{60};
  std::size_t resync_page_size = 1'000;
  std::size_t max_keys = 10'000'000;            ///< tracked objects; stores beyond are counted and not tracked
  seconds_setting call_timeout{30};             ///< every call to an MP server, and the wait for a connection before it
  std::string quota_file{};                     ///< keeps the quotas from one start to the next; empty: nothing does
  std::vector<std::string> auth_tokens{};       ///< may do everything; with both lists empty, anybody may
  std::vector<std::string> auth_read_tokens{};  ///< may do what changes nothing
};

/// For timers: settings are bounded so that nothing overflows.
[[nodiscard]] inline std::chrono::steady_clock::duration as_duration(seconds_setting value) {
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(value);
}

}  // namespace kvc::net
