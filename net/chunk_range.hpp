// Chunks that an MP server publishes for CacheBlend: POST /blend/fingerprints, read.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace kvc::net {

/// Some chunks of one model, as they stood in a prompt. Token values are taken modulo 2^64, as the fingerprint is.
struct chunk_range {
  std::string_view scope;
  std::vector<std::uint64_t> tokens;
  std::vector<std::string_view> object_keys;
  std::uint64_t old_st_base = 0;
};

/// Reads the body in one pass when it is plain: known members, each once, no escapes, no fault. False: `into` is in any state, and the
/// general reader must have a look; it accepts more. What both accept they read alike. Views of the body. Pure; takes time by its size.
[[nodiscard]] bool scan_chunk_ranges(std::string_view body, std::vector<chunk_range>& into);

}  // namespace kvc::net
