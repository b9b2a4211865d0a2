#include "perf/sim_chaos_publisher.hpp"

#include <algorithm>
#include <atomic>
#include <string_view>
#include <unistd.h>
#include <utility>

#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/udp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "net/zmq_frames.hpp"
#include "perf/sim_poison.hpp"

namespace kvc::sim {
namespace {

using clock = std::chrono::steady_clock;

constexpr std::chrono::seconds bind_patience{10};  ///< a predecessor's listening socket goes away in the background
constexpr std::chrono::milliseconds bind_pause{2};
constexpr std::size_t journal_lines = 400;
constexpr std::uint32_t first_port = 14'000;
constexpr std::uint32_t port_range = 16'000;

net::zmq_options roomy() {
  net::zmq_options chosen;
  chosen.send_high_water = 100'000;
  chosen.reconnect_ms = 10;
  return chosen;
}

/// Whether nobody listens there. Tried without listening, since a publisher that once finds another kind of peer there never tries again.
bool is_free(const asio::any_io_executor& executor, const asio::ip::tcp::endpoint& there) {
  asio::ip::tcp::acceptor probe(executor);
  boost::system::error_code taken;
  probe.open(there.protocol(), taken);
  if (!taken) probe.bind(there, taken);
  return !taken;
}

std::string number_frame(std::uint64_t number) {
  const net::seqno_frame frame{core::seqno{number}};
  return std::string(frame.view());
}

net::error_code send_frames(net::zmq_socket& over, const std::vector<std::string>& frames) {
  const std::vector<std::string_view> views(frames.begin(), frames.end());
  return over.try_send(views);
}

}  // namespace

chaos_publisher::chaos_publisher(net::zmq_engine& transport, asio::any_io_executor executor, net::task_scope& tasks, const chaos_text& text,
                                 chaos_profile profile, const chaos_setup& setup, std::uint64_t seed)
    : transport_(&transport),
      executor_(std::move(executor)),
      tasks_(&tasks),
      engine_(text, std::move(profile), seed),
      setup_(setup),
      luck_(seed + 1),
      replay_luck_(seed + 2),
      first_(engine_.profile().is_pool && !setup.has_replay ? 1 : 0),  // Mooncake, but for its older publisher, which has replays
      next_(first_),
      ledger_(setup.has_replay && !setup.is_silent) {}

asio::awaitable<void> chaos_publisher::pause(std::chrono::microseconds length) {
  asio::steady_timer timer(executor_, length);
  boost::system::error_code woken;
  co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, woken));
}

/// An endpoint that is this publisher's alone for as long as it lives, though nobody may be bound to it at times; empty: none is free. It
/// is out of the range from which the system gives out ports for `*`. Other simulators on this machine see that it is taken by the UDP port
/// of the same number.
std::string chaos_publisher::reserve_endpoint(const std::string& host) {
  static std::atomic<std::uint32_t> next{static_cast<std::uint32_t>(mix(static_cast<std::uint64_t>(::getpid())))};
  boost::system::error_code failed;
  const auto address = asio::ip::make_address(host, failed);
  for (std::uint32_t tries = 0; tries < port_range && !failed; ++tries) {
    const auto port = static_cast<std::uint16_t>(first_port + next++ % port_range);
    asio::ip::udp::socket sign(executor_);
    boost::system::error_code taken;
    sign.open(address.is_v6() ? asio::ip::udp::v6() : asio::ip::udp::v4(), taken);
    if (!taken) sign.bind({address, port}, taken);
    if (taken || !is_free(executor_, {address, port})) continue;
    signs_.push_back(std::move(sign));
    return "tcp://" + (address.is_v6() ? "[" + host + "]" : host) + ":" + std::to_string(port);
  }
  return {};
}

asio::awaitable<std::string> chaos_publisher::open(std::string host) {
  endpoint_ = reserve_endpoint(host);
  if (setup_.has_replay) replay_endpoint_ = reserve_endpoint(host);
  if (endpoint_.empty() || (setup_.has_replay && replay_endpoint_.empty())) co_return "no port is free on " + host;
  std::string wrong = co_await open_sockets(true);
  co_return wrong;
}

asio::awaitable<std::string> chaos_publisher::open_sockets(bool with_replay) {
  const auto deadline = clock::now() + bind_patience;
  net::error_code failed;
  live_ = std::make_shared<net::zmq_socket>(*transport_, executor_, net::zmq_socket::kind::heeding_publisher, roomy());
  while ((failed = setup_.connects ? live_->connect(endpoint_) : live_->bind(endpoint_))) {
    if (is_closed_ || clock::now() > deadline) co_return endpoint_ + ": " + failed.message();
    co_await pause(bind_pause);
  }
  if (!setup_.has_replay || !with_replay) co_return std::string();
  replay_ = std::make_shared<net::zmq_socket>(*transport_, executor_, net::zmq_socket::kind::router, roomy());
  while ((failed = replay_->bind(replay_endpoint_))) {
    if (is_closed_ || clock::now() > deadline) co_return replay_endpoint_ + ": " + failed.message();
    co_await pause(bind_pause);
  }
  tasks_->spawn("replays of " + replay_endpoint_, serve(replay_, incarnation_));
  co_return std::string();
}

