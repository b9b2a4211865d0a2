#include "net/stream_listener.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "core/block_hasher.hpp"
#include "net/log.hpp"
#include "net/zmq_frames.hpp"

namespace kvc::net {
namespace {

/// Mooncake's master numbers its batches from 1, everybody else from 0 (kv-events.md section 0.9).
core::seqno first_seqno(core::publisher_type type) { return core::seqno{type == core::publisher_type::mooncake ? 1U : 0U}; }

}  // namespace

stream_listener::stream_listener(lane& home, zmq_engine& engine, core::catalog& catalog, core::medium_table& media,
                                 const stream_settings& settings, service_info service)
    : lane_(&home),
      settings_(&settings),
      engine_(&engine),
      service_(std::move(service)),
      sink_(home, service_, catalog, media, settings),
      cursor_(first_seqno(service_.registration.type)),
      ended_(home.context, asio::steady_timer::time_point::max()) {}

asio::awaitable<void> stream_listener::run(std::shared_ptr<stream_listener> self) {
  // Cancellation is looked at between batches, so that a batch which was begun is finished.
  co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
  co_await asio::this_coro::throw_if_cancelled(false);
  if (self->settings_->index_budget != 0) self->lane_->evictables.push_back(self);
  co_await self->listen();
  self->socket_.reset();
  self->replay_.reset();
  self->has_ended_ = true;
  self->ended_.cancel();
}

asio::awaitable<void> stream_listener::shut_down(std::shared_ptr<stream_listener> self) {
  self->sink_.leave();
  self->set_state(core::stream_state::stopped);
  self->stopping_ = true;
  if (self->socket_) self->socket_->close();
  if (self->replay_) self->replay_->close();
  while (!self->has_ended_) {
    boost::system::error_code woken;
    co_await self->ended_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  }
  co_await self->sink_.drop_all();
}

asio::awaitable<void> stream_listener::tell(std::weak_ptr<stream_listener> self, std::shared_ptr<dump_turn> turn) {
  turn->slice.clear();
  turn->seqno.reset();
  turn->is_last = true;
  const auto alive = self.lock();
  if (!alive) co_return;
  turn->is_last = alive->sink_.blocks().dump_some(turn->cursor, alive->settings_->blocks_per_turn, turn->slice);
  const std::uint64_t generation = alive->service_.status->generation.load(std::memory_order_relaxed);
  if (!turn->generation) turn->generation = generation;
  const bool is_settled = !alive->sink_.is_in_between() && !alive->stopping_ && *turn->generation == generation;
  if (is_settled) turn->seqno = alive->cursor_.newest_applied();
}

bool stream_listener::open() {
  const core::registration& from = service_.registration;
  zmq_options options;
  options.receive_high_water = settings_->receive_high_water;
  options.max_frame_bytes = settings_->max_payload_bytes;
  options.watch_connection = true;
  socket_.emplace(*engine_, lane_->context.get_executor(), zmq_socket::kind::subscriber, options);
  error_code failed = socket_->subscribe(from.topic);
  if (!failed) failed = from.bind ? socket_->bind(from.endpoint) : socket_->connect(from.endpoint);
  if (!failed) {
    disconnects_seen_ = 0;  // the notices of a new socket
    if (!from.replay_endpoint.empty()) {
      replay_.emplace(*engine_, lane_->context.get_executor(), from.replay_endpoint, settings_->max_payload_bytes);
    }
    return true;
  }
  log::warn(log::module::stream, "cannot open stream",
            {{"instance", from.worker.instance}, {"dp_rank", from.worker.rank.get()}, {"endpoint", from.endpoint}, {"reason", failed.message()}});
  socket_.reset();
  return false;
}

asio::awaitable<void> stream_listener::listen() {
  asio::steady_timer pause(lane_->context);
  std::size_t taken_this_turn = 0;
  for (;;) {
    const asio::cancellation_state cancellation = co_await asio::this_coro::cancellation_state;
    if (stopping_ || cancellation.cancelled() != asio::cancellation_type::none) co_return;
    if (!socket_ && !open()) {  // e.g. the address to bind is still taken: try again
      boost::system::error_code woken;
      pause.expires_after(settings_->idle_check);
      co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, woken));
      continue;
    }
    const auto deadline = clock::now() + settings_->idle_check;
    const error_code failed = co_await socket_->receive(message_, deadline);
    if (stopping_ || failed == errc::closed || failed == errc::cancelled) co_return;
    watch_connection();
    if (failed == errc::timed_out) {
      co_await on_idle();
      continue;
    }
    if (failed) {
      lane_->counters.bad_frames.add();
      sink_.reject({}, "message", failed);
    } else {
      co_await take_live();
    }
    if (++taken_this_turn >= settings_->batches_per_turn) {
      taken_this_turn = 0;
      co_await asio::post(asio::use_awaitable);
    }
  }
}

void stream_listener::watch_connection() {
  const auto seen = socket_->poll_connection();
  core::connection_state now = core::connection_state::connecting;
  if (seen.connected) {
    now = core::connection_state::connected;
  } else if (seen.disconnects > 0) {
    now = core::connection_state::disconnected;
  }
  const core::connection_state before = service_.status->connection.exchange(now, std::memory_order_relaxed);
  if (before != now) {
    log::info(log::module::stream, "connection",
              {{"instance", service_.registration.worker.instance},
               {"dp_rank", service_.registration.worker.rank.get()},
               {"endpoint", service_.registration.endpoint},
               {"state", core::to_string(now)}});
  }
  if (seen.disconnects != disconnects_seen_) {
    disconnects_seen_ = seen.disconnects;
    must_verify_ = true;
  }
}

