#include "tests/support/net/told_figures.hpp"

#include <algorithm>
#include <sstream>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

namespace kvc::test {
namespace {

namespace json = boost::json;

/// A figure and where it is told. (net/README.md; the names are part of the interface.)
struct figure {
  std::string_view member;  ///< of /services
  std::string_view series;  ///< empty: there is none
  bool is_in_rows = false;
  bool is_in_workers = false;     ///< and not in rows with detail
  bool is_left_out_at_0 = false;  ///< in /metrics
  bool is_absent_at_0 = false;    ///< in /services as well
};

constexpr figure figures[] = {
    {.member = "lag_batches", .series = "lag_batches"},
    {.member = "batches", .series = "batches_total"},
    {.member = "events", .series = ""},
    {.member = "rejected", .series = ""},
    {.member = "bad_messages", .series = R"(rejected_total{reason="message"})", .is_left_out_at_0 = true},
    {.member = "bad_batches", .series = R"(rejected_total{reason="batch"})", .is_left_out_at_0 = true},
    {.member = "rejected_events.not_an_event",
     .series = R"(rejected_total{reason="not_an_event"})",
     .is_left_out_at_0 = true,
     .is_absent_at_0 = true},
    {.member = "rejected_events.unknown_tag",
     .series = R"(rejected_total{reason="unknown_tag"})",
     .is_left_out_at_0 = true,
     .is_absent_at_0 = true},
    {.member = "rejected_events.missing_field",
     .series = R"(rejected_total{reason="missing_field"})",
     .is_left_out_at_0 = true,
     .is_absent_at_0 = true},
    {.member = "other_topics", .series = "other_topics_total"},
    {.member = "stale_batches", .series = "stale_batches_total"},
    {.member = "gaps", .series = "gaps_total"},
    {.member = "replays", .series = "replays_total"},
    {.member = "replays_failed", .series = R"(replays_ended_total{outcome="unanswered"})"},
    {.member = "replays_by_outcome.complete", .series = R"(replays_ended_total{outcome="complete"})"},
    {.member = "replays_by_outcome.partial", .series = R"(replays_ended_total{outcome="partial"})"},
    {.member = "replays_by_outcome.unanswered", .series = R"(replays_ended_total{outcome="unanswered"})"},
    {.member = "replays_by_outcome.interrupted", .series = R"(replays_ended_total{outcome="interrupted"})"},
    {.member = "replays_by_outcome.foreign", .series = R"(replays_ended_total{outcome="foreign"})"},
    {.member = "restarts", .series = "restarts_total"},
    {.member = "failures", .series = "failures_total"},
    {.member = "missing", .series = "missing_batches", .is_in_rows = true},
    {.member = "unproven_absences", .series = "unproven_absences", .is_in_rows = true},
    {.member = "lost", .series = "lost_batches_total"},
    {.member = "doubted_blocks", .series = "doubted_blocks_total"},
    {.member = "evicted", .series = "evicted_blocks"},
    {.member = "orphans", .series = "orphaned_blocks"},
    {.member = "dropped_orphans", .series = "dropped_orphans_total"},
    {.member = "unknown_removals", .series = ""},
    {.member = "rank_mismatches", .series = ""},
    {.member = "skipped_blocks", .series = ""},
    {.member = "decoded.vllm_map", .series = "", .is_absent_at_0 = true},
    {.member = "blocks.GPU", .series = R"(blocks{medium="GPU"})", .is_in_workers = true},
    {.member = "blocks.CPU", .series = R"(blocks{medium="CPU"})", .is_in_workers = true},
    {.member = "generation", .series = "", .is_in_rows = true},
};

constexpr std::string_view whose = R"(rank="0",class="engine")";

/// Of the stream's instance, by their names and what else tells them apart.
std::map<std::string, double> series_of(const std::string& page, const std::string& instance) {
  std::map<std::string, double> found;
  std::istringstream lines(page);
  const std::string owner = R"({tenant="default",instance=")" + instance + "\"," + std::string(whose);
  constexpr std::string_view prefix = "kvc_stream_";
  for (std::string line; std::getline(lines, line);) {
    const std::size_t at = line.find(owner);
    if (!line.starts_with(prefix) || at == std::string::npos) continue;
    const std::size_t end = line.rfind("} ");
    std::string further = line.substr(at + owner.size(), end - at - owner.size());
    if (!further.empty()) further = "{" + further.substr(1) + "}";  // behind a comma
    found[line.substr(prefix.size(), at - prefix.size()) + further] = std::stod(line.substr(end + 2));
  }
  return found;
}

/// Of the only element of a list.
json::object first_of(const std::string& page, std::string_view list) {
  return json::parse(page).as_object().at(list).as_array().at(0).as_object();
}

/// A member as it is told, or why it is not.
std::string text_at(const json::object& from, std::string_view path) {
  const std::size_t dot = path.find('.');
  const json::value* const found = from.if_contains(path.substr(0, dot));
  if (found == nullptr) return "absent";
  if (dot != std::string_view::npos) return text_at(found->as_object(), path.substr(dot + 1));
  return found->is_string() ? std::string(found->as_string()) : json::serialize(*found);
}

std::string text_of(double value) {
  return value < 0 ? std::to_string(value) : std::to_string(static_cast<std::uint64_t>(value));
}

}  // namespace