bool chaos_publisher::strikes(fault what) {
  if (is_healed_ || !setup_.chances.strikes(what, luck_)) return false;
  faults_.add(what);
  journal_.back() += " !" + std::string(to_string(what));
  return true;
}

void chaos_publisher::note(std::string line) {
  journal_.push_back(std::to_string(incarnation_) + "/" + std::to_string(next_) + " " + std::move(line));
  if (journal_.size() > journal_lines) journal_.pop_front();
}

std::string chaos_publisher::write(const chaos_engine::made& what) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  core::event_batch batch = what.batch;
  batch.timestamp_s = std::chrono::duration<double>(now).count();
  std::string payload;
  net::encode_batch(batch, media_, what.how, payload);
  if (!strikes(fault::poison_event)) return payload;
  batch.events.clear();
  std::string empty;
  net::encode_batch(batch, media_, what.how, empty);
  const auto& blocks = engine_.text().blocks();
  const std::uint32_t named = luck_.below(static_cast<std::uint32_t>(blocks.size()));
  const std::uint32_t told = luck_.below(static_cast<std::uint32_t>(blocks.size()));
  const auto poisons = poison_events(engine_.name_of(named), blocks[told].tokens);
  return with_event(payload, empty, poisons[luck_.below(static_cast<std::uint32_t>(poisons.size()))]);
}

void chaos_publisher::keep(std::string payload) {
  kept_.push_back(std::move(payload));
  ++next_;
  while (kept_.size() > setup_.kept) kept_.pop_front();
}

void chaos_publisher::see_who_listens() {
  net::zmq_message news;
  while (live_ && !live_->try_receive(news)) {
    if (news.size() == 0 || news.frame(0).empty()) continue;
    news.frame(0).front() == std::byte{1} ? ledger_.on_subscribed() : ledger_.on_broken();
  }
}

void chaos_publisher::send_now(const parcel& what) {
  if (!live_) return;
  see_who_listens();
  // A publisher never waits; what nobody takes is gone.
  static_cast<void>(send_frames(*live_, what.frames));
  if (what.number) ledger_.send(*what.number, what.is_sound);
}

void chaos_publisher::send(parcel what) {
  if (hold_back_for_ > 0) {
    held_back_.push_back(std::move(what));
  } else {
    send_now(what);
  }
}

bool chaos_publisher::is_held_back(std::uint64_t number) const {
  return std::ranges::any_of(held_back_, [number](const parcel& each) { return each.number == number; });
}

void chaos_publisher::publish() {
  const std::uint64_t number = next_;
  const chaos_engine::made happened = engine_.next(number);
  note(happened.story);
  ledger_.publish(number);
  if (hold_back_for_ > 0 && --hold_back_for_ == 0) {
    for (; !held_back_.empty(); held_back_.pop_front()) send_now(held_back_.front());
  }
  if (strikes(fault::lost_number)) {
    ledger_.ruin(number, false);
    return keep({});
  }
  std::string payload = write(happened);
  parcel what{.number = number};
  if (strikes(fault::poison_batch)) {
    payload.resize(luck_.below(static_cast<std::uint32_t>(payload.size())));
    ledger_.ruin(number, true);
    what.is_sound = false;
    if (payload.empty()) payload = "\xc1";  // an empty one would mean that it was never written
  }
  what.frames = {"", number_frame(number), payload};
  keep(std::move(payload));
  if (strikes(fault::delay)) hold_back_for_ = luck_.between(1, 4);
  if (strikes(fault::drop)) return;
  message& frames = what.frames;
  if (strikes(fault::truncate)) {
    frames[2].resize(luck_.below(static_cast<std::uint32_t>(frames[2].size())));
    ledger_.spoil(number);
    what.is_sound = false;
  } else if (strikes(fault::corrupt)) {
    frames[2].front() = '\xc1';  // means nothing in MessagePack; damage that means something is beyond anybody's knowledge
    ledger_.spoil(number);
    what.is_sound = false;
  } else if (strikes(fault::frames)) {
    luck_.below(2) == 0 ? frames.pop_back() : frames[1].pop_back();
    what.is_sound = false;
  }
  if (strikes(fault::noise)) send({.frames = {"noise"}});
  const bool comes_twice = strikes(fault::duplicate);
  send(what);
  if (comes_twice) send(std::move(what));
}

void chaos_publisher::publish_early() {
  for (; done_ < setup_.before_joining; ++done_) publish();
}

