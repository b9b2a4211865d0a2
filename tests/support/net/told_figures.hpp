// What the service says of one stream, in every place where it does: /services, /workers, a row with detail, /metrics.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>

#include "core/stream_status.hpp"
#include "tests/support/net/report_fixture.hpp"

namespace kvc::test {

/// What all places together must say of a stream.
struct wanted_figures {
  core::stream_state state = core::stream_state::whole;
  core::connection_state connection = core::connection_state::connected;
  /// By their names in /services, members of members behind a dot; those that are not here are 0. A generation is 1.
  std::map<std::string, std::uint64_t> numbers{};
};

/// The places at one moment; nothing is applied meanwhile, or they differ. One owner.
class told_figures {
 public:
  /// Asks the service in the order of the members. The instance has one stream, rank 0 of the partition (default, m, block size 4).
  told_figures(api_fixture& service, const std::string& instance);

  /// Every figure that is not as it must be, with its place; empty: all are.
  [[nodiscard]] std::vector<std::string> faults(const wanted_figures& wanted) const;

  boost::json::object service;           ///< of /services
  boost::json::object worker;            ///< of /workers
  boost::json::object row;               ///< of a query with detail
  std::map<std::string, double> series;  ///< of /metrics: names behind `kvc_stream_`, with the labels behind those that say whose they are
};

}  // namespace kvc::test
