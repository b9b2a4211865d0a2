#include "net/api_registry.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/errc.hpp"
#include "net/answer_writer.hpp"
#include "net/http_reply.hpp"

namespace kvc::net {
namespace {

refusal refusal_for(const error_code& failed, const core::registration& wanted, const core::catalog& partitions) {
  if (failed == core::errc::seed_conflict) {
    const auto now = partitions.view().get();
    const core::partition_view* const there = now->find(wanted.partition);
    std::string why = "hash_seed " + std::to_string(wanted.hash_seed) + " differs from the seed other publishers of this partition use";
    if (there != nullptr) why += ", " + std::to_string(there->partition->seed());
    return {refusal_kind::invalid_value, std::move(why), "hash_seed"};
  }
  if (failed == errc::draining) return {refusal_kind::draining, "the server is shutting down"};
  return {refusal_kind::overloaded, "the publisher could not be registered: " + failed.message()};
}

/// `instance|tenant|rank`, as clients know it.
std::string removed_name(const core::worker_key& key) {
  return key.instance + "|" + key.tenant + "|" + std::to_string(key.rank.get());
}

}  // namespace

asio::awaitable<http_reply> register_publisher(const api_context& context, registration_request wanted, wire_form form) {
  const result<fleet_service::added> added = co_await context.fleet.add(wanted.registration, std::move(wanted.new_medium));
  if (added.has_error()) co_return reply_with(refusal_for(added.error(), wanted.registration, context.catalog), form);

  std::string body;
  answer_writer out(body, form);
  out.object(wanted.warnings.empty() ? 4 : 5);
  out.member("status", "registered successfully");
  out.member("instance_id", wanted.registration.worker.instance);
  out.member("changed", added->changed);
  out.member("replaced", added->replaced);
  if (!wanted.warnings.empty()) {
    out.key("warnings");
    out.list(wanted.warnings.size());
    for (const std::string& each : wanted.warnings) out.text(each);
    out.end_list();
  }
  out.end_object();
  co_return ok_reply(std::move(body), form);
}

asio::awaitable<http_reply> unregister_publisher(const api_context& context, unregistration which, wire_form form) {
  fleet_service::selector selected;
  selected.tenant = which.tenant;
  selected.instance = which.instance;
  selected.rank = which.rank;
  selected.kind = which.kind;
  const std::vector<core::worker_key> removed = co_await context.fleet.remove(std::move(selected));
  if (removed.empty()) {
    co_return reply_with(refusal{refusal_kind::service_not_found, "no registered publisher matches", "instance_id"}, form);
  }
  std::vector<std::string> names;
  names.reserve(removed.size());
  for (const core::worker_key& each : removed) names.push_back(removed_name(each));
  // An engine stream and a pool stream of one rank share their name.
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());

  std::string body;
  answer_writer out(body, form);
  out.object(2);
  out.member("status", "unregistered successfully");
  out.key("removed_instances");
  out.list(names.size());
  for (const std::string& each : names) out.text(each);
  out.end_list();
  out.end_object();
  co_return ok_reply(std::move(body), form);
}

}  // namespace kvc::net
