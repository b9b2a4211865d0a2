// What the handlers of the API share.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/block_hasher.hpp"
#include "core/catalog.hpp"
#include "core/medium.hpp"
#include "net/fleet_service.hpp"
#include "net/runtime.hpp"

namespace kvc::net {

class query_prefetch;

/// The parts of the process that requests are about, and what the answers say about the process itself. Everything referred to outlives
/// the server; nothing here changes while it runs.
struct api_context {
  runtime& lanes;
  fleet_service& fleet;
  core::catalog& catalog;
  core::medium_table& media;
  std::uint64_t hash_seed = core::default_hash_seed;  ///< of registrations that name none
  query_prefetch* prefetches = nullptr;               ///< what queries leave behind is handed to it; null: to nobody
  std::chrono::steady_clock::time_point started{};
  std::chrono::system_clock::time_point started_at{};  ///< the same moment by the calendar; 1970: not told
  std::string version = {};
  std::vector<std::string> auth_tokens = {};                    ///< may do everything; with both lists empty, anybody may
  std::vector<std::string> auth_read_tokens = {};               ///< may do what changes nothing
  std::function<std::vector<std::string>()> also_missing = {};  ///< why the service is not ready beside its streams; any lane
};

}  // namespace kvc::net
