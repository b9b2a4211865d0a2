// A tiny engine whose cache fits into a sentence, so that people can try a query by hand.
#pragma once

#include <string>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "net/task_scope.hpp"
#include "net/zmq_socket.hpp"
#include "perf/sim_conductor.hpp"
#include "perf/sim_options.hpp"
#include "perf/sim_publisher.hpp"

namespace kvc::sim {

/// Instance `demo` of model `demo`, blocks of 4 tokens: it holds the tokens 1 to 8 on the GPU and 1 to 12 in host memory.
/// The root README's query is answered by it. Lane: one thread. What is passed in must outlive it.
class demo_engine {
 public:
  demo_engine(net::zmq_engine& transport, const asio::any_io_executor& executor, const options& chosen);

  /// Binds, publishes its blocks, answers replay requests in `tasks`, registers, and waits until the blocks have arrived: the conductor
  /// replays what was published before it listened. Returns a sentence about what went wrong, or an empty string.
  /// Deadline: `answer_patience`. `is_stopping` ends the wait.
  [[nodiscard]] asio::awaitable<std::string> start(net::task_scope& tasks, const bool& is_stopping);

  /// Unregisters.
  [[nodiscard]] asio::awaitable<std::string> stop();

  /// The query people can paste, for the server at `base` (http://host:port).
  [[nodiscard]] static std::string example(const std::string& base);

 private:
  asio::any_io_executor executor_;
  options chosen_;  ///< the run's, with the demo's own model and block size
  publisher out_;
  conductor server_;
};

}  // namespace kvc::sim