asio::awaitable<void> chaos_publisher::run() {
  co_await asio::this_coro::throw_if_cancelled(false);
  while (done_ < setup_.batches && !is_closed_) {
    note("");
    if (strikes(fault::restart)) {
      co_await restart();
    } else if (strikes(fault::reconnect)) {
      co_await reconnect();
    } else {
      journal_.pop_back();
    }
    publish();
    ++done_;
    if (luck_.below(3) == 0) co_await pause(std::chrono::microseconds(luck_.below(6'000)));
    const auto state = co_await asio::this_coro::cancellation_state;
    if (state.cancelled() != asio::cancellation_type::none) co_return;
  }
}

asio::awaitable<void> chaos_publisher::restart() {
  live_->close();
  if (replay_) replay_->close();
  held_back_.clear();
  hold_back_for_ = 0;
  kept_.clear();
  engine_.restart();
  next_ = first_;
  ++incarnation_;
  ledger_.restart();
  const std::string wrong = co_await open_sockets(true);
  if (!wrong.empty()) note("cannot come back: " + wrong);
}

asio::awaitable<void> chaos_publisher::reconnect() {
  see_who_listens();
  live_->close();
  ledger_.on_broken();
  const std::string wrong = co_await open_sockets(false);
  if (!wrong.empty()) note("cannot come back: " + wrong);
}

void chaos_publisher::heal() {
  is_healed_ = true;
  hold_back_for_ = 0;
  for (; !held_back_.empty(); held_back_.pop_front()) send_now(held_back_.front());
}

void chaos_publisher::beat() {
  std::string payload = write(engine_.nothing());
  const parcel what{.frames = {"", number_frame(next_), payload}, .number = next_};
  ledger_.publish(next_);
  keep(std::move(payload));
  send_now(what);
}

void chaos_publisher::conclude() {
  see_who_listens();
  losses_ = ledger_.losses();
}

void chaos_publisher::close() {
  is_closed_ = true;
  if (live_) live_->close();
  if (replay_) replay_->close();
}

chaos_publisher::message chaos_publisher::reply_of(std::string asker, std::uint64_t number, std::string payload) const {
  message frames{std::move(asker), ""};
  if (setup_.has_topic_in_replies) frames.emplace_back();
  frames.push_back(number_frame(number));
  frames.push_back(std::move(payload));
  return frames;
}

chaos_publisher::message chaos_publisher::end_of_answer(std::string asker) const {
  if (setup_.end == chaos_setup::end_marker::in_payload) return {std::move(asker), "", "", number_frame(net::end_of_replay)};
  return reply_of(std::move(asker), net::end_of_replay, {});
}

asio::awaitable<void> chaos_publisher::answer(std::shared_ptr<net::zmq_socket> socket, std::string asker, std::uint64_t first,
                                              std::uint64_t incarnation) {
  const std::uint64_t end = next_;
  if (first < oldest()) faults_.add(fault::trimmed);
  const auto goes_wrong = [this](fault what) {
    if (is_healed_ || !setup_.chances.strikes(what, replay_luck_)) return false;
    faults_.add(what);
    return true;
  };
  const bool is_for_recovery = ledger_.is_recovery(first, end);
  bool has_answered = setup_.end != chaos_setup::end_marker::none;
  for (std::uint64_t number = std::max(first, first_); number < end; ++number) {
    for (; number < std::min(oldest(), end); ++number) ledger_.leave_out(number);  // new batches push old ones out all the time
    if (number == end) break;
    const std::string& payload = kept_[number - oldest()];
    if (payload.empty()) continue;
    if (goes_wrong(fault::reply_lost)) {
      ledger_.leave_out(number);
      continue;
    }
    if (send_frames(*socket, reply_of(asker, number, payload))) co_return;
    ledger_.give(number, is_for_recovery);
    if (is_held_back(number)) ++overtaken_;
    has_answered = true;
    if (!goes_wrong(fault::reply_delayed)) continue;
    co_await pause(std::chrono::milliseconds(1 + replay_luck_.below(20)));
    if (is_closed_ || incarnation != incarnation_) co_return;
  }
  if (!has_answered) ledger_.ignore(first, end);  // silence, as for a request that was ignored
  if (setup_.end != chaos_setup::end_marker::none) static_cast<void>(send_frames(*socket, end_of_answer(asker)));
}

asio::awaitable<void> chaos_publisher::serve(std::shared_ptr<net::zmq_socket> socket, std::uint64_t incarnation) {
  co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
  co_await asio::this_coro::throw_if_cancelled(false);
  net::zmq_message request;
  while (!is_closed_ && incarnation == incarnation_) {
    // An hour stands for "whenever it comes": a publisher has no claim to requests.
    const auto failed = co_await socket->receive(request, clock::now() + std::chrono::hours(1));
    if (failed == net::errc::cancelled || failed == net::errc::closed) co_return;
    if (failed || setup_.is_silent) continue;
    const auto asked = net::read_replay_request(request);
    if (!asked) continue;
    const std::uint64_t first = asked->first.get();
    note("asked for " + std::to_string(first));
    if (!is_healed_ && setup_.chances.strikes(fault::request_ignored, replay_luck_)) {
      faults_.add(fault::request_ignored);
      ledger_.ignore(first, next_);
      continue;
    }
    co_await answer(socket, std::string(asked->asker), first, incarnation);
  }
}

}  // namespace kvc::sim
