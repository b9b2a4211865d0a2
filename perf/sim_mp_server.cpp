#include "perf/sim_mp_server.hpp"

#include <algorithm>
#include <utility>

#include <boost/asio/ip/address.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "core/mp_registry.hpp"

namespace kvc::sim {
namespace {

using steady = std::chrono::steady_clock;

/// Batches of one POST /events: a delayed one must stay within what the coordinator remembers of a sender's newest numbers (64).
constexpr std::size_t most_batches_at_once = 32;

net::http_settings patient_settings() {
  net::http_settings settings;
  settings.handler_timeout = std::chrono::hours(1);  // what hangs hangs until the coordinator gives up
  return settings;
}

mp_dialect dialect_of(const mp_options& chosen, std::size_t index) {
  const bool is_new = chosen.route == mp_event_route::events || (chosen.route == mp_event_route::mixed && index % 2 == 1);
  return is_new ? mp_dialect::events : mp_dialect::quota;
}

}  // namespace

mp_server::mp_server(mp_world& world, std::size_t index)
    : world_(world),
      index_(index),
      dialect_(dialect_of(world.chosen, index)),
      deaf_(world.home.context),
      coordinator_(world.home.context.get_executor(), world.chosen.coordinator_host, world.chosen.coordinator_port) {
  who_.ip = world.chosen.host;
  new_identity();
}

mp_server::~mp_server() = default;

void mp_server::new_identity() {
  who_.instance_id = core::made_up_instance_id(world_.random.next(), world_.random.next());
  who_.incarnation = ++world_.incarnations;
  next_number_ = 1;
  untold_.clear();
  overtaken_.reset();
  prefetches_.clear();
  is_member_ = false;
}

std::string mp_server::open(net::runtime& lanes) {
  http_ = std::make_unique<net::http_server>(lanes, *this, patient_settings());
  if (const auto failure = http_->listen(world_.chosen.host, 0)) return failure->message();
  port_ = http_->ports().front();
  boost::system::error_code failed;
  const auto address = asio::ip::make_address(world_.chosen.host, failed);
  const asio::ip::tcp::endpoint anywhere(address, 0);
  if (!failed) deaf_.open(anywhere.protocol(), failed);
  if (!failed) deaf_.bind(anywhere, failed);
  if (failed) return "cannot bind " + world_.chosen.host + ": " + failed.message();
  http_->start();
  return {};
}

asio::awaitable<std::optional<net::http_client::answer>> mp_server::call(std::string_view method, std::string target, std::string body) {
  const std::string what = std::string(method) + " " + target;
  auto answered = co_await coordinator_.call(method, std::move(target), std::move(body), mp_patience);
  if (!answered) {
    world_.complain(what + ": " + answered.error().message());
    co_return std::nullopt;
  }
  co_return std::move(*answered);
}

void mp_server::have_trouble() {
  mp_fault fault{};
  if (deaf_turns_ > 0 && --deaf_turns_ == 0) is_member_ = false;
  if (!world_.happens({mp_fault::restart, mp_fault::refuse}, fault)) return;
  if (fault == mp_fault::restart) {
    // The old identity stays behind until it is swept away; what was not told is lost, though it has happened.
    if (has_news()) ++world_.counts.lost_batches;
    new_identity();
  } else {
    deaf_turns_ = world_.random.between(1, 3);
    is_member_ = false;
  }
}

asio::awaitable<void> mp_server::be_a_member() {
  const bool is_paced = world_.chosen.turns == 0;
  if (!is_member_) {
    boost::system::error_code ignored;
    who_.port = deaf_turns_ > 0 ? deaf_.local_endpoint(ignored).port() : port_;
    const auto answered = co_await call("POST", "/instances", mp_registration(who_));
    if (!answered) co_return;
    if (answered->status != 200 || mp_read_text(answered->body, "instance_id") != who_.instance_id) {
      world_.complain("POST /instances answered " + std::to_string(answered->status) + ": " + answered->body.substr(0, 200));
      co_return;
    }
    ++world_.counts.registrations;
    if (answered->body.find("\"re_registered\":true") != std::string::npos) ++world_.counts.re_registrations;
    is_member_ = true;
  } else if (!is_paced || steady::now() >= heartbeat_due_) {
    const auto answered = co_await call("PUT", "/instances/" + who_.instance_id + "/heartbeat", {});
    if (!answered) co_return;
    ++world_.counts.heartbeats;
    if (answered->status == 404) {
      ++world_.counts.unknown_heartbeats;
      is_member_ = false;  // registers with the next turn, as LMCache's server does
    } else if (answered->status != 200) {
      world_.complain("a heartbeat was answered " + std::to_string(answered->status) + ": " + answered->body.substr(0, 200));
    }
  } else {
    co_return;
  }
  heartbeat_due_ = steady::now() + std::chrono::duration_cast<steady::duration>(std::chrono::duration<double>(world_.chosen.heartbeat_s));
}

void mp_server::tell_of(mp_event::kind what, core::owned_object_key key, std::uint64_t bytes) {
  untold_.push_back({.what = what, .key = std::move(key), .bytes = bytes});
}

void mp_server::report_removals(const std::vector<core::owned_object_key>& keys) {
  for (const core::owned_object_key& each : keys) tell_of(mp_event::kind::remove, each, 0);
}

void mp_server::work(std::uint32_t events) {
  dice& random = world_.random;
  for (std::uint32_t i = 0; i < events; ++i) {
    const std::uint32_t chance = random.below(100);
    const auto some = world_.storage.near(world_.new_key());
    if (chance < 40 || !some) {
      const auto key = world_.new_key();
      const std::uint64_t bytes = world_.chosen.object_bytes;
      world_.storage.put(key, bytes);
      tell_of(mp_event::kind::store, key, bytes);
    } else if (chance < 55) {
      const std::uint64_t bytes = chance < 50 ? some->bytes : 1 + random.next() % (2 * world_.chosen.object_bytes);
      world_.storage.put(some->key, bytes);
      tell_of(mp_event::kind::store, some->key, bytes);
    } else if (chance < 90) {
      // A look-up of a key that a page on its way may still make known would mean one thing before the page and another after it.
      if (world_.resync_is_over || world_.model.is_told(some->key)) tell_of(mp_event::kind::lookup, some->key, 0);
    } else if (chance < 93) {
      tell_of(chance == 90 ? mp_event::kind::lookup : mp_event::kind::remove, world_.new_key(), 0);
    } else {
      world_.storage.erase(some->key);
      tell_of(mp_event::kind::remove, some->key, 0);
    }
  }
}

mp_server::batch mp_server::take_batch() {
  std::size_t count = untold_.size();
  if (dialect_ == mp_dialect::events) {
    count = 0;
    std::size_t batches = 0;
    while (count < untold_.size()) {
      if (count == 0 || untold_[count].what != untold_[count - 1].what) ++batches;
      if (batches > most_batches_at_once) break;
      ++count;
    }
  }
  batch taken{.number = next_number_, .events = {}};
  const auto end = untold_.begin() + static_cast<std::ptrdiff_t>(count);
  taken.events.assign(std::make_move_iterator(untold_.begin()), std::make_move_iterator(end));
  untold_.erase(untold_.begin(), end);
  next_number_ += dialect_ == mp_dialect::events ? mp_batch_count(taken.events) : 1;
  return taken;
}

asio::awaitable<void> mp_server::post(batch told, bool is_repeat) {
  const bool is_quota = dialect_ == mp_dialect::quota;
  std::string body =
      is_quota ? mp_quota_batch(who_.instance_id, told.number, told.events) : mp_event_batches(who_, told.number, told.events);
  std::string target = is_quota ? "/quota/events" : "/events";
  const auto answered = co_await call("POST", std::move(target), std::move(body));
  if (!answered) co_return;
  const std::uint64_t expected = is_quota ? told.events.size() : mp_batch_count(told.events);
  const std::uint64_t applied = mp_read_number(answered->body, is_quota ? "recorded" : "applied").value_or(~std::uint64_t{0});
  const std::uint64_t duplicates = is_quota ? 0 : mp_read_number(answered->body, "duplicates").value_or(0);
  const bool is_known = !is_quota && is_repeat;  // only an incarnation tells a repeat from news
  if (answered->status != 200 || applied != (is_known ? 0 : expected) || duplicates != (is_known ? expected : 0)) {
    world_.complain("a batch of " + std::to_string(expected) + " was answered " + std::to_string(answered->status) + ": " +
                    answered->body.substr(0, 200));
    co_return;
  }
  world_.counts.duplicates += duplicates;
  if (is_known) co_return;
  ++world_.counts.batches;
  for (const mp_event& each : told.events) {
    ++(each.what == mp_event::kind::store    ? world_.counts.stores
       : each.what == mp_event::kind::lookup ? world_.counts.lookups
                                             : world_.counts.removals);
  }
  world_.model.apply(told.events);
}

asio::awaitable<void> mp_server::flush(bool with_faults) {
  while (!untold_.empty()) {
    batch told = take_batch();
    std::optional<batch> behind = std::exchange(overtaken_, std::nullopt);
    mp_fault fault{};
    const bool is_odd = with_faults && world_.happens({mp_fault::drop, mp_fault::repeat, mp_fault::delay}, fault);
    if (is_odd && fault == mp_fault::drop) {
      ++world_.counts.lost_batches;
    } else if (is_odd && fault == mp_fault::delay && !behind) {
      overtaken_ = std::move(told);
      if (!untold_.empty()) continue;
      co_return;
    } else {
      co_await post(told, false);
      if (is_odd && fault == mp_fault::repeat) co_await post(told, true);
    }
    if (behind) co_await post(std::move(*behind), false);
  }
}

void mp_server::lose_delayed() {
  if (!overtaken_) return;
  overtaken_.reset();
  ++world_.counts.lost_batches;
}

asio::awaitable<void> mp_server::turn(std::uint32_t events) {
  have_trouble();
  co_await be_a_member();
  work(events);
  co_await flush(true);
}

asio::awaitable<void> mp_server::settle() {
  if (deaf_turns_ > 0) is_member_ = false;
  deaf_turns_ = 0;
  heartbeat_due_ = {};
  co_await be_a_member();
  if (!is_member_) co_await be_a_member();
  co_await flush(false);
  if (overtaken_) {
    std::optional<batch> last = std::exchange(overtaken_, std::nullopt);
    co_await post(std::move(*last), false);
  }
}

asio::awaitable<void> mp_server::leave() {
  if (!is_member_) co_return;
  is_member_ = false;
  const auto answered = co_await call("DELETE", "/instances/" + who_.instance_id, {});
  if (!answered) co_return;
  ++world_.counts.deregistrations;
  if (answered->status != 204) world_.complain("DELETE /instances answered " + std::to_string(answered->status));
}

}  // namespace kvc::sim
