// The streams as numbers over time: families of series with their labels, for whatever exposition they are written in.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "core/medium.hpp"
#include "net/fleet_service.hpp"

namespace kvc::net {

/// One time series now.
struct series {
  std::vector<std::pair<std::string, std::string>> labels;
  double value = 0;
};

/// Series of one name. `is_counter`: only ever rises while its stream is registered.
struct series_family {
  const char* name;
  const char* help;
  bool is_counter;
  std::vector<series> rows;
};

/// Most streams that have series of their own, in the order of their keys; those beyond share series with empty labels, in which counts are
/// added up and of ages the greatest is shown. Who registers many publishers must not be able to break the scrape.
inline constexpr std::size_t max_shown_streams = 512;

/// Everything that is counted per stream. `now`: steady clock, for ages. Any lane.
[[nodiscard]] std::vector<series_family> stream_families(const fleet_view& fleet, const core::medium_table& media,
                                                         std::chrono::steady_clock::time_point now);

}  // namespace kvc::net
