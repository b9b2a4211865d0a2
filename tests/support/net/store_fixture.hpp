// The whole service on loopback with a store's publisher, whose objects probes are about.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "net/api_service.hpp"
#include "net/coordinator_service.hpp"
#include "net/event_encode.hpp"
#include "net/http_server.hpp"
#include "net/joint_service.hpp"
#include "net/store_service.hpp"
#include "tests/support/net/eventually.hpp"
#include "tests/support/net/fake_publisher.hpp"
#include "tests/support/net/raw_client.hpp"
#include "tests/support/net/stream_fixture.hpp"

namespace kvc::test {

/// Times of the product, shortened where a test would have to wait for them.
inline net::store_settings quick_stores() {
  net::store_settings settings;
  settings.prefetch_deadline = std::chrono::milliseconds(5'000);
  settings.store_call_timeout = std::chrono::milliseconds(1'000);
  settings.reconcile_rate = 0;  // nothing is read by itself, so that a test sees what it did
  return settings;
}

struct store_fixture {
  explicit store_fixture(const net::store_settings& settings = quick_stores())
      : lanes(2, catalog),
        stores(lanes, settings),
        fleet(lanes, engine, catalog, media, quick_settings(), &stores.objects()),
        api({.lanes = lanes,
             .fleet = fleet,
             .catalog = catalog,
             .media = media,
             .prefetches = &stores.queries(),
             .started = std::chrono::steady_clock::now(),
             .version = "1.2.3"}),
        coordinator(lanes, {}),
        surface(api, coordinator, &stores),
        server(lanes, surface, {}) {
    lanes.start(false);
    if (const auto failure = server.listen("127.0.0.1", 0)) throw std::runtime_error(failure->message());
    stores.start();
    server.start();
  }
  ~store_fixture() { lanes.stop(std::chrono::seconds(10)); }
  store_fixture(const store_fixture&) = delete;
  store_fixture& operator=(const store_fixture&) = delete;

  core::catalog catalog;
  core::medium_table media;
  net::zmq_engine engine;
  net::runtime lanes;
  net::store_service stores;
  net::fleet_service fleet;
  net::api_service api;
  net::coordinator_service coordinator;
  net::joint_service surface;
  net::http_server server;
  boost::asio::io_context context;  ///< of the test: publishers live here

  [[nodiscard]] std::uint16_t port() const { return server.ports().front(); }
  raw_answer call(std::string_view method, std::string_view target, std::string_view body = {}) {
    return ask(port(), method, target, body);
  }
  std::string exist(std::string_view body) {
    const raw_answer answer = call("POST", "/exist", body);
    return answer.status == 200 ? answer.body : std::to_string(answer.status) + " " + answer.body;
  }

  /// Runs the test's context until `holds`; false after 20 s.
  bool eventually(const std::function<bool()>& holds) { return kvc::test::run_until(context, holds); }

  /// Waits for exactly this answer to a probe.
  bool becomes(const std::string& body, const std::string& answer) {
    return eventually([&] { return exist(body) == answer; });
  }

  /// A store's publisher, registered; its stream is whole once `publish` has been heard.
  void open_pool(const std::string& backend = "store-1", const std::string& more = "") {
    pool.emplace(engine, context, fake_publisher::options{});
    static_cast<void>(pool->lose_forever());  // stores count from 1
    const raw_answer answer = call("POST", "/register",
                                   R"({"endpoint":")" + pool->endpoint() + R"(","replay_endpoint":")" + pool->replay_endpoint() +
                                       R"(","type":"Mooncake","modelname":"m","instance_id":"pool","block_size":4,)" + R"("backend_id":")" +
                                       backend + "\"" + more + "}");
    if (answer.status != 200) throw std::runtime_error(answer.body);
  }

  std::uint64_t publish(std::vector<core::event> events, net::event_form form = net::event_form::mooncake_array) {
    core::event_batch batch;
    batch.events = std::move(events);
    std::string payload;
    net::encode_batch(batch, media, {.form = form, .backend_id = "store-1"}, payload);
    return pool->publish(payload);
  }

  /// The full list of an object's replicas, as the first generation tells it.
  static core::event listed(const std::string& key, std::vector<core::replica_kind> kinds) {
    core::object_event event;
    event.scope.object_key = key;
    event.what = core::object_event::change::updated;
    for (const core::replica_kind each : kinds) {
      const core::medium_id medium = each == core::replica_kind::memory ? core::medium_id::cpu : core::medium_id::disk;
      event.replicas.push_back({medium, "10.0.0.1:6000", each});
    }
    return event;
  }

  void add_store(const std::string& url, const std::string& backend = "store-1", const std::string& type = "mooncake_master") {
    const raw_answer answer =
        call("POST", "/stores", R"({"backend_id":")" + backend + R"(","type":")" + type + R"(","url":")" + url + "\"}");
    if (answer.status != 200) throw std::runtime_error(answer.body);
  }

  /// A metric without labels, or with exactly these as they are written; -1 when it is not on the page.
  double metric(const std::string& name) {
    const std::string page = "\n" + call("GET", "/metrics").body;
    const std::size_t at = page.find("\n" + name + " ");
    return at == std::string::npos ? -1 : std::stod(page.substr(at + name.size() + 2));
  }

  std::optional<fake_publisher> pool;
};

}  // namespace kvc::test