told_figures::told_figures(api_fixture& asked, const std::string& instance) {
  service = first_of(asked.get("/services?instance_id=" + instance).body, "services");
  worker = first_of(asked.get("/workers?instance_id=" + instance).body, "workers");
  const std::string query = R"({"model":"m","block_size":4,"token_ids":[0,1,2,3],"detail":true,"instance_id":")" + instance + "\"}";
  row = json::parse(asked.post("/query", query).body).at("default").at(instance).as_object();
  series = series_of(asked.get("/metrics").body, instance);
}

std::vector<std::string> told_figures::faults(const wanted_figures& wanted) const {
  std::vector<std::string> found;
  const auto expect = [&found](std::string_view place, std::string_view name, const std::string& told, const std::string& right) {
    if (told != right) found.push_back(std::string(place) + " " + std::string(name) + ": " + told + " and not " + right);
  };
  const auto told_series = [this](const std::string& name) {
    const auto at = series.find(name);
    return at == series.end() ? std::string("absent") : text_of(at->second);
  };

  for (const figure& each : figures) {
    const auto named = wanted.numbers.find(std::string(each.member));
    const std::uint64_t number = named != wanted.numbers.end() ? named->second : each.member == "generation" ? 1 : 0;
    const std::string right = std::to_string(number);
    expect("/services", each.member, text_at(service, each.member), number == 0 && each.is_absent_at_0 ? "absent" : right);
    if (each.is_in_rows || each.is_in_workers) expect("/workers", each.member, text_at(worker, each.member), right);
    if (each.is_in_rows) expect("detail", each.member, text_at(row, each.member), right);
    const std::string at_0 = each.is_left_out_at_0 ? "absent" : "0";
    if (!each.series.empty()) expect("/metrics", each.series, told_series(std::string(each.series)), number == 0 ? at_0 : right);
  }
  double by_kind = 0;
  for (const auto& [name, value] : series) by_kind += name.starts_with(R"(events_total{dialect="vllm_map",)") ? value : 0;
  const auto decoded = wanted.numbers.find("decoded.vllm_map");
  expect("/metrics", "events_total", text_of(by_kind), std::to_string(decoded != wanted.numbers.end() ? decoded->second : 0));
  for (const auto& [member, number] : wanted.numbers) {
    const bool is_known = std::ranges::any_of(figures, [&](const figure& each) { return each.member == member; });
    if (!is_known) found.push_back("no figure is called " + member);
  }

  const std::string state(core::to_string(wanted.state));
  const bool is_whole = wanted.state == core::stream_state::whole;
  expect("/services", "state", text_at(service, "state"), state);
  expect("/workers", "state", text_at(worker, "state"), state);
  expect("/workers", "whole", text_at(worker, "whole"), is_whole ? "true" : "false");
  expect("detail", "state", text_at(row, "state"), state);
  expect("/metrics", "whole", told_series("whole"), is_whole ? "1" : "0");
  for (std::size_t i = 0; i < core::stream_state_count; ++i) {
    const std::string each(core::to_string(static_cast<core::stream_state>(i)));
    expect("/metrics", each, told_series("state{state=\"" + each + "\"}"), each == state ? "1" : "absent");
  }

  const std::string connection(core::to_string(wanted.connection));
  const std::string is_connected = wanted.connection == core::connection_state::connected ? "true" : "false";
  expect("/services", "connection", text_at(service, "connection"), connection);
  expect("/workers", "connected", text_at(worker, "connected"), is_connected);
  expect("detail", "connected", text_at(row, "connected"), is_connected);
  for (const char* each : {"connecting", "connected", "disconnected", "failed"}) {
    expect("/metrics", each, told_series("connection{state=\"" + std::string(each) + "\"}"), each == connection ? "1" : "absent");
  }
  return found;
}

}  // namespace kvc::test
