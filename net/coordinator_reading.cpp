#include "net/coordinator_reading.hpp"

#include "net/api_instances.hpp"
#include "net/coordinator_reply.hpp"
#include "net/coordinator_tier.hpp"
#include "net/usage_scan.hpp"

namespace kvc::net {
namespace {

using enum coordinator_endpoint;

/// The reply when it is no JSON.
std::optional<http_reply> parse(std::string_view body, json_tree& tree) {
  field_faults faults;
  if (body.empty()) {
    faults.add("missing", field_place("body"), "Field required", tape_value());
    return faults_reply(faults);
  }
  const std::optional<json_tree::failure> wrong = tree.parse(body);
  if (!wrong) return std::nullopt;
  if (wrong->is_too_large) return detail_reply(413, "the body has more values than this server takes");
  faults.add_broken_json(wrong->offset, wrong->what);
  return faults_reply(faults);
}

}  // namespace

std::optional<http_reply> read_coordinator_body(coordinator_endpoint asked, std::string_view body, coordinator_reading& into) {
  // Nearly every batch is written plainly; the others are read again with care.
  if (asked == usage_events && scan_usage_batch(body, into.what.emplace<usage_batch>())) return std::nullopt;
  if (asked == publish_chunks && scan_chunk_ranges(body, into.what.emplace<std::vector<chunk_range>>())) return std::nullopt;

  if (auto unreadable = parse(body, into.tree)) return unreadable;
  const tape_value root = into.tree.root();
  field_faults faults;
  switch (asked) {
    case add_instance: read_instance(root, into.what.emplace<core::mp_server>(), faults); break;
    case set_quota: read_quota(root, into.what.emplace<quota_order>(), faults); break;
    case set_default_quota: net::read_default_quota(root, into.what.emplace<default_quota_order>(), faults); break;
    case usage_events: {
      auto& batch = into.what.emplace<usage_batch>();
      read_usage_batch(root, batch, faults);
      if (faults.empty() && batch.tier != core::cache_tier::l2) return wrong_tier_reply(batch.tier);
      break;
    }
    case coordinator_endpoint::event_batches: read_event_batches(root, into.what.emplace<net::event_batches>(), faults); break;
    case publish_chunks: read_chunk_ranges(root, into.what.emplace<std::vector<chunk_range>>(), faults); break;
    case remove_chunks: read_removal(root, into.what.emplace<removal_request>(), faults); break;
    case match_chunks: read_match(root, into.what.emplace<match_request>(), faults); break;
    case submit_prefetch: read_prefetch(root, into.what.emplace<prefetch_order>(), faults); break;
    default: break;  // the others have no body
  }
  if (faults.empty()) return std::nullopt;
  return faults_reply(faults);
}

}  // namespace kvc::net
