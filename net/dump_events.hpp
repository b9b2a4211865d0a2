// A dump as events of the standard envelope in JSON, for everybody who knows the standard. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/medium.hpp"
#include "core/snapshot.hpp"
#include "net/answer_writer.hpp"
#include "net/dump_records.hpp"

namespace kvc::net {

/// Writes stored events, a line each.
///
/// `medium`, `seq_hashes`, `parent_hash` and `base_block_idx` are as the standard writes them, whatever the engine does; its own names are
/// in `engine_hashes`, since removals come under those, and as tokens are not kept, `local_hashes` tells which blocks they are. `copies` is
/// there when a name means more than one. A block known by its sequence hash only has neither position nor local hash. What waits for its
/// place is no stored event yet: its `event_type` is `waiting`, and it has `parent_engine_hash` instead of sequence hashes. (Source: seed
/// document 000, "Event envelope".)
class dump_event_writer {
 public:
  /// `media` outlives the writer. `milliseconds` since the epoch: the timestamp of all events.
  dump_event_writer(const core::medium_table& media, std::uint64_t milliseconds) : media_(&media), milliseconds_(milliseconds) {}

  /// Appends the events of a slice to `out`. `homes` by the numbers that the slice uses.
  void slice(const dump_owner& who, std::span<const dump_home> homes, const core::dump_slice& told, std::string& out);

 private:
  answer_writer begin(std::string_view type, const dump_owner& who, const dump_home& home, core::medium_id medium, std::string& out);
  static void finish(answer_writer& event, std::span<const core::engine_hash> names, std::span<const core::local_hash> locals,
                     std::uint32_t copies);
  void roll_path(const core::dump_slice& told, const core::dump_slice::path& path, std::uint64_t seed);

  const core::medium_table* media_;
  std::uint64_t milliseconds_;
  std::uint64_t next_event_ = 0;
  std::vector<core::seq_hash> rolled_;  ///< of the path in hand
};

}  // namespace kvc::net
