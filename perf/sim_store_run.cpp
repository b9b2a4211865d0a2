#include "perf/sim_store_run.hpp"

#include <csignal>
#include <cstdio>
#include <future>
#include <memory>
#include <string>

#include <boost/asio/signal_set.hpp>

#include "perf/sim_store_cluster.hpp"

namespace kvc::sim {
namespace {

void print_addresses(store_cluster& store, const store_options& chosen) {
  for (std::uint32_t i = 0; i < chosen.masters; ++i) {
    std::printf("master %u  admin %s, events %s%s%s\n", i, store.url(i).c_str(), store.endpoint(i).c_str(),
                chosen.generation == store_generation::array ? ", replay " : "", store.replay_endpoint(i).c_str());
  }
  std::fflush(stdout);
}

/// Ends with INT or TERM, or when the seconds are over.
void wait_for_the_end(store_cluster& store, double seconds) {
  std::promise<void> asked;
  std::unique_ptr<boost::asio::signal_set> signals;
  store.at_home([&](store_world& world) {
    signals = std::make_unique<boost::asio::signal_set>(world.home.context, SIGINT, SIGTERM);
    signals->async_wait([&asked](const boost::system::error_code& failed, int) {
      if (!failed) asked.set_value();
    });
  });
  auto ended = asked.get_future();
  if (seconds > 0) {
    ended.wait_for(std::chrono::duration<double>(seconds));
  } else {
    ended.wait();
  }
  store.at_home([&](store_world&) { signals.reset(); });
}

}  // namespace

int run_store(const store_options& chosen) {
  store_cluster store(chosen);
  const std::string wrong = store.open();
  if (!wrong.empty()) {
    std::fprintf(stderr, "kv-conductor-sim: %s\n", wrong.c_str());
    return 1;
  }
  print_addresses(store, chosen);
  wait_for_the_end(store, chosen.seconds);
  return store.stop() ? 0 : 1;
}

}  // namespace kvc::sim
