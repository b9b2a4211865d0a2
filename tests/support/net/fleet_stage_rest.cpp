// How the stage comes to rest, and what must hold then.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <string_view>
#include <utility>

#include <boost/json/parse.hpp>

#include "net/api_quota.hpp"
#include "net/coordinator_metrics.hpp"
#include "tests/support/net/fleet_stage.hpp"

namespace kvc::test {
namespace {

using namespace std::chrono_literals;

/// Bytes, told in GiB.
std::uint64_t bytes_of(const boost::json::value& gib) {
  return static_cast<std::uint64_t>(std::llround(gib.to_number<double>() * 1'073'741'824.0));
}

std::string row_text(std::string_view salt, std::optional<std::uint64_t> limit, std::uint64_t used) {
  return "'" + std::string(salt) + "' " + (limit ? std::to_string(*limit) : "-") + " " + std::to_string(used) + "\n";
}

std::map<unsigned, std::uint64_t> believed_of(const fleet_server& one) {
  std::map<unsigned, std::uint64_t> all;
  for (const auto& [salt, order] : one.belief.salts()) {
    for (const auto& object : order) all[object.number] = object.bytes;
  }
  return all;
}

asio::awaitable<void> write_metrics(lone_coordinator& by, std::string& into) {
  into = "\n" + co_await net::coordinator_metrics(by.context);
}

}  // namespace

void fleet_stage::be_evicted() {
  is_kind_ = true;
  constexpr int more_than_needed = 3'000;
  const core::evictor& planner = tables().evictions;
  for (int cycle = 0; complaint_.empty(); ++cycle) {
    if (cycle == more_than_needed) complain("it never comes to an end");
    now_ += 40s;
    const std::uint64_t planned = planner.counters().planned;
    evict();
    come_to_rest();
    if (planner.counters().planned == planned && planner.pieces_remembered() == 0) break;
  }
  compare();
  for (const auto& [salt, used] : believed()) {
    const std::optional<double> limit = limit_of(salt);
    const bool is_over = limit && used != 0 && static_cast<double>(used) >= settings_.trigger_watermark * *limit;
    if (is_over) complain("salt '" + salt + "' keeps " + std::to_string(used) + " bytes of " + std::to_string(*limit));
  }
  if (tables().usage.keys_in_flight() != 0) complain("keys are in flight when nothing is");
}

void fleet_stage::leave() {
  for (fleet_server& each : servers_) {
    while (!each.stored.empty()) each.use(fleet_news::kind::remove, each.stored.begin()->first, 0);
  }
  come_to_rest();
  compare();
  if (!is_faithful_) return;  // what was lost on the way nobody can tell any more
  const core::usage_ledger& usage = tables().usage;
  if (usage.size() + usage.total_bytes() + usage.keys_in_flight() + usage.keys_set_aside() + usage.keys().salts().size() != 0) {
    complain("something is left of objects that have all gone");
  }
}

/// Everything that is under way ends, and everything is told.
void fleet_stage::come_to_rest() {
  constexpr int more_than_needed = 5'000'000;
  is_resting_ = true;
  bool is_over = false;
  for (int i = 1; i < more_than_needed && !is_over; ++i) {
    at().turn();
    if (tables().holds_eviction() && i % 200 == 0) join("spare " + std::to_string(++spares_));
    if (at().under_way != 0 || tables().holds_eviction()) continue;
    is_over = true;
    for (fleet_server& each : servers_) {
      each.belief.is_listing = false;
      is_over = is_over && each.untold.empty() && each.delayed.empty();
      tell(each);
      if (!each.delayed.empty()) tell_again(each);
    }
  }
  is_resting_ = false;
  if (!is_over) complain("there is no rest");
  if (at().failure) complain("something was thrown");
  if (at().context.event_turns.are_taken()) complain("somebody has a turn for ever");
}

std::optional<double> fleet_stage::limit_of(const std::string& salt) const {
  const auto own = quotas_.find(salt);
  return own == quotas_.end() ? default_ : own->second;
}

std::map<std::string, std::uint64_t> fleet_stage::believed() const {
  std::map<std::string, std::uint64_t> sums;
  for (const fleet_server& each : servers_) {
    for (const auto& [salt, order] : each.belief.salts()) {
      for (const auto& object : order) sums[salt] += object.bytes;
    }
  }
  return sums;
}

void fleet_stage::compare() {
  if (!complaint_.empty()) return;
  compare_listing();
  compare_order();
  compare_metrics();
  for (const fleet_server& each : servers_) {
    if (is_faithful_ && believed_of(each) != each.stored) complain("what " + each.name() + " has stored is not what is believed");
  }
}

/// Rows are in order and each is there once, whatever happens meanwhile.
asio::awaitable<void> fleet_stage::list_usage(lone_coordinator& by, std::string* into) {
  const net::http_reply reply = co_await net::list_usage_reply(by.context, by.home, {});
  const auto page = boost::json::parse(reply.body);
  const auto& rows = page.at("by_cache_salt").as_array();
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const bool is_sorted = rows[i - 1].at("cache_salt").as_string() < rows[i].at("cache_salt").as_string();
    if (!is_sorted) complain("the listing has a salt twice, or out of order");
  }
  if (into == nullptr) co_return;
  for (const auto& each : rows) {
    const auto limit = each.at("quota_exists").as_bool() ? std::optional(bytes_of(each.at("quota_limit_gb"))) : std::nullopt;
    *into += row_text(std::string_view(each.at("cache_salt").as_string()), limit, bytes_of(each.at("usage_gb")));
  }
  *into += std::to_string(bytes_of(page.at("total_gb")));
}

void fleet_stage::compare_listing() {
  std::string got;
  at().spawn(list_usage(at(), &got));
  at().turns_until_idle();
  std::string wanted;
  std::uint64_t total = 0;
  std::map<std::string, std::uint64_t> used = believed();
  for (const auto& [salt, limit] : quotas_) used.try_emplace(salt, 0);
  for (const auto& [salt, bytes] : used) {
    const auto quota = quotas_.find(salt);
    const auto limit = quota == quotas_.end() ? std::nullopt : std::optional(static_cast<std::uint64_t>(quota->second));
    if (bytes != 0 || limit) wanted += row_text(salt, limit, bytes);
    total += bytes;
  }
  wanted += std::to_string(total);
  if (got != wanted) complain("the listing is\n" + got + "\nand should be\n" + wanted);
}

/// The objects of each server stand in the order in which it has told of them, where that is certain.
void fleet_stage::compare_order() {
  std::map<std::pair<std::string, std::string>, std::vector<unsigned>> got;
  const core::key_store& keys = tables().usage.keys();
  for (const auto& [serial, number] : keys.salts().by_age()) {
    for (std::uint32_t each = keys.salts()[number].oldest; each != core::no_record; each = keys[each].newer) {
      const auto [owner, object] = fleet_object(keys.key_of(each).hash);
      got[{owner, keys.salts()[number].name}].push_back(object);
    }
  }
  for (const fleet_server& server : servers_) {
    for (const auto& [salt, order] : server.belief.salts()) {
      std::vector<unsigned> known = got[{server.name(), salt}];
      std::vector<unsigned> wanted;
      std::set<unsigned> anywhere;
      for (const auto& each : order) {
        if (each.is_placed) wanted.push_back(each.number);
        if (!each.is_placed) anywhere.insert(each.number);
      }
      if (known.size() != order.size()) complain("other objects of " + server.name() + " are known than were told");
      std::erase_if(known, [&](unsigned each) { return anywhere.contains(each); });
      if (known != wanted) complain("the order of " + server.name() + " under '" + salt + "' differs");
    }
  }
}

void fleet_stage::compare_metrics() {
  std::string page;
  at().spawn(write_metrics(at(), page));
  at().turns_until_idle();
  const auto told = [&page](const std::string& name) {
    const std::string line = "\nkvc_coordinator_" + name + " ";
    const std::size_t found = page.find(line);
    return found == std::string::npos ? -1 : std::strtod(page.c_str() + found + line.size(), nullptr);
  };
  const auto expect = [&](const std::string& name, std::uint64_t wanted) {
    if (told(name) != static_cast<double>(wanted)) {
      complain(name + " is " + std::to_string(told(name)) + ", and should be " + std::to_string(wanted));
    }
  };
  std::uint64_t stores = 0;
  std::uint64_t others = 0;
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;
  for (const fleet_server& each : servers_) {
    stores += each.belief.stores();
    others += each.belief.others();
    objects += believed_of(each).size();
  }
  for (const auto& [salt, used] : believed()) bytes += used;
  expect("keys", objects);
  expect("usage_bytes", bytes);
  expect("stores_total", stores);
  expect("refused_stores_total", 0);
  const double uses = told("lookups_total") + told("removals_total") + told("unknown_events_total");
  if (uses != static_cast<double>(others)) complain("look-ups and deletions are not all counted");
  expect("batches_total", figures_.batches);
  expect("seq_gaps_total", figures_.gaps);
  expect("seq_missing_total", figures_.missing);
  expect("seq_repeats_total", figures_.repeats);
  expect("seq_restarts_total", figures_.restarts);
  expect("fenced_applied_total", figures_.applied);
  expect("fenced_duplicates_total", figures_.duplicates);
  expect("fenced_stale_total", figures_.stale);
  expect("fenced_skipped_total", figures_.skipped);
  expect("fenced_late_total", figures_.late);
  const double ended = told("evictions_confirmed_total") + told("evictions_failed_total") + told("evictions_expired_total");
  if (ended + told("keys_in_flight") > told("evictions_planned_total")) complain("more keys have been heard of than were planned");
}

}  // namespace kvc::test
