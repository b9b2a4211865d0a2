#include "perf/sim_demo.hpp"

#include <chrono>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "core/event.hpp"
#include "perf/sim_dialect.hpp"

namespace kvc::sim {
namespace {

constexpr std::uint32_t demo_block_size = 4;
constexpr std::chrono::milliseconds look_pause{20};

options demo_options(options chosen) {
  chosen.model = "demo";
  chosen.tenant = "default";
  chosen.block_size = demo_block_size;
  return chosen;
}

/// The first `blocks` blocks of the prompt 1, 2, 3 ... on one medium.
core::event stored(std::uint32_t blocks, core::medium_id medium) {
  core::stored_event event;
  event.scope.block_size = demo_block_size;
  event.scope.medium = medium;
  for (std::uint32_t i = 0; i < blocks; ++i) event.hashes.emplace_back(0xDE30'0000U + i);
  event.tokens.resize(std::size_t{blocks} * demo_block_size);
  std::iota(event.tokens.begin(), event.tokens.end(), 1U);
  event.has_tokens = true;
  return event;
}

}  // namespace

demo_engine::demo_engine(net::zmq_engine& transport, const asio::any_io_executor& executor, const options& chosen)
    : executor_(executor),
      chosen_(demo_options(chosen)),
      out_(transport, executor, chosen.events, chosen.hashes),
      server_(executor, chosen_) {}

asio::awaitable<std::string> demo_engine::start(net::task_scope& tasks, const bool& is_stopping) {
  if (const auto failed = out_.open(chosen_.engine_host)) co_return "the demo engine cannot open its sockets: " + failed.message();
  core::event_batch batch;
  batch.events.push_back(stored(2, core::medium_id::gpu));
  batch.events.push_back(stored(3, core::medium_id::cpu));
  out_.publish(std::move(batch));
  tasks.spawn("demo replays", out_.serve_replays());

  enrolment who;
  who.instance = "demo";
  who.endpoint = out_.endpoint();
  who.replay_endpoint = out_.replay_endpoint();
  who.type = traits_of(chosen_.events).type;
  std::string wrong = co_await server_.enroll(who);
  if (!wrong.empty()) co_return wrong;
  const auto deadline = std::chrono::steady_clock::now() + answer_patience;
  asio::steady_timer pause(executor_);
  while (!is_stopping && std::chrono::steady_clock::now() < deadline) {
    const reply got = co_await server_.get("/services?instance_id=demo");
    std::vector<stream_row> rows;
    if (got.error.empty() && read_services(got.body, chosen_.tenant, rows, wrong) && !rows.empty() && rows.front().applied > 0) {
      co_return std::string();
    }
    boost::system::error_code woken;
    pause.expires_after(look_pause);
    co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  }
  co_return is_stopping ? std::string() : std::string("the demo engine's blocks have not arrived in time");
}

asio::awaitable<std::string> demo_engine::stop() {
  std::string wrong = co_await server_.withdraw("demo", answer_patience);
  co_return wrong;
}

std::string demo_engine::example(const std::string& base) {
  return "curl -s " + base + R"(/query -d '{"model":"demo","block_size":4,"token_ids":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]}')";
}

}  // namespace kvc::sim
