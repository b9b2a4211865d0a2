#include "perf/ingest_server.hpp"

#include <future>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "core/block_hasher.hpp"
#include "net/api_service.hpp"
#include "net/heap_policy.hpp"
#include "net/http_server.hpp"
#include "net/log.hpp"
#include "net/zmq_frames.hpp"
#include "perf/ingest_process.hpp"

namespace kvc::perf {
namespace {

namespace asio = boost::asio;

core::registration registration_of(const ingest_board& board, const ingest_side& side, std::uint32_t stream) {
  core::registration made;
  made.worker = {.tenant = "default", .instance = "engine-" + std::to_string(stream), .rank = core::dp_rank{0}};
  made.partition = {.tenant = "default", .model = "bench", .lora = {}, .salt = {}, .block_size = 16};
  made.type = side.dialect->type;
  made.endpoint = board.where[stream].live.data();
  made.replay_endpoint = board.where[stream].replay.data();
  made.hash_seed = core::default_hash_seed;
  made.copy_counting = core::counts_copies(made.type);
  return made;
}

net::stream_settings settings_of(const ingest_side& side) {
  net::stream_settings chosen;
  if (side.receive_high_water != 0) chosen.receive_high_water = static_cast<int>(side.receive_high_water);
  return chosen;
}

asio::awaitable<void> register_all(net::fleet_service* fleet, std::vector<core::registration> all, std::promise<void>* done) {
  for (core::registration& each : all) {
    const auto added = co_await fleet->add(std::move(each));
    if (!added) {
      done->set_exception(std::make_exception_ptr(std::runtime_error("cannot register: " + added.error().message())));
      co_return;
    }
  }
  done->set_value();
}

/// The parts of the service in the order `app` makes them.
class indexing_server final : public ingest_server {
 public:
  /// The lane gets `cpu`; the transport's threads are where the thread may run that calls this.
  indexing_server(ingest_board& board, const ingest_side& side, int cpu, int own)
      : lanes_(1, catalog_), fleet_(lanes_, engine_, catalog_, media_, settings_of(side)) {
    pin_to(cpu);
    net::log::set_level(net::log::module::stream, net::log::level::error);
    net::log::set_level(net::log::module::fleet, net::log::level::error);
    if (side.with_http) {
      api_.emplace(net::api_context{.lanes = lanes_, .fleet = fleet_, .catalog = catalog_, .media = media_});
      http_.emplace(lanes_, *api_, net::http_settings());
      if (const auto failure = http_->listen("127.0.0.1", 0)) throw std::runtime_error(failure->message());
    }
    lanes_.start(false);
    std::vector<core::registration> all;
    for (std::uint32_t i = 0; i < side.streams; ++i) all.push_back(registration_of(board, side, i));
    std::promise<void> done;
    std::future<void> registered = done.get_future();
    asio::post(lanes_.at(0).context,
               [this, &done, &all] { lanes_.at(0).tasks.spawn("register", register_all(&fleet_, std::move(all), &done)); });
    try {
      registered.get();
    } catch (...) {
      lanes_.stop(patience);
      throw;
    }
    if (http_) {
      http_->start();
      board.http_port = http_->ports().front();
    }
    pin_to(own);
    by_stream_.resize(side.streams);
    const auto view = fleet_.view().get();
    for (const auto& each : *view) {
      const std::string number = each->registration.worker.instance.substr(std::string("engine-").size());
      by_stream_[std::stoul(number)] = each->status;
    }
  }

  ~indexing_server() override { lanes_.stop(patience); }

  [[nodiscard]] bool newest(std::uint32_t stream, std::uint64_t& number) const override {
    number = by_stream_[stream]->last_seqno.load(std::memory_order_acquire);
    return number != core::stream_status::no_seqno;
  }

  [[nodiscard]] std::uint64_t held() const override {
    return sum([](const core::stream_status& of) { return of.blocks[0].load(std::memory_order_relaxed); });
  }
  [[nodiscard]] std::uint64_t faults() const override {
    return sum([](const core::stream_status& of) {
      const bool is_whole = of.state.load(std::memory_order_relaxed) == core::stream_state::whole;
      return of.missing.load(std::memory_order_relaxed) + (is_whole ? 0U : 1U);
    });
  }
  [[nodiscard]] std::uint64_t rejected() const override {
    return sum([](const core::stream_status& of) {
      return of.rejected.load(std::memory_order_relaxed) + of.skipped.load(std::memory_order_relaxed) +
             of.orphans.load(std::memory_order_relaxed) + of.unknown_removals.load(std::memory_order_relaxed);
    });
  }
  [[nodiscard]] const core::latency_histogram* delays() const override { return &lanes_.at(0).counters.batch_delay; }
  [[nodiscard]] std::uint64_t replays() const override {
    return sum([](const core::stream_status& of) { return of.replays.load(std::memory_order_relaxed); });
  }

