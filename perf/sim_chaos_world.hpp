// The fleet of one chaos run, drawn from a seed: instances, their publishers, and what goes wrong with each.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>

#include "net/task_scope.hpp"
#include "net/zmq_socket.hpp"
#include "perf/sim_chaos_publisher.hpp"
#include "perf/sim_chaos_text.hpp"

namespace kvc::sim {

/// One publisher and what it is registered as.
struct chaos_member {
  std::string instance;
  std::uint32_t rank = 0;
  std::unique_ptr<chaos_publisher> publisher;
};

/// Immutable but for its publishers. The same seed draws the same world, and the same events and faults in it; only times differ.
struct chaos_world {
  /// `tenant` keeps runs apart that share a conductor. The transport and the scope must outlive the world.
  chaos_world(std::uint64_t seed, const std::string& tenant, net::zmq_engine& transport, const asio::any_io_executor& executor,
              net::task_scope& tasks);

  chaos_text text;
  std::vector<std::string> instances;
  std::vector<chaos_member> members;  ///< by instance

 private:
  chaos_world(dice random, const std::string& tenant, net::zmq_engine& transport, const asio::any_io_executor& executor,
              net::task_scope& tasks);
};

}  // namespace kvc::sim
