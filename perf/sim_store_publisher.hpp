// The publisher of a stand-in store: batches of any of its generations on a PUB socket, and the replay that the oldest has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "core/event.hpp"
#include "core/medium.hpp"
#include "net/errc.hpp"
#include "net/zmq_socket.hpp"
#include "perf/sim_store_voice.hpp"

namespace kvc::sim {

namespace asio = boost::asio;

/// Where the number of all ones stands in the message that ends a replay: two builds of the array generation disagree.
/// (Source: kv-events.md section 6.1.)
enum class store_end_marker : std::uint8_t { in_number, in_payload };

/// Numbers, keeps and sends what a store says.
///
/// Story: events are told one by one and go out with `flush`, in batches of at most as many as the generation's. Where the generation has
/// no replay, none is bound, and what is dropped for want of room uses up a number each; where it has one, a batch that is dropped on
/// the way can be had again from the last 10,000.
/// Lane: one thread, that of the executor. The engine must outlive the publisher.
class store_publisher {
 public:
  store_publisher(net::zmq_engine& engine, asio::any_io_executor executor, store_speaker who,
                  store_end_marker marker = store_end_marker::in_payload);

  /// Binds to `port` of `host`, 0: a free one; the replay always to a free one. Errors: the transport's.
  [[nodiscard]] net::error_code open(const std::string& host, std::uint16_t port = 0);

  /// What to register; valid after `open`. No replay: empty.
  [[nodiscard]] std::string endpoint() const { return live_.bound_endpoint(); }
  [[nodiscard]] std::string replay_endpoint() const;

  /// Queues what the generation has to say of a change.
  void tell(const store_change& what);
  /// Sends everything queued.
  void flush();
  /// Sends an empty batch, which is valid and uses up a number: to be heard before there is news.
  void beat();
  /// The next batch is not sent (a replay has it), or, without replays, its first event is dropped.
  void lose_next(bool does = true) noexcept { loses_next_ = does; }

  /// Keys whose put was dropped for good, since the last call.
  [[nodiscard]] std::vector<std::string> take_lost_puts() { return std::exchange(lost_puts_, {}); }

  [[nodiscard]] std::uint64_t batches() const noexcept { return batches_; }
  [[nodiscard]] std::uint64_t events() const noexcept { return events_; }
  [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_; }
  /// The number of the next batch.
  [[nodiscard]] std::uint64_t next_seqno() const noexcept { return next_seqno_; }
  [[nodiscard]] std::uint64_t replays_served() const noexcept { return replays_served_; }

  /// Answers replay requests until cancelled; ends at once where there are none. What: a loop. Preconditions: `open` succeeded; called
  /// once. Lifetimes: the publisher outlives it. Deadline: none, a request may never come. Cancellation: terminal and total end it at the
  /// next wait.
  [[nodiscard]] asio::awaitable<void> serve_replays();

 private:
  void send(core::event_batch batch, bool is_lost);
  [[nodiscard]] asio::awaitable<void> replay(std::string asker, std::uint64_t first);

  asio::any_io_executor executor_;
  const store_speaker who_;
  const store_stream_traits& traits_;
  const store_end_marker marker_;
  net::zmq_socket live_;
  net::zmq_socket replay_;
  core::medium_table media_;
  std::vector<core::event> queued_;
  std::vector<std::string> lost_puts_;
  std::deque<std::string> kept_;  ///< payloads, where there is a replay; the last one has number next_seqno_ - 1
  std::uint64_t next_seqno_ = 0;
  std::uint64_t event_id_ = 1;
  std::uint64_t batches_ = 0;
  std::uint64_t events_ = 0;
  std::uint64_t dropped_ = 0;
  std::uint64_t replays_served_ = 0;
  bool loses_next_ = false;
};

}  // namespace kvc::sim
