// A fleet of two lanes with everything between sockets and index, driven from the test's own thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <stdexcept>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include "core/block_hasher.hpp"
#include "core/catalog.hpp"
#include "core/medium.hpp"
#include "net/fleet_service.hpp"
#include "net/runtime.hpp"
#include "net/zmq_socket.hpp"
#include "tests/support/net/eventually.hpp"
#include "tests/support/net/fake_publisher.hpp"

namespace kvc::test {

inline net::stream_settings quick_settings() {
  net::stream_settings settings;
  settings.idle_check = std::chrono::milliseconds(50);
  settings.replay_timeout = std::chrono::milliseconds(500);
  settings.replay_attempts = 2;
  return settings;
}

struct stream_fixture {
  static constexpr std::uint32_t block_size = 4;

  /// `sockets`: as many there are for all streams.
  explicit stream_fixture(net::stream_settings settings = quick_settings(), int sockets = 65'536)
      : engine(1, sockets), lanes(2, catalog), fleet(lanes, engine, catalog, media, settings) {
    lanes.start(false);
  }
  ~stream_fixture() { lanes.stop(std::chrono::seconds(10)); }
  stream_fixture(const stream_fixture&) = delete;
  stream_fixture& operator=(const stream_fixture&) = delete;

  core::catalog catalog;
  core::medium_table media;
  net::zmq_engine engine;
  net::runtime lanes;
  net::fleet_service fleet;
  boost::asio::io_context context;  ///< of the test: publishers live here and make progress inside `eventually` and `await`

  /// Runs the test's context until `holds`; false after 20 s.
  bool eventually(const std::function<bool()>& holds) { return kvc::test::run_until(context, holds); }

  /// What `work` answers; throws when it has not ended within 20 s.
  template <class T>
  T await(boost::asio::awaitable<T> work) {
    auto done = boost::asio::co_spawn(context, std::move(work), boost::asio::use_future);
    const bool has_ended = eventually([&] { return done.wait_for(std::chrono::seconds(0)) == std::future_status::ready; });
    if (!has_ended) throw std::runtime_error("what the test awaits did not end within 20 s");
    return done.get();
  }

  [[nodiscard]] static core::registration registration(const fake_publisher& publisher, std::string instance = "engine-1",
                                                       std::uint32_t rank = 0) {
    core::registration wanted;
    wanted.worker = {.tenant = "default", .instance = std::move(instance), .rank = core::dp_rank{rank}};
    wanted.partition = {.tenant = "default", .model = "m", .lora = "", .salt = "", .block_size = block_size};
    wanted.endpoint = publisher.endpoint();
    wanted.replay_endpoint = publisher.replay_endpoint();
    wanted.hash_seed = core::default_hash_seed;
    return wanted;
  }

  [[nodiscard]] const net::service_info* service(const std::string& instance = "engine-1") {
    seen_ = fleet.view().get();
    for (const auto& each : *seen_) {
      if (each->registration.worker.instance == instance) return each.get();
    }
    return nullptr;
  }
  [[nodiscard]] core::stream_state state(const std::string& instance = "engine-1") { return service(instance)->status->state.load(); }

  /// Leading blocks of `tokens` that the instance holds on any medium, as a query would see it.
  [[nodiscard]] std::uint32_t depth(const std::vector<std::uint32_t>& tokens, const std::string& instance = "engine-1") const {
    const auto view = catalog.view().get();
    const auto* home = view->find({.tenant = "default", .model = "m", .lora = "", .salt = "", .block_size = block_size});
    if (home == nullptr) return 0;
    std::vector<core::local_hash> locals;
    core::hash_blocks(tokens, block_size, home->partition->seed(), locals);
    core::match_result found;
    home->partition->index().match(locals, home->scope, found);
    std::uint32_t deepest = 0;
    for (const auto& member : home->members) {
      if (member.key->instance == instance) deepest = std::max(deepest, found.of(member.id).any);
    }
    return deepest;
  }

 private:
  std::shared_ptr<const net::fleet_view> seen_;
};

}  // namespace kvc::test
