// The whole surface on loopback, for tests of the fleet coordinator: nothing goes on by itself unless a test asks for it.
#pragma once

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "net/api_service.hpp"
#include "net/coordinator_service.hpp"
#include "net/http_server.hpp"
#include "net/joint_service.hpp"
#include "tests/support/net/raw_client.hpp"
#include "tests/support/net/stream_fixture.hpp"

namespace kvc::test {

/// No loops, small tables, two ports.
struct coordinator_options {
  coordinator_options() {
    coordinator.health_check_interval = coordinator.eviction_check_interval = net::seconds_setting(0);
    coordinator.enable_startup_resync = false;
    coordinator.blend_chunk_size = 4;
    coordinator.blend_max_chunks = 1'024;
  }

  net::coordinator_settings coordinator;
  net::http_settings http{};
  std::size_t lanes = 2;
  std::uint16_t first_port = 0;  ///< 0: a free one, as the second always is
};

struct coordinator_fixture {
  explicit coordinator_fixture(const coordinator_options& options = {})
      : lanes(options.lanes, catalog),
        fleet(lanes, engine, catalog, media, quick_settings()),
        api({.lanes = lanes,
             .fleet = fleet,
             .catalog = catalog,
             .media = media,
             .hash_seed = core::default_hash_seed,
             .started = std::chrono::steady_clock::now(),
             .version = "1.2.3",
             .auth_tokens = options.coordinator.auth_tokens,
             .auth_read_tokens = options.coordinator.auth_read_tokens}),
        coordinator(lanes, options.coordinator),
        surface(api, coordinator),
        server(lanes, surface, options.http) {
    if (const auto unreadable = coordinator.load_quotas()) throw std::runtime_error(*unreadable);
    lanes.start(false);
    for (int i = 0; i < 2; ++i) {
      if (const auto failure = server.listen("127.0.0.1", i == 0 ? options.first_port : 0)) throw std::runtime_error(failure->message());
    }
    coordinator.start();
    server.start();
  }
  ~coordinator_fixture() { lanes.stop(std::chrono::seconds(10)); }
  coordinator_fixture(const coordinator_fixture&) = delete;
  coordinator_fixture& operator=(const coordinator_fixture&) = delete;

  core::catalog catalog;
  core::medium_table media;
  net::zmq_engine engine;
  net::runtime lanes;
  net::fleet_service fleet;
  net::api_service api;
  net::coordinator_service coordinator;
  net::joint_service surface;
  net::http_server server;

  [[nodiscard]] std::uint16_t port() const { return server.ports().front(); }

  raw_answer call(std::string_view method, std::string_view target, std::string_view body = {}, const header_list& headers = {}) {
    return ask(port(), method, target, body, headers);
  }

  /// A metric without labels, or with exactly these as they are written; -1 when it is not on the page.
  double metric(const std::string& name) {
    const std::string page = "\n" + call("GET", "/metrics").body;
    const std::size_t at = page.find("\n" + name + " ");
    return at == std::string::npos ? -1 : std::stod(page.substr(at + name.size() + 2));
  }

  /// Asks again until the metric is at least `value`; false after 20 s.
  bool reaches(const std::string& name, double value) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (metric(name) < value) {
      if (std::chrono::steady_clock::now() > deadline) return false;
    }
    return true;
  }

  /// Registers an MP server that listens on loopback.
  void join(const std::string& instance, std::uint16_t at) {
    const raw_answer joined =
        call("POST", "/instances", R"({"ip":"127.0.0.1","http_port":)" + std::to_string(at) + R"(,"instance_id":")" + instance + "\"}");
    if (joined.status != 200) throw std::runtime_error(joined.body);
  }
};

/// The body as a document, for comparisons that do not depend on the order of members.
inline boost::json::value json_of(const raw_answer& answer) {
  return boost::json::parse(answer.body);
}

/// An object key as MP servers write it.
inline std::string key_text(std::string_view hash, std::string_view salt = "s", std::string_view more = "") {
  return R"({"chunk_hash_hex":")" + std::string(hash) + R"(","model_name":"m","kv_rank":16777472,"cache_salt":")" + std::string(salt) +
         "\"" + std::string(more) + "}";
}

inline std::string event_text(std::string_view type, std::string_view hash, std::uint64_t bytes, std::string_view salt = "s") {
  return R"({"type":")" + std::string(type) + R"(","key":)" + key_text(hash, salt) + R"(,"bytes":)" + std::to_string(bytes) + "}";
}

/// A body for POST /quota/events; `events` separated by commas.
inline std::string batch_text(std::uint64_t number, std::string_view events, std::string_view instance = "a") {
  return R"({"instance_id":")" + std::string(instance) + R"(","seq":)" + std::to_string(number) + R"(,"events":[)" + std::string(events) +
         "]}";
}

}  // namespace kvc::test
