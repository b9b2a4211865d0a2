// The conductor as the simulator sees it: register, ask, look at streams, unregister.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "net/http_client.hpp"
#include "perf/sim_options.hpp"

namespace kvc::sim {

namespace asio = boost::asio;

/// How long the simulator waits for any one answer, and for what a strict run waits for.
inline constexpr std::chrono::seconds answer_patience{30};

/// What came back: a body, or a sentence about why not.
struct reply {
  std::string error;  ///< empty: success
  std::string body;
};

/// What is registered for one rank.
struct enrolment {
  std::string instance;
  std::uint32_t rank = 0;
  std::string endpoint;
  std::string replay_endpoint;  ///< empty: none
  std::string type = "vLLM";
  std::string after_loss;        ///< empty: as the server is set
  bool bind = false;             ///< the conductor binds, the publisher connects
  bool is_private_pool = false;  ///< a store whose blocks only its own instance can use
};

/// A stream of the fleet as the conductor reports it.
struct stream_row {
  std::string instance;
  std::uint32_t rank = 0;
  std::uint64_t applied = 0;   ///< batches: the last applied number plus one
  std::uint64_t missing = 0;   ///< numbers the conductor knows to be lost
  std::uint64_t unproven = 0;  ///< absences that may hide a restart
  std::uint64_t orphans = 0;   ///< names of blocks that wait for a parent, on one medium or several
  std::string state;
  std::map<std::string, std::uint64_t> blocks;  ///< whose place is known, by medium
};

/// The body of a query for every instance of the fleet. An empty adapter or salt: none. Pure.
[[nodiscard]] std::string query_body(const options& chosen, std::span<const std::uint32_t> prompt, std::string_view adapter = {},
                                     std::string_view salt = {});

/// Reads an answer of GET /services. False, with a sentence in `wrong`, when it is none. Pure.
[[nodiscard]] bool read_services(std::string_view body, const std::string& tenant, std::vector<stream_row>& into, std::string& wrong);

/// The sum of all partitions' blocks in an answer of GET /global_view; nothing when it is none. Pure.
[[nodiscard]] std::optional<std::uint64_t> read_blocks_held(std::string_view body);

/// One connection to the conductor.
///
/// Every call has the deadline `answer_patience`. Errors are sentences for people: the simulator has nobody else to tell.
/// Lane: one thread; one call at a time. The options must outlive the object.
class conductor {
 public:
  conductor(asio::any_io_executor executor, const options& chosen);

  /// POST /register. Returns a sentence about what went wrong, or an empty string.
  [[nodiscard]] asio::awaitable<std::string> enroll(enrolment who);
  /// POST /unregister for all ranks of an instance, waiting at most `patience`.
  [[nodiscard]] asio::awaitable<std::string> withdraw(std::string instance, std::chrono::steady_clock::duration patience);
  /// POST /query with a body made by `query_body`.
  [[nodiscard]] asio::awaitable<reply> ask(std::string body);
  /// Any GET.
  [[nodiscard]] asio::awaitable<reply> get(std::string target);

 private:
  [[nodiscard]] asio::awaitable<reply> call(std::string_view method, std::string target, std::string body,
                                            std::chrono::steady_clock::duration patience, std::string_view type);

  const options& chosen_;
  net::http_client client_;
};

}  // namespace kvc::sim
