#include "perf/sim_publisher.hpp"

#include <array>
#include <chrono>
#include <string_view>
#include <utility>

#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "net/zmq_frames.hpp"

namespace kvc::sim {
namespace {

constexpr std::uint64_t replies_per_turn = 64;

net::encode_options form_of(net::event_form events, hash_form hashes) {
  net::encode_options chosen;
  chosen.form = events;
  chosen.binary_hashes = hashes == hash_form::bytes;
  return chosen;
}

net::zmq_options without_loss() {
  net::zmq_options chosen;
  chosen.send_high_water = 100'000;  // vLLM's default for its publisher
  return chosen;
}

net::zmq_options unlimited() {
  net::zmq_options chosen;
  chosen.send_high_water = 0;  // a whole replay fits: it is bounded by what is kept, and no reply is dropped on our side
  return chosen;
}

}  // namespace

publisher::publisher(net::zmq_engine& engine, asio::any_io_executor executor, net::event_form events, hash_form hashes)
    : executor_(executor),
      live_(engine, executor, net::zmq_socket::kind::publisher, without_loss()),
      replay_(engine, executor, net::zmq_socket::kind::router, unlimited()),
      form_(form_of(events, hashes)) {}

net::error_code publisher::open(const std::string& host) {
  const std::string anywhere = "tcp://" + (host.find(':') == std::string::npos ? host : "[" + host + "]") + ":*";
  if (const auto failed = live_.bind(anywhere)) return failed;
  return replay_.bind(anywhere);
}

void publisher::publish(core::event_batch batch) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  batch.timestamp_s = std::chrono::duration<double>(now).count();
  std::string& payload = kept_.emplace_back();
  net::encode_batch(batch, media_, form_, payload);
  kept_bytes_ += payload.size();

  const net::seqno_frame number(core::seqno{next_seqno_++});
  const std::array<std::string_view, 3> frames{std::string_view(), number.view(), payload};
  // A publisher never waits: what a subscriber has no room for is lost to it, and the gap tells it to ask for a replay.
  static_cast<void>(live_.try_send(frames));

  while (kept_.size() > 1 && (kept_.size() > replay_buffer_batches || kept_bytes_ > replay_buffer_bytes)) {
    kept_bytes_ -= kept_.front().size();
    kept_.pop_front();
  }
}

asio::awaitable<void> publisher::replay(std::string asker, std::uint64_t first) {
  ++replays_served_;
  const std::uint64_t end = next_seqno_;
  for (std::uint64_t number = first; number < end; ++number) {
    // New batches may push old ones out whenever others have a turn, so the place of a number is worked out anew each time.
    const std::uint64_t oldest = next_seqno_ - kept_.size();
    if (number < oldest) number = oldest;
    if (number >= end) break;
    const net::seqno_frame frame(core::seqno{number});
    const std::array<std::string_view, 5> frames{asker, std::string_view(), std::string_view(), frame.view(), kept_[number - oldest]};
    if (replay_.try_send(frames)) co_return;
    if (number % replies_per_turn == 0) co_await asio::post(executor_, asio::use_awaitable);
  }
  const net::seqno_frame end_frame(core::seqno{net::end_of_replay});
  const std::array<std::string_view, 5> frames{asker, std::string_view(), std::string_view(), end_frame.view(), std::string_view()};
  static_cast<void>(replay_.try_send(frames));
}

asio::awaitable<void> publisher::serve_replays() {
  co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
  co_await asio::this_coro::throw_if_cancelled(false);
  net::zmq_message request;
  for (;;) {
    // An hour stands for "whenever it comes": a publisher has no claim to requests.
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::hours(1);
    const auto failed = co_await replay_.receive(request, deadline);
    if (failed == net::errc::cancelled || failed == net::errc::closed) co_return;
    if (failed) continue;
    const auto asked = net::read_replay_request(request);
    if (!asked) continue;  // as vLLM: no answer to what is no request
    co_await replay(std::string(asked->asker), asked->first.get());
    const auto state = co_await asio::this_coro::cancellation_state;
    if (state.cancelled() != asio::cancellation_type::none) co_return;
  }
}

}  // namespace kvc::sim
