#include "tests/support/net/lone_coordinator.hpp"

#include <utility>

#include <boost/asio/co_spawn.hpp>

namespace kvc::test {

lone_coordinator::~lone_coordinator() {
  home.tasks.cancel(asio::cancellation_type::terminal);
  while (home.tasks.running() != 0) turn();
}

void lone_coordinator::turn() {
  home.context.restart();
  home.context.poll_one();
}

void lone_coordinator::turns_until_idle() {
  constexpr int more_than_needed = 10'000'000;
  for (int i = 0; under_way != 0 && i < more_than_needed; ++i) turn();
}

void lone_coordinator::spawn(asio::awaitable<void> work) {
  ++under_way;
  asio::co_spawn(home.context, std::move(work), [this](std::exception_ptr failed) {
    --under_way;
    if (failed) failure = failed;
  });
}

}  // namespace kvc::test
