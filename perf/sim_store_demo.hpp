// A prompt that lies on a store's SSD becomes a hit in memory because somebody asked for it: told step by step.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "net/http_client.hpp"
#include "net/zmq_socket.hpp"
#include "perf/sim_publisher.hpp"
#include "perf/sim_store_cluster.hpp"
#include "perf/sim_store_options.hpp"

namespace kvc::sim {

/// A store with the four blocks of one prompt on SSD, an engine that holds the first of them, and a router's questions.
///
/// Thread: all from the one that made it; it blocks. The store lives on its own lane until the demo is destroyed.
class store_demo {
 public:
  explicit store_demo(const store_options& chosen);
  ~store_demo();
  store_demo(const store_demo&) = delete;
  store_demo& operator=(const store_demo&) = delete;

  /// Opens the store, registers it and the engine, asks, and prints each question with its answer, as they could be typed. Returns a
  /// sentence about what went wrong, or an empty one. Deadline: `store_patience` for each thing that has to come.
  [[nodiscard]] std::string run();
  /// A probe that can be typed while the store is there: for two more objects on SSD.
  [[nodiscard]] std::string example() const;
  /// Unregisters all of it.
  void leave();

  [[nodiscard]] store_cluster& store() noexcept { return store_; }

 private:
  [[nodiscard]] std::string set_up();
  [[nodiscard]] std::string show_probes();
  [[nodiscard]] std::string show_queries();

  /// The body of a 2xx answer; the first failure is kept in `wrong_`.
  std::string ask(std::string_view method, const std::string& target, const std::string& body = {});
  /// Prints a question as it would be typed, and what was answered.
  void show(const std::string& target, const std::string& body, const std::string& answer) const;
  /// Asks again until `holds(answer)`; the last answer. False in the second: it never did.
  [[nodiscard]] std::optional<std::string> await(const std::string& target, const std::string& body,
                                                 const std::function<bool(const std::string&)>& holds,
                                                 std::chrono::steady_clock::duration patience = store_patience);
  [[nodiscard]] bool is_heard(std::string_view instance);

  const std::string base_;  ///< of the conductor's URLs
  net::zmq_engine transport_;
  store_cluster store_;
  std::unique_ptr<publisher> engine_;  ///< on the store's lane
  net::http_client conductor_;
  std::string wrong_;
  bool has_shown_ = false;  ///< the prompt, on its way to memory
};

}  // namespace kvc::sim
