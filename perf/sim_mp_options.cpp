#include "perf/sim_mp_options.hpp"

#include <algorithm>

#include "perf/sim_flags.hpp"

namespace kvc::sim {
namespace {

using flags::refusal;

refusal fault_list(std::string_view text, mp_options& into) {
  constexpr std::uint32_t all = (1U << mp_fault_kinds) - 1;
  std::uint32_t chosen = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view word = rest.substr(0, comma);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    const auto known = std::ranges::find(mp_fault_words, word);
    if (word == "all") {
      chosen |= all;
    } else if (known != mp_fault_words.end()) {
      chosen |= 1U << (known - mp_fault_words.begin());
    } else if (word != "none") {
      std::string names;
      for (const std::string_view each : mp_fault_words) names += ", " + std::string(each);
      return "must be all, none, or some of" + names.substr(1);
    }
  }
  into.faults = chosen;
  return std::nullopt;
}

/// Seconds above 0.
refusal interval(std::string_view text, double& into) {
  if (auto wrong = flags::number(text, into, 86'400, "above 0 to 86400")) return wrong;
  if (into <= 0) return "must be a number from above 0 to 86400";
  return std::nullopt;
}

using value_flag = flags::value_flag<mp_options>;
constexpr std::array value_flags{
    value_flag{"--coordinator",
               [](std::string_view t, mp_options& o) { return flags::address(t, o.coordinator_host, o.coordinator_port, "9300"); }},
    value_flag{"--server",
               [](std::string_view t, mp_options& o) { return flags::address(t, o.coordinator_host, o.coordinator_port, "9300"); }},
    value_flag{"--host", [](std::string_view t, mp_options& o) { return flags::non_empty(t, o.host); }},
    value_flag{"--servers", [](std::string_view t, mp_options& o) { return flags::whole(t, o.servers, 1, 256); }},
    value_flag{"--salts", [](std::string_view t, mp_options& o) { return flags::whole(t, o.salts, 1, 10'000); }},
    value_flag{"--quota", [](std::string_view t, mp_options& o) { return flags::whole(t, o.quota, 0, 1'000'000'000); }},
    value_flag{"--object-bytes",
               [](std::string_view t, mp_options& o) { return flags::whole(t, o.object_bytes, 1, std::uint64_t{1} << 40); }},
    value_flag{"--preload", [](std::string_view t, mp_options& o) { return flags::whole(t, o.preload, 0, 1'000'000); }},
    value_flag{"--model", [](std::string_view t, mp_options& o) { return flags::name(t, o.model); }},
    value_flag{"--seconds", [](std::string_view t, mp_options& o) { return flags::number(t, o.seconds, 1e9, "0 to 1000000000"); }},
    value_flag{"--events-per-s", [](std::string_view t, mp_options& o) { return flags::whole(t, o.events_per_s, 1, 1'000'000); }},
    value_flag{"--flush-interval", [](std::string_view t, mp_options& o) { return interval(t, o.flush_s); }},
    value_flag{"--heartbeat-interval", [](std::string_view t, mp_options& o) { return interval(t, o.heartbeat_s); }},
    value_flag{"--turns", [](std::string_view t, mp_options& o) { return flags::whole(t, o.turns, 1, 1'000'000'000); }},
    value_flag{"--plans", [](std::string_view t, mp_options& o) { return flags::whole(t, o.plans, 0, 1'000'000); }},
    value_flag{"--events",
               [](std::string_view t, mp_options& o) {
                 return flags::word<mp_event_route>(
                     t, o.route, {{"quota", mp_event_route::quota}, {"events", mp_event_route::events}, {"mixed", mp_event_route::mixed}});
               }},
    value_flag{"--seed", [](std::string_view t, mp_options& o) { return flags::whole(t, o.seed, 0, flags::any_u64); }},
    value_flag{"--faults", fault_list},
    value_flag{"--fault-rate", [](std::string_view t, mp_options& o) { return flags::number(t, o.fault_rate, 1, "0 to 1"); }},
    value_flag{"--slow", [](std::string_view t, mp_options& o) { return interval(t, o.slow_s); }},
    value_flag{"--json", [](std::string_view t, mp_options& o) { return flags::non_empty(t, o.json_file); }},
};

using switch_flag = flags::switch_flag<mp_options>;
constexpr std::array switch_flags{
    switch_flag{"--drain", &mp_options::drain},
    switch_flag{"--keep", &mp_options::keep},
};

}  // namespace

parsed_mp_options parse_mp_options(const std::vector<std::string>& arguments) {
  parsed_mp_options out;
  for (std::size_t at = 0; at < arguments.size() && !out.help; ++at) {
    if (auto wrong = flags::read_flag<mp_options>(arguments, at, value_flags, switch_flags, out.chosen, out.help)) {
      out.error = *wrong;
      return out;
    }
  }
  if (!out.help && out.chosen.plans > 0 && out.chosen.turns == 0) out.error = "--plans belongs to --turns";
  return out;
}

}  // namespace kvc::sim
