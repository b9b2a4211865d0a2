// The whole service on loopback: lanes, fleet, API and HTTP server, with blocks put into the index by hand.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "net/api_service.hpp"
#include "net/http_server.hpp"
#include "tests/support/net/raw_client.hpp"
#include "tests/support/net/stream_fixture.hpp"

namespace kvc::test {

struct api_settings {
  net::http_settings http{};
  net::stream_settings streams = quick_settings();
  std::vector<std::string> tokens{};
  std::vector<std::string> read_tokens{};
  std::function<std::vector<std::string>()> also_missing{};
};

/// Publishers registered here never come up (their port is the discard service's), so that nothing but the test writes to the index.
struct api_fixture {
  explicit api_fixture(const api_settings& settings = {})
      : lanes(2, catalog),
        fleet(lanes, engine, catalog, media, settings.streams),
        api({.lanes = lanes,
             .fleet = fleet,
             .catalog = catalog,
             .media = media,
             .hash_seed = core::default_hash_seed,
             .started = std::chrono::steady_clock::now(),
             .version = "1.2.3",
             .auth_tokens = settings.tokens,
             .auth_read_tokens = settings.read_tokens,
             .also_missing = settings.also_missing}),
        server(lanes, api, settings.http) {
    lanes.start(false);
    if (const auto failure = server.listen("127.0.0.1", 0)) throw std::runtime_error(failure->message());
    server.start();
  }
  ~api_fixture() { lanes.stop(std::chrono::seconds(10)); }
  api_fixture(const api_fixture&) = delete;
  api_fixture& operator=(const api_fixture&) = delete;

  core::catalog catalog;
  core::medium_table media;
  net::zmq_engine engine;
  net::runtime lanes;
  net::fleet_service fleet;
  net::api_service api;
  net::http_server server;

  [[nodiscard]] std::uint16_t port() const { return server.ports().front(); }

  raw_answer post(std::string_view target, std::string_view body, const header_list& headers = {}) {
    return ask(port(), "POST", target, body, headers);
  }
  raw_answer get(std::string_view target, const header_list& headers = {}) { return ask(port(), "GET", target, {}, headers); }

  /// Registers an instance's rank in the partition (default, m, block size 4).
  raw_answer join(const std::string& instance, std::uint32_t rank = 0, const std::string& type = "vLLM", const std::string& more = "") {
    return post("/register", R"({"endpoint":"tcp://127.0.0.1:9","type":")" + type + R"(","modelname":"m","instance_id":")" + instance +
                                 R"(","block_size":4,"dp_rank":)" + std::to_string(rank) + more + "}");
  }

  /// The member that `join` made; it must be there.
  [[nodiscard]] core::member find_member(const std::string& instance, std::uint32_t rank = 0,
                                         core::publisher_class kind = core::publisher_class::engine) const {
    const auto view = catalog.view().get();
    for (const auto& [key, partition] : view->partitions) {
      for (const core::member& each : partition->members) {
        if (each.key->instance == instance && each.key->rank.get() == rank && each.key->kind == kind) return each;
      }
    }
    throw std::runtime_error("no such member: " + instance);
  }

  /// Puts leading blocks `[first, last)` of a prompt into the index, as if the worker had stored them.
  void hold(const core::member& worker, std::span<const std::uint32_t> prompt, std::size_t first, std::size_t last,
            core::medium_id medium = core::medium_id::gpu) {
    const auto view = catalog.view().get();
    const auto* const home = view->find({.tenant = "default", .model = "m", .lora = "", .salt = "", .block_size = 4});
    if (home == nullptr) throw std::runtime_error("the partition is not there");
    std::vector<core::local_hash> locals;
    std::vector<core::seq_hash> hashes;
    core::hash_blocks(prompt, 4, home->partition->seed(), locals);
    core::roll_from_root(locals, home->partition->seed(), hashes);
    for (std::size_t i = first; i < last; ++i) home->partition->index().hold(hashes[i], worker.id, medium);
    worker.media_seen->fetch_or(core::mask_of(medium));
  }
};

}  // namespace kvc::test
