#include "perf/sim_chaos_coverage.hpp"

#include "perf/sim_dialect.hpp"

namespace kvc::sim {
namespace {

constexpr std::array<std::string_view, chaos_trait_count> trait_names{
    "connects",         "several_ranks", "multiplexed",  "clear",   "second_medium", "overtaken",
    "explained_object", "keyed_object",  "window_group", "adapter", "salt",          "chunk",
};
constexpr std::array<std::string_view, core::event_kind_count> kind_names{"stored", "removed", "cleared", "object"};

core::event example_of(std::size_t kind) {
  switch (kind) {
    case 0: return core::stored_event{};
    case 1: return core::removed_event{};
    case 2: return core::cleared_event{};
    default: return core::object_event{};
  }
}

}  // namespace

std::string_view to_string(chaos_trait what) noexcept {
  return trait_names[static_cast<std::size_t>(what)];
}

void chaos_coverage::add(const chaos_coverage& other) noexcept {
  for (std::size_t form = 0; form < told.size(); ++form) {
    for (std::size_t kind = 0; kind < told[form].size(); ++kind) told[form][kind] += other.told[form][kind];
  }
  for (std::size_t i = 0; i < seen.size(); ++i) seen[i] += other.seen[i];
}

std::string chaos_coverage::name_of(net::event_form form, std::size_t kind) {
  if (!net::can_say(form, example_of(kind))) return {};
  return std::string(traits_of(form).name) + " " + std::string(kind_names[kind]);
}

}  // namespace kvc::sim
