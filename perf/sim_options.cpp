#include "perf/sim_options.hpp"

#include <array>
#include <cstddef>
#include <string>

#include "perf/sim_dialect.hpp"
#include "perf/sim_flags.hpp"

namespace kvc::sim {
namespace {

using namespace flags;

using value_flag = flags::value_flag<options>;
constexpr std::array value_flags{
    value_flag{"--requests", [](std::string_view t, options& o) { return whole(t, o.requests, 0, any_u64); }},
    value_flag{"--engines", [](std::string_view t, options& o) { return whole(t, o.engines, 1, 1024); }},
    value_flag{"--ranks", [](std::string_view t, options& o) { return whole(t, o.ranks, 1, 64); }},
    value_flag{"--block-size", [](std::string_view t, options& o) { return whole(t, o.block_size, 1, 65'536); }},
    value_flag{"--cache-blocks", [](std::string_view t, options& o) { return whole(t, o.cache_blocks, 1, 16'777'216); }},
    value_flag{"--clients", [](std::string_view t, options& o) { return whole(t, o.clients, 1, 1024); }},
    value_flag{"--chaos",
               [](std::string_view t, options& o) {
                 o.chaos = true;
                 return whole(t, o.chaos_seed, 0, any_u64 / 2);
               }},
    value_flag{"--seeds", [](std::string_view t, options& o) { return whole(t, o.chaos_seeds, 1, 1'000'000); }},
    value_flag{"--minutes", [](std::string_view t, options& o) { return whole(t, o.minutes, 1, 100'000); }},
    value_flag{"--watch-pid", [](std::string_view t, options& o) { return whole(t, o.watched_process, 1, 4'194'304); }},
    value_flag{"--seed", [](std::string_view t, options& o) { return whole(t, o.seed, 0, any_u64); }},
    value_flag{"--speed", [](std::string_view t, options& o) { return number(t, o.speed, 1e6, "0 to 1000000"); }},
    value_flag{"--load-weight", [](std::string_view t, options& o) { return number(t, o.load_weight, 1000, "0 to 1000"); }},
    value_flag{"--routing",
               [](std::string_view t, options& o) {
                 return word<routing_kind>(
                     t, o.routing,
                     {{"random", routing_kind::random}, {"roundrobin", routing_kind::round_robin}, {"conductor", routing_kind::conductor}});
               }},
    value_flag{"--wire",
               [](std::string_view t, options& o) {
                 return word<query_form>(t, o.wire, {{"json", query_form::json}, {"msgpack", query_form::msgpack}});
               }},
    value_flag{"--event-form",
               [](std::string_view t, options& o) -> refusal {
                 const auto form = form_of_name(t);
                 if (!form || !is_of_engines(*form)) return refusal("must be map, array, or one of " + engine_form_names());
                 o.events = *form;
                 return refusal();
               }},
    value_flag{"--hash-form",
               [](std::string_view t, options& o) {
                 return word<hash_form>(t, o.hashes, {{"int", hash_form::integer}, {"bytes", hash_form::bytes}});
               }},
    value_flag{"--trace", [](std::string_view t, options& o) { return non_empty(t, o.trace); }},
    value_flag{"--tenant", [](std::string_view t, options& o) { return flags::name(t, o.tenant); }},
    value_flag{"--model", [](std::string_view t, options& o) { return flags::name(t, o.model); }},
    value_flag{"--json", [](std::string_view t, options& o) { return non_empty(t, o.json_file); }},
    value_flag{"--engine-host", [](std::string_view t, options& o) { return non_empty(t, o.engine_host); }},
    value_flag{"--server", [](std::string_view t, options& o) { return address(t, o.server_host, o.server_port, "13333"); }},
};

using switch_flag = flags::switch_flag<options>;
constexpr std::array switch_flags{
    switch_flag{"--strict", &options::strict},
    switch_flag{"--plain", &options::plain},
    switch_flag{"--keep", &options::keep},
    switch_flag{"--serve", &options::serve},
};

}  // namespace

std::string_view to_string(routing_kind kind) noexcept {
  switch (kind) {
    case routing_kind::random: return "random";
    case routing_kind::round_robin: return "round robin";
    case routing_kind::conductor: return "conductor";
  }
  return "";
}

parsed_options parse_options(const std::vector<std::string>& arguments) {
  parsed_options out;
  for (std::size_t at = 0; at < arguments.size() && !out.help; ++at) {
    if (auto wrong = read_flag<options>(arguments, at, value_flags, switch_flags, out.chosen, out.help)) {
      out.error = *wrong;
      return out;
    }
  }
  const options& chosen = out.chosen;
  if (out.help) return out;
  if (!chosen.chaos && (chosen.minutes > 0 || chosen.watched_process > 0 || chosen.chaos_seeds > 1)) {
    out.error = "--seeds, --minutes and --watch-pid belong to --chaos";
  } else if (chosen.chaos && !chosen.json_file.empty()) {
    out.error = "--json is the summary of requests; --chaos writes none";
  } else if (chosen.requests == 0 && chosen.trace.empty()) {
    out.error = "--requests 0 means the whole trace, but without --trace the requests are generated and never end";
  } else if (std::uint64_t{chosen.engines} * chosen.ranks > 4096) {
    out.error = "--engines times --ranks must be at most 4096: every rank opens two ports";
  }
  return out;
}

}  // namespace kvc::sim
