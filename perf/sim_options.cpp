#include "perf/sim_options.hpp"

#include <array>
#include <charconv>
#include <cstddef>
#include <optional>
#include <string>

namespace kvc::sim {
namespace {

/// Why a value was refused, or nothing.
using refusal = std::optional<std::string>;

template <class Whole>
refusal whole(std::string_view text, Whole& into, std::uint64_t least, std::uint64_t most) {
  std::uint64_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || end != text.data() + text.size() || value < least || value > most) {
    return "must be a whole number from " + std::to_string(least) + " to " + std::to_string(most);
  }
  into = static_cast<Whole>(value);
  return std::nullopt;
}

refusal number(std::string_view text, double& into, double most, std::string_view range) {
  double value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || end != text.data() + text.size() || !(value >= 0) || value > most) {
    return "must be a number from " + std::string(range);
  }
  into = value;
  return std::nullopt;
}

template <class Value>
refusal word(std::string_view text, Value& into, std::initializer_list<std::pair<std::string_view, Value>> known) {
  std::string names;
  for (const auto& [name, value] : known) {
    if (text == name) {
      into = value;
      return std::nullopt;
    }
    names += (names.empty() ? "" : ", ") + std::string(name);
  }
  return "must be one of " + names;
}

refusal non_empty(std::string_view text, std::string& into) {
  if (text.empty()) return "must not be empty";
  into = text;
  return std::nullopt;
}

/// host:port, [v6]:port, or a bare host.
refusal server(std::string_view text, options& into) {
  refusal wrong = "must be HOST:PORT, for example 127.0.0.1:13333 or [::1]:13333";
  std::string_view host = text;
  std::string_view port;
  if (text.starts_with('[')) {
    const auto closing = text.find(']');
    if (closing == std::string_view::npos) return wrong;
    host = text.substr(1, closing - 1);
    port = text.substr(closing + 1);
  } else if (const auto colon = text.rfind(':'); colon != std::string_view::npos) {
    host = text.substr(0, colon);
    port = text.substr(colon);
  }
  if (host.empty()) return wrong;
  if (!port.empty() && (port[0] != ':' || whole(port.substr(1), into.server_port, 1, 65'535))) return wrong;
  into.server_host = host;
  return std::nullopt;
}

constexpr std::uint64_t any_u64 = ~std::uint64_t{0};

struct value_flag {
  std::string_view name;
  refusal (*read)(std::string_view, options&);
};

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
               [](std::string_view t, options& o) {
                 return word<event_form>(t, o.events, {{"map", event_form::map}, {"array", event_form::array}});
               }},
    value_flag{"--hash-form",
               [](std::string_view t, options& o) {
                 return word<hash_form>(t, o.hashes, {{"int", hash_form::integer}, {"bytes", hash_form::bytes}});
               }},
    value_flag{"--trace", [](std::string_view t, options& o) { return non_empty(t, o.trace); }},
    value_flag{"--tenant", [](std::string_view t, options& o) { return non_empty(t, o.tenant); }},
    value_flag{"--model", [](std::string_view t, options& o) { return non_empty(t, o.model); }},
    value_flag{"--json", [](std::string_view t, options& o) { return non_empty(t, o.json_file); }},
    value_flag{"--engine-host", [](std::string_view t, options& o) { return non_empty(t, o.engine_host); }},
    value_flag{"--server", server},
};

struct switch_flag {
  std::string_view name;
  bool options::*set;
};

constexpr std::array switch_flags{
    switch_flag{"--strict", &options::strict},
    switch_flag{"--plain", &options::plain},
    switch_flag{"--keep", &options::keep},
    switch_flag{"--serve", &options::serve},
};

/// Handles the flag at `at`, moving it past a value taken from the next argument.
refusal read_flag(const std::vector<std::string>& arguments, std::size_t& at, parsed_options& out) {
  std::string_view name = arguments[at];
  std::optional<std::string_view> value;
  if (name == "--help" || name == "-h") {
    out.help = true;
    return std::nullopt;
  }
  if (const auto equals = name.find('='); equals != std::string_view::npos && name.starts_with("--")) {
    value = name.substr(equals + 1);
    name = name.substr(0, equals);
  }
  for (const auto& flag : switch_flags) {
    if (flag.name != name) continue;
    if (value) return std::string(name) + " takes no value";
    out.chosen.*flag.set = true;
    return std::nullopt;
  }
  for (const auto& flag : value_flags) {
    if (flag.name != name) continue;
    if (!value && at + 1 < arguments.size()) value = arguments[++at];
    if (!value) return std::string(name) + " needs a value";
    if (const auto wrong = flag.read(*value, out.chosen)) return std::string(name) + " " + *wrong + ", not '" + std::string(*value) + "'";
    return std::nullopt;
  }
  return "unknown flag '" + std::string(name) + "'; --help lists them all";
}

}  // namespace

std::string_view to_string(routing_kind kind) noexcept {
  switch (kind) {
    case routing_kind::random:
      return "random";
    case routing_kind::round_robin:
      return "round robin";
    case routing_kind::conductor:
      return "conductor";
  }
  return "";
}

parsed_options parse_options(const std::vector<std::string>& arguments) {
  parsed_options out;
  for (std::size_t at = 0; at < arguments.size() && !out.help; ++at) {
    if (auto wrong = read_flag(arguments, at, out)) {
      out.error = *wrong;
      return out;
    }
  }
  const options& chosen = out.chosen;
  if (out.help) return out;
  if (!chosen.chaos && (chosen.minutes > 0 || chosen.watched_process > 0 || chosen.chaos_seeds > 1)) {
    out.error = "--seeds, --minutes and --watch-pid belong to --chaos";
  } else if (chosen.requests == 0 && chosen.trace.empty()) {
    out.error = "--requests 0 means the whole trace, but without --trace the requests are generated and never end";
  } else if (std::uint64_t{chosen.engines} * chosen.ranks > 4096) {
    out.error = "--engines times --ranks must be at most 4096: every rank opens two ports";
  }
  return out;
}

}  // namespace kvc::sim
