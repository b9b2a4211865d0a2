// From a checked query to rows: how far each instance holds the prompt, per medium and per rank.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/catalog.hpp"
#include "core/counters.hpp"
#include "core/level_fold.hpp"
#include "core/medium.hpp"
#include "net/answer_writer.hpp"
#include "net/api_types.hpp"

namespace kvc::net {

/// Memory that a lane reuses from query to query.
struct query_scratch {
  /// One instance of a partition: its members that stand for it, next to each other.
  struct row {
    std::size_t first = 0;
    std::size_t last = 0;       ///< one past
    core::media_mask seen = 0;  ///< media the instance has ever reported
    std::uint64_t longest = 0;  ///< blocks
    bool has_engine = false;    ///< else it stands for pools only
  };

  std::vector<core::local_hash> locals;
  std::span<const core::local_hash> prompt;  ///< of the last query, unless it was told by hash: `locals`, or what the query brought
  core::match_result matched;
  std::vector<const core::worker_depth*> depths;  ///< by member of the partition, into `matched`; empty: not looked up for all of them
  core::match_scope scope;
  std::vector<row> rows;
  core::match_levels levels;
  core::level_fold fold;
  std::vector<core::instance_reach> chosen;
  std::vector<std::uint8_t> wanted;  ///< by instance of the partition
};

/// What a query is asked of. Views of the moment; valid during the call.
struct query_source {
  const core::catalog_view& partitions;
  const core::medium_table& media;
  core::lane_counters& counters;
  std::chrono::steady_clock::time_point now;
};

/// Writes the answer of one query: tenant -> instance -> row. (Contract: spec indexer-api, POST /query.)
///
/// A row stands for every instance with an engine stream in the partition, or with a pool stream only. `instance_ids`, `min_match` and
/// `top_k` leave rows out; `instance_id` gives exactly its row. `media` restricts the columns and what every other number counts.
/// With `top_k` or `min_match`, instances that cannot be in the answer are not looked at where the index allows it.
/// Never fails; an unknown partition is an empty answer. Lane: the one whose view, counters and scratch these are; nothing is kept.
void answer_query(const query_request& query, const query_source& source, query_scratch& scratch, answer_writer& out);

}  // namespace kvc::net
