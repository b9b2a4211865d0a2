#include "perf/sim_store_options.hpp"

#include <algorithm>
#include <chrono>

#include "perf/sim_flags.hpp"

namespace kvc::sim {
namespace {

using flags::refusal;

refusal fault_list(std::string_view text, store_options& into) {
  constexpr std::uint32_t all = (1U << store_fault_kinds) - 1;
  std::uint32_t chosen = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view word = rest.substr(0, comma);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    const auto known = std::ranges::find(store_fault_words, word);
    if (word == "all") {
      chosen |= all;
    } else if (known != store_fault_words.end()) {
      chosen |= 1U << (known - store_fault_words.begin());
    } else if (word != "none") {
      std::string names;
      for (const std::string_view each : store_fault_words) names += ", " + std::string(each);
      return "must be all, none, or some of" + names.substr(1);
    }
  }
  into.faults = chosen;
  return std::nullopt;
}

refusal share(std::string_view text, double& into) {
  return flags::number(text, into, 1, "0 to 1");
}

/// Seconds on the command line, milliseconds inside.
refusal length(std::string_view text, std::chrono::milliseconds& into) {
  double seconds = 0;
  if (auto wrong = flags::number(text, seconds, 86'400, "0 to 86400")) return wrong;
  into = std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
  return std::nullopt;
}

using value_flag = flags::value_flag<store_options>;
constexpr std::array value_flags{
    value_flag{"--conductor",
               [](std::string_view t, store_options& o) { return flags::address(t, o.conductor_host, o.conductor_port, "13333"); }},
    value_flag{"--server",
               [](std::string_view t, store_options& o) { return flags::address(t, o.conductor_host, o.conductor_port, "13333"); }},
    value_flag{"--host", [](std::string_view t, store_options& o) { return flags::non_empty(t, o.host); }},
    value_flag{"--port", [](std::string_view t, store_options& o) { return flags::whole(t, o.port, 0, 65'535); }},
    value_flag{"--events-port", [](std::string_view t, store_options& o) { return flags::whole(t, o.events_port, 0, 65'535); }},
    value_flag{"--masters", [](std::string_view t, store_options& o) { return flags::whole(t, o.masters, 1, 8); }},
    value_flag{"--generation",
               [](std::string_view t, store_options& o) {
                 return flags::word<store_generation>(t, o.generation,
                                                      {{"array", store_generation::array},
                                                       {"master", store_generation::master},
                                                       {"branch", store_generation::branch},
                                                       {"later", store_generation::later}});
               }},
    value_flag{"--end-marker",
               [](std::string_view t, store_options& o) {
                 return flags::word<store_end_marker>(t, o.marker,
                                                      {{"payload", store_end_marker::in_payload}, {"number", store_end_marker::in_number}});
               }},
    value_flag{"--keys",
               [](std::string_view t, store_options& o) {
                 return flags::word<store_key_form>(t, o.keys,
                                                    {{"decimal", store_key_form::decimal},
                                                     {"connector", store_key_form::connector},
                                                     {"text", store_key_form::text},
                                                     {"mixed", store_key_form::mixed}});
               }},
    value_flag{"--backend", [](std::string_view t, store_options& o) { return flags::non_empty(t, o.backend); }},
    value_flag{"--tenant", [](std::string_view t, store_options& o) { return flags::non_empty(t, o.tenant); }},
    value_flag{"--model", [](std::string_view t, store_options& o) { return flags::non_empty(t, o.model); }},
    value_flag{"--block-size", [](std::string_view t, store_options& o) { return flags::whole(t, o.block_size, 1, 4'096); }},
    value_flag{"--objects", [](std::string_view t, store_options& o) { return flags::whole(t, o.objects, 0, 1'000'000); }},
    value_flag{"--object-bytes",
               [](std::string_view t, store_options& o) { return flags::whole(t, o.object_bytes, 1, std::uint64_t{1} << 40); }},
    value_flag{"--memory", [](std::string_view t, store_options& o) { return flags::whole(t, o.memory_objects, 1, 1'000'000); }},
    value_flag{"--segments", [](std::string_view t, store_options& o) { return flags::whole(t, o.rules.segments, 1, 250); }},
    value_flag{"--disk-share", [](std::string_view t, store_options& o) { return share(t, o.disk_share); }},
    value_flag{"--threshold", [](std::string_view t, store_options& o) { return flags::whole(t, o.rules.threshold, 1, 1'000); }},
    value_flag{"--queue", [](std::string_view t, store_options& o) { return flags::whole(t, o.rules.queue, 0, 1'000'000); }},
    value_flag{"--watermark", [](std::string_view t, store_options& o) { return share(t, o.rules.watermark); }},
    value_flag{"--copy", [](std::string_view t, store_options& o) { return length(t, o.rules.copy); }},
    value_flag{"--late-copy", [](std::string_view t, store_options& o) { return length(t, o.rules.late_copy); }},
    value_flag{"--lease", [](std::string_view t, store_options& o) { return length(t, o.rules.lease); }},
    value_flag{"--seconds", [](std::string_view t, store_options& o) { return flags::number(t, o.seconds, 1e9, "0 to 1000000000"); }},
    value_flag{"--turns", [](std::string_view t, store_options& o) { return flags::whole(t, o.turns, 1, 1'000'000'000); }},
    value_flag{"--events-per-s", [](std::string_view t, store_options& o) { return flags::whole(t, o.events_per_s, 1, 100'000); }},
    value_flag{"--slow", [](std::string_view t, store_options& o) { return flags::number(t, o.slow_s, 86'400, "0 to 86400"); }},
    value_flag{"--seed", [](std::string_view t, store_options& o) { return flags::whole(t, o.seed, 0, flags::any_u64); }},
    value_flag{"--faults", fault_list},
    value_flag{"--fault-rate", [](std::string_view t, store_options& o) { return share(t, o.fault_rate); }},
    value_flag{"--json", [](std::string_view t, store_options& o) { return flags::non_empty(t, o.json_file); }},
};

using switch_flag = flags::switch_flag<store_options>;
constexpr std::array switch_flags{
    switch_flag{"--no-offload", &store_options::no_offload},
    switch_flag{"--keep", &store_options::keep},
    switch_flag{"--demo", &store_options::demo},
};

}  // namespace

parsed_store_options parse_store_options(const std::vector<std::string>& arguments) {
  parsed_store_options out;
  store_options& chosen = out.chosen;
  for (std::size_t at = 0; at < arguments.size() && !out.help; ++at) {
    if (auto wrong = flags::read_flag<store_options>(arguments, at, value_flags, switch_flags, chosen, out.help)) {
      out.error = *wrong;
      return out;
    }
  }
  chosen.rules.capacity = chosen.memory_objects * chosen.object_bytes;
  chosen.rules.offloads = !chosen.no_offload;
  if (out.help) return out;
  if (chosen.rules.segments > chosen.memory_objects) out.error = "--segments must not be more than --memory: each needs room for an object";
  if (chosen.demo && chosen.conductor_host.empty()) out.error = "--demo needs --conductor";
  return out;
}

}  // namespace kvc::sim
