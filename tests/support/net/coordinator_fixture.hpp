// The fleet coordinator on loopback, with nothing going on by itself unless a test asks for it.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "core/catalog.hpp"
#include "net/coordinator_service.hpp"
#include "net/http_server.hpp"
#include "net/runtime.hpp"
#include "tests/support/net/raw_client.hpp"

namespace kvc::test {

/// No loops, small tables.
inline net::coordinator_settings quiet_coordinator() {
  net::coordinator_settings settings;
  settings.health_check_interval = settings.eviction_check_interval = net::seconds_setting(0);
  settings.enable_startup_resync = false;
  settings.blend_chunk_size = 4;
  settings.blend_max_chunks = 1'024;
  return settings;
}

struct coordinator_fixture {
  explicit coordinator_fixture(net::coordinator_settings settings = quiet_coordinator(), std::size_t lane_count = 2)
      : lanes(lane_count, catalog), service(lanes, std::move(settings), "1.2.3"), server(lanes, service, net::http_settings{}) {
    lanes.start(false);
    if (const auto failure = server.listen("127.0.0.1", 0)) throw std::runtime_error(failure->message());
    service.start();
    server.start();
  }
  ~coordinator_fixture() { lanes.stop(std::chrono::seconds(10)); }
  coordinator_fixture(const coordinator_fixture&) = delete;
  coordinator_fixture& operator=(const coordinator_fixture&) = delete;

  core::catalog catalog;
  net::runtime lanes;
  net::coordinator_service service;
  net::http_server server;

  raw_answer call(std::string_view method, std::string_view target, std::string_view body = {}) {
    return ask(server.ports().front(), method, target, body);
  }
};

}  // namespace kvc::test
