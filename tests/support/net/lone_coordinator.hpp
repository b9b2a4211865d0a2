// A coordinator on one lane that the test gives its turns; no socket.
#pragma once

#include <cstddef>
#include <exception>

#include <boost/asio/awaitable.hpp>

#include "core/catalog.hpp"
#include "net/coordinator_context.hpp"
#include "net/runtime.hpp"

namespace kvc::test {

namespace asio = boost::asio;

/// A coordinator whose lane does something only when it is given a turn. It may go in the middle of whatever it does.
struct lone_coordinator {
  explicit lone_coordinator(const net::coordinator_settings& settings) : context(home, settings) {}
  ~lone_coordinator();
  lone_coordinator(const lone_coordinator&) = delete;
  lone_coordinator& operator=(const lone_coordinator&) = delete;

  core::catalog catalog;
  net::runtime lanes{1, catalog};
  net::lane& home = lanes.at(0);
  net::coordinator_context context;
  std::size_t under_way = 0;   ///< of what was spawned
  std::exception_ptr failure;  ///< what some of it threw

  /// One step of one coroutine.
  void turn();
  /// Turns until nothing is under way, or until it never will be.
  void turns_until_idle();
  /// Begins with its next turn.
  void spawn(asio::awaitable<void> work);
};

}  // namespace kvc::test
