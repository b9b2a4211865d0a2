// Bodies of /blend, read from a tree.
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "net/chunk_range.hpp"
#include "net/field_faults.hpp"
#include "net/json_tree.hpp"

namespace kvc::net {

/// Object keys whose chunks are taken back.
struct removal_request {
  std::vector<std::string_view> object_keys;
};

/// A prompt that is held against the directory: token ids, or the 64-bit stand-ins some clients have for images.
struct match_request {
  std::string_view scope;
  std::variant<std::vector<std::uint32_t>, std::vector<std::uint64_t>> tokens;
};

/// Each reads a body (spec coordinator-api, "CacheBlend directory"); what is wrong is in `faults`. Views of the tree. Pure; takes time by
/// the size of the body.
void read_chunk_ranges(const tape_value& body, std::vector<chunk_range>& into, field_faults& faults);
void read_removal(const tape_value& body, removal_request& into, field_faults& faults);
void read_match(const tape_value& body, match_request& into, field_faults& faults);

}  // namespace kvc::net
