// How a stand-in store comes to be known to the conductor, and how it leaves.
#include <chrono>
#include <string>
#include <utility>

#include <boost/asio/use_awaitable.hpp>

#include "perf/sim_store_play.hpp"

namespace kvc::sim {

namespace asio = boost::asio;
using steady = std::chrono::steady_clock;

std::string store_play::instance(std::size_t master) {
  return "store-" + std::to_string(master);
}

asio::awaitable<void> store_play::register_all() {
  for (std::size_t master = 0; master < world_.publishers.size() && world_.complaint_count() == 0; ++master) {
    std::string body = store_publisher_body(world_.chosen, instance(master), store_.endpoint(master), store_.replay_endpoint(master));
    const auto registered = co_await service_.ask("POST", "/register", std::move(body));
    if (registered && registered->status != 200) {
      world_.complain("POST /register answered " + std::to_string(registered->status) + ": " + registered->body.substr(0, 200));
    }
    co_await be_heard(master);
  }
  if (world_.complaint_count() != 0) co_return;
  std::string body = store_executor_body(world_.chosen, store_.url(0));
  const auto known = co_await service_.ask("POST", "/stores", std::move(body));
  if (known && (known->status < 200 || known->status > 299)) {
    world_.complain("POST /stores answered " + std::to_string(known->status) + ": " + known->body.substr(0, 200));
  }
  co_await be_asked();
}

/// What nobody has told of is unknown until the store has answered once. With trouble from the start it may not: then that is how it is.
asio::awaitable<void> store_play::be_asked() {
  const auto deadline = steady::now() + store_patience;
  while (world_.complaint_count() == 0 && !world_.is_stopping && steady::now() < deadline) {
    const auto stores = co_await service_.ask("GET", "/stores", {});
    if (stores && stores->body.find(R"("reachable":true)") != std::string::npos) co_return;
    co_await service_.nap(std::chrono::milliseconds(10));
  }
}

/// A subscription takes effect some time after it is asked for, and the master has no replay: sends empty batches until one has arrived.
asio::awaitable<void> store_play::be_heard(std::size_t master) {
  const auto deadline = steady::now() + store_patience;
  while (world_.complaint_count() == 0 && !world_.is_stopping) {
    world_.publishers[master]->beat();
    co_await service_.nap(std::chrono::milliseconds(10));
    const auto rows = co_await service_.ask("GET", "/services", {});
    if (rows && read_applied(rows->body, instance(master)) > 0) co_return;
    if (steady::now() > deadline) world_.complain("the conductor does not hear the publisher of " + instance(master));
  }
}

asio::awaitable<void> store_play::leave() {
  const auto forgotten = co_await service_.ask("DELETE", "/stores/" + world_.chosen.backend, {});
  if (forgotten && forgotten->status != 200 && forgotten->status != 204) {
    world_.complain("DELETE /stores answered " + std::to_string(forgotten->status));
  }
  for (std::size_t master = 0; master < world_.publishers.size(); ++master) {
    std::string body = R"({"instance_id":")" + instance(master) + R"(","tenant_id":")" + world_.chosen.tenant + "\"}";
    const auto gone = co_await service_.ask("POST", "/unregister", std::move(body));
    if (gone && gone->status != 200) world_.complain("POST /unregister answered " + std::to_string(gone->status));
  }
}

}  // namespace kvc::sim