asio::awaitable<void> stream_listener::on_idle() {
  if (service_.status->connection.load(std::memory_order_relaxed) != core::connection_state::connected) co_return;
  if (must_verify_) co_await verify_incarnation();
  if (stopping_ || !socket_) co_return;
  if (must_catch_up_ && can_replay()) co_await recover(cursor_.next(), std::nullopt);
}

asio::awaitable<void> stream_listener::take_live() {
  const auto live = read_live(message_);
  if (!live) {
    lane_->counters.bad_frames.add();
    sink_.reject({}, "message", live.error());
    co_return;
  }
  if (must_verify_) co_await verify_incarnation();
  if (stopping_ || !socket_) co_return;  // a fresh socket: this message may be of the incarnation that has gone
  if (proof_ && proof_->number == live->number && proof_->digest == core::digest(live->payload)) {
    core::stream_status::add(service_.status->stale_batches, 1);  // the newest batch once more, not a restart: something relays it twice
    co_return;
  }
  auto verdict = cursor_.observe_live(live->number);
  if (verdict.what == core::stream_cursor::verdict::kind::restart) {
    co_await restart("the sequence went back");
    verdict = cursor_.observe_live(live->number);
  }
  // Nobody can be asked whether it is the same publisher. Going on where it stopped speaks for it; with a hole in between it may as well be
  // another one.
  if (must_verify_ && !can_replay() && cursor_.newest_applied() && verdict.what == core::stream_cursor::verdict::kind::gap) {
    co_await restart("it was away, and it does not go on where it stopped");
    verdict = cursor_.observe_live(live->number);
  }
  switch (verdict.what) {
    case core::stream_cursor::verdict::kind::duplicate:
      core::stream_status::add(service_.status->stale_batches, 1);
      co_return;
    case core::stream_cursor::verdict::kind::gap:
      if (cursor_.newest_applied()) {
        core::stream_status::add(service_.status->gaps, 1);
        lane_->counters.gaps.add();
      }
      co_await recover(verdict.missing_from, verdict.missing_to);
      break;
    case core::stream_cursor::verdict::kind::contiguous:
    case core::stream_cursor::verdict::kind::restart: break;
  }
  if (stopping_) co_return;
  must_catch_up_ = false;
  co_await apply_live(live->number);
}

asio::awaitable<void> stream_listener::apply_live(core::seqno number) {
  const auto payload = message_.frame(2);
  const bool is_applied = co_await sink_.apply(number, payload);
  if (!is_applied) note_lost(1);
  note_applied(number, payload);
  settle();
}

void stream_listener::note_applied(core::seqno number, std::span<const std::byte> payload) {
  cursor_.applied(number);
  if (!must_verify_) proof_ = {number, core::digest(payload)};
  core::stream_status& status = *service_.status;
  // Released, so that whoever reads this number with acquire also finds the blocks it stands for.
  status.last_seqno.store(cursor_.newest_applied()->get(), std::memory_order_release);
  status.last_applied_ns.store(std::chrono::nanoseconds(clock::now().time_since_epoch()).count(), std::memory_order_relaxed);
  if (sink_.barriers() != barriers_seen_) {
    // The worker held nothing just now, on any medium we know of: whatever was lost before does not matter any more. A clear of one medium
    // would not do, since what was lost may have been on another.
    barriers_seen_ = sink_.barriers();
    status.missing.store(0, std::memory_order_relaxed);
    status.evicted.store(0, std::memory_order_relaxed);
  }
}

bool stream_listener::evict_some(core::eviction_pass& pass, std::size_t& budget) {
  if (stopping_) return true;
  // First told, then done: nobody may see less than there was from a stream that calls itself whole.
  return sink_.evict_some(pass, budget, [this] {
    if (service_.status->state.load(std::memory_order_relaxed) == core::stream_state::whole) set_state(core::stream_state::incomplete);
  });
}

void stream_listener::note_lost(std::uint64_t batches) {
  if (batches == 0) return;
  core::stream_status::add(service_.status->missing, batches);
  lane_->counters.lost_batches.add(batches);
}

void stream_listener::settle() {
  const bool is_whole =
      service_.status->missing.load(std::memory_order_relaxed) == 0 && service_.status->evicted.load(std::memory_order_relaxed) == 0;
  set_state(is_whole ? core::stream_state::whole : core::stream_state::incomplete);
}

void stream_listener::set_state(core::stream_state next) {
  if (stopping_) return;
  const core::stream_state before = service_.status->state.exchange(next, std::memory_order_relaxed);
  if (before == next) return;
  log::info(log::module::stream, "state",
            {{"instance", service_.registration.worker.instance},
             {"dp_rank", service_.registration.worker.rank.get()},
             {"endpoint", service_.registration.endpoint},
             {"from", core::to_string(before)},
             {"to", core::to_string(next)},
             {"seqno", cursor_.newest_applied() ? std::to_string(cursor_.newest_applied()->get()) : std::string("none")},
             {"missing", service_.status->missing.load(std::memory_order_relaxed)},
             {"evicted", service_.status->evicted.load(std::memory_order_relaxed)}});
}

}  // namespace kvc::net
