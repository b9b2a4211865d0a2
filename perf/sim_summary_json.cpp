#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "perf/sim_picture.hpp"

namespace kvc::sim {

std::string summary_json(const picture& at_end, const options& chosen, bool succeeded) {
  const tally& totals = *at_end.totals;
  boost::json::object latency;
  latency["p50"] = totals.latency_us.at(0.5);
  latency["p99"] = totals.latency_us.at(0.99);
  latency["max"] = totals.latency_us.largest();
  latency["mean"] = totals.latency_us.mean();
  boost::json::object staleness;
  staleness["blocks_mean"] = totals.stale_blocks.mean();
  staleness["blocks_p99"] = totals.stale_blocks.at(0.99);
  staleness["batches_mean"] = totals.stale_batches.mean();
  staleness["batches_p99"] = totals.stale_batches.at(0.99);

  boost::json::object all;
  all["succeeded"] = succeeded;
  all["source"] = at_end.source;
  all["strict"] = chosen.strict;
  all["routing"] = std::string(to_string(chosen.routing));
  all["engines"] = chosen.engines;
  all["ranks"] = chosen.ranks;
  all["block_size"] = chosen.block_size;
  all["cache_blocks"] = chosen.cache_blocks;
  all["seed"] = chosen.seed;
  all["elapsed_s"] = at_end.elapsed_s;
  all["requests"] = totals.requests;
  all["queries"] = totals.queries;
  all["failed_queries"] = totals.failed_queries;
  all["latency_us"] = latency;
  all["batches"] = totals.batches;
  all["events"] = totals.events;
  all["stored_blocks"] = totals.stored_blocks;
  all["removed_blocks"] = totals.removed_blocks;
  all["held_by_engines"] = at_end.held_by_engines;
  if (at_end.held_by_conductor) all["held_by_conductor"] = *at_end.held_by_conductor;
  all["prompt_tokens"] = totals.prompt_tokens;
  all["saved_tokens"] = totals.saved_tokens;
  all["saved_tokens_random"] = totals.saved_tokens_random;
  all["answers"] = totals.answers;
  all["exact_answers"] = totals.exact_answers;
  all["differences"] = totals.differences;
  if (!chosen.strict) all["staleness"] = staleness;
  return boost::json::serialize(all) + "\n";
}

}  // namespace kvc::sim