 private:
  static constexpr std::chrono::seconds patience{5};

  template <class Number>
  [[nodiscard]] std::uint64_t sum(Number of) const {
    std::uint64_t all = 0;
    for (const auto& each : by_stream_) all += of(*each);
    return all;
  }

  core::catalog catalog_;
  core::medium_table media_;
  net::zmq_engine engine_;
  net::runtime lanes_;
  net::fleet_service fleet_;
  std::optional<net::api_service> api_;
  std::optional<net::http_server> http_;
  std::vector<std::shared_ptr<core::stream_status>> by_stream_;
};

/// What a discarding stream is, shared with the thread that watches.
struct discarded {
  std::atomic<std::uint64_t> newest{core::stream_status::no_seqno};
};

/// Receives as a stream does and keeps the number alone. The loop of net/stream_listener without everything that makes it useful.
asio::awaitable<void> discard(net::lane* home, net::zmq_engine* engine, core::registration from, net::stream_settings with,
                              discarded* into) {
  co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
  co_await asio::this_coro::throw_if_cancelled(false);
  net::live_options options;
  options.endpoint = from.endpoint;
  options.receive_high_water = with.receive_high_water;
  options.max_frame_bytes = with.max_payload_bytes;
  std::optional<net::live_socket> socket;
  if (net::live_socket::open(socket, *engine, home->context.get_executor(), home->chunks, options)) co_return;
  net::live_message message;
  std::size_t taken_this_turn = 0;
  for (;;) {
    net::error_code failed = socket->try_receive(message);
    if (failed == net::errc::would_block) {
      const auto until = std::chrono::steady_clock::now() + ingest_patience;
      failed = co_await socket->wait(until);
      (void)socket->poll_connection();
      message.clear();
    }
    if (failed == net::errc::cancelled || failed == net::errc::closed) co_return;
    const asio::cancellation_state cancellation = co_await asio::this_coro::cancellation_state;
    if (cancellation.cancelled() != asio::cancellation_type::none) co_return;
    if (message.size() == 0) continue;
    if (const auto live = net::read_live(message)) into->newest.store(live->number.get(), std::memory_order_release);
    if (++taken_this_turn >= with.batches_per_turn) {
      taken_this_turn = 0;
      co_await asio::post(asio::use_awaitable);
    }
  }
}

class discarding_server final : public ingest_server {
 public:
  /// As `indexing_server`.
  discarding_server(ingest_board& board, const ingest_side& side, int cpu, int own) : lanes_(1, catalog_), streams_(side.streams) {
    pin_to(cpu);
    lanes_.start(false);
    std::promise<void> done;
    std::future<void> is_spawned = done.get_future();
    asio::post(lanes_.at(0).context, [&] {
      for (std::uint32_t i = 0; i < side.streams; ++i) {
        lanes_.at(0).tasks.spawn("discard",
                                 discard(&lanes_.at(0), &engine_, registration_of(board, side, i), settings_of(side), &streams_[i]));
      }
      done.set_value();
    });
    is_spawned.get();
    pin_to(own);
  }

  ~discarding_server() override { lanes_.stop(std::chrono::seconds(5)); }

  [[nodiscard]] bool newest(std::uint32_t stream, std::uint64_t& number) const override {
    number = streams_[stream].newest.load(std::memory_order_acquire);
    return number != core::stream_status::no_seqno;
  }

 private:
  core::catalog catalog_;
  net::zmq_engine engine_;
  net::runtime lanes_;
  std::vector<discarded> streams_;
};

}  // namespace

std::unique_ptr<ingest_server> make_indexing_server(ingest_board& board, const ingest_side& side, int cpu, int own) {
  net::set_heap_policy();                    // as the service does
  if (!side.is_transport_free) pin_to(cpu);  // threads are where the thread is that starts them, libzmq's too
  return std::make_unique<indexing_server>(board, side, cpu, own);
}

std::unique_ptr<ingest_server> make_discarding_server(ingest_board& board, const ingest_side& side, int cpu, int own) {
  net::set_heap_policy();
  if (!side.is_transport_free) pin_to(cpu);
  return std::make_unique<discarding_server>(board, side, cpu, own);
}

void wait_until_heard(ingest_board& board, const ingest_server& server, std::uint32_t streams) {
  std::uint64_t number = 0;
  wait_for("the first batch of every stream", [&] {
    for (std::uint32_t i = 0; i < streams; ++i) {
      if (!server.newest(i, number)) return false;
    }
    return true;
  });
  board.is_heard = true;
  wait_for("the publishers to be quiet", [&] { return board.is_quiet.load(); });
  wait_for("what was sent to be heard", [&] {
    for (std::uint32_t i = 0; i < streams; ++i) {
      if (!server.newest(i, number) || number + 1 != board.next_number[i]) return false;
    }
    return true;
  });
}

}  // namespace kvc::perf
