#include "perf/sim_store_publisher.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <string_view>
#include <utility>
#include <variant>

#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "net/zmq_frames.hpp"

namespace kvc::sim {
namespace {

constexpr std::size_t most_kept = 10'000;
constexpr std::uint64_t replies_per_turn = 64;
constexpr std::string_view all_ones = "\xff\xff\xff\xff\xff\xff\xff\xff";

net::zmq_options with_room(int messages) {
  net::zmq_options chosen;
  chosen.send_high_water = messages;
  return chosen;
}

/// (Source: kv-events.md section 1.)
int high_water(const store_stream_traits& of) {
  return of.has_replay ? 100'000 : 10'000;
}

std::string address(const std::string& host, std::uint16_t port) {
  return "tcp://" + (host.find(':') == std::string::npos ? host : "[" + host + "]") + ":" + (port == 0 ? "*" : std::to_string(port));
}

/// The object that an event says was put; null: it says something else.
const std::string* key_of_put(const core::event& what) {
  if (const auto* stored = std::get_if<core::stored_event>(&what)) return &stored->scope.object_key;
  const auto* object = std::get_if<core::object_event>(&what);
  return object != nullptr && object->what == core::object_event::change::stored ? &object->scope.object_key : nullptr;
}

}  // namespace

store_publisher::store_publisher(net::zmq_engine& engine, asio::any_io_executor executor, store_speaker who, store_end_marker marker)
    : executor_(executor),
      who_(std::move(who)),
      traits_(traits_of(who_.generation)),
      marker_(marker),
      live_(engine, executor, net::zmq_socket::kind::publisher, with_room(high_water(traits_))),
      replay_(engine, executor, net::zmq_socket::kind::router, with_room(0)),
      next_seqno_(traits_.first_seqno) {}

net::error_code store_publisher::open(const std::string& host, std::uint16_t port) {
  if (const auto failed = live_.bind(address(host, port))) return failed;
  return traits_.has_replay ? replay_.bind(address(host, 0)) : net::error_code();
}

std::string store_publisher::replay_endpoint() const {
  return traits_.has_replay ? replay_.bound_endpoint() : std::string();
}

void store_publisher::tell(const store_change& what) {
  append_events(what, who_, queued_);
}

void store_publisher::flush() {
  const auto most = static_cast<std::ptrdiff_t>(traits_.most_events);
  for (auto at = queued_.begin(); at != queued_.end();) {
    const bool is_lost = std::exchange(loses_next_, false);
    if (is_lost && traits_.drops_count) {
      if (const auto* key = key_of_put(*at)) lost_puts_.push_back(*key);
      ++at;
      ++next_seqno_;  // but not the ids of events: they are given to what is sent, and have no hole
      ++dropped_;
      continue;
    }
    const auto end = at + std::min(most, queued_.end() - at);
    core::event_batch batch;
    batch.events.assign(std::make_move_iterator(at), std::make_move_iterator(end));
    at = end;
    send(std::move(batch), is_lost);
  }
  queued_.clear();
}

void store_publisher::beat() {
  send({}, false);
}

void store_publisher::send(core::event_batch batch, bool is_lost) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  batch.timestamp_s = std::chrono::duration<double>(now).count();
  batch.rank = core::dp_rank{0};
  std::string& payload = kept_.emplace_back();
  net::encode_batch(batch, media_, {.form = traits_.form, .backend_id = who_.backend, .first_event_id = event_id_}, payload);
  event_id_ += batch.events.size();
  events_ += batch.events.size();
  ++batches_;
  const net::seqno_frame number(core::seqno{next_seqno_++});
  const std::array<std::string_view, 3> frames{traits_.topic, number.view(), payload};
  // A publisher never waits: what a subscriber has no room for is lost to it.
  if (is_lost) {
    ++dropped_;
  } else {
    static_cast<void>(live_.try_send(frames));
  }
  const std::size_t most = traits_.has_replay ? most_kept : 0;
  while (kept_.size() > most) kept_.pop_front();
}

asio::awaitable<void> store_publisher::replay(std::string asker, std::uint64_t first) {
  ++replays_served_;
  const std::uint64_t end = next_seqno_;
  for (std::uint64_t number = first; number < end; ++number) {
    // New batches may push old ones out whenever others have a turn, so the place of a number is worked out anew each time.
    const std::uint64_t oldest = next_seqno_ - kept_.size();
    number = std::max(number, oldest);
    if (number >= end) break;
    const net::seqno_frame frame(core::seqno{number});
    const std::array<std::string_view, 4> frames{asker, std::string_view(), frame.view(), kept_[number - oldest]};
    if (replay_.try_send(frames)) co_return;
    if (number % replies_per_turn == 0) co_await asio::post(executor_, asio::use_awaitable);
  }
  std::array<std::string_view, 4> frames{asker, std::string_view(), std::string_view(), std::string_view()};
  frames[marker_ == store_end_marker::in_number ? 2 : 3] = all_ones;
  static_cast<void>(replay_.try_send(frames));
}

asio::awaitable<void> store_publisher::serve_replays() {
  if (!traits_.has_replay) co_return;
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
    if (!asked) continue;  // no answer to what is no request
    co_await replay(std::string(asked->asker), asked->first.get());
    const auto state = co_await asio::this_coro::cancellation_state;
    if (state.cancelled() != asio::cancellation_type::none) co_return;
  }
}

}  // namespace kvc::sim
