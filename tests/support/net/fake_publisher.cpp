#include "tests/support/net/fake_publisher.hpp"

#include <chrono>
#include <exception>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/test/unit_test.hpp>

#include "net/zmq_frames.hpp"

namespace kvc::test {

struct fake_publisher::state {
  state(net::zmq_engine& engine, boost::asio::io_context& context, options with)
      : live(engine, context.get_executor(), net::zmq_socket::kind::publisher, {.send_high_water = with.send_high_water}),
        replay(engine, context.get_executor(), net::zmq_socket::kind::router, {.send_high_water = 100'000}),
        how(std::move(with)) {}

  net::zmq_socket live;
  net::zmq_socket replay;
  options how;
  std::map<std::uint64_t, std::string> buffer;
  std::map<std::uint64_t, int> omitted;
  int served = 0;
  bool stopped = false;
};

fake_publisher::fake_publisher(net::zmq_engine& engine, boost::asio::io_context& context, options with)
    : state_(std::make_shared<state>(engine, context, with)), omitted_(state_->omitted) {
  // A predecessor's listening sockets go away in the background.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (with.connects ? state_->live.connect(with.endpoint) : state_->live.bind(with.endpoint)) {
    BOOST_REQUIRE(std::chrono::steady_clock::now() < deadline);
  }
  while (state_->replay.bind(with.replay_endpoint)) BOOST_REQUIRE(std::chrono::steady_clock::now() < deadline);
  endpoint_ = with.connects ? with.endpoint : state_->live.bound_endpoint();
  replay_endpoint_ = state_->replay.bound_endpoint();
  // Parameters, not captures: the coroutine keeps its own hold on the state.
  auto serve = [](std::shared_ptr<state> self) -> boost::asio::awaitable<void> {
    net::zmq_message request;
    while (!self->stopped) {
      const auto wake_at = std::chrono::steady_clock::now() + std::chrono::seconds(1);
      const auto failed = co_await self->replay.receive(request, wake_at);
      if (self->stopped) co_return;
      if (failed || !self->how.answers) continue;
      const auto asked = net::read_replay_request(request);
      if (!asked) continue;
      ++self->served;
      const std::string peer(asked->asker);
      for (auto each = self->buffer.lower_bound(asked->first.get()); each != self->buffer.end(); ++each) {
        if (auto& times = self->omitted[each->first]; times > 0) {
          --times;
          continue;
        }
        const net::seqno_frame number{core::seqno{each->first}};
        std::vector<std::string_view> frames{peer, ""};
        if (self->how.four_frames) frames.emplace_back(self->how.topic);
        frames.push_back(number.view());
        frames.push_back(each->second);
        BOOST_REQUIRE(!self->replay.try_send(frames));
      }
      if (!self->how.marks_end) continue;
      const net::seqno_frame marker{core::seqno{net::end_of_replay}};
      std::vector<std::string_view> frames{peer, ""};
      if (self->how.four_frames) frames.emplace_back("");
      frames.push_back(self->how.marks_end_last ? std::string_view() : marker.view());
      frames.push_back(self->how.marks_end_last ? marker.view() : std::string_view());
      BOOST_REQUIRE(!self->replay.try_send(frames));
    }
  };
  boost::asio::co_spawn(context, serve(state_), [](std::exception_ptr failure) {
    if (failure) std::rethrow_exception(failure);
  });
}

fake_publisher::~fake_publisher() {
  stop();
}

std::uint64_t fake_publisher::keep(std::string payload) {
  state_->buffer[next_] = std::move(payload);
  return next_++;
}

std::uint64_t fake_publisher::publish(std::string payload) {
  const std::uint64_t number = keep(std::move(payload));
  send_live(number, state_->buffer[number]);
  return number;
}

std::uint64_t fake_publisher::publish_spoilt(std::string payload, const std::string& spoilt) {
  const std::uint64_t number = keep(std::move(payload));
  send_live(number, spoilt);
  return number;
}

void fake_publisher::send_live(std::uint64_t number, const std::string& payload) {
  const net::seqno_frame frame{core::seqno{number}};
  const std::vector<std::string_view> frames{state_->how.topic, frame.view(), payload};
  BOOST_REQUIRE(!state_->live.try_send(frames));
}

void fake_publisher::answer(bool does) {
  state_->how.answers = does;
}

std::uint64_t fake_publisher::lose_live(std::string payload) {
  return keep(std::move(payload));
}

std::uint64_t fake_publisher::lose_forever() {
  return next_++;
}

void fake_publisher::send_raw(std::initializer_list<std::string> frames) {
  const std::vector<std::string_view> views(frames.begin(), frames.end());
  BOOST_REQUIRE(!state_->live.try_send(views));
}

void fake_publisher::stop() {
  if (state_->stopped) return;
  state_->stopped = true;
  state_->live.close();
  state_->replay.close();
}

void fake_publisher::break_connection(net::zmq_engine& engine, boost::asio::io_context& context) {
  state_->live.close();
  state_->live = net::zmq_socket(engine, context.get_executor(), net::zmq_socket::kind::publisher, {.send_high_water = 100'000});
  // The old listening socket goes away in the background.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (state_->live.bind(endpoint_)) BOOST_REQUIRE(std::chrono::steady_clock::now() < deadline);
}

int fake_publisher::replays_served() const {
  return state_->served;
}

}  // namespace kvc::test
