// Lanes that a test runs itself, and a store's stream on one of them: from payloads to the table and the index, without sockets.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/unit_test.hpp>

#include "core/catalog.hpp"
#include "core/worker_numbers.hpp"
#include "net/object_shelves.hpp"
#include "net/runtime.hpp"
#include "net/stream_sink.hpp"

namespace kvc::test {

/// Two lanes, both run by the test, one step here and one there.
struct two_lanes {
  core::catalog catalog;
  core::medium_table media;
  core::worker_numbers numbers;
  net::stream_settings streams;
  net::runtime lanes{2, catalog};
  std::mt19937_64 random;

  explicit two_lanes(std::uint64_t seed) : random(seed) {
    streams.blocks_per_turn = 2;
    static_cast<void>(numbers.next());
  }

  /// Has all tasks leave; what they use may go then.
  void end() {
    for (const auto how : {net::asio::cancellation_type::total, net::asio::cancellation_type::terminal}) {
      for (std::size_t i = 0; i < lanes.size(); ++i) lanes.at(i).tasks.cancel(how);
      for (int step = 0; step < 10'000 && is_busy(); ++step) turn();
    }
    BOOST_TEST(!is_busy());
  }
  [[nodiscard]] bool is_busy() { return lanes.at(0).tasks.running() + lanes.at(1).tasks.running() != 0; }
  void turn() {
    std::size_t done = 0;
    for (int step = 0; step < 20; ++step) done += lanes.at(random() % 2).context.poll_one();
    if (done == 0) done = lanes.at(random() % 2).context.run_one_for(std::chrono::microseconds(200));
  }
};

/// A master of a store's backend, whose objects are of a model.
inline core::registration master_of(const std::string& backend, const std::string& instance, const std::string& model,
                                    std::uint32_t block_size) {
  core::registration as;
  as.worker = {.tenant = "default", .instance = instance, .rank = core::dp_rank{0}, .kind = core::publisher_class::pool};
  as.partition = {.tenant = "default", .model = model, .lora = "", .salt = "", .block_size = block_size};
  as.type = core::publisher_type::mooncake;
  as.medium = core::medium_id::cpu;
  as.backend_id = backend;
  as.copy_counting = false;
  as.shared = true;
  return as;
}

/// Whether a prompt of one block is on a medium of some store.
inline bool is_held(core::catalog& catalog, const core::partition_key& home, std::uint64_t block, core::medium_id medium) {
  const auto view = catalog.view().get();
  const auto* const found = view->find(home);
  if (found == nullptr) return false;
  core::match_scope scope = found->scope;
  scope.media = core::mask_of(medium);
  core::match_result matched;
  const core::seq_hash hash{block};
  found->partition->index().match(std::span(&hash, 1), scope, matched);
  return matched.pools_alone.any != 0;
}

/// A publisher's stream on its lane, which is told what was published, and told of losses as the stream's machine would find them.
class told_stream final : public net::index_inlet, public std::enable_shared_from_this<told_stream> {
 public:
  told_stream(two_lanes& in, const core::registration& as, net::object_shelves& objects)
      : lane_(in.lanes.at(in.random() % 2)), info_(info_of(in, as, objects)), sink_(lane_, info_, in.catalog, in.media, in.streams) {}

  void begin() { lane_.tasks.spawn("stream", run(shared_from_this())); }
  void hear(std::optional<std::string> payload) {
    heard_.push_back(std::move(payload));
    bell_.cancel();
  }
  void end() {
    is_leaving_ = true;
    bell_.cancel();
  }
  [[nodiscard]] bool is_quiet() const { return heard_.empty() && !is_at_work_; }
  [[nodiscard]] bool is_leaving() const { return is_leaving_; }
  [[nodiscard]] bool has_ended() const { return has_ended_; }

  void take_changes(net::changed_objects what) override {
    if (is_leaving_) return;
    sink_.take_changes(std::move(what));
    apply_changes();
  }
  void lose_track() override {
    sink_.forget_changes();
    hear(std::nullopt);
  }
  void names_of(const core::partition_key& home, std::span<const core::seq_hash> blocks,
                std::vector<core::named_block>& into) const override {
    sink_.names_of(home, blocks, into);
  }

 private:
  static net::service_info info_of(two_lanes& in, const core::registration& as, net::object_shelves& objects) {
    net::service_info made;
    made.registration = as;
    made.worker = *in.numbers.next();
    made.status = std::make_shared<core::stream_status>();
    made.objects = &objects;
    return made;
  }
  void apply_changes() {
    if (is_leaving_ || will_apply_) return;
    if (sink_.apply_changes_some()) return;
    will_apply_ = true;
    net::asio::post(lane_.context, [self = shared_from_this()] {
      self->will_apply_ = false;
      self->apply_changes();
    });
  }
  static net::asio::awaitable<void> run(std::shared_ptr<told_stream> self) {
    co_await net::asio::this_coro::throw_if_cancelled(false);
    self->sink_.attach(self);
    while (!self->is_leaving_) {
      if (self->heard_.empty()) {
        net::error_code woken;
        self->bell_.expires_at(std::chrono::steady_clock::time_point::max());
        co_await self->bell_.async_wait(net::asio::redirect_error(net::asio::use_awaitable, woken));
        const auto stopping = co_await net::asio::this_coro::cancellation_state;
        if (stopping.cancelled() != net::asio::cancellation_type::none) break;
        continue;
      }
      const std::optional<std::string> next = std::move(self->heard_.front());
      self->heard_.pop_front();
      self->is_at_work_ = true;
      std::chrono::steady_clock::time_point now = std::chrono::steady_clock::now();
      if (!next) {
        static_cast<void>(co_await self->sink_.drop_all());
      } else if (!self->sink_.read(std::as_bytes(std::span(*next))) && !self->sink_.begin(now)) {
        co_await self->sink_.finish(now);
      }
      self->is_at_work_ = false;
      if (self->sink_.has_changes()) self->apply_changes();
    }
    self->is_leaving_ = true;
    self->sink_.leave();
    self->sink_.detach();
    static_cast<void>(co_await self->sink_.drop_all());
    self->has_ended_ = true;
  }

  net::lane& lane_;
  net::service_info info_;
  net::stream_sink sink_;
  net::asio::steady_timer bell_{lane_.context};
  std::deque<std::optional<std::string>> heard_;  ///< nothing: some batches are lost
  bool is_leaving_ = false;
  bool has_ended_ = false;
  bool is_at_work_ = false;
  bool will_apply_ = false;
};

}  // namespace kvc::test
