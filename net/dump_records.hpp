// The records of a dump beside its slices: whose blocks they are, in which partitions, and at which point of the stream.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/ids.hpp"

namespace kvc::net {

/// What a compact dump begins with, and the version that is written, the only one that is read.
inline constexpr std::string_view dump_magic = "kv-conductor dump";
inline constexpr std::uint64_t dump_version = 1;

/// Kinds of compact records; each is a MessagePack array that begins with this number. (net/README.md has the fields.)
enum class dump_kind : std::uint8_t {
  header = 0,
  owner = 1,
  home = 2,
  path = 3,
  part = 4,
  name = 5,
  waiting = 6,
  end = 7,
  end_of_dump = 8
};

/// Whose blocks follow.
struct dump_owner {
  core::worker_key worker;
  std::string backend_id;  ///< of the registration; may be empty
  bool copy_counting = true;
  std::optional<core::seqno> seqno;  ///< newest batch applied before the first record; absent: none
};

/// A partition by the number that the following records use.
struct dump_home {
  core::partition_key key;
  std::uint64_t seed = 0;
};

/// Ends the records of a worker. When its seqno is that of the owner record, no event came in between, no block was given up, and the
/// dump is exact.
struct dump_end {
  std::optional<core::seqno> seqno;  ///< newest batch applied before the last record
  std::uint64_t blocks = 0;          ///< told, as dump_slice::blocks counts
};

}  // namespace kvc::net
