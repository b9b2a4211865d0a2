// Waiting for something that other threads bring about, while what lives on the test's own thread goes on.
#pragma once

#include <chrono>

#include <boost/asio/io_context.hpp>

namespace kvc::test {

/// Runs `context` in short turns until `holds()`; false after 20 s, which is a failure however busy the machine is.
/// Lane: the thread that calls it, which is the only one to run `context`.
template <class Condition>
[[nodiscard]] bool run_until(boost::asio::io_context& context, Condition&& holds) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    context.restart();
    context.run_for(std::chrono::milliseconds(2));
  }
  return true;
}

}  // namespace kvc::test
